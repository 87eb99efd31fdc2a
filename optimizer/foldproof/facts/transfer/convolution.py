"""Convolutions: Conv, ConvTranspose, their quantized forms, and CausalConvWithState."""

from __future__ import annotations

from collections.abc import Sequence

from foldproof.facts.dim import DimLike
from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._windows import Window, convolved, same, windows


def _convolution(node: NodeView, data: Fact, weight: Fact) -> Fact | None:
    """[N, output channels, *places of the kernel]; the weight is [output channels, channels / group, *kernel]."""
    rank = data.rank if data.rank is not None else weight.rank
    kernel = _kernel(node, weight)
    if kernel is not None and rank is None:
        rank = len(kernel) + 2
    if rank is None:
        return tensor_fact()
    kernel = [node.fresh(axis) for axis in range(2, rank)] if kernel is None else kernel
    if rank < 2 or len(kernel) != rank - 2:
        return None
    steps = windows(node, kernel)
    if steps is None:
        return None
    batch = node.fresh(0) if data.shape is None else data.shape[0]
    channels = node.fresh(1) if weight.shape is None else weight.shape[0]
    shape: list[DimLike] = [batch, channels]
    strides = node.attribute("strides") or (1,) * len(kernel)
    keeps_size = str(node.attribute("auto_pad", "NOTSET")).startswith("SAME")
    for axis, window in enumerate(steps, start=2):
        if data.shape is None:
            shape.append(node.fresh(axis))
        elif keeps_size:
            shape.append(same(data.shape[axis], strides[axis - 2]))
        else:
            shape.append(node.fresh(axis) if window is None else convolved(data.shape[axis], window))
    return tensor_fact(None, shape)


def _kernel(node: NodeView, weight: Fact) -> Sequence[DimLike] | None:
    """The kernel's dims, by the attribute or the weight."""
    given = node.attribute("kernel_shape")
    if given is not None:
        return list(given)
    if weight.shape is not None and len(weight.shape) >= 2:
        return list(weight.shape[2:])
    return None


@infers("Conv", "ConvInteger")
def conv(node: NodeView) -> Fact | None:
    """Conv-1..22, ConvInteger-10."""
    return _convolution(node, node.input(0), node.input(1))


@infers("QLinearConv")
def q_linear_conv(node: NodeView) -> Fact | None:
    """QLinearConv-10: inputs are x, its scale and zero point, w ..."""
    return _convolution(node, node.input(0), node.input(3))


@infers("ConvTranspose")
def conv_transpose(node: NodeView) -> Fact | None:
    """ConvTranspose-1..22: [N, output channels, *dims]; the weight is [channels, output channels / group, *kernel]."""
    data, weight = node.input(0), node.input(1)
    rank = data.rank if data.rank is not None else weight.rank
    if rank is None:
        return tensor_fact()
    given = _kernel(node, weight)
    kernel = [node.fresh(axis) for axis in range(2, rank)] if given is None else given
    if rank < 2 or len(kernel) != rank - 2:
        return None
    steps = windows(node, kernel)
    extra = node.attribute("output_padding") or (0,) * len(kernel)
    wanted = node.attribute("output_shape")
    if steps is None or len(extra) != len(kernel) or (wanted and len(wanted) not in (len(kernel), rank)):
        return None
    strides = node.attribute("strides") or (1,) * len(kernel)
    keeps_size = str(node.attribute("auto_pad", "NOTSET")).startswith("SAME")
    batch = node.fresh(0) if data.shape is None else data.shape[0]
    channels = node.fresh(1) if weight.shape is None else weight.shape[1] * node.attribute("group", 1)
    shape: list[DimLike] = [batch, channels]
    for k, window in enumerate(steps):
        if wanted:
            shape.append(wanted[k - len(kernel)])
        elif data.shape is None:
            shape.append(node.fresh(k + 2))
        elif window is None or (keeps_size and window.extent + extra[k] < strides[k]):
            shape.append(node.fresh(k + 2))  # too little to fill the size: runtimes give less than the specification
        elif keeps_size:
            shape.append(data.shape[k + 2] * strides[k])
        else:
            shape.append(_spread(data.shape[k + 2], window, extra[k]))
    return tensor_fact(None, shape)


def _spread(dim: DimLike, window: Window, extra: int) -> DimLike:
    return (dim - 1) * window.stride + extra + window.extent - window.before - window.after


@infers("CausalConvWithState")
def causal_conv_with_state(node: NodeView) -> list[Fact | None]:
    """CausalConvWithState-27: the input's shape, and [N, channels, k - 1]; the weight is [channels, 1, k]."""
    data, weight, past = node.input(0), node.input(1), node.input(3)
    facts: list[Fact | None] = [tensor_fact(data.dtype, data.shape)]
    if node.output_count > 1:
        state: Sequence[DimLike] = node.fresh_shape(3, 1)
        if past.shape is not None:
            state = past.shape
        elif data.shape is not None and len(data.shape) == 3:
            kernel = weight.shape[2] if weight.shape is not None and len(weight.shape) == 3 else None
            state = (*data.shape[:2], node.fresh(2, 1) if kernel is None else kernel - 1)
        facts.append(tensor_fact(data.dtype, state))
    return facts
