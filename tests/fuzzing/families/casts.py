"""Cast: chains that lose something and chains that don't."""

from __future__ import annotations

import numpy as np

from tests.fuzzing.families.common import number
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import cast, elementwise
from tests.fuzzing.steps import anything, is_float, numbers, step
from tests.fuzzing.values import Value

FROM_FLOAT = (np.float32, np.float64, np.float16)
FROM_INTEGER = (np.int64, np.int32, np.int8, np.uint8, np.float32, np.float64, np.bool_)
"""Floats become integers in `quantized` only: what an integer is that a float is too large for, is not defined."""


@step(anything, 2)
def chain(g: Graph, x: Value) -> Value:
    """Casts, back to the type at the end."""
    before = x.dtype
    for _ in range(g.rng.randint(1, 3)):
        x = cast(g, x, g.rng.choice(FROM_FLOAT if x.is_float else FROM_INTEGER))
        if x.is_float and before.kind != "f":
            break
    if x.is_float and before.kind == "f":
        return cast(g, x, before)
    return cast(g, x, np.float32) if not x.is_float and g.chance(0.6) else x


@step(is_float, 0.7)
def like(g: Graph, x: Value) -> Value:
    """CastLike, and a Cast to the type that is there already."""
    if g.opset < 15 or g.chance(0.4):
        return cast(g, x, x.dtype)
    target = g.pick(is_float, newest=0.2)
    return g.op("CastLike", x, target, f=lambda a, _: a, dtype=target.dtype, known=False)


@step(is_float, 0.7)
def bounded(g: Graph, x: Value) -> Value:
    """Integers of floats that are near enough to 0."""
    y = g.op("Tanh", x, f=np.asarray, known=False)
    y = elementwise(g, "Mul", y, g.constant(9.0, x.dtype))
    # What integer becomes of NaN is not defined.
    y = elementwise(g, "Where", g.op("IsNaN", y, f=np.isnan, dtype=np.bool_), g.constant(0, x.dtype), y)
    y = cast(g, y, g.rng.choice((np.int32, np.int64, np.int8)))
    return cast(g, y, g.rng.choice((np.int64, np.int32)))


@step(numbers, 0.7)
def truth(g: Graph, x: Value) -> Value:
    """Booleans of numbers, and back."""
    if x.dtype == np.float16:
        raise InadmissibleError
    y = cast(g, x, np.bool_)
    return cast(g, y, x.dtype if g.chance(0.7) else np.int64)


@step(is_float, 0.4)
def wide(g: Graph, x: Value) -> Value:
    """Some arithmetic in double."""
    y = cast(g, x, np.float64)
    y = elementwise(g, g.rng.choice(("Add", "Mul")), y, g.constant(number(g), np.float64))
    return cast(g, y, x.dtype)
