"""Convolutions, pools, batch normalization, recurrent layers, resizing."""

from __future__ import annotations

import numpy as np

from tests.fuzzing.families.affine import affine
from tests.fuzzing.families.common import weights
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import elementwise, pad, reduce, reshape, squeeze, transpose, zeros
from tests.fuzzing.steps import step
from tests.fuzzing.values import Array, Value


def image(x: Value) -> bool:
    """[N, C, ...] in float32 with known channels and spatial dims that are never empty."""
    return x.dtype == np.float32 and x.rank in (3, 4) and bool(x.static(1)) and all(min(dim) > 0 for dim in x.dims[2:])


def _windows(g: Graph, x: Value) -> tuple[dict[str, object], list[int], list[int]]:
    """Attributes of a window that slides, with its size and its pads."""
    spatial = x.rank - 2
    kernel = [g.rng.choice((1, 1, 2, 3)) for _ in range(spatial)]
    pads = [g.rng.choice((0, 0, 1)) if kernel[k % spatial] > 1 else 0 for k in range(2 * spatial)]
    attributes: dict[str, object] = {"kernel_shape": kernel}
    if any(pads):
        attributes["pads"] = pads
    return attributes, kernel, pads


def _slid(a: Array, kernel: list[int], pads: list[int], strides: list[int], channels: int) -> Array:
    spatial = len(kernel)
    dims = []
    for k, size in enumerate(kernel):
        free = a.shape[2 + k] + pads[k] + pads[k + spatial] - size
        if free < 0:
            raise InadmissibleError
        dims.append(free // strides[k] + 1)
    return zeros((a.shape[0], channels, *dims))


def conv(g: Graph, x: Value) -> Value:
    """Conv, with groups or without."""
    attributes, kernel, pads = _windows(g, x)
    channels = x.static(1) or 1
    groups = channels if g.chance(0.3) else 1
    strides = [g.rng.choice((1, 1, 2)) for _ in kernel]
    if g.chance(0.2) and "pads" not in attributes and set(strides) == {1}:
        attributes["auto_pad"] = "SAME_UPPER"
        pads = [(size - 1) // 2 for size in kernel] + [size // 2 for size in kernel]
    outputs = groups * g.rng.randint(1, 2) if groups > 1 else g.rng.randint(1, 3)
    w = weights(g, (outputs, channels // groups, *kernel))
    bias = weights(g, (outputs,)) if g.chance(0.5) else None
    f = lambda a, *_: _slid(a, kernel, pads, strides, outputs)  # noqa: E731
    if set(strides) != {1}:
        attributes["strides"] = strides
    return g.op(
        "Conv", x, w, bias, f=f, known=False, group=groups if groups > 1 or g.chance(0.3) else None, **attributes
    )


def conv_transpose(g: Graph, x: Value) -> Value:
    if x.is_ever_empty:
        raise InadmissibleError  # onnxruntime needn't survive it
    channels = x.static(1) or 1
    groups = channels if g.chance(0.4) else 1
    kernel = [g.rng.choice((1, 2, 3)) for _ in range(x.rank - 2)]
    strides = [g.rng.choice((1, 2)) for _ in kernel]
    each = g.rng.randint(1, 2)
    w = weights(g, (channels, each, *kernel))
    bias = weights(g, (groups * each,)) if g.chance(0.5) else None

    def f(a: Array, *_: Array) -> Array:
        dims = [(a.shape[2 + k] - 1) * strides[k] + kernel[k] for k in range(len(kernel))]
        return zeros((a.shape[0], groups * each, *dims))

    return g.op("ConvTranspose", x, w, bias, f=f, known=False, group=groups, strides=strides, kernel_shape=kernel)


def batch_normalization(g: Graph, x: Value) -> Value:
    channels = x.static(1) or 1
    parameters = [weights(g, (channels,), low, 1.5) for low in (0.3, -1, -1, 0.3)]
    epsilon = g.rng.choice((None, 1e-3))
    return g.op("BatchNormalization", x, *parameters, f=lambda a, *_: a, known=False, epsilon=epsilon)


def pool(g: Graph, x: Value) -> Value:
    attributes, kernel, pads = _windows(g, x)
    name = g.rng.choice(("MaxPool", "AveragePool", "AveragePool"))
    if name == "AveragePool" and g.chance(0.4):
        attributes["count_include_pad"] = 1
    strides = [g.rng.choice((1, 2)) for _ in kernel]
    f = lambda a: _slid(a, kernel, pads, strides, a.shape[1])  # noqa: E731
    return g.op(name, x, f=f, known=False, strides=strides, **attributes)


@step(image, 4)
def convolution(g: Graph, x: Value) -> Value:
    """Conv or ConvTranspose, with what can be merged into it before and after."""
    if g.chance(0.3):
        x = before(g, x)
    x = conv(g, x) if g.chance(0.75) else conv_transpose(g, x)
    for _ in range(g.rng.choice((0, 1, 1, 2))):
        x = batch_normalization(g, x) if g.chance(0.4) else affine(g, x, 1)
    return elementwise(g, "Relu", x) if g.chance(0.3) else x


def before(g: Graph, x: Value) -> Value:
    form = g.rng.randrange(3)
    if form == 0:
        return batch_normalization(g, x)
    if form == 1:
        return affine(g, x, 1)
    return padded(g, x)


def padded(g: Graph, x: Value) -> Value:
    """A Pad of spatial dims, mostly by zeros."""
    spatial = x.rank - 2
    pads = [0, 0, *(g.rng.randint(0, 1) for _ in range(spatial))] * 2
    if g.chance(0.1):
        pads[1] = 1
    return pad(g, x, pads, value=g.rng.choice((None, 0.0, 0.0, -0.0, 1.0)))


@step(image, 1.5)
def pooled(g: Graph, x: Value) -> Value:
    if g.chance(0.3) and x.rank == 4:
        # One element of padding, and windows of three: what pools of exported models look like.
        y = pad(g, x, [0, 0, 1, 1, 0, 0, 1, 1], value=g.rng.choice((None, 0.0, -0.0, -np.inf)))
        f = lambda a: _slid(a, [3, 3], [0] * 4, [1, 1], a.shape[1])  # noqa: E731
        name = g.rng.choice(("AveragePool", "AveragePool", "MaxPool"))
        return g.op(name, y, f=f, known=False, kernel_shape=[3, 3])
    return pool(g, padded(g, x) if g.chance(0.5) else x)


@step(image, 1.5)
def normalized(g: Graph, x: Value) -> Value:
    """BatchNormalization and arithmetic with constants, without a layer."""
    if g.chance(0.4):
        x = affine(g, x, 1)
    x = batch_normalization(g, x)
    return affine(g, x, 1) if g.chance(0.5) else x


@step(image)
def global_pool(g: Graph, x: Value) -> Value:
    """Over all spatial dims, in one way or another."""
    axes = list(range(2, x.rank))
    form = g.rng.randrange(3)
    if form == 0:
        f = lambda a: zeros((*a.shape[:2], *(1,) * (a.ndim - 2)))  # noqa: E731
        name = g.rng.choice(("GlobalAveragePool", "GlobalMaxPool"))
        x = g.op(name, x, f=f, known=False)
    else:
        x = reduce(g, "ReduceMean", x, axes, 1)
    return squeeze(g, x, axes) if g.chance(0.6) else x


@step(image)
def channels_last(g: Graph, x: Value) -> Value:
    """A Conv between two Transposes, as TensorFlow exports it."""
    last = transpose(g, x, [0, *range(2, x.rank), 1])
    last = affine(g, last, x.rank - 1) if g.chance(0.6) else elementwise(g, "Relu", last)
    first = transpose(g, last, [0, x.rank - 1, *range(1, x.rank - 1)])
    y = conv(g, first)
    return transpose(g, y, [0, *range(2, y.rank), 1])


@step(image, 0.8)
def resized(g: Graph, x: Value) -> Value:
    """Resize by 1, or by 2."""
    factor = g.rng.choice((1.0, 1.0, 2.0))
    scales = g.constant([1.0, 1.0, *(factor,) * (x.rank - 2)], np.float32)
    mode = g.rng.choice(("nearest", "nearest", "linear"))
    if x.is_ever_empty:
        raise InadmissibleError

    def f(a: Array, *_: Array | None) -> Array:
        return zeros((*a.shape[:2], *(int(dim * factor) for dim in a.shape[2:])))

    if g.opset < 11:
        return g.op("Upsample" if g.opset < 10 else "Resize", x, scales, f=f, known=False, mode=mode)
    return g.op("Resize", x, None, scales, f=f, known=False, mode=mode)


@step(image, 0.6)
def shuffled(g: Graph, x: Value) -> Value:
    """A channel shuffle: Reshape, Transpose, Reshape."""
    channels = x.static(1) or 1
    spatial = [x.static(axis) for axis in range(2, x.rank)]
    if channels % 2 or None in spatial:
        raise InadmissibleError
    dims = [each or 1 for each in spatial]
    y = reshape(g, x, [-1, 2, channels // 2, *dims])
    y = transpose(g, y, [0, 2, 1, *range(3, y.rank)])
    return reshape(g, y, [-1, channels, *dims])


def series(x: Value) -> bool:
    return x.dtype == np.float32 and x.rank == 3 and bool(x.static(2)) and not x.is_ever_empty


@step(series, 1.5)
def recurrent(g: Graph, x: Value) -> Value:
    """LSTM, GRU or RNN with an initial state of zeros. onnxruntime needn't survive an empty one."""
    name, gates = g.rng.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    hidden, width = 2, x.static(2) or 1
    w, r = weights(g, (1, gates * hidden, width)), weights(g, (1, gates * hidden, hidden))
    batch = x.static(1)
    start = None
    if batch and g.chance(0.7):
        start = g.constant(np.zeros((1, batch, hidden)) if g.chance(0.8) else np.ones((1, batch, hidden)), np.float32)
    states = [start, start] if name == "LSTM" else [start]

    def f(a: Array, *_: Array) -> Array:
        return zeros((a.shape[0], 1, a.shape[1], hidden))

    y = g.op(name, x, w, r, None, None, *states, f=f, known=False, hidden_size=hidden)
    return squeeze(g, y, [1])
