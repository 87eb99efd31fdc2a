"""Cast, CastLike and BitCast: another type, the same shape, and the elements that the new type holds."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts.dim import floor_div
from foldproof.facts.fact import Element, Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._elements import cast_element, fits, is_integer, mapped
from foldproof.facts.transfer._quotients import rounded_elements

_BY_NUMBER = {dtype.value: dtype for dtype in ir.DataType if dtype is not ir.DataType.UNDEFINED}


@infers("Cast")
def cast(node: NodeView) -> Fact:
    """Cast-1..28; the attribute `to` is the name of the type at version 1."""
    return _cast(node, dtype_attribute(node, "to"))


@infers("CastLike")
def cast_like(node: NodeView) -> Fact:
    """CastLike-15..25: the type of the second input."""
    return _cast(node, node.input(1).dtype)


@infers("BitCast")
def bit_cast(node: NodeView) -> Fact:
    """BitCast-26: the same bits read as another type of the same width."""
    data, target = node.input(0), dtype_attribute(node, "to")
    elements = data.elements if target is data.dtype else None
    return tensor_fact(target, data.shape, elements)


def dtype_attribute(node: NodeView, name: str, default: ir.DataType | None = None) -> ir.DataType | None:
    """The type that an attribute names, by its number or, in the oldest operators, by its name."""
    value = node.attribute(name)
    if isinstance(value, str):
        return ir.DataType.__members__.get(value.upper(), default)
    return _BY_NUMBER.get(value, default) if isinstance(value, int) else default


def _cast(node: NodeView, target: ir.DataType | None) -> Fact:
    data = node.input(0)
    if target is None:
        return tensor_fact(None, data.shape)
    if target is data.dtype:
        return data

    def converted(element: Element) -> Element:
        return cast_element(element, data.dtype, target)

    if is_integer(target) and target is not ir.DataType.BOOL:
        # A quotient of symbolic integers is never negative, so that rounding towards zero is rounding down.
        elements = rounded_elements(node, data, converted, floor_div)
        if elements is not None:
            elements = [element if fits(target, element) else None for element in elements]
    else:
        elements = mapped(data, converted)
    return tensor_fact(target, data.shape, elements)
