"""Concat and Split."""

from __future__ import annotations

import numpy as np

from tests.fuzzing.families.common import alike, axis_of
from tests.fuzzing.families.elementwise import plain
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import concat, shape, slices, split
from tests.fuzzing.steps import anything, is_float, step
from tests.fuzzing.values import Value


def fitting(g: Graph, x: Value, axis: int) -> Value:
    """A value that can be joined with another one on an axis."""

    def accept(y: Value) -> bool:
        return (
            y.dtype == x.dtype
            and y.rank == x.rank
            and all(k == axis % x.rank or y.dims[k] == x.dims[k] for k in range(x.rank))
        )

    return g.pick(accept, newest=0.2)


@step(anything, 2)
def joined(g: Graph, x: Value) -> Value:
    """Concat, often nested on one axis."""
    axis = axis_of(g, x)
    parts = [x, *(fitting(g, x, axis) for _ in range(g.rng.randint(0, 2)))]
    g.rng.shuffle(parts)
    y = concat(g, parts, axis)
    if g.chance(0.5):
        again = axis if g.chance(0.8) else axis_of(g, y)
        y = concat(g, [y, fitting(g, y, again)][:: g.rng.choice((1, -1))], again)
    return y


@step(anything)
def with_nothing(g: Graph, x: Value) -> Value:
    """Concat with a part that is empty."""
    axis = axis_of(g, x)
    empty = slices(g, x, [(axis, 0, 0, 1)])
    return concat(g, [x, empty][:: g.rng.choice((1, -1))], axis)


@step(anything, 2)
def taken_apart(g: Graph, x: Value) -> Value:
    """Split, and what often follows: the parts are joined again, or only one is read."""
    axis = axis_of(g, x)
    dim = x.static(axis)
    if not dim:
        raise InadmissibleError
    if g.chance(0.15):
        return split(g, x, [dim] if g.chance(0.5) else None, 1, axis)[0]
    if dim % 2 == 0 and g.chance(0.4):
        parts = split(g, x, None, 2, axis)
    else:
        first = g.rng.randint(0 if g.opset >= 13 else 1, dim)
        parts = split(g, x, [first, dim - first], 2, axis)
    form = g.rng.randrange(4)
    if form == 0:
        return concat(g, parts if g.chance(0.6) else parts[::-1], axis)
    if form == 1:
        return concat(g, [*parts, alike(g, parts[0])], axis)
    if form == 2:
        return plain(g, parts[0]) if parts[0].is_float else parts[0]
    return parts[-1]


@step(is_float)
def apart_where_joined(g: Graph, x: Value) -> Value:
    """Split, Slice or Gather of a Concat."""
    axis = axis_of(g, x, negative=0)
    dim = x.static(axis)
    if not dim:
        raise InadmissibleError
    y = concat(g, [x, plain(g, x)], axis)
    if g.chance(0.5):
        parts = split(g, y, [dim, dim] if g.chance(0.8) else [dim - 1, dim + 1], 2, axis)
        return parts[0]
    start = g.rng.choice((0, dim, dim - 1))
    return slices(g, y, [(axis, start, start + g.rng.randint(1, dim), 1)])


@step(anything, 0.7)
def joined_shapes(g: Graph, x: Value) -> Value:
    """Parts of one shape joined."""
    if g.opset < 15 or x.rank < 2:
        raise InadmissibleError
    middle = g.rng.randint(1, x.rank - 1)
    return concat(g, [shape(g, x, 0, middle), shape(g, x, middle, x.rank)], 0)


@step(is_float, 0.5)
def sequence(g: Graph, x: Value) -> Value:
    """A sequence of parts, of which one is read or all are joined."""
    if g.opset < 11 or not x.rank or not x.static(0):
        raise InadmissibleError
    dim = x.static(0) or 1
    parts = g.op("SplitToSequence", x, g.constant(1), f=lambda a, _: a, known=False, axis=0)
    g.values.remove(parts)  # it is no tensor
    if g.chance(0.5):
        at = g.constant(g.rng.randrange(dim))
        return g.op("SequenceAt", parts, at, f=lambda a, _: a[:1], dtype=x.dtype, known=False)
    return g.op("ConcatFromSequence", parts, f=np.asarray, dtype=x.dtype, known=False, axis=0)
