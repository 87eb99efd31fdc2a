"""Reshape, Flatten, Squeeze, Unsqueeze, Expand and Tile."""

from __future__ import annotations

import math

import numpy as np

from tests.fuzzing.families.common import axis_of, both
from tests.fuzzing.families.elementwise import any_unary
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import concat, expand, flatten, pad, reshape, shape, squeeze, tile, transpose, unsqueeze
from tests.fuzzing.steps import anything, is_float, numbers, step
from tests.fuzzing.values import Value

Dims = list[tuple[int, ...]]


def regrouped(g: Graph, x: Value) -> Dims:
    """Dims of as many elements: some joined, some taken apart, some of 1 put in."""
    dims: Dims = []
    for dim in x.dims:
        choice = g.rng.random()
        even = len(set(dim)) == 1 and dim[0] % 2 == 0 and dim[0]
        if choice < 0.3 and dims:
            dims[-1] = tuple(math.prod(pair) for pair in zip(dims[-1], dim, strict=True))
        elif choice < 0.55 and even and len(dims) < 4:
            dims += [(2,) * len(dim), (dim[0] // 2,) * len(dim)]
        else:
            dims.append(dim)
        if g.chance(0.12) and len(dims) < 4:
            dims.append((1,) * len(dim))
    return dims


def to_dims(g: Graph, x: Value, dims: Dims) -> Value:
    """A Reshape to dims, of which one is free and some may be copied."""
    target = []
    for axis, dim in enumerate(dims):
        same = axis < x.rank and x.dims[axis] == dim
        static = dim[0] if len(set(dim)) == 1 and dim[0] else None
        if same and (static is None or g.chance(0.3)):
            target.append(0)
        else:
            target.append(-1 if static is None else static)
    if -1 not in target and target and g.chance(0.5):
        target[g.rng.randrange(len(target))] = -1
    if target.count(-1) > 1:
        raise InadmissibleError
    return reshape(g, x, target, g.rng.choice((None, None, 0, 1)) if 0 not in target else g.rng.choice((None, 0)))


def move(g: Graph, x: Value) -> Value:
    """One operator that changes the dims and keeps the order."""
    kind = g.rng.choice(("reshape", "reshape", "squeeze", "unsqueeze", "flatten"))
    if kind == "reshape":
        return to_dims(g, x, regrouped(g, x))
    if kind == "unsqueeze":
        if x.rank > 4:
            raise InadmissibleError
        places = sorted(g.rng.sample(range(x.rank + 2), 2)) if x.rank < 4 and g.chance(0.3) else []
        return unsqueeze(g, x, places or [g.rng.randint(0 if g.opset < 11 else -x.rank - 1, x.rank)])
    if kind == "flatten":
        return flatten(g, x, g.rng.randint(0 if g.opset < 11 else -x.rank, x.rank))
    ones = [axis for axis in range(x.rank) if x.static(axis) == 1]
    if not ones:
        return unsqueeze(g, x, [g.rng.randint(0, x.rank)])
    chosen = [axis for axis in ones if g.chance(0.6)] or [ones[0]]
    if g.chance(0.1) and all(x.static(axis) == 1 or 1 not in x.dims[axis] for axis in range(x.rank)):
        return squeeze(g, x, None)
    return squeeze(g, x, [axis - x.rank if g.opset >= 11 and g.chance(0.3) else axis for axis in chosen])


@step(anything, 3)
def moves(g: Graph, x: Value) -> Value:
    for _ in range(g.rng.randint(1, 3)):
        x = move(g, x)
    return x


@step(anything, 1.5)
def there_and_back(g: Graph, x: Value) -> Value:
    """A Reshape, something for each element, and a Reshape to what it was, at times by its Shape."""
    y = flatten(g, x, g.rng.randint(0, x.rank)) if g.chance(0.4) else to_dims(g, x, regrouped(g, x))
    if numbers(y) and g.chance(0.6):
        y = any_unary(g, y)
    if g.chance(0.5):
        return reshape(g, y, shape(g, x), g.rng.choice((None, 1)))
    return to_dims(g, y, x.dims)


@step(anything)
def around_transpose(g: Graph, x: Value) -> Value:
    """Reshape, Transpose, Reshape: dims are joined, moved, and taken apart."""
    if x.rank < 3 or x.static(x.rank - 1) in (None, 0):
        raise InadmissibleError
    joined = list(x.dims[:-2])
    joined.append(tuple(a * b for a, b in zip(*x.dims[-2:], strict=True)))
    y = to_dims(g, x, joined)
    perm = g.rng.sample(range(y.rank), y.rank)
    y = transpose(g, y, perm)
    back: Dims = []
    for axis in perm:
        back += list(x.dims[-2:]) if axis == y.rank - 1 else [joined[axis]]
    return to_dims(g, y, back)


@step(is_float)
def around_pad(g: Graph, x: Value) -> Value:
    """Pad between Unsqueeze and Squeeze."""
    if not 1 <= x.rank <= 4:
        raise InadmissibleError
    place = g.rng.randint(0, x.rank)
    y = unsqueeze(g, x, [place])
    pads = [0 if k % y.rank == place and g.chance(0.9) else g.rng.choice((0, 1)) for k in range(2 * y.rank)]
    y = pad(g, y, pads, value=0.0 if g.chance(0.5) else None)
    return squeeze(g, y, [place])


@step(anything)
def expanded(g: Graph, x: Value) -> Value:
    """Expand to dims that are there already, to larger ones, or to the shape of another value."""
    form = g.rng.randrange(4)
    if form == 0:
        return expand(g, x, shape(g, x))
    if form == 1:
        return expand(g, x, g.constant([1] * g.rng.randint(0, x.rank)))
    if form == 2:
        y = unsqueeze(g, x, [axis_of(g, x, negative=0)])
        return expand(g, y, g.constant([2 if dim == (1,) * len(dim) else 1 for dim in y.dims]))
    other = g.pick(lambda y: y.rank >= x.rank, newest=0.2)
    return expand(g, x, shape(g, other))


@step(is_float)
def expanded_operand(g: Graph, x: Value) -> Value:
    """An operand that is expanded to what it would be broadcast to anyway."""
    if not x.rank:
        raise InadmissibleError
    small = g.pick(lambda y: y.dtype == x.dtype and 1 <= y.rank <= x.rank and y.shapes != x.shapes, newest=0.1)
    large = expand(g, small, shape(g, x))
    if g.chance(0.3):
        large = expand(g, large, shape(g, x))
    return both(g, g.rng.choice(("Add", "Mul")), x, large)


@step(anything)
def tiles(g: Graph, x: Value) -> Value:
    if not x.rank or x.dtype == np.float64:
        raise InadmissibleError
    for _ in range(g.rng.randint(1, 2)):
        x = tile(g, x, [g.rng.choice((1, 1, 2)) for _ in range(x.rank)])
    return x


@step(anything, 0.5)
def stacked(g: Graph, x: Value) -> Value:
    """Some values alike, stacked."""
    if x.rank > 4:
        raise InadmissibleError
    axis = g.rng.randint(0, x.rank)
    return concat(g, [unsqueeze(g, x, [axis]) for _ in range(2)], axis)
