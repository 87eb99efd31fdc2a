"""Normalizations: the shape of the input, and the statistics that some give beside it."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._broadcast import merge
from foldproof.facts.transfer._moves import axis_in


@infers("InstanceNormalization", "GroupNormalization", "RMSNormalization", "LRN")
def normalization(node: NodeView) -> Fact:
    """InstanceNormalization-1..22, GroupNormalization-18..21, RMSNormalization-23, LRN-1..13: the same shape."""
    return tensor_fact(node.input(0).dtype, node.input(0).shape)


@infers("BatchNormalization")
def batch_normalization(node: NodeView) -> list[Fact | None]:
    """BatchNormalization-1..15: the input's shape; in training, statistics of the shape of those given."""
    data = node.input(0)
    statistics = merge([node.input(k).shape for k in range(1, 5)])
    if statistics is None and data.shape is not None and len(data.shape) > 1 and node.attribute("spatial", 1):
        statistics = data.shape[1:2]
    return [tensor_fact(data.dtype, data.shape), *[tensor_fact(None, statistics)] * (node.output_count - 1)]


@infers("LayerNormalization")
def layer_normalization(node: NodeView) -> list[Fact | None]:
    """LayerNormalization-17: the input's shape; mean and deviation have 1 for each dim from the axis on."""
    data = node.input(0)
    axis = None if data.shape is None else axis_in(node.attribute("axis", -1), len(data.shape))
    reduced = None
    if axis is not None and data.shape is not None:
        reduced = (*data.shape[:axis], *(1,) * (len(data.shape) - axis))
    stash = node.attribute("stash_type", 1)
    dtype = ir.DataType(stash) if stash in (1, 16) else None
    return [tensor_fact(data.dtype, data.shape), *[tensor_fact(dtype, reduced)] * (node.output_count - 1)]
