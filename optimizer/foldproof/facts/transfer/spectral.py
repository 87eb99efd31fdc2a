"""DFT and STFT."""

from __future__ import annotations

from foldproof.facts.dim import DimLike, floor_div
from foldproof.facts.fact import Element, Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._moves import axis_in, natural, scalar


@infers("DFT")
def dft(node: NodeView) -> Fact | None:
    """DFT-17..20: the length at the axis, or half of it and 1 (`onesided`); at last 2 for a complex number."""
    data = node.input(0)
    if data.shape is None:
        return tensor_fact(data.dtype)
    rank = len(data.shape)
    given: Element = node.attribute("axis", 1) if node.version < 20 else -2
    if node.has_input(2):
        given = scalar(node.input(2))
    if given is None:
        return tensor_fact(data.dtype, node.fresh_shape(rank))
    axis = axis_in(given, rank)
    if axis is None or axis == rank - 1:
        return None
    one_sided, inverse = bool(node.attribute("onesided", 0)), bool(node.attribute("inverse", 0))
    length: DimLike | None
    if node.has_input(1):
        length = natural(scalar(node.input(1)))
    else:
        length = (data.shape[axis] - 1) * 2 if one_sided and inverse else data.shape[axis]
    if one_sided and not inverse and length is not None:
        length = floor_div(length, 2) + 1
    shape = [*data.shape[:-1], 1 if one_sided and inverse else 2]
    shape[axis] = node.fresh(axis) if length is None else length
    return tensor_fact(data.dtype, shape)


@infers("STFT")
def stft(node: NodeView) -> Fact:
    """STFT-17: [batch, frames, frequencies, 2]; frames = floor((signal - frame) / step) + 1, none fails."""
    signal, window = node.input(0), node.input(2)
    step = natural(scalar(node.input(1)))
    dims = signal.shape if signal.shape is not None and len(signal.shape) in (2, 3) else None
    frame: DimLike | None = None
    if node.has_input(3):
        frame = natural(scalar(node.input(3)))
    elif node.has_input(2):
        frame = window.shape[0] if window.shape is not None and len(window.shape) == 1 else None
    elif dims is not None:
        frame = dims[1]
    frames: DimLike | None = None
    if dims is not None and frame is not None and isinstance(step, int) and step > 0:
        frames = floor_div(dims[1] - frame, step) + 1
    bins = frame
    if frame is not None and node.attribute("onesided", 1):
        bins = floor_div(frame, 2) + 1
    batch = None if dims is None else dims[0]
    shape = [node.fresh(axis) if dim is None else dim for axis, dim in enumerate((batch, frames, bins, 2))]
    return tensor_fact(signal.dtype, shape)
