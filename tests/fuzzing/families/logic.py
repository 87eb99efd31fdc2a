"""Comparisons, booleans and Where."""

from __future__ import annotations

import numpy as np

from tests.fuzzing.families.common import alike, both, operand, partner, swap
from tests.fuzzing.families.elementwise import plain
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import cast, elementwise, shape
from tests.fuzzing.steps import numbers, step
from tests.fuzzing.values import Value


def comparison(g: Graph, x: Value) -> Value:
    """A comparison with a constant or another value."""
    names = ["Less", "Greater"]
    if g.opset >= 12:
        names += ["LessOrEqual", "GreaterOrEqual"]
    if g.opset >= 11 or x.dtype.kind == "i":
        names.append("Equal")
    return elementwise(g, g.rng.choice(names), *swap(g, (x, partner(g, x))))


def truths(x: Value) -> bool:
    return x.dtype == np.bool_


def small(x: Value) -> bool:
    return numbers(x) and x.dtype != np.float16


@step(small, 1.5)
def compared(g: Graph, x: Value) -> Value:
    """A comparison, with one Not or two."""
    y = comparison(g, x)
    for _ in range(g.rng.choice((0, 1, 1, 2))):
        y = elementwise(g, "Not", y)
    return y


@step(small)
def with_itself(g: Graph, x: Value) -> Value:
    if x.dtype.kind == "f" and g.opset < 11:
        raise InadmissibleError
    names = ["Equal", "Less", "Greater", "Sub", *(["LessOrEqual", "GreaterOrEqual"] if g.opset >= 12 else [])]
    return elementwise(g, g.rng.choice(names), x, x)


@step(truths, 3)
def combined(g: Graph, x: Value) -> Value:
    """Booleans with each other, with themselves, and with constants."""
    name = g.rng.choice(("And", "Or", "Xor"))
    form = g.rng.randrange(5)
    if form == 0:
        return elementwise(g, name, x, x)
    if form in (1, 2):
        shape_ = g.rng.choice(((), (1,), (1,) * x.rank))
        return both(g, name, x, g.constant(np.full(shape_, g.chance(0.5)), np.bool_))
    if form == 3:
        return elementwise(g, "Not", elementwise(g, "Not", x))
    return both(g, name, x, alike(g, x))


@step(truths, 2)
def truth_of_where(g: Graph, x: Value) -> Value:
    """Where that gives booleans or numbers of a condition."""
    values = g.rng.choice(((True, False), (False, True), (1.0, 0.0), (1, 0)))
    if isinstance(values[0], bool) and g.opset < 9:
        raise InadmissibleError
    dtype = {bool: np.bool_, float: np.float32, int: np.int64}[type(values[0])]
    if dtype == np.bool_:
        # onnxruntime has no Where of booleans on the CPU.
        dtype = np.int64
    return elementwise(g, "Where", x, *(g.constant(each, dtype) for each in values))


@step(small, 1.5)
def chosen(g: Graph, x: Value) -> Value:
    """Where on a condition that is computed, negated, or known."""
    y = plain(g, alike(g, x)) if g.chance(0.8) else x
    form = g.rng.randrange(4)
    if form == 0:
        shape_ = g.rng.choice(((), (1,), (1,) * x.rank, (1,) * (x.rank + 1)))
        mask = g.constant(np.full(shape_, g.chance(0.5)), np.bool_)
    else:
        mask = comparison(g, x)
        if form == 1:
            mask = elementwise(g, "Not", mask)
    if g.chance(0.3):
        y = operand(g, x)
    return elementwise(g, "Where", mask, *swap(g, (x, y)))


@step(small, 0.8)
def of_dims(g: Graph, x: Value) -> Value:
    """The Shape-Equal-Where-Expand of exporters, and comparisons of dims."""
    dims = shape(g, x)
    minus = g.constant(np.full(x.rank, -1))
    same = elementwise(g, "Equal", dims, minus)
    target = elementwise(g, "Where", same, g.constant(np.ones(x.rank)), dims)
    from tests.fuzzing.operators import expand

    return expand(g, x, target)


@step(truths)
def counted(g: Graph, x: Value) -> Value:
    """Booleans as numbers."""
    return cast(g, x, g.rng.choice((np.float32, np.int64, np.int32)))


@step(numbers, 0.7)
def bits(g: Graph, x: Value) -> Value:
    if x.dtype.kind != "i" or g.opset < 18:
        raise InadmissibleError
    name = g.rng.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor"))
    return g.op(name, x, x if g.chance(0.5) else alike(g, x))
