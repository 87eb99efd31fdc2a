"""Shape arithmetic: dims that are read, computed with, and used as targets."""

from __future__ import annotations

import math

import numpy as np

from tests.fuzzing.families.common import axis_of, both, constant_of_shape
from tests.fuzzing.families.reshaping import regrouped
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import (
    INT64_MAX,
    cast,
    concat,
    elementwise,
    expand,
    gather,
    reshape,
    shape,
    size,
    slice_by,
    slices,
    squeeze,
    unsqueeze,
)
from tests.fuzzing.steps import anything, is_float, numbers, step
from tests.fuzzing.values import Value


def dim_of(g: Graph, x: Value, axis: int) -> Value:
    """One dim as a vector of one element."""
    form = g.rng.randrange(5)
    if form == 0 and g.opset >= 15:
        return shape(g, x, axis, axis + 1)
    if form == 1:
        return slices(g, shape(g, x), [(0, axis, axis + 1, 1)])
    if form == 2:
        return gather(g, shape(g, x), g.constant([axis - x.rank if g.chance(0.3) else axis]), 0)
    scalar = gather(g, shape(g, x), g.constant(axis), 0)
    if form == 3:
        return unsqueeze(g, scalar, [0])
    return reshape(g, scalar, [g.rng.choice((1, -1))])


def target_of(g: Graph, x: Value, dims: list[tuple[int, ...]]) -> Value:
    """The dims as a vector: constants, dims of a value, products of dims, one of them -1."""
    parts: list[Value] = []
    free = g.rng.randrange(len(dims)) if dims and g.chance(0.3) and not x.is_ever_empty else None
    for k, dim in enumerate(dims):
        if k == free:
            parts.append(g.constant([-1]))
        elif len(set(dim)) == 1:
            parts.append(g.constant([dim[0]]))
        elif dim in x.dims:
            parts.append(dim_of(g, x, x.dims.index(dim)))
        else:
            parts.append(_product(g, x, dim))
    if not parts:
        return g.constant([])
    return concat(g, parts, 0) if len(parts) > 1 or g.chance(0.2) else parts[0]


def _product(g: Graph, x: Value, dim: tuple[int, ...]) -> Value:
    """A dim that is the product of neighbours."""
    for first in range(x.rank):
        for last in range(first + 1, x.rank + 1):
            if tuple(math.prod(s[first:last]) for s in x.shapes) == dim:
                made = dim_of(g, x, first)
                for axis in range(first + 1, last):
                    made = both(g, "Mul", made, dim_of(g, x, axis))
                return made
    raise InadmissibleError


@step(anything, 3)
def reshaped(g: Graph, x: Value) -> Value:
    """Reshape by Shape, Gather, Mul and Concat."""
    if not x.rank:
        raise InadmissibleError
    target = target_of(g, x, regrouped(g, x))
    return reshape(g, x, target, g.rng.choice((None, None, 1)) if x.is_ever_empty else None)


@step(anything, 1.5)
def flattened(g: Graph, x: Value) -> Value:
    """Reshape to the size of all, or of the first dims."""
    if g.chance(0.5):
        return reshape(g, x, reshape(g, size(g, x), [1]), None if not x.is_ever_empty else 1)
    return reshape(g, x, concat(g, [dim_of(g, x, 0), g.constant([-1])], 0)) if x.rank else x


@step(is_float, 1.5)
def filled(g: Graph, x: Value) -> Value:
    """ConstantOfShape or Expand to the shape of a value, and arithmetic with it."""
    target = shape(g, x)
    fill = g.rng.choice((0.0, 1.0, -0.0, 2.5))
    if g.chance(0.6):
        y = constant_of_shape(g, target, np.array([fill], x.dtype))
    else:
        y = expand(g, g.constant(fill, x.dtype), target)
    return both(g, g.rng.choice(("Add", "Mul")), x, y)


@step(anything, 1.5)
def cut_by_dim(g: Graph, x: Value) -> Value:
    """A Slice whose end is computed of a dim."""
    axis = axis_of(g, x, negative=0)
    end = dim_of(g, x, axis)
    if g.chance(0.6):
        other = g.constant([g.rng.choice((1, 2, 0))])
        name = g.rng.choice(("Sub", "Add", "Div"))
        end = elementwise(g, name, end, g.constant([2]) if name == "Div" else other)
    start = g.constant([g.rng.choice((0, 0, 1, -1))])
    return slice_by(g, x, start, end, g.constant([axis]))


@step(anything)
def second_half(g: Graph, x: Value) -> Value:
    """Two Slices that meet at half the dim, as for rotary embeddings."""
    axis = axis_of(g, x, negative=0)
    half = elementwise(g, "Div", dim_of(g, x, axis), g.constant([2]))
    first = slice_by(g, x, g.constant([0]), half, g.constant([axis]))
    second = slice_by(g, x, half, g.constant([INT64_MAX]), g.constant([axis]))
    return concat(g, [second, first] if g.chance(0.6) else [first, second], axis)


@step(anything)
def counted(g: Graph, x: Value) -> Value:
    """Range up to a dim, as a position."""
    if g.opset < 11 or not x.rank:
        raise InadmissibleError
    limit = squeeze(g, dim_of(g, x, g.rng.randrange(x.rank)), [0])
    steps = g.op("Range", g.constant(0), limit, g.constant(1), f=lambda a, b, c: np.arange(a, b, c))
    return cast(g, steps, np.float32) if g.chance(0.6) else unsqueeze(g, steps, [0])


@step(numbers)
def picked_dims(g: Graph, x: Value) -> Value:
    """Dims of a shape in a row, sliced or gathered, and computed with."""
    if x.rank < 2:
        raise InadmissibleError
    dims = shape(g, x)
    first = g.rng.randrange(x.rank - 1)
    if g.chance(0.5):
        part = gather(g, dims, g.constant([first, first + 1]), 0)
    else:
        part = slices(g, dims, [(0, first, g.rng.choice((first + 1, INT64_MAX, x.rank)), 1)])
    return elementwise(g, g.rng.choice(("Mul", "Add", "Sub")), part, g.constant(g.rng.randint(0, 3)))


@step(anything, 1.5)
def arithmetic(g: Graph, x: Value) -> Value:
    """Sizes that cancel, or are rounded."""
    if not x.rank:
        raise InadmissibleError
    axis = g.rng.randrange(x.rank)
    dim = dim_of(g, x, axis)
    form = g.rng.randrange(5)
    if form == 0 and not x.is_ever_empty:
        return elementwise(g, "Div", size(g, x), dim)
    if form == 1:
        return elementwise(g, "Sub", both(g, "Mul", dim, g.constant([3])), dim)
    if form == 2:
        return elementwise(g, "Max", dim, g.constant([1])) if g.opset >= 12 else elementwise(g, "Abs", dim)
    if form == 3:
        y = cast(g, dim, g.rng.choice((np.float32, np.int32)))
        y = elementwise(g, "Mul", y, g.constant([2], y.dtype))
        return y if y.is_float else cast(g, y, np.int64)
    other = g.pick(lambda y: y.rank > 0, newest=0.2)
    return elementwise(g, "Equal", dim, dim_of(g, other, g.rng.randrange(other.rank)))


@step(anything)
def shape_of_moved(g: Graph, x: Value) -> Value:
    """Shape and Size of what has the dims of something else."""
    y = g.op("Identity", x, f=np.asarray)
    if x.is_float:
        y = elementwise(g, g.rng.choice(("Relu", "Abs")), y)
    elif x.dtype == np.int64:
        y = elementwise(g, "Abs", y)
    return shape(g, y) if g.chance(0.5) else size(g, y)
