"""Arithmetic and bitwise operators of two tensors that are broadcast against each other."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir

from foldproof.facts.fact import Element, Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer import _arithmetic as arithmetic
from foldproof.facts.transfer._broadcast import Shape, broadcast, broadcast_elements, merge
from foldproof.facts.transfer._elements import INTEGER_RANGES, stored

_NUMPY_BROADCASTING = 7

_ELEMENT_OF: dict[str, arithmetic.Binary] = {
    "Add": arithmetic.add,
    "Sub": arithmetic.subtract,
    "Mul": arithmetic.multiply,
    "Div": arithmetic.divide,
    "Pow": arithmetic.power,
}


def binary_shape(node: NodeView) -> Shape | None:
    """The output's shape: broadcast as numpy does from version 7 on, and to the first input below."""
    left, right = node.input(0).shape, node.input(1).shape
    if node.version >= _NUMPY_BROADCASTING:
        return broadcast(node, [left, right])
    return left if node.attribute("broadcast", 0) else merge([left, right])


def binary_fact(
    node: NodeView, dtype: ir.DataType | None, compute: Callable[..., Element], lenient: bool = False
) -> Fact:
    """The fact of an operator that gives one element from one of each input.

    Args:
        node: The node.
        dtype: The type of the output.
        compute: Gives an element from the two.
        lenient: Whether an element may follow though not both are known.
    """
    shape = binary_shape(node)
    elements = None
    if node.version >= _NUMPY_BROADCASTING or node.input(0).shape == node.input(1).shape:
        elements = broadcast_elements([node.input(0), node.input(1)], shape, compute, lenient)
    return tensor_fact(dtype, shape, elements)


@infers(*_ELEMENT_OF)
def binary(node: NodeView) -> Fact:
    """Add, Sub, Mul, Div, Pow 1..15. The type is that of the first input: Pow's exponent may have another."""
    dtype = node.input(0).dtype
    compute = _ELEMENT_OF[node.op_type]
    return binary_fact(node, dtype, lambda a, b: compute(dtype, a, b))


@infers("Mod")
def mod(node: NodeView) -> Fact:
    """Mod-10..28: the sign of the divisor, or with `fmod` that of the dividend."""
    dtype = node.input(0).dtype
    compute = arithmetic.truncated_remainder if node.attribute("fmod", 0) else arithmetic.remainder
    return binary_fact(node, dtype, lambda a, b: compute(dtype, a, b))


@infers("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(node: NodeView) -> Fact:
    """BitwiseAnd, BitwiseOr, BitwiseXor 18: of known integers, in two's complement."""
    operation = node.op_type

    def compute(a: Element, b: Element) -> Element:
        if not isinstance(a, int) or not isinstance(b, int):
            return None
        return a & b if operation == "BitwiseAnd" else a | b if operation == "BitwiseOr" else a ^ b

    return binary_fact(node, node.input(0).dtype, compute)


@infers("BitShift")
def bit_shift(node: NodeView) -> Fact:
    """BitShift-11..28: of known integers. Older versions say nothing of amounts that leave no bit."""
    dtype = node.input(0).dtype
    left = node.attribute("direction") == "LEFT"

    def compute(a: Element, b: Element) -> Element:
        if dtype is None or not isinstance(a, int) or not isinstance(b, int):
            return None
        least, greatest = INTEGER_RANGES.get(dtype, (0, 0))
        if not 0 <= b < (greatest - least).bit_length():
            return None
        return stored(dtype, a << b) if left else a >> b

    return binary_fact(node, dtype, compute)
