"""Gather and Scatter in all their forms, and TensorScatter: elements picked and placed by index."""

from __future__ import annotations

import numpy as np

from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._moves import Positions, axis_in, is_small, join, pick, positions, static_shape


@infers("Gather")
def gather(node: NodeView) -> Fact | None:
    """Gather-1..13: the dims of the indices in place of the dim of the axis."""
    data, indices = node.input(0), node.input(1)
    if data.shape is None or indices.shape is None:
        return tensor_fact(data.dtype)
    axis = axis_in(node.attribute("axis", 0), len(data.shape))
    if axis is None:
        return None
    shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
    grid, where = positions(data), _indices(indices)
    if grid is None or where is None or not is_small(shape):
        return tensor_fact(data.dtype, shape)
    length = grid.shape[axis]
    valid = (where >= -length) & (where < length)  # elsewhere the index is unknown, or the node fails
    found = np.full(static_shape(shape) or (), -1, np.int64)
    found[(slice(None),) * axis + (valid,)] = grid.take(where[valid], axis)
    return tensor_fact(data.dtype, shape, pick(data.elements or (), found))


_UNKNOWN_INDEX = np.iinfo(np.int64).min


def _indices(fact: Fact) -> Positions | None:
    """Indices in their shape, with a number far out of range for each that is not known."""
    elements, shape = fact.elements, static_shape(fact.shape)
    if elements is None or shape is None:
        return None
    numbers = [e if isinstance(e, int) and abs(e) < 2**62 else _UNKNOWN_INDEX for e in elements]
    return np.array(numbers, np.int64).reshape(shape)


def _known_indices(fact: Fact) -> Positions | None:
    """Indices in their shape, None if one is not known."""
    indices = _indices(fact)
    return None if indices is None or (indices == _UNKNOWN_INDEX).any() else indices


@infers("GatherElements")
def gather_elements(node: NodeView) -> Fact | None:
    """GatherElements-11..13: the shape of the indices."""
    data, indices = node.input(0), node.input(1)
    grid, where = positions(data), _known_indices(indices)
    if grid is None or where is None or grid.ndim != where.ndim:
        return tensor_fact(data.dtype, indices.shape)
    axis = axis_in(node.attribute("axis", 0), grid.ndim)
    places = None if axis is None else _along(where, axis, grid.shape)
    if places is None:
        return tensor_fact(data.dtype, indices.shape)
    return tensor_fact(data.dtype, indices.shape, pick(data.elements or (), grid[places]))


def _along(where: Positions, axis: int, shape: tuple[int, ...]) -> tuple[Positions, ...] | None:
    """The index of each element in a tensor of that shape: its own place, but along the axis as it says."""
    places: list[Positions] = list(np.indices(where.shape, dtype=np.int64))
    places[axis] = where
    inside = all(((place >= -dim) & (place < dim)).all() for place, dim in zip(places, shape, strict=True))
    return tuple(places) if inside else None


@infers("GatherND")
def gather_nd(node: NodeView) -> Fact | None:
    """GatherND-11..13: the last dim of the indices is how many axes, behind those of the batch, one names."""
    data, indices = node.input(0), node.input(1)
    batch = node.attribute("batch_dims", 0)
    if data.shape is None or indices.shape is None or not indices.shape:
        return tensor_fact(data.dtype)
    depth = indices.shape[-1]
    if not isinstance(depth, int):
        return tensor_fact(data.dtype)
    if not 0 <= batch < len(indices.shape) or batch + depth > len(data.shape):
        return None
    # The dims of the batch are those of the indices: so onnxruntime has it also where the data has others.
    shape = (*indices.shape[:-1], *data.shape[batch + depth :])
    grid, where = positions(data), _known_indices(indices)
    if grid is None or where is None or batch or not is_small(shape) or not _inside(where, grid.shape):
        return tensor_fact(data.dtype, shape)
    return tensor_fact(data.dtype, shape, pick(data.elements or (), grid[tuple(np.moveaxis(where, -1, 0))]))


def _inside(where: Positions, shape: tuple[int, ...]) -> bool:
    """Whether each index tuple, along the last axis, is in range."""
    lengths = np.array(shape[: where.shape[-1]], np.int64)
    return bool(((where >= -lengths) & (where < lengths)).all())


@infers("ScatterElements", "Scatter")
def scatter_elements(node: NodeView) -> Fact:
    """Scatter-9..11, ScatterElements-11..18: the shape of the data."""
    data, indices, updates = node.input(0), node.input(1), node.input(2)
    where, joined = _known_indices(indices), join([data, updates])
    axis = None if data.shape is None else axis_in(node.attribute("axis", 0), len(data.shape))
    if where is None or joined is None or axis is None or node.attribute("reduction", "none") != "none":
        return tensor_fact(data.dtype, data.shape)
    (grid, new), pool = joined
    if where.ndim != grid.ndim or where.shape != new.shape:
        return tensor_fact(data.dtype, data.shape)
    places = _along(where, axis, grid.shape)
    if places is None or _names_one_twice(places, grid.shape):
        return tensor_fact(data.dtype, data.shape)
    grid = grid.copy()
    grid[places] = new
    return tensor_fact(data.dtype, data.shape, pick(pool, grid))


@infers("ScatterND")
def scatter_nd(node: NodeView) -> Fact:
    """ScatterND-11..18: the shape of the data."""
    data, indices, updates = node.input(0), node.input(1), node.input(2)
    where, joined = _known_indices(indices), join([data, updates])
    if where is None or joined is None or not where.ndim or node.attribute("reduction", "none") != "none":
        return tensor_fact(data.dtype, data.shape)
    (grid, new), pool = joined
    depth = where.shape[-1]
    fits = depth <= grid.ndim and new.shape == where.shape[:-1] + grid.shape[depth:]
    if not fits or not _inside(where, grid.shape):
        return tensor_fact(data.dtype, data.shape)
    places = tuple(np.moveaxis(where, -1, 0))
    if _names_one_twice(places, grid.shape):
        return tensor_fact(data.dtype, data.shape)
    grid = grid.copy()
    grid[places] = new
    return tensor_fact(data.dtype, data.shape, pick(pool, grid))


def _names_one_twice(places: tuple[Positions, ...], shape: tuple[int, ...]) -> bool:
    """Whether two updates go to one place: the specification leaves open which of them stays."""
    if not places:
        return True
    flat = np.stack([(place % max(dim, 1)).reshape(-1) for place, dim in zip(places, shape, strict=False)])
    return np.unique(flat, axis=1).shape != flat.shape


@infers("TensorScatter")
def tensor_scatter(node: NodeView) -> Fact:
    """TensorScatter-24: the shape of the cache."""
    return tensor_fact(node.input(0).dtype, node.input(0).shape)
