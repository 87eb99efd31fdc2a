"""QuantizeLinear and DequantizeLinear, which stay in pairs."""

from __future__ import annotations

import numpy as np

from tests.fuzzing.families.affine import affine
from tests.fuzzing.families.common import both, permutation
from tests.fuzzing.families.reshaping import move
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import elementwise, transpose
from tests.fuzzing.steps import step
from tests.fuzzing.values import Value


def float32(x: Value) -> bool:
    return x.dtype == np.float32


def quantized(g: Graph, x: Value, dtype: type = np.uint8) -> Value:
    scale, zero = g.constant(0.05, np.float32), g.constant(128 if dtype is np.uint8 else 0, dtype)
    return g.op("QuantizeLinear", x, scale, zero, f=lambda a, *_: a, dtype=dtype, known=False)


def dequantized(g: Graph, x: Value) -> Value:
    scale, zero = g.constant(0.05, np.float32), g.constant(128 if x.dtype == np.uint8 else 0, x.dtype)
    return g.op("DequantizeLinear", x, scale, zero, f=lambda a, *_: a, dtype=np.float32, known=False)


@step(float32, 2)
def pair(g: Graph, x: Value) -> Value:
    """A pair, with data movement inside or around it."""
    if g.opset < 10:
        raise InadmissibleError
    q = quantized(g, x, g.rng.choice((np.uint8, np.int8)))
    if g.chance(0.4):
        q = move(g, q) if g.chance(0.5) else transpose(g, q, permutation(g, q))
    y = dequantized(g, q)
    if g.chance(0.3):
        y = both(g, "Add", y, dequantized(g, q))
    if g.chance(0.3):
        y = dequantized(g, quantized(g, y))
    return y


@step(float32)
def weight(g: Graph, x: Value) -> Value:
    """A weight that is stored quantized."""
    last = x.static(x.rank - 1) if x.rank >= 2 else None
    if g.opset < 10 or not last:
        raise InadmissibleError
    source = np.random.default_rng(g.rng.getrandbits(32))
    w = dequantized(g, g.constant(source.integers(-50, 50, (last, 2)), np.int8))
    return g.op("MatMul", x, w, f=lambda a, b: np.matmul(a, b), known=False)


@step(float32)
def amplified(g: Graph, x: Value) -> Value:
    """Arithmetic with constants right before it is quantized: its last bit may matter."""
    if g.opset < 10:
        raise InadmissibleError
    y = affine(g, affine(g, x))
    return dequantized(g, quantized(g, elementwise(g, "Relu", y)))
