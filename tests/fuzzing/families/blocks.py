"""Normalizations and activations, as exporters write them out."""

from __future__ import annotations

import math

import numpy as np

from tests.fuzzing.families.common import both, chain, swap, weights
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import clip, elementwise, reduce, reshape, shape, softmax
from tests.fuzzing.steps import is_float, step
from tests.fuzzing.values import Value


def k(g: Graph, number: float, x: Value, shape_: tuple[int, ...] = ()) -> Value:
    return g.constant(np.full(shape_, number), x.dtype)


def shift(g: Graph, x: Value, number: float) -> Value:
    return both(g, "Add", x, k(g, number, x))


def scale(g: Graph, x: Value, number: float) -> Value:
    if g.chance(0.3) and number:
        return elementwise(g, "Div", x, k(g, 1 / number, x))
    return both(g, "Mul", x, k(g, number, x))


def float32(x: Value) -> bool:
    return x.dtype == np.float32


@step(float32, 1.5)
def gelu(g: Graph, x: Value) -> Value:
    """Gelu by Erf or Tanh, in many orders of its product."""
    if g.chance(0.7):
        gate = g.op("Erf", scale(g, x, math.sqrt(0.5)), f=np.asarray, known=False)
    else:
        cube = elementwise(g, "Pow", x, k(g, 3, x)) if g.chance(0.5) else both(g, "Mul", x, elementwise(g, "Mul", x, x))
        inner = both(g, "Add", x, scale(g, cube, 0.044715))
        gate = g.op("Tanh", scale(g, inner, math.sqrt(2 / math.pi)), f=np.asarray, known=False)
    gate = shift(g, gate, g.rng.choice((1.0, 1.0, 1.0, 1.0, 0.5)))
    half = g.rng.choice((0.5, 0.5, 0.5, 0.5, 0.25))
    form = g.rng.randrange(3)
    if form == 0:
        return both(g, "Mul", scale(g, x, half), gate)
    if form == 1:
        return both(g, "Mul", x, scale(g, gate, half))
    return scale(g, both(g, "Mul", x, gate), half)


@step(float32, 1.5)
def hard_swish(g: Graph, x: Value) -> Value:
    """HardSwish and HardSigmoid by Clip, and by each other."""
    offset, height = g.rng.choice(((3.0, 6.0), (3.0, 6.0), (2.5, 5.0), (3.0, 5.0)))
    if g.chance(0.4):
        gate = g.op("HardSigmoid", x, f=np.asarray, known=False, alpha=1 / height, beta=offset / height)
        return both(g, "Mul", x, gate)
    gate = clip(g, shift(g, x, offset), 0.0, height)
    if g.chance(0.4):
        return scale(g, gate, 1 / height)
    return scale(g, both(g, "Mul", x, gate), 1 / height)


@step(float32)
def mish(g: Graph, x: Value) -> Value:
    y = g.op("Softplus", x, f=np.asarray, known=False)
    gate = g.op("Tanh", y, f=np.asarray, known=False)
    if g.chance(0.15):
        return both(g, "Mul", gate, y)
    return both(g, "Mul", x, gate)


@step(is_float, 0.5)
def silu(g: Graph, x: Value) -> Value:
    return both(g, "Mul", x, g.op("Sigmoid", x, f=np.asarray, known=False))


@step(is_float, 2)
def layer_normalization(g: Graph, x: Value) -> Value:
    """LayerNormalization, or RMSNormalization, with the scale and the bias after it."""
    if not x.rank or not x.static(x.rank - 1):
        raise InadmissibleError
    axes = [x.rank - 1] if g.opset < 11 or g.chance(0.5) else [-1]
    if g.chance(0.15) and x.rank > 1:
        axes = [x.rank - 2, x.rank - 1] if g.chance(0.5) else [x.rank - 2]
        if any(not x.static(axis) for axis in axes):
            raise InadmissibleError
    centered = x
    if g.chance(0.65):
        centered = elementwise(g, "Sub", x, reduce(g, "ReduceMean", x, axes, 1))
    square = elementwise(g, "Pow", centered, k(g, 2, x)) if g.chance(0.6) else elementwise(g, "Mul", centered, centered)
    variance = shift(g, reduce(g, "ReduceMean", square, axes, 1), 1e-5)
    root = elementwise(g, "Sqrt", variance)
    form = g.rng.randrange(3)
    if form == 0:
        y = elementwise(g, "Div", centered, root)
    elif form == 1:
        y = both(g, "Mul", centered, elementwise(g, "Reciprocal", root))
    else:
        y = both(g, "Mul", centered, elementwise(g, "Pow", variance, k(g, -0.5, x)))
    if g.chance(0.1):
        both(g, "Add", y, centered)
    dims = tuple(x.static(axis) or 1 for axis in sorted(axis % x.rank for axis in axes))
    return parameters(g, y, dims)


def parameters(g: Graph, y: Value, dims: tuple[int, ...]) -> Value:
    """A scale and a bias for the last dims."""
    if g.chance(0.7):
        y = both(g, "Mul", y, _parameter(g, dims, 0.5, 1.5, y))
    if g.chance(0.7):
        y = both(g, "Add", y, _parameter(g, dims, -1, 1, y))
    return y


def _parameter(g: Graph, dims: tuple[int, ...], low: float, high: float, y: Value) -> Value:
    """A constant, or a default that the caller may override."""
    if g.outer is None and g.caller is None and g.chance(0.25):
        return g.default(np.random.default_rng(g.rng.getrandbits(32)).uniform(low, high, dims).astype(y.dtype))
    return weights(g, dims, low, high, y.dtype)


@step(is_float)
def normalization_operators(g: Graph, x: Value) -> Value:
    """The operators themselves, with parameters of their own and some after them."""
    last = x.static(x.rank - 1) if x.rank else None
    if not last or g.opset < 17 or x.dtype == np.float16:
        raise InadmissibleError
    ones = g.constant(np.ones(last), x.dtype)
    scales = ones if g.chance(0.6) else weights(g, (last,), 0.5, 1.5, x.dtype)
    if g.opset >= 23 and g.chance(0.5):
        y = g.op("RMSNormalization", x, scales, f=lambda a, _: a, known=False, axis=-1)
    else:
        bias = weights(g, (last,), -1, 1, x.dtype) if g.chance(0.3) else None
        y = g.op("LayerNormalization", x, scales, bias, f=lambda a, *_: a, known=False, axis=-1)
    return parameters(g, y, (last,))


@step(is_float, 1.5)
def soft_maximum(g: Graph, x: Value) -> Value:
    """Softmax and LogSoftmax, written out."""
    if not x.rank or not x.static(x.rank - 1):
        raise InadmissibleError
    axis = x.rank - 1 if g.chance(0.8) else g.rng.randrange(x.rank)
    if not x.static(axis):
        raise InadmissibleError
    log = g.chance(0.4)
    if log:
        x = g.op("Tanh", x, f=np.asarray, known=False)  # so that no element is too small for a logarithm
    if log and g.chance(0.7):
        return g.op("Log", softmax(g, "Softmax", x, axis), f=np.asarray, known=False)
    y = x
    if g.chance(0.6):
        y = elementwise(g, "Sub", x, reduce(g, "ReduceMax", x, [axis], 1))
    exp = g.op("Exp", y, f=np.asarray, known=False)
    y = elementwise(g, "Div", exp, reduce(g, "ReduceSum", exp, [axis], 1))
    return g.op("Log", y, f=np.asarray, known=False) if log else y


@step(float32)
def instance_normalization(g: Graph, x: Value) -> Value:
    """InstanceNormalization, by itself or between two Reshapes."""
    channels = x.static(1) if x.rank >= 3 else None
    if not channels or x.is_ever_empty:
        raise InadmissibleError
    y = x
    around = g.chance(0.7)
    if around:
        channels = channels // 2 if channels % 2 == 0 and g.chance(0.6) else channels
        y = reshape(g, x, [0, channels, -1])
    parameters_ = [weights(g, (channels,), 0.5, 1.5) for _ in range(2)]
    y = g.op("InstanceNormalization", y, *parameters_, f=lambda a, *_: a, known=False)
    return reshape(g, y, shape(g, x)) if around else y


@step(is_float, 0.7)
def deep(g: Graph, x: Value) -> Value:
    """A residual block: what comes in is added to what comes out."""

    def gate(y: Value) -> Value:
        return g.op(g.rng.choice(("Sigmoid", "Tanh")), y, f=np.asarray, known=False)

    y = chain(g, x, lambda v: scale(g, v, 0.5), gate, lambda v: shift(g, v, 0.25))
    return elementwise(g, "Add", *swap(g, (x, y)))
