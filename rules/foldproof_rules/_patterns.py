"""Small questions about a graph that rules ask which recognize a pattern of many nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Reason
from foldproof_rules._weights import attribute_int, attribute_ints, input_of, is_private, single

CLOSE = 1e-6
"""How near a constant must be to the number that it stands for, such as the square root of 2."""

CLOSE_HALF = 2e-3
"""The same for a constant of float16 or bfloat16."""


def maker_of(value: ir.Value | None, *op_types: str) -> ir.Node | None:
    """The node that makes a value as its first output, if it is of one of the operators."""
    node = None if value is None else value.producer()
    if node is None or node.domain or node.op_type not in op_types or value is not node.outputs[0]:
        return None
    return node


def private_maker(value: ir.Value | None, *op_types: str) -> ir.Node | None:
    """The same, if nothing else reads the value."""
    return maker_of(value, *op_types) if is_private(value) else None


def orders(node: ir.Node | None) -> Iterator[tuple[ir.Value, ir.Value]]:
    """The two inputs of a commutative operator, in both orders."""
    if node is not None and len(node.inputs) == 2 and node.inputs[0] is not None and node.inputs[1] is not None:
        yield node.inputs[0], node.inputs[1]
        yield node.inputs[1], node.inputs[0]


def number_beside(value: ir.Value, constant: ir.Value, facts: Facts) -> float | None:
    """The finite number that a constant holds, if it does not make a value larger that it is combined with."""
    found = single(constant, facts)
    if found is None or not math.isfinite(found):
        return None
    rank, own = facts.of(value).rank, facts.of(constant).rank
    return found if own == 0 or (rank is not None and own is not None and own <= rank) else None


def is_near(number: float | None, wanted: float, value: ir.Value, facts: Facts) -> bool:
    """Whether a number of a value's type stands for another one, which that type may have rounded."""
    if number is None:
        return False
    precise = facts.of(value).dtype in (ir.DataType.FLOAT, ir.DataType.DOUBLE)
    return abs(number - wanted) <= abs(wanted) * (CLOSE if precise else CLOSE_HALF)


def fits_attribute(number: float, value: ir.Value, facts: Facts) -> bool:
    """Whether a number of a value's type can be an attribute. That is a float32, which is less than a double."""
    return facts.of(value).dtype is not ir.DataType.DOUBLE or float(np.float32(number)) == number


def with_number(value: ir.Value | None, op_type: str, facts: Facts) -> Iterator[tuple[ir.Value, float]]:
    """Pairs x and k of a value that nothing else reads, made as x + k or x * k."""
    for x, constant in orders(private_maker(value, op_type)):
        found = number_beside(x, constant, facts)
        if found is not None:
            yield x, found


def scaled(value: ir.Value | None, facts: Facts) -> Iterator[tuple[ir.Value, float]]:
    """Pairs x and k of a value that nothing else reads, made as x * k or x / (1 / k)."""
    yield from with_number(value, "Mul", facts)
    quotient = private_maker(value, "Div")
    for x, constant in [] if quotient is None else list(orders(quotient))[:1]:
        found = number_beside(x, constant, facts)
        if found:
            yield x, 1 / found


def reads_only(value: ir.Value, nodes: Iterable[ir.Node]) -> bool:
    """Whether all readers of a value are among some nodes."""
    inside = set(nodes)
    return not value.is_graph_output() and all(use.node in inside for use in value.uses())


def reduced_axes(node: ir.Node, facts: Facts) -> tuple[int, ...] | None:
    """The axes of a reduction that keeps them as dims of 1, sorted and from 0; None where they are not known."""
    given = input_of(node, 1)
    axes = attribute_ints(node, "axes", ()) if given is None else facts.of(given).ints
    rank = facts.of(node.inputs[0]).rank
    if not axes or rank is None or attribute_int(node, "keepdims", 1) != 1:
        return None
    return tuple(sorted(axis + rank if axis < 0 else axis for axis in axes))


def end_of_pattern(node: ir.Node) -> Reason | None:
    """Why a multiplication had better stay: it ends a pattern that onnxruntime computes by one kernel.

    These are Gelu (the product with 1 + Erf or 1 + Tanh, halved before or after) and normalizations (the product with
    the inverse of a root), below the opset that has an operator for them. Broken up, they would run slower.
    """
    factors = [each.producer() for each in node.inputs if each is not None]
    for factor in [*factors, *(maker for each in factors if each is not None for maker in _factors(each))]:
        if factor is None or factor.domain:
            continue
        makers = {maker.op_type for each in factor.inputs if (maker := each and each.producer()) and not maker.domain}
        if factor.op_type == "Add" and makers & {"Erf", "Tanh"}:
            return Reason("it is the end of a Gelu")
        if factor.op_type in ("Div", "Mul") and makers & {"Sqrt", "Reciprocal"}:
            return Reason("it is the end of a normalization")
    return None


def _factors(node: ir.Node) -> list[ir.Node | None]:
    """The makers of what a product is made of."""
    return [each.producer() for each in node.inputs if each is not None] if node.op_type == "Mul" else []
