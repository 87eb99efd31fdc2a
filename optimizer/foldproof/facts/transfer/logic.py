"""Comparisons, boolean operators and Where: decided for symbolic elements wherever bounds prove it."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir

from foldproof.facts.fact import Element, Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer import _comparisons as compare
from foldproof.facts.transfer._broadcast import broadcast, broadcast_elements
from foldproof.facts.transfer.binary import binary_fact

_COMPARISONS: dict[str, Callable[[Element, Element], Element]] = {
    "Equal": compare.is_equal,
    "Less": compare.is_less,
    "Greater": lambda a, b: compare.is_less(b, a),
    # Known elements are never NaN, so these two are the negations.
    "LessOrEqual": lambda a, b: compare.negation(compare.is_less(b, a)),
    "GreaterOrEqual": lambda a, b: compare.negation(compare.is_less(a, b)),
}

_CONNECTIVES: dict[str, Callable[[Element, Element], Element]] = {
    "And": compare.conjunction,
    "Or": compare.disjunction,
    "Xor": compare.exclusive_or,
}


@infers(*_COMPARISONS)
def comparison(node: NodeView) -> Fact:
    """Equal, Less, Greater 1..19, LessOrEqual, GreaterOrEqual 12..16."""
    return binary_fact(node, ir.DataType.BOOL, _COMPARISONS[node.op_type])


@infers(*_CONNECTIVES)
def connective(node: NodeView) -> Fact:
    """And, Or, Xor 1..7."""
    return binary_fact(node, ir.DataType.BOOL, _CONNECTIVES[node.op_type], lenient=True)


@infers("Where")
def where(node: NodeView) -> Fact:
    """Where-9..16: an element is known where the condition is, and where both choices are the same."""
    condition, yes, no = node.input(0), node.input(1), node.input(2)
    dtype = yes.dtype if yes.dtype is not None else no.dtype
    shape = broadcast(node, [condition.shape, yes.shape, no.shape])

    def chosen(decided: Element, a: Element, b: Element) -> Element:
        if decided is None:
            return a if a == b else None
        return a if decided else b

    elements = None
    if yes.dtype is not ir.DataType.STRING:
        elements = broadcast_elements([condition, yes, no], shape, chosen, lenient=True)
    return tensor_fact(dtype, shape, elements)
