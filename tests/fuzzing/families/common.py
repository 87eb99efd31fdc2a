"""What the families share: random parameters that suit a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import elementwise, reshape
from tests.fuzzing.values import Array, Shape, Value

NICE = (0.5, 2.0, -1.5, 3.0, 0.25, -0.75, 1.25)
NEUTRAL = (0.0, -0.0, 1.0, -1.0)
EXTREME = (np.inf, -np.inf, np.nan, 3e38, 1e-40)
"""Numbers for constants. The last are rare: they hide all that comes after."""

INTEGERS = (0, 1, -1, 2, 3, 5, -7)


def number(g: Graph, dtype: Any = np.float32) -> Any:
    """A number of a type."""
    if np.dtype(dtype).kind != "f":
        if g.chance(0.05):
            return g.rng.choice((np.iinfo(dtype).max, np.iinfo(dtype).min))
        return g.rng.choice(INTEGERS)
    if g.chance(0.25):
        return g.rng.choice(NEUTRAL)
    if g.chance(0.02):
        return np.dtype(dtype).type(min(g.rng.choice(EXTREME), float(np.finfo(dtype).max)))
    return g.rng.choice(NICE)


def filled(g: Graph, shape: Shape, dtype: Any = np.float32) -> Array:
    """Elements for a constant: one number everywhere, or different ones."""
    if g.chance(0.3):
        return np.full(shape, number(g, dtype), dtype)
    source = np.random.default_rng(g.rng.getrandbits(32))
    if np.dtype(dtype).kind == "b":
        return source.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind in "iu":
        return source.integers(0 if np.dtype(dtype).kind == "u" else -4, 9, shape).astype(dtype)
    return np.asarray(np.round(source.uniform(-2, 2, shape), 3)).astype(dtype)


def weights(g: Graph, shape: Shape, low: float = -1.0, high: float = 1.0, dtype: Any = np.float32) -> Value:
    """A constant of random floats; made by ConstantOfShape where one number is enough, now and then."""
    if g.chance(0.06) and np.prod(shape):
        fill = np.array([g.rng.choice((0.5, 1.0, 2.0))], dtype)
        return constant_of_shape(g, g.constant(list(shape)), fill)
    source = np.random.default_rng(g.rng.getrandbits(32))
    return g.constant(source.uniform(low, high, shape), dtype)


def constant_of_shape(g: Graph, target: Value, fill: Array) -> Value:
    from onnx import numpy_helper

    if target.known is None:
        raise InadmissibleError
    attribute = numpy_helper.from_array(fill)
    f: Callable[[Array], Array] = lambda dims: np.full(tuple(int(dim) for dim in dims), fill[0])  # noqa: E731
    return g.op("ConstantOfShape", target, f=f, dtype=fill.dtype, value=attribute)


def operand(g: Graph, x: Value, *, enlarging: float = 0.1) -> Value:
    """A constant that broadcasts to a value: a number, a row, one for each channel, or all of a static shape."""
    form = g.rng.choice(("number", "number", "vector", "channels", "row", "all"))
    shape: Shape = ()
    if form == "vector":
        shape = (1,)
    elif form == "channels" and x.rank >= 2 and x.static(1):
        shape = (x.static(1) or 1, *(1,) * (x.rank - 2))
    elif form == "row" and x.rank and x.static(x.rank - 1):
        shape = (x.static(x.rank - 1) or 1,)
    elif form == "all" and x.static_shape is not None and math.prod(x.static_shape) <= 64:
        shape = x.static_shape
    if g.chance(enlarging):
        shape = g.rng.choice(((1,) * x.rank, (1,) * (x.rank + 1), (2, *(1,) * x.rank), (2, *(1,) * max(x.rank - 1, 0))))
    return g.constant(filled(g, tuple(shape), x.dtype), x.dtype)


def alike(g: Graph, x: Value) -> Value:
    """Another value of the same type and shape; itself now and then."""
    return g.pick(lambda y: y.dtype == x.dtype and y.shapes == x.shapes, newest=0.1)


def partner(g: Graph, x: Value) -> Value:
    """A value that broadcasts with another one: a constant, or one that is computed."""
    if g.chance(0.45):
        return operand(g, x)
    if g.chance(0.7):
        return alike(g, x)
    return g.pick(lambda y: y.dtype == x.dtype and y.rank <= x.rank, newest=0.2)


def axis_of(g: Graph, x: Value, *, negative: float = 0.3) -> int:
    """An axis."""
    if not x.rank:
        raise InadmissibleError
    axis = g.rng.randrange(x.rank)
    return axis - x.rank if g.opset >= 11 and g.chance(negative) else axis


def some_axes(g: Graph, x: Value) -> list[int]:
    """Different axes, at least one, in some order."""
    if not x.rank:
        raise InadmissibleError
    axes = g.rng.sample(range(x.rank), g.rng.randint(1, x.rank))
    return [axis - x.rank if g.opset >= 11 and g.chance(0.3) else axis for axis in axes]


def permutation(g: Graph, x: Value) -> list[int]:
    return g.rng.sample(range(x.rank), x.rank)


def swap(g: Graph, pair: tuple[Value, Value]) -> tuple[Value, Value]:
    return pair if g.chance(0.5) else (pair[1], pair[0])


def both(g: Graph, op_type: str, x: Value, y: Value) -> Value:
    """A commutative operator of two values, in either order."""
    return elementwise(g, op_type, *swap(g, (x, y)))


def with_rank(g: Graph, x: Value, rank: int) -> Value:
    """A value of a rank, by a Reshape that joins dims in front or adds some, where its own differs."""
    if x.rank == rank:
        return x
    if x.rank < rank:
        ones = [1] * (rank - x.rank)
        return reshape(g, x, [*ones, *_copied(x)])
    return reshape(g, x, [-1, *_copied(x, x.rank - rank + 1)])


def _copied(x: Value, start: int = 0) -> list[int]:
    dims = [x.static(axis) for axis in range(start, x.rank)]
    if None in dims[1:] or 0 in dims:
        raise InadmissibleError
    return [-1 if dim is None else dim for dim in dims]


def chain(g: Graph, x: Value, *steps: Callable[[Value], Value]) -> Value:
    """One step after the other."""
    for each in steps:
        x = each(x)
    return x
