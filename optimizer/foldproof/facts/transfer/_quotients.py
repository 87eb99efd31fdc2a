"""Looks through a float division: `Floor(n / 2)` is `n//2` though no element of a fact can be `n/2`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike, at_least
from foldproof.facts.fact import MAX_ELEMENTS, Element, Fact
from foldproof.facts.registry import NodeView
from foldproof.facts.transfer._broadcast import expand_elements, static_count
from foldproof.facts.transfer._elements import fits, is_float, mapped

Ratio: TypeAlias = "tuple[DimLike, DimLike]"

_SMALL = 2**20
"""Numerators and denominators up to here leave room for the dim in the significand of a double."""

_NUMPY_BROADCASTING = 7
"""The opset version from which on Mul and Div broadcast as numpy does."""


def rounded_elements(
    node: NodeView,
    fact: Fact,
    compute: Callable[[Element], Element],
    rounding: Callable[[DimLike, DimLike], DimLike],
) -> list[Element] | None:
    """The elements of a node that rounds its first input to integers, symbolic quotients included.

    A float division rounds correctly, so that its floor and ceiling are those of the exact quotient wherever
    the dtype holds the dividend exactly.

    Args:
        node: The node that rounds: Floor, Ceil, or a Cast to an integer type.
        fact: The fact of its input.
        compute: Rounds one known element.
        rounding: `floor_div` or `ceil_div`.

    Returns:
        The elements, unknown ones included; None where nothing is known.
    """
    known = mapped(fact, compute)
    if known is not None and None not in known:
        return known
    ratios = _ratios(node, fact)
    if ratios is None:
        return known
    quotients = [None if ratio is None else rounding(*ratio) for ratio in ratios]
    return [q if k is None else k for k, q in zip(known or [None] * len(quotients), quotients, strict=True)]


def _ratios(node: NodeView, fact: Fact) -> list[Ratio | None] | None:
    """The dividends and divisors of a node's first input; None where it is no quotient."""
    value = node.node.inputs[0]
    producer = None if value is None else value.producer()
    if producer is None or producer.domain or producer.op_type not in ("Div", "Mul") or not is_float(fact.dtype):
        return None
    if node.facts.opset_version(producer) < _NUMPY_BROADCASTING or len(producer.inputs) != 2:
        return None
    shape, count = fact.shape, static_count(fact.shape)
    if shape is None or count is None or count > MAX_ELEMENTS:
        return None
    left, right = (node.facts.of(operand) for operand in producer.inputs)
    dividends, divisors = left.elements, right.elements
    if dividends is None or divisors is None:
        return None
    first = expand_elements(dividends, left.shape, shape)
    second = expand_elements(divisors, right.shape, shape)
    if first is None or second is None:
        return None
    make = _of_division if producer.op_type == "Div" else _of_product
    ratios = (make(a, b) for a, b in zip(first, second, strict=True))
    return [ratio if ratio is not None and _is_sound(fact.dtype, *ratio) else None for ratio in ratios]


def _is_sound(dtype: ir.DataType | None, dividend: DimLike, divisor: DimLike) -> bool:
    return at_least(dividend, 0) and at_least(divisor, 1) and fits(dtype, dividend) and fits(dtype, divisor)


def _of_division(a: Element, b: Element) -> Ratio | None:
    if isinstance(a, Fraction) or a is None or b is None:
        return None
    if isinstance(b, Fraction):
        return (a * b.denominator, b.numerator) if _is_small(b) else None
    return a, b


def _of_product(a: Element, b: Element) -> Ratio | None:
    if isinstance(b, Dim):
        a, b = b, a
    if not isinstance(a, Dim) or not isinstance(b, Fraction) or not _is_small(b):
        return None
    return a * b.numerator, b.denominator


def _is_small(number: Fraction) -> bool:
    return abs(number.numerator) <= _SMALL and number.denominator <= _SMALL
