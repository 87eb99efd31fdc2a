"""Slice, Gather, Pad, Split and their like, in the chains in which exporters write them."""

from __future__ import annotations

import numpy as np

from tests.fuzzing.families.common import axis_of, both
from tests.fuzzing.families.elementwise import plain
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import (
    INT64_MAX,
    concat,
    elementwise,
    gather,
    pad,
    shape,
    slice_by,
    slices,
    squeeze,
    unsqueeze,
)
from tests.fuzzing.steps import anything, is_float, step
from tests.fuzzing.values import Value

ENDS = (INT64_MAX, 2**31 - 1, -1, -2, 1, 2, 3, 4, -(2**63))


def bounds(g: Graph, x: Value, axis: int) -> tuple[int, int, int, int]:
    """A random Slice of one axis."""
    dim = x.static(axis)
    reach = dim if dim is not None else 4
    if g.opset >= 10 and g.chance(0.15):
        return axis, g.rng.choice((-1, reach, reach + 3)), g.rng.choice((-INT64_MAX, -INT64_MAX - 1, 0)), -1
    step_ = g.rng.choice((1, 1, 1, 1, 2, 3)) if g.opset >= 10 else 1
    return axis, g.rng.randint(-reach, reach), g.rng.choice((*ENDS, reach, reach - 1)), step_


@step(anything, 2)
def chain(g: Graph, x: Value) -> Value:
    """Slices one after the other, of one axis or of several."""
    if not x.rank:
        raise InadmissibleError
    axis = axis_of(g, x)
    for _ in range(g.rng.randint(1, 3)):
        axis = axis if g.chance(0.5) else axis_of(g, x)
        wanted = [bounds(g, x, axis)]
        if x.rank > 1 and g.chance(0.2):
            wanted.append(bounds(g, x, (axis % x.rank + 1) % x.rank))
        x = slices(g, x, wanted)
    return x


@step(anything)
def whole(g: Graph, x: Value) -> Value:
    """A Slice of all, or that ends at its own dim."""
    axis = axis_of(g, x)
    if g.chance(0.6) or g.opset < 10:
        return slices(g, x, [(axis, 0, g.rng.choice((INT64_MAX, 2**31 - 1)), 1)])
    at = axis % x.rank
    end = slices(g, shape(g, x), [(0, at, at + 1, 1)])
    return slice_by(g, x, g.constant([0]), end, g.constant([axis]))


@step(anything, 1.5)
def cut(g: Graph, x: Value) -> Value:
    """Slices that cut an axis into parts, and are joined again, or not."""
    axis = axis_of(g, x, negative=0)
    dim = x.static(axis)
    middle = g.rng.randint(1, max((dim or 3) - 1, 1))
    end = dim if dim and g.chance(0.5) else INT64_MAX
    parts = [slices(g, x, [(axis, 0, middle, 1)]), slices(g, x, [(axis, middle, end, 1)])]
    if g.chance(0.3) and dim and middle > 1:
        parts = [slices(g, x, [(axis, 0, 1, 1)]), slices(g, x, [(axis, 1, middle, 1)]), parts[1]]
    if g.chance(0.4):
        parts = [plain(g, part) if part.is_float else part for part in parts]
    if g.chance(0.7):
        return concat(g, parts if g.chance(0.8) else parts[::-1], axis)
    return parts[-1]


@step(anything, 1.5)
def picks(g: Graph, x: Value) -> Value:
    """Gathers one after the other, with indices as a scalar, a vector or a matrix."""
    for _ in range(g.rng.randint(1, 2)):
        axis = axis_of(g, x)
        dim = x.static(axis)
        if not dim:
            # A dim that may be 0 has nothing that could be picked.
            raise InadmissibleError
        form = g.rng.randrange(5)
        if form == 0:
            indices: object = g.rng.randrange(-dim, dim)
        elif form == 1:
            indices = list(range(dim))
        elif form == 2:
            indices = [g.rng.randrange(-dim, dim)]
        elif form == 3:
            indices = [[g.rng.randrange(dim) for _ in range(2)] for _ in range(2)]
        else:
            indices = [g.rng.randrange(-dim, dim) for _ in range(g.rng.randint(1, 3))]
        x = gather(g, x, g.constant(indices, np.int32 if g.chance(0.2) else np.int64), axis)
    return x


@step(anything)
def picked_of_cut(g: Graph, x: Value) -> Value:
    """Gather of a Slice, of an Unsqueeze or of a Concat."""
    axis = axis_of(g, x, negative=0)
    form = g.rng.randrange(3)
    if form == 0:
        y = slices(g, x, [bounds(g, x, axis)])
        dim = y.static(axis)
        if not dim:
            raise InadmissibleError
        return gather(g, y, g.constant(g.rng.choice((0, dim - 1, -1, [0], [dim - 1, 0]))), axis)
    if form == 1 and x.rank < 5:
        return gather(g, unsqueeze(g, x, [axis]), g.constant(0), axis)
    dim = x.static(axis)
    if not dim:
        raise InadmissibleError
    joined = concat(g, [x, plain(g, x) if x.is_float else x], axis)
    return gather(g, joined, g.constant(g.rng.choice((0, dim, 2 * dim - 1, -1, [dim], [0, 1]))), axis)


@step(anything, 1.5)
def one_row(g: Graph, x: Value) -> Value:
    """Gather and Unsqueeze, Slice and Squeeze, and the like."""
    axis = axis_of(g, x, negative=0)
    dim = x.static(axis)
    if not dim:
        raise InadmissibleError
    index = g.rng.randrange(dim)
    form = g.rng.randrange(4)
    if form == 0:
        return unsqueeze(g, gather(g, x, g.constant(index), axis), [axis])
    if form == 1:
        return squeeze(g, gather(g, x, g.constant([index]), axis), [axis])
    if form == 2:
        return squeeze(g, slices(g, x, [(axis, index, index + 1, 1)]), [axis])
    first = gather(g, x, g.constant([index]), axis)
    second = gather(g, x, g.constant([g.rng.randrange(dim)]), axis)
    return concat(g, [first, second], axis)


@step(is_float, 1.5)
def padded(g: Graph, x: Value) -> Value:
    """Pads one after the other, or with a Slice that takes them away again."""
    if not x.rank:
        raise InadmissibleError
    value = g.rng.choice((None, 0.0, 0.0, 1.0, -0.0))
    y = x
    for _ in range(g.rng.randint(1, 2)):
        pads = [g.rng.choice((0, 0, 1, 2)) for _ in range(2 * x.rank)] if g.chance(0.8) else [0] * (2 * x.rank)
        mode = g.rng.choice((None, None, None, None, "constant", "edge", "reflect"))
        y = pad(g, y, pads, mode, value)
    if g.chance(0.5):
        axis = g.rng.randrange(x.rank)
        before, after = pads[axis], pads[axis + x.rank]
        return slices(g, y, [(axis, before, -after or INT64_MAX, 1)])
    return y


@step(is_float, 0.7)
def cropped(g: Graph, x: Value) -> Value:
    """A Pad by negative numbers."""
    axis = axis_of(g, x, negative=0)
    dim = x.static(axis)
    if not dim or dim < 2:
        raise InadmissibleError
    pads = [0] * (2 * x.rank)
    pads[axis] = -1
    return pad(g, pad(g, x, [g.rng.choice((0, 1)) for _ in pads]), pads)


@step(is_float, 0.7)
def rows_by_position(g: Graph, x: Value) -> Value:
    """GatherND of all rows, whose positions are counted."""
    if g.opset < 11 or not x.rank:
        raise InadmissibleError
    rows = gather(g, shape(g, x), g.constant(0), 0)
    indices = g.op("Range", g.constant(0), rows, g.constant(1), f=lambda a, b, c: np.arange(a, b, c))
    if g.chance(0.3):
        indices = elementwise(g, "Sub", indices, unsqueeze(g, rows, [0]))
    if g.chance(0.7):
        return g.op("GatherND", x, unsqueeze(g, indices, [-1]), f=lambda a, i: a[i[..., 0]], known=False)
    return both(g, "Add", gather(g, x, indices, 0), gather(g, x, indices, 0))


@step(is_float, 0.7)
def scattered(g: Graph, x: Value) -> Value:
    """ScatterND and ScatterElements of one row."""
    if g.opset < 11 or x.static(0) in (None, 0):
        raise InadmissibleError
    row = gather(g, x, g.constant([0]), 0)
    return g.op("ScatterND", x, g.constant([[(x.static(0) or 1) - 1]]), plain(g, row), f=lambda a, *_: a, known=False)
