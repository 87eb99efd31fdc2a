"""Arithmetic with constants, by itself and around layers with weights."""

from __future__ import annotations

import numpy as np

from tests.fuzzing.families.common import alike, both, number, operand, weights
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import elementwise, gemm, matmul, reshape, transpose
from tests.fuzzing.steps import is_float, numbers, step
from tests.fuzzing.values import Value


def affine(g: Graph, x: Value, channel: int | None = None) -> Value:
    """One of `+ - * /` with a constant: a number, or one for each channel."""
    shape: tuple[int, ...] = g.rng.choice(((), (1,)))
    if channel is not None and g.chance(0.7):
        dim = x.static(channel)
        if not dim:
            raise InadmissibleError
        shape = tuple(dim if axis == channel else 1 for axis in range(x.rank))[channel if g.chance(0.5) else 0 :]
    k = weights(g, shape, 0.3, 2.0, x.dtype) if shape != () else g.constant(number(g, x.dtype), x.dtype)
    name = g.rng.choice(("Add", "Mul", "Sub", "Div", "Mul", "Add"))
    if name in ("Add", "Mul"):
        return both(g, name, x, k)
    if name == "Sub" and g.chance(0.3):
        return elementwise(g, "Sub", k, x)
    return elementwise(g, name, x, k)


@step(numbers, 2)
def chain(g: Graph, x: Value) -> Value:
    """Additions, or multiplications, of constants one after the other."""
    additive = g.chance(0.5)
    for _ in range(g.rng.randint(2, 3)):
        k = operand(g, x, enlarging=0.03)
        factors = ("Mul", "Div") if x.is_float else ("Mul",)
        name = g.rng.choice(("Add", "Sub") if additive else factors)
        if name in ("Add", "Mul"):
            x = both(g, name, x, k)
        elif name == "Sub" and g.chance(0.4):
            x = elementwise(g, name, k, x)
        else:
            x = elementwise(g, name, x, k)
    return x


def matrix(g: Graph, x: Value) -> Value:
    """A value of rank 2 with a static last dim."""
    if x.rank == 2 and x.static(1):
        return x
    last = x.static(x.rank - 1) if x.rank else None
    if not last:
        raise InadmissibleError
    return reshape(g, x, [-1, last])


@step(is_float, 1.5)
def linear(g: Graph, x: Value) -> Value:
    """MatMul with weights, a bias, and factors before or after."""
    last = x.static(x.rank - 1) if x.rank >= 2 else None
    if not last:
        raise InadmissibleError
    if g.chance(0.3):
        x = affine(g, x, x.rank - 1)
    width = g.rng.randint(1, 4)
    w = weights(g, (last, width), dtype=x.dtype)
    if g.chance(0.1):
        w = transpose(g, weights(g, (width, last), dtype=x.dtype), [1, 0])
    x = matmul(g, x, w)
    if g.chance(0.25):
        x = matmul(g, x, weights(g, (width, g.rng.randint(1, 4)), dtype=x.dtype))
    if g.chance(0.6):
        x = both(g, "Add", x, weights(g, (x.static(x.rank - 1) or 1,), dtype=x.dtype))
    if x.rank == 2 and x.dtype == np.float32 and g.chance(0.25):
        parameters = [weights(g, (x.static(1) or 1,), low, 1.5) for low in (0.3, -1, -1, 0.3)]
        return g.op("BatchNormalization", x, *parameters, f=lambda a, *_: a, known=False)
    return affine(g, x, x.rank - 1) if g.chance(0.4) else x


@step(is_float, 1.5)
def dense(g: Graph, x: Value) -> Value:
    """Gemm with what can be taken into its weights."""
    x = matrix(g, x)
    last, width = x.static(1) or 1, g.rng.randint(1, 4)
    if g.chance(0.25):
        x = affine(g, x, 1)
    flags: dict[str, float] = {}
    w = weights(g, (last, width), dtype=x.dtype)
    if g.chance(0.5):
        flags["transB"] = 1
        w = weights(g, (width, last), dtype=x.dtype)
    elif g.chance(0.2):
        w = transpose(g, weights(g, (width, last), dtype=x.dtype), [1, 0])
    if g.chance(0.15) and len(set(x.shapes)) == 1:
        x = transpose(g, x, [1, 0])
        flags["transA"] = 1
    if g.chance(0.15):
        flags["alpha"] = 0.5
    shape = g.rng.choice(((width,), (1, width), (), (1,)))
    bias = weights(g, shape, dtype=x.dtype) if g.chance(0.5) or g.opset < 11 else None
    if bias is not None and g.chance(0.1):
        flags["beta"] = 0.5
    x = gemm(g, x, w, bias, **flags)
    if g.chance(0.15):
        x = both(g, "Add", x, alike(g, x))
    if g.chance(0.15) and bias is None:
        x = both(g, "Add", x, gemm(g, alike(g, x), weights(g, (width, width), dtype=x.dtype), None))
    if g.chance(0.4):
        x = both(g, "Add", x, weights(g, g.rng.choice(((width,), (1, width), (), (1, 1, width))), dtype=x.dtype))
    return affine(g, x, 1) if g.chance(0.4) and x.rank == 2 else x


@step(is_float)
def rows(g: Graph, x: Value) -> Value:
    """A Gemm of the rows of a tensor of higher rank: Reshape, Gemm, Reshape."""
    if x.rank < 3:
        raise InadmissibleError
    flat = matrix(g, x)
    width = g.rng.randint(1, 4)
    y = gemm(g, flat, weights(g, (flat.static(1) or 1, width), dtype=x.dtype), weights(g, (width,), dtype=x.dtype))
    middle = [x.static(axis) for axis in range(1, x.rank - 1)]
    if None in middle or 0 in middle:
        raise InadmissibleError
    return reshape(g, y, [-1, *[dim or 1 for dim in middle], width])


@step(is_float, 0.8)
def heads(g: Graph, x: Value) -> Value:
    """Queries and keys: products of the same rows with a bias, each with its own dims after it."""
    last = x.static(x.rank - 1) if x.rank >= 3 else None
    middle = [x.static(axis) for axis in range(1, x.rank - 1)]
    if not last or None in middle or 0 in middle:
        raise InadmissibleError
    made = []
    for _ in range(2):
        y = matmul(g, x, weights(g, (last, 2), dtype=x.dtype))
        y = both(g, "Add", y, weights(g, (2,), dtype=x.dtype))
        made.append(reshape(g, y, [-1, *[dim or 1 for dim in middle], 2, 1]))
    return both(g, "Add", *made)


@step(is_float)
def attention(g: Graph, x: Value) -> Value:
    """A product with the transposed, with scales before and after, and Softmax."""
    if x.rank < 2:
        raise InadmissibleError
    perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    query, key = x, transpose(g, x, perm)
    if g.chance(0.7):
        query = both(g, "Mul", query, g.constant(0.5, x.dtype))
        key = both(g, "Mul", key, g.constant(0.7, x.dtype))
    scores = matmul(g, query, key)
    if g.chance(0.5):
        scores = elementwise(g, "Div", scores, g.constant(2.0, x.dtype))
    weighted = g.op("Softmax", scores, f=np.asarray, known=False, axis=-1 if g.opset >= 11 else x.rank - 1)
    return matmul(g, weighted, x)


@step(is_float)
def factor_before(g: Graph, x: Value) -> Value:
    """A factor, then data movement, then weights."""
    last = x.static(x.rank - 1) if x.rank >= 2 else None
    if not last:
        raise InadmissibleError
    x = both(g, "Mul", x, g.constant(g.rng.choice((0.5, 2.0, 0.125)), x.dtype))
    moved = transpose(g, x, [*reversed(range(x.rank - 1)), x.rank - 1])
    return matmul(g, moved, weights(g, (last, g.rng.randint(1, 3)), dtype=x.dtype))
