"""Reductions: merged, with dims kept or not, over one element or none."""

from __future__ import annotations

import numpy as np

from tests.fuzzing.families.common import axis_of, both, some_axes
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import elementwise, front, reduce, shape, size, squeeze, unsqueeze
from tests.fuzzing.steps import anything, integers, is_float, numbers, step
from tests.fuzzing.values import Value

FLOATS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"),
    "ReduceLogSumExp",
)
INTEGERS = ("ReduceSum", "ReduceMax", "ReduceMin")


def name_for(g: Graph, x: Value) -> str:
    if x.is_float:
        return g.rng.choice(FLOATS[:5] if x.dtype == np.float64 else FLOATS)
    return g.rng.choice(INTEGERS)


@step(numbers, 2)
def one(g: Graph, x: Value) -> Value:
    axes = None if g.chance(0.1) else some_axes(g, x)
    return reduce(g, name_for(g, x), x, axes, g.rng.randint(0, 1))


@step(numbers, 2)
def two(g: Graph, x: Value) -> Value:
    """Of a reduction, the same one or another."""
    if x.rank < 2:
        raise InadmissibleError
    name = name_for(g, x)
    y = reduce(g, name, x, [g.rng.randrange(x.rank)], g.rng.randint(0, 1))
    if not y.rank:
        raise InadmissibleError
    return reduce(g, name if g.chance(0.8) else name_for(g, y), y, [axis_of(g, y)], g.rng.randint(0, 1))


@step(numbers, 1.5)
def with_squeeze(g: Graph, x: Value) -> Value:
    """A reduction whose dims are kept and taken away, or not kept and put in again."""
    axes = some_axes(g, x)
    name = name_for(g, x)
    if g.chance(0.5):
        return squeeze(g, reduce(g, name, x, axes, 1), axes if g.chance(0.8) else axes[:1])
    return unsqueeze(g, reduce(g, name, x, axes, 0), sorted(front(axes, x.rank)))


@step(numbers)
def of_one_element(g: Graph, x: Value) -> Value:
    """Over dims of 1, or over no dim."""
    if x.rank > 4:
        raise InadmissibleError
    axis = g.rng.randint(0, x.rank)
    y = unsqueeze(g, x, [axis])
    return reduce(g, name_for(g, x), y, [axis], g.rng.randint(0, 1))


@step(is_float)
def mean_written_out(g: Graph, x: Value) -> Value:
    """A sum that is divided by the number of elements."""
    axis = axis_of(g, x, negative=0)
    dim = x.static(axis)
    total = reduce(g, "ReduceSum", x, [axis], g.rng.randint(0, 1))
    if dim and g.chance(0.8):
        if g.chance(0.5):
            return elementwise(g, "Div", total, g.constant(dim, x.dtype))
        return both(g, "Mul", total, g.constant(1 / dim, x.dtype))
    from tests.fuzzing.operators import cast

    return elementwise(g, "Div", total, cast(g, size(g, x), x.dtype))


@step(numbers, 0.7)
def greatest(g: Graph, x: Value) -> Value:
    """ArgMax, where no element is NaN or equal to another often enough."""
    axis = axis_of(g, x, negative=0)
    if not x.static(axis) or x.dtype not in (np.float32, np.int32):
        raise InadmissibleError
    return g.op("ArgMax", x, f=lambda a: a.take(0, axis), dtype=np.int64, known=False, axis=axis, keepdims=0)


@step(is_float, 0.7)
def cumulated(g: Graph, x: Value) -> Value:
    if g.opset < 11:
        raise InadmissibleError
    axis = g.constant(axis_of(g, x))
    return g.op("CumSum", x, axis, f=lambda a, _: a, known=False, exclusive=g.rng.randint(0, 1))


@step(anything, 0.5)
def element_count(g: Graph, x: Value) -> Value:
    return size(g, x) if g.chance(0.6) else shape(g, x)


@step(integers, 0.4)
def product_of_dims(g: Graph, x: Value) -> Value:
    """ReduceProd of a shape."""
    if x.known is None or x.rank != 1 or x.dtype != np.int64:
        raise InadmissibleError
    if g.opset >= 18:
        return g.op("ReduceProd", x, g.constant([0]), f=lambda a, _: np.prod(a, keepdims=True), keepdims=1)
    return g.op("ReduceProd", x, f=lambda a: np.prod(a, keepdims=True), axes=[0], keepdims=1)
