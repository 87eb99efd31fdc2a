"""Quantization: the shape of the data, and the types that the zero point, the scale or an attribute sets."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer.casts import dtype_attribute


@infers("QuantizeLinear")
@infers("QuantizeLinear", domain="com.microsoft")
def quantize_linear(node: NodeView) -> Fact:
    """QuantizeLinear-10..28: the type of the zero point, or else of `output_dtype`, or else uint8."""
    dtype = node.input(2).dtype if node.has_input(2) else dtype_attribute(node, "output_dtype", ir.DataType.UINT8)
    return tensor_fact(dtype, node.input(0).shape)


@infers("DequantizeLinear")
@infers("DequantizeLinear", domain="com.microsoft")
def dequantize_linear(node: NodeView) -> Fact:
    """DequantizeLinear-10..28: the type of the scale, from version 23 on that of `output_dtype` if given."""
    return tensor_fact(dtype_attribute(node, "output_dtype", node.input(1).dtype), node.input(0).shape)


@infers("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: NodeView) -> list[Fact]:
    """DynamicQuantizeLinear-11: the data as uint8, and its scale and zero point."""
    return [
        tensor_fact(ir.DataType.UINT8, node.input(0).shape),
        tensor_fact(ir.DataType.FLOAT, ()),
        tensor_fact(ir.DataType.UINT8, ()),
    ]
