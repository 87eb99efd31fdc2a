"""Small questions that the rules about arithmetic ask of a node's operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from foldproof.facts import MAX_SPLAT, DimLike, Facts, NodeView

Array: TypeAlias = "np.ndarray[Any, Any]"

MAX_READ = MAX_SPLAT
"""Constants of more elements are weights. They are not read by rules that only tidy up."""

MAX_FOLLOWED = 64
"""Where more nodes than these read what is made of a value, nothing is said of them."""

_AMPLIFYING = frozenset(
    {"Floor", "Ceil", "Round", "Sign", "Mod", "QuantizeLinear", "DynamicQuantizeLinear", "Sin", "Cos"}
)
_PASSING_ON = frozenset(
    {
        *("Add", "Sub", "Mul", "Div", "CumSum", "Concat", "Expand", "Flatten", "Gather", "Identity", "Neg", "Pad"),
        *("Reshape", "Resize", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
    }
)

BROADCASTING = (
    *("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Mean", "Sum", "Where", "And", "Or", "Xor", "Equal"),
    *("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"),
)
"""Operators that broadcast all their inputs, from opset 8 on."""

FLOATS = frozenset({ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.FLOAT, ir.DataType.DOUBLE})
SIGNED = frozenset({ir.DataType.INT8, ir.DataType.INT16, ir.DataType.INT32, ir.DataType.INT64})
UNSIGNED = frozenset({ir.DataType.UINT8, ir.DataType.UINT16, ir.DataType.UINT32, ir.DataType.UINT64})
INTEGERS = SIGNED | UNSIGNED
_NUMBERS = FLOATS | INTEGERS | {ir.DataType.BOOL}


def constant(value: ir.Value | None, facts: Facts) -> Array | None:
    """The elements of a constant; None for a large one, for one that the caller may override, or for strings."""
    tensor = facts.of(value).constant
    if tensor is None or tensor.size > MAX_READ or tensor.dtype not in _NUMBERS:
        return None
    try:
        return tensor.numpy()
    except (OSError, ValueError):  # its external data file is missing, or may not be read
        return None


def splat(value: ir.Value | None, facts: Facts) -> np.generic | None:
    """The one number that each element of a value is. Zeros of both signs are two numbers; NaN is none.

    Besides constants this reads ConstantOfShape, and Expand of such a value, whatever their shape.
    """
    if value is None:
        return None
    fact = facts.of(value)
    if fact.constant is None or fact.constant.size > MAX_READ:
        return _filled(value, facts)
    return fact.splat if fact.dtype in _NUMBERS else None


def _filled(value: ir.Value, facts: Facts) -> np.generic | None:
    maker = value.producer()
    if maker is None or maker.domain or NodeView(maker, facts).has_unknown_attribute():
        return None
    if maker.op_type == "Expand":
        return splat(maker.inputs[0], facts)
    if maker.op_type != "ConstantOfShape":
        return None
    tensor = NodeView(maker, facts).attribute("value")
    number = np.float32(0) if tensor is None else tensor.numpy().reshape(-1)[0]
    return None if number != number else number


def dim_at(shape: Sequence[DimLike], axis: int) -> DimLike:
    """A dim counted from the last axis, 1 before the first one."""
    return shape[axis] if -axis <= len(shape) else 1


def is_private(value: ir.Value) -> bool:
    """Whether one node alone reads a value, so that its maker goes where that node no longer reads it."""
    return not value.is_graph_output() and len({use.node for use in value.uses()}) == 1


def maker_of(value: ir.Value | None, *op_types: str) -> ir.Node | None:
    """The node that makes a value, if it is one of these operators of `ai.onnx` and has one output."""
    node = None if value is None else value.producer()
    if node is None or node.domain or node.op_type not in op_types or len(node.outputs) != 1:
        return None
    return node


def keeps_shape_of(node: ir.Node, operand: ir.Value, others: list[ir.Value], facts: Facts) -> bool:
    """Whether the result of an elementwise node is proven to have the shape of one operand, whatever is broadcast."""
    before, after = facts.shape(operand), facts.shape(node.outputs[0])
    if before is not None and before == after:
        return True
    return all(_never_enlarges(facts.shape(other), before) for other in others)


def _never_enlarges(shape: tuple[DimLike, ...] | None, into: tuple[DimLike, ...] | None) -> bool:
    if shape is None or any(dim != 1 for dim in shape):
        return False
    return not shape or (into is not None and len(shape) <= len(into))


def is_amplified(value: ir.Value, facts: Facts) -> bool:
    """Whether nearby nodes make much of the last bit of a float: they quantize or round it, or take the sine of it."""
    found = [use.node for use in value.uses()]
    for node in found:
        to_other = node.op_type == "Cast" and facts.of(node.outputs[0]).dtype not in FLOATS
        if to_other or node.op_type in _AMPLIFYING or len(found) > MAX_FOLLOWED:
            return True
        if node.op_type == "Cast" or node.op_type in _PASSING_ON:
            found.extend(use.node for use in node.outputs[0].uses() if use.node not in found)
    return False
