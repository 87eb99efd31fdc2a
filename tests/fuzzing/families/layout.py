"""Transpose: chains, pairs that cancel, and what it is pushed through."""

from __future__ import annotations

import numpy as np

from tests.fuzzing.families.common import alike, operand, permutation, swap
from tests.fuzzing.families.elementwise import plain, smooth
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import (
    cast,
    concat,
    elementwise,
    gather,
    gemm,
    matmul,
    reduce,
    squeeze,
    transpose,
    unsqueeze,
)
from tests.fuzzing.steps import anything, is_float, numbers, step
from tests.fuzzing.values import Value


def inverse(perm: list[int]) -> list[int]:
    return [perm.index(axis) for axis in range(len(perm))]


@step(anything, 2)
def chain(g: Graph, x: Value) -> Value:
    for _ in range(g.rng.randint(1, 3)):
        x = transpose(g, x, None if g.chance(0.15) else permutation(g, x))
    return x


@step(anything, 0.7)
def nothing_moves(g: Graph, x: Value) -> Value:
    """The identity, or a move of dims of 1 alone."""
    if g.chance(0.5):
        return transpose(g, x, list(range(x.rank)))
    if x.rank > 4:
        raise InadmissibleError
    x = unsqueeze(g, x, [g.rng.randint(0, x.rank)])
    order = [axis for axis in range(x.rank) if x.static(axis) != 1]
    for axis in range(x.rank):
        if x.static(axis) == 1:
            order.insert(g.rng.randint(0, len(order)), axis)
    return transpose(g, x, order)


@step(numbers, 3)
def through(g: Graph, x: Value) -> Value:
    """Transpose, some operators, and the inverse Transpose."""
    if x.rank < 2:
        raise InadmissibleError
    perm = permutation(g, x)
    y = transpose(g, x, perm)
    for _ in range(g.rng.randint(1, 3)):
        form = g.rng.randrange(6)
        if form == 0 and y.is_float:
            y = smooth(g, y)
        elif form in (1, 2):
            y = plain(g, y)
        elif form == 3:
            y = elementwise(g, g.rng.choice(("Add", "Mul", "Sub")), *swap(g, (y, operand(g, y, enlarging=0.05))))
        elif form == 4:
            other = transpose(g, alike(g, x), perm) if g.chance(0.7) else y
            y = elementwise(g, g.rng.choice(("Add", "Mul", "Sub")), *swap(g, (y, other)))
        elif y.dtype == np.float32:
            y = concat(g, [y, y if g.chance(0.5) else plain(g, y)], g.rng.randrange(y.rank))
    return transpose(g, y, inverse(perm) if g.chance(0.85) else permutation(g, y))


@step(is_float, 1.5)
def joined(g: Graph, x: Value) -> Value:
    """One operator of two values that are transposed alike."""
    if x.rank < 2:
        raise InadmissibleError
    perm = permutation(g, x)
    left, right = transpose(g, x, perm), transpose(g, plain(g, alike(g, x)), perm)
    name = g.rng.choice(("Add", "Sub", "Mul", "Max", "Min", "Concat", "Sum", "Pow"))
    if name == "Concat":
        return concat(g, [left, right], g.rng.randrange(x.rank))
    return elementwise(g, name, left, right)


@step(is_float)
def into_product(g: Graph, x: Value) -> Value:
    """Matrices that are transposed before their product."""
    if x.rank != 2 or not x.static(1):
        raise InadmissibleError
    y = transpose(g, plain(g, alike(g, x)), [1, 0])
    if g.chance(0.3):
        return matmul(g, x, y)
    if g.chance(0.5):
        return gemm(g, x, y, g.constant(0.5, x.dtype) if g.opset < 11 or g.chance(0.3) else None)
    left = transpose(g, x, [1, 0])
    return gemm(g, left, alike(g, x), g.constant(0.5, x.dtype) if g.opset < 11 else None)


@step(is_float, 1.5)
def before(g: Graph, x: Value) -> Value:
    """Operators that can read the axes of what was transposed."""
    if x.rank < 2:
        raise InadmissibleError
    y = transpose(g, x, permutation(g, x))
    form = g.rng.randrange(3)
    if form == 0:
        name = g.rng.choice(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"))
        return reduce(g, name, y, [g.rng.randrange(y.rank)], g.rng.randint(0, 1))
    if form == 1:
        return gather(g, y, g.constant(0), g.rng.randrange(y.rank))
    if x.rank > 4:
        raise InadmissibleError
    # A dim of 1 that is put in, moved, and taken out, the others in their order or not.
    place, to = g.rng.randint(0, x.rank), g.rng.randint(0, x.rank)
    rest = [axis for axis in range(x.rank + 1) if axis != place]
    if g.chance(0.3):
        g.rng.shuffle(rest)
    y = transpose(g, unsqueeze(g, x, [place]), [*rest[:to], place, *rest[to:]])
    return squeeze(g, y, [to])


@step(is_float, 0.7)
def masked(g: Graph, x: Value) -> Value:
    """Where, of three values that are transposed alike."""
    if x.rank < 2:
        raise InadmissibleError
    perm = permutation(g, x)
    left, right = transpose(g, x, perm), transpose(g, plain(g, x), perm)
    mask = elementwise(g, "Greater", left, g.constant(0, x.dtype))
    y = elementwise(g, "Where", mask, left, right)
    y = transpose(g, y, inverse(perm))
    return cast(g, y, np.float32) if g.chance(0.2) else y
