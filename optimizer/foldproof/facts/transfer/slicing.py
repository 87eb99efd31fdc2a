"""Slice, and what else keeps a part of a tensor: Compress, Unique, Trilu, CenterCropPad."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike, at_least, ceil_div, maximum, minimum
from foldproof.facts.fact import Element, Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._moves import (
    Positions,
    axes_in,
    axis_in,
    natural,
    parameter,
    pick,
    positions,
    scalar,
)

TO_THE_END = 2**31 - 1
"""A bound from this on means the end of the dim, whatever its size: so the specification advises to write it."""


@infers("Slice")
def slice_(node: NodeView) -> Fact | None:
    """Slice-1..13: the elements of [start, end) in steps; negative bounds count from the end, all are clamped."""
    data = node.input(0)
    if data.shape is None:
        return tensor_fact(data.dtype)
    rank = len(data.shape)
    starts, ends = parameter(node, "starts", 1), parameter(node, "ends", 2)
    count = next((len(x) for x in (starts, ends) if x is not None), None)
    axes: Sequence[Element] | None
    if node.has_input(3) or node.has_attribute("axes"):
        axes = parameter(node, "axes", 3)
    else:
        axes = None if count is None else range(count)
    if axes is None or None in axes:
        return tensor_fact(data.dtype, node.fresh_shape(rank))
    named = axes_in(axes, rank)
    steps = parameter(node, "steps", 4) if node.has_input(4) else (1,) * len(axes)
    unknown: tuple[Element, ...] = (None,) * len(axes)
    starts, ends, steps = starts or unknown, ends or unknown, steps or unknown
    if named is None or not len(starts) == len(ends) == len(steps) == len(named):
        return None
    shape = list(data.shape)
    grid = positions(data)
    for axis, start, end, step in zip(named, starts, ends, steps, strict=True):
        length = slice_length(data.shape[axis], start, end, step)
        shape[axis] = node.fresh(axis) if length is None else length
        grid = None if grid is None else _sliced(grid, axis, start, end, step)
    return tensor_fact(data.dtype, shape, None if grid is None else pick(data.elements or (), grid))


def slice_length(dim: DimLike, start: Element, end: Element, step: Element) -> DimLike | None:
    """The number of elements that a slice takes of a dim, None where it is not proven."""
    if not isinstance(start, (int, Dim)) or not isinstance(end, (int, Dim)):
        return None
    if not isinstance(step, int) or step == 0:
        return None
    if isinstance(dim, int) and isinstance(start, int) and isinstance(end, int):
        indices = _indices(dim, start, end, step)
        return None if indices is None else len(indices)
    return _forward(dim, start, end, step) if step > 0 else _backward(dim, start, end, -step)


def _forward(dim: DimLike, start: DimLike, end: DimLike, step: int) -> DimLike | None:
    """The length of a slice with a positive step: that of [start, end), both clamped, divided by the step."""
    if start is dim:
        return 0
    start, end = _plain(dim, start), _plain(dim, end)
    first = _position(dim, start)
    last = dim if isinstance(end, int) and end >= TO_THE_END else _position(dim, end)
    if first is None or last is None:
        return None
    if start == 0:
        length = last
    elif at_least(start, 0):  # beyond the end it takes nothing, so there is no need to clamp either bound
        length = maximum((dim + end if at_least(-1, end) else last) - start, 0)
    elif at_least(-1, start) and isinstance(last, Dim):
        length = minimum(last, maximum(last - dim - start, 0))  # last - max(dim + start, 0)
    else:
        length = maximum(last - first, 0)
    return ceil_div(length, step)


def _position(dim: DimLike, bound: DimLike) -> DimLike | None:
    """Where a bound is after clamping, None where its sign is not known: negative ones count from the end."""
    if at_least(bound, 0):
        return minimum(bound, dim)
    if at_least(-1, bound):
        return maximum(dim + bound, 0)
    if at_least(0, bound):  # such as -n, which is the beginning where n is 0
        return maximum(dim + bound, 0) * minimum(-bound, 1)
    return None


def _plain(dim: DimLike, bound: DimLike) -> DimLike:
    """A bound that is told by its distance from the dim in a simpler form that selects the same.

    `dim - 1` and `dim - 2` are -1 and -2: where they are negative they count from the end, and give 0 as those do.
    (Not so `dim - 3`: at a dim of 2 it is the last element.) `-dim` is the beginning.
    """
    if isinstance(bound, int) or isinstance(dim, int):
        return bound
    if bound is dim:
        return TO_THE_END
    if bound is -dim:
        return 0
    distance = dim - bound
    return -distance if isinstance(distance, int) and distance in (1, 2) else bound


def _backward(dim: DimLike, start: DimLike, end: DimLike, step: int) -> DimLike | None:
    """The length of a slice with a negative step, from the last element or one that surely exists."""
    if start == -1 or (isinstance(start, int) and start >= TO_THE_END) or start is dim - 1:
        length = dim
    elif isinstance(start, int) and start >= 0:
        length = minimum(start + 1, dim)
    elif isinstance(start, int) and at_least(dim, -start):
        length = dim + start + 1
    else:
        return None
    if isinstance(end, int) and end <= -TO_THE_END:
        return ceil_div(length, step)
    if isinstance(end, int) and 0 <= end < TO_THE_END:
        return ceil_div(maximum(length - 1 - end, 0), step)
    return None


def _indices(dim: int, start: int, end: int, step: int) -> range | None:
    """The indices that a slice of a known dim takes, None where the specification and runtimes disagree."""
    if step > 0:
        return range(_clamped(start, dim, 0, dim), _clamped(end, dim, 0, dim), step)
    if dim == 0:
        return range(0)
    if end >= TO_THE_END or start < -dim:
        return None
    return range(_clamped(start, dim, 0, dim - 1), _clamped(end, dim, -1, dim - 1), step)


def _clamped(bound: int, dim: int, least: int, most: int) -> int:
    return min(max(bound + dim if bound < 0 else bound, least), most)


def _sliced(grid: Positions, axis: int, start: Element, end: Element, step: Element) -> Positions | None:
    """The positions that a slice with known bounds takes."""
    if not isinstance(start, int) or not isinstance(end, int) or not isinstance(step, int) or step == 0:
        return None
    indices = _indices(grid.shape[axis], start, end, step)
    return None if indices is None else grid.take(indices, axis)


@infers("Compress")
def compress(node: NodeView) -> Fact | None:
    """Compress-9..28: the slices along the axis, or the elements, for which the condition holds."""
    data = node.input(0)
    condition = node.input(1).ints
    axis = node.attribute("axis")
    if data.shape is None:
        return tensor_fact(data.dtype, None if axis is not None else (node.fresh(0),))
    if axis is None:
        shape: list[DimLike] = [node.fresh(0)]
        length, place = data.element_count, 0
    else:
        where = axis_in(axis, len(data.shape))
        if where is None:
            return None
        shape, length, place = list(data.shape), data.shape[where], where
    shape[place] = node.fresh(place)
    if condition is None or length is None or not at_least(length, len(condition)):
        return tensor_fact(data.dtype, shape)
    chosen = [k for k, holds in enumerate(condition) if holds]
    shape[place] = len(chosen)
    grid = positions(data)
    if grid is None:
        return tensor_fact(data.dtype, shape)
    kept = grid.take(np.array(chosen, np.int64), None if axis is None else place)
    return tensor_fact(data.dtype, shape, pick(data.elements or (), kept))


@infers("Unique")
def unique(node: NodeView) -> list[Fact | None] | None:
    """Unique-11..28: the different elements, or slices along the axis; how many is not known."""
    data = node.input(0)
    axis = node.attribute("axis")
    shape: tuple[DimLike, ...] | None
    inverse: DimLike | None
    if axis is None:
        found: DimLike = node.fresh(0)
        shape, inverse = (found,), data.element_count
    elif data.shape is None:
        found, shape, inverse = node.fresh(0, 1) if node.output_count > 1 else node.fresh(0), None, None
    else:
        place = axis_in(axis, len(data.shape))
        if place is None:
            return None
        found = node.fresh(place)
        shape = (*data.shape[:place], found, *data.shape[place + 1 :])
        inverse = data.shape[place]
    if inverse is None:
        inverse = node.fresh(0, 2) if node.output_count > 2 else 0
    facts = [
        tensor_fact(data.dtype, shape),
        tensor_fact(ir.DataType.INT64, (found,)),
        tensor_fact(ir.DataType.INT64, (inverse,)),
        tensor_fact(ir.DataType.INT64, (found,)),
    ]
    return list(facts[: node.output_count])


@infers("Trilu")
def trilu(node: NodeView) -> Fact | None:
    """Trilu-14: the same shape; zeros below the diagonal (`upper`) or above it."""
    data = node.input(0)
    grid = positions(data)
    k = scalar(node.input(1)) if node.has_input(1) else 0
    if grid is None or grid.ndim < 2 or not isinstance(k, int) or abs(k) > 2**31:
        return tensor_fact(data.dtype, data.shape)
    triangle = np.triu if node.attribute("upper", 1) else np.tril
    kept = triangle(np.ones(grid.shape, np.bool_), k)
    pool = [*(data.elements or ()), 0]
    return tensor_fact(data.dtype, data.shape, pick(pool, np.where(kept, grid, len(pool) - 1)))


@infers("CenterCropPad")
def center_crop_pad(node: NodeView) -> Fact | None:
    """CenterCropPad-18: the given dims at the axes."""
    data = node.input(0)
    if data.shape is None:
        return tensor_fact(data.dtype)
    rank = len(data.shape)
    named = axes_in(node.attribute("axes", range(rank)), rank)
    if named is None:
        return None
    wanted = parameter(node, "shape", 1) or (None,) * len(named)
    if len(wanted) != len(named):
        return None
    shape = list(data.shape)
    for axis, size in zip(named, wanted, strict=True):
        dim = natural(size)
        shape[axis] = dim if dim is not None and at_least(dim, 0) else node.fresh(axis)
    return tensor_fact(data.dtype, shape)


@infers("ReverseSequence")
def reverse_sequence(node: NodeView) -> Fact:
    """ReverseSequence-10..28: the same shape."""
    return tensor_fact(node.input(0).dtype, node.input(0).shape)
