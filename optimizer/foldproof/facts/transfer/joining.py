"""Concat, Split, Tile, Expand and Pad: tensors made longer, and cut in pieces."""

from __future__ import annotations

import numpy as np

from foldproof.facts.dim import Dim, DimLike, ceil_div, exact_div
from foldproof.facts.fact import Element, Fact, exact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._broadcast import broadcast_dim, joined, static_count
from foldproof.facts.transfer._moves import (
    Positions,
    axes_in,
    axis_in,
    is_given,
    is_small,
    join,
    natural,
    parameter,
    pick,
    positions,
    quotient,
    scalar,
    widened,
)


@infers("Concat")
def concat(node: NodeView) -> Fact | None:
    """Concat-1..13: the dims along the axis are added, the others are the same for all inputs."""
    inputs = node.inputs
    common = joined([fact.shape for fact in inputs])
    if common is None:
        return None
    axis = axis_in(node.attribute("axis", 1 if node.version < 4 else None), len(common))
    if axis is None or any(fact.shape is not None and len(fact.shape) != len(common) for fact in inputs):
        return None
    total: DimLike | None = 0
    for fact in inputs:
        total = None if fact.shape is None or total is None else total + fact.shape[axis]
    shape = [node.fresh(k) if dim is None else dim for k, dim in enumerate(common)]
    shape[axis] = node.fresh(axis) if total is None else total
    parts = join(inputs)
    elements = None
    if parts is not None and static_count(tuple(shape)) is not None:
        grids, pool = parts
        beside = [grid.shape[:axis] + grid.shape[axis + 1 :] for grid in grids]
        if all(dims == beside[0] for dims in beside):
            elements = pick(pool, np.concatenate(grids, axis))
    return tensor_fact(None, shape, elements)


@infers("Split")
def split(node: NodeView) -> list[Fact | None] | None:
    """Split-1..18: one piece of the axis for each output, as `split` tells, else of equal size.

    From version 18 on, the last piece may be smaller.
    """
    data = node.input(0)
    count = node.output_count
    if data.shape is None:
        return [tensor_fact(data.dtype)] * count
    axis = axis_in(node.attribute("axis", 0 if node.version > 1 else None), len(data.shape))
    if axis is None:
        return None
    pieces = _pieces(node, data.shape[axis], count)
    if pieces is None:
        return None
    grid = positions(data)
    start: DimLike | None = 0
    facts: list[Fact | None] = []
    for output, piece in enumerate(pieces):
        shape = list(data.shape)
        shape[axis] = node.fresh(axis, output) if piece is None else piece
        elements = None
        if grid is not None and isinstance(start, int) and isinstance(piece, int):
            stop = min(start + piece, grid.shape[axis])
            elements = pick(data.elements or (), grid.take(range(start, stop), axis))
        facts.append(tensor_fact(data.dtype, shape, elements))
        start = None if start is None or piece is None else start + piece
    return facts


def _pieces(node: NodeView, length: DimLike, count: int) -> list[DimLike | None] | None:
    """The length of each piece, None where it is not proven; None for all where the node is not valid."""
    if is_given(node, "split", 1):
        wanted = parameter(node, "split", 1)
        if wanted is None:
            return [None] * count
        if len(wanted) != count:
            return None
        pieces = [natural(size) for size in wanted]
        if pieces.count(None) == 1 and wanted[pieces.index(None)] is None:
            rest = length
            for piece in pieces:
                rest = rest if piece is None else rest - piece
            pieces[pieces.index(None)] = rest
        return pieces
    count = node.attribute("num_outputs", count)
    if count != node.output_count:
        return None
    if exact_div(length, count) is not None or node.version < 18 or not node.has_attribute("num_outputs"):
        return [quotient(length, count)] * count
    size = ceil_div(length, count)
    return [*[size] * (count - 1), length - size * (count - 1)]  # the node fails where this is negative


@infers("Tile")
def tile(node: NodeView) -> Fact | None:
    """Tile-1..13: each dim times its number of repeats."""
    data = node.input(0)
    if data.shape is None:
        return tensor_fact(data.dtype)
    repeats: tuple[Element, ...] | None
    if node.version < 6:
        axis = axis_in(scalar(node.input(2)), len(data.shape))
        repeats = (
            None if axis is None else tuple(scalar(node.input(1)) if k == axis else 1 for k in range(len(data.shape)))
        )
    else:
        repeats = parameter(node, "repeats", 1)
    if repeats is None:
        repeats = (None,) * len(data.shape)
    if len(repeats) != len(data.shape):
        return None
    shape: list[DimLike] = []
    for axis, (dim, times) in enumerate(zip(data.shape, repeats, strict=True)):
        factor = natural(times)
        shape.append(0 if dim == 0 else node.fresh(axis) if factor is None else dim * factor)
    grid = positions(data)
    elements = None
    if grid is not None and is_small(shape):
        elements = pick(data.elements or (), np.tile(grid, [int(r) for r in repeats if isinstance(r, int)]))
    return tensor_fact(data.dtype, shape, elements)


@infers("Expand")
def expand(node: NodeView) -> Fact | None:
    """Expand-8..13: the input and the target shape, broadcast to each other."""
    data = node.input(0)
    target = parameter(node, "shape", 1)
    if data.shape is None or target is None:
        return tensor_fact(data.dtype)
    rank = max(len(data.shape), len(target))
    dims = (1,) * (rank - len(data.shape)) + data.shape
    wanted = (1,) * (rank - len(target)) + target
    shape: list[DimLike] = []
    for axis in range(rank):
        dim, size = dims[axis], natural(wanted[axis])
        known = broadcast_dim([dim, size]) if size is not None else widened(dim)
        shape.append(node.fresh(axis) if known is None else known)
    grid = positions(data)
    elements = None
    if grid is not None and is_small(shape):
        goal = tuple(int(dim) for dim in shape if isinstance(dim, int))
        if all(have in (1, want) for have, want in zip(grid.shape[::-1], goal[::-1], strict=False)):
            elements = pick(data.elements or (), np.broadcast_to(grid, goal))
    return tensor_fact(data.dtype, shape, elements)


@infers("Pad")
def pad(node: NodeView) -> Fact | None:
    """Pad-1..25: each dim plus what is put before and after it; a negative number takes away."""
    data = node.input(0)
    if data.shape is None:
        return tensor_fact(data.dtype)
    rank = len(data.shape)
    pads = parameter(node, "paddings" if node.version < 2 else "pads", 1)
    axes = parameter(node, "axes", 3) if node.has_input(3) else tuple(range(rank))
    if pads is None or axes is None or None in axes:
        return tensor_fact(data.dtype, node.fresh_shape(rank))
    named = axes_in(axes, rank)
    if named is None or len(pads) != 2 * len(named):
        return None
    before: list[Element] = [0] * rank
    after: list[Element] = [0] * rank
    for k, axis in enumerate(named):
        before[axis], after[axis] = pads[k], pads[k + len(named)]
    shape: list[DimLike] = []
    for axis, dim in enumerate(data.shape):
        known = _sum(dim, before[axis], after[axis])
        shape.append(node.fresh(axis) if known is None else known)
    return tensor_fact(data.dtype, shape, _padded(node, data, shape, before, after))


def _sum(dim: DimLike, *parts: Element) -> DimLike | None:
    for part in parts:
        if not isinstance(part, (int, Dim)):
            return None
        dim = dim + part
    return dim


def _padded(
    node: NodeView, data: Fact, shape: list[DimLike], before: list[Element], after: list[Element]
) -> list[Element] | None:
    """The elements after a constant padding."""
    grid = positions(data)
    if grid is None or node.attribute("mode", "constant") != "constant" or not is_small(shape):
        return None
    value: Element = scalar(node.input(2)) if node.has_input(2) else exact(node.attribute("value", 0))
    pool = [*(data.elements or ()), value]
    for axis in range(len(shape)):
        grid = _padded_axis(grid, axis, before[axis], after[axis], len(pool) - 1)
        if grid is None:
            return None
    return pick(pool, grid)


def _padded_axis(grid: Positions, axis: int, before: Element, after: Element, fill: int) -> Positions | None:
    if not isinstance(before, int) or not isinstance(after, int):
        return None
    length = grid.shape[axis]
    if min(before, after) < -length:
        return None
    kept = grid.take(range(max(-before, 0), min(length, length + after)), axis)
    widths = [(0, 0)] * grid.ndim
    widths[axis] = (max(before, 0), max(after, 0))
    return np.pad(kept, widths, constant_values=fill)
