"""Operators of one tensor that keep its shape, and what they make of its elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import onnx_ir as ir

from foldproof.facts.dim import DimLike, ceil_div, floor_div
from foldproof.facts.fact import Element, Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer import _arithmetic as arithmetic
from foldproof.facts.transfer._broadcast import broadcast, broadcast_elements, merge
from foldproof.facts.transfer._comparisons import negation
from foldproof.facts.transfer._elements import INTEGER_RANGES, mapped
from foldproof.facts.transfer._quotients import rounded_elements

Unary: TypeAlias = "Callable[[ir.DataType | None, Element], Element]"


@infers(
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Celu",
    "Cos",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "MeanVarianceNormalization",
    "Mish",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sin",
    "Sinh",
    "Softmax",
    "Softplus",
    "Softsign",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
)
def same_shape(node: NodeView) -> Fact:
    """All versions: the shape of the input, and elements that are no shape data. Softmax too, at any axis."""
    return tensor_fact(None, node.input(0).shape)


_ELEMENT_OF: dict[str, Unary] = {
    "Abs": arithmetic.absolute,
    "Ceil": arithmetic.ceiled,
    "Floor": arithmetic.floored,
    "Neg": arithmetic.negate,
    "Reciprocal": arithmetic.reciprocal,
    "Relu": arithmetic.rectified,
    "Round": arithmetic.rounded,
    "Sign": arithmetic.sign,
    "Sqrt": arithmetic.square_root,
}

_ROUNDING: dict[str, Callable[[DimLike, DimLike], DimLike]] = {"Floor": floor_div, "Ceil": ceil_div}


@infers(*_ELEMENT_OF)
def unary(node: NodeView) -> Fact:
    """All versions: one element from one element."""
    data = node.input(0)
    compute = _ELEMENT_OF[node.op_type]
    if node.op_type in _ROUNDING:
        rounding = _ROUNDING[node.op_type]
        elements = rounded_elements(node, data, lambda element: compute(data.dtype, element), rounding)
    else:
        elements = mapped(data, lambda element: compute(data.dtype, element))
    return tensor_fact(data.dtype, data.shape, elements)


@infers("Not")
def logical_not(node: NodeView) -> Fact:
    """Not-1."""
    data = node.input(0)
    return tensor_fact(ir.DataType.BOOL, data.shape, mapped(data, negation))


@infers("BitwiseNot")
def bitwise_not(node: NodeView) -> Fact:
    """BitwiseNot-18: the complement within the type's bits."""
    data = node.input(0)
    least, greatest = INTEGER_RANGES.get(data.dtype or ir.DataType.UNDEFINED, (0, 0))
    elements = mapped(data, lambda element: arithmetic.subtract(data.dtype, least + greatest, element))
    return tensor_fact(data.dtype, data.shape, elements if greatest else None)


@infers("IsNaN", "IsInf")
def is_special(node: NodeView) -> Fact:
    """IsNaN-9..20, IsInf-10..20: a known element is neither."""
    data = node.input(0)
    elements = mapped(data, lambda element: None if element is None else 0)
    return tensor_fact(ir.DataType.BOOL, data.shape, elements)


@infers("Clip")
def clip(node: NodeView) -> Fact:
    """Clip-1..13: Min(max, Max(x, min)); the bounds are attributes below version 11."""
    data = node.input(0)
    if node.version < 11:
        # The bounds are floats of limited use for shape data, which is of integer type from version 12 on.
        return tensor_fact(data.dtype, data.shape)
    low, high = node.has_input(1), node.has_input(2)
    bounds = [node.input(k) for k in (1, 2) if node.has_input(k)]

    def clipped(element: Element, *limits: Element) -> Element:
        if low:
            element = arithmetic.largest(data.dtype, element, limits[0])
        return arithmetic.smallest(data.dtype, element, limits[-1]) if high else element

    return tensor_fact(data.dtype, data.shape, broadcast_elements([data, *bounds], data.shape, clipped))


@infers("PRelu")
def prelu(node: NodeView) -> Fact:
    """PRelu-1..16: the shape of the first input, which the slope is broadcast to; onnxruntime broadcasts both ways."""
    data, slope = node.input(0), node.input(1)
    return tensor_fact(None, data.shape if node.version < 7 else broadcast(node, [data.shape, slope.shape]))


@infers("SwiGLU")
def swiglu(node: NodeView) -> Fact:
    """SwiGLU-28: both inputs have one shape; there is no broadcasting."""
    return tensor_fact(None, merge([node.input(0).shape, node.input(1).shape]))


@infers("Dropout")
def dropout(node: NodeView) -> list[Fact]:
    """Dropout-1..22: the input itself, unless in training mode; the mask has its shape."""
    data = node.input(0)
    if node.version < 7:
        training = node.attribute("is_test", 0) == 0
    else:
        training = node.has_input(2) and node.input(2).ints != (0,)
    mask = tensor_fact(ir.DataType.BOOL if node.version >= 10 else data.dtype, data.shape)
    return [tensor_fact(data.dtype, data.shape) if training else data, mask]


_VARIADIC: dict[str, Callable[..., Element]] = {
    "Max": arithmetic.largest,
    "Min": arithmetic.smallest,
    "Sum": arithmetic.exact_sum,
    "Mean": arithmetic.exact_mean,
}


@infers(*_VARIADIC)
def variadic(node: NodeView) -> Fact:
    """Max, Min, Sum, Mean 1..13: any number of inputs, of one shape below version 8, then broadcast."""
    facts = node.inputs
    if not facts:
        return tensor_fact()
    shapes = [fact.shape for fact in facts]
    shape = merge(shapes) if node.version < 8 else broadcast(node, shapes)
    dtype = next((fact.dtype for fact in facts if fact.dtype is not None), None)
    compute = _VARIADIC[node.op_type]
    elements = broadcast_elements(facts, shape, lambda *operands: compute(dtype, *operands))
    return tensor_fact(dtype, shape, elements)
