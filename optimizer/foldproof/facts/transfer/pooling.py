"""Pools: MaxPool, AveragePool, LpPool, their global forms, and MaxUnpool."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts.dim import DimLike, at_least
from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._moves import natural, parameter
from foldproof.facts.transfer._windows import Window, pooled, pooled_up, same, windows


@infers("MaxPool", "AveragePool", "LpPool")
def pool(node: NodeView) -> list[Fact | None] | None:
    """MaxPool-1..22, AveragePool-1..22, LpPool-2..22: [N, C, *places of the window]."""
    data = node.input(0)
    kernel = node.attribute("kernel_shape")
    if kernel is None:
        return None
    if data.shape is None:
        shape: list[DimLike] = list(node.fresh_shape(len(kernel) + 2))
    else:
        steps = windows(node, kernel)
        if steps is None or len(data.shape) != len(kernel) + 2:
            return None
        shape = list(data.shape[:2])
        for axis, window in enumerate(steps, start=2):
            dim = None if window is None else _places(node, data.shape[axis], window, data.shape[0])
            shape.append(node.fresh(axis) if dim is None else dim)
    facts: list[Fact | None] = [tensor_fact(data.dtype, shape)]
    if node.output_count > 1:
        facts.append(tensor_fact(ir.DataType.INT64, shape))
    return facts


def _places(node: NodeView, dim: DimLike, window: Window, batch: DimLike) -> DimLike | None:
    padding = node.attribute("auto_pad", "NOTSET")
    if padding in ("SAME_UPPER", "SAME_LOWER"):
        # Runtimes forget the dilation here, and give less than the specification.
        dilated = any(dilation != 1 for dilation in node.attribute("dilations") or ())
        return None if dilated else same(dim, window.stride)
    if node.attribute("ceil_mode", 0):
        # The specification has another formula for VALID than runtimes; they differ.
        return None if padding == "VALID" else pooled_up(dim, window)
    return pooled(dim, window, empty_batch=not at_least(batch, 1))


@infers("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(node: NodeView) -> Fact | None:
    """GlobalMaxPool-1..22, GlobalAveragePool-1..22, GlobalLpPool-1..22: [N, C, 1, 1, ...]."""
    data = node.input(0)
    if data.shape is None:
        return tensor_fact(data.dtype)
    if len(data.shape) < 2:
        return None
    return tensor_fact(data.dtype, (*data.shape[:2], *(1,) * (len(data.shape) - 2)))


@infers("MaxUnpool")
def max_unpool(node: NodeView) -> Fact | None:
    """MaxUnpool-9..22: the given shape, or (dim - 1) * stride + kernel - pads."""
    data = node.input(0)
    kernel = node.attribute("kernel_shape")
    if kernel is None:
        return None
    rank = len(kernel) + 2
    if node.has_input(2):
        target = parameter(node, "output_shape", 2)
        wanted = [None] * rank if target is None or len(target) != rank else [natural(dim) for dim in target]
        shape = [node.fresh(axis) if dim is None else dim for axis, dim in enumerate(wanted)]
        return tensor_fact(data.dtype, shape)
    steps = windows(node, kernel)
    if data.shape is None:
        return tensor_fact(data.dtype, node.fresh_shape(rank))
    if steps is None or len(data.shape) != rank:
        return None
    spatial = [
        (dim - 1) * step.stride + step.extent - step.before - step.after
        for dim, step in zip(data.shape[2:], steps, strict=True)
        if step is not None
    ]
    return tensor_fact(data.dtype, (*data.shape[:2], *spatial))
