"""How many places a window takes on an axis: the spatial dims of convolutions and pools.

The formula divides, and rounds down. Where the window does not fit, it would give 0 or less: there a
convolution fails, but a pool rounds towards zero in onnxruntime, and gives 1 from an input smaller than its
window.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from foldproof.facts.dim import DimLike, ceil_div, differ, floor_div, lower_bound, maximum, minimum
from foldproof.facts.registry import NodeView

_MAX_TRIED = 1024


@dataclasses.dataclass(frozen=True)
class Window:
    """The window of one axis.

    Attributes:
        extent: The elements from its first to its last, dilation counted.
        stride: The elements from one place to the next.
        before: The padding at the beginning.
        after: The padding at the end.
    """

    extent: int
    stride: int
    before: int
    after: int


def windows(node: NodeView, kernel: Sequence[DimLike]) -> list[Window | None] | None:
    """The windows of a node on the spatial axes.

    Args:
        node: The node, with attributes `strides`, `dilations`, `pads` and `auto_pad`.
        kernel: The kernel's dim on each axis.

    Returns:
        None in place of a window whose kernel is not known; None for all where the attributes don't fit it.
    """
    count = len(kernel)
    strides = node.attribute("strides") or (1,) * count
    dilations = node.attribute("dilations") or (1,) * count
    pads = node.attribute("pads") if node.attribute("auto_pad", "NOTSET") == "NOTSET" else None
    pads = pads or (0,) * (2 * count)
    if not len(strides) == len(dilations) == count or len(pads) != 2 * count:
        return None
    if min((*strides, *dilations), default=1) < 1:
        return None
    return [
        Window((size - 1) * dilations[k] + 1, strides[k], pads[k], pads[k + count]) if isinstance(size, int) else None
        for k, size in enumerate(kernel)
    ]


def convolved(dim: DimLike, window: Window) -> DimLike:
    """The places of a window that must fit at least once."""
    return floor_div(_room(dim, window), window.stride) + 1


def pooled(dim: DimLike, window: Window, *, empty_batch: bool) -> DimLike | None:
    """The places of a pool's window; a last one that reaches beyond the end does not count.

    Args:
        dim: The input's dim. A pool fails where it is 0, save for a batch of none.
        window: The window.
        empty_batch: Whether the batch may be of none.
    """
    room = _room(dim, window)
    if window.stride == 1 or not _rounds_up(dim, window, empty_batch=empty_batch):
        return floor_div(room, window.stride) + 1
    if window.extent == window.stride and not window.before + window.after:
        return maximum(floor_div(dim, window.stride), minimum(dim, 1))
    short = maximum(-room, 0)
    least = (lower_bound(dim) or 0) + window.before + window.after - window.extent
    whole = floor_div(maximum(room, 0), window.stride) + 1
    return whole if least > -window.stride else whole - floor_div(short, window.stride)


def pooled_up(dim: DimLike, window: Window) -> DimLike:
    """The places of a pool's window in `ceil_mode`: the last one may reach beyond the end, but begins before it."""
    places = ceil_div(_room(dim, window), window.stride) + 1
    if window.after + window.stride <= window.extent:
        return places  # the last one can't begin in the padding
    return minimum(places, ceil_div(dim + window.before, window.stride))


def same(dim: DimLike, stride: int) -> DimLike:
    """The places with `auto_pad` SAME_UPPER or SAME_LOWER."""
    return ceil_div(dim, stride)


def _room(dim: DimLike, window: Window) -> DimLike:
    """How far the window can move."""
    return dim + (window.before + window.after - window.extent)


def _rounds_up(dim: DimLike, window: Window, *, empty_batch: bool) -> bool:
    """Whether the dim may be so small for the window that rounding down is not what a pool does."""
    room = window.before + window.after - window.extent
    first = max(lower_bound(dim) or 0, 0 if empty_batch else 1)
    if -room - first > _MAX_TRIED:
        return True
    return any((size + room) % window.stride and not differ(dim, size) for size in range(first, -room))
