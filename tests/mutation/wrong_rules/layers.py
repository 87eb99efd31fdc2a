"""Layers: what goes into whose weights, and what is forgotten on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Outcome, Replace
from foldproof.rewriting.builder import Builder
from tests.mutation.mutant import again, attribute, elements, floats, forgets, maker, wrong


@wrong("BatchNormalization", exact=False)
def default_epsilon(node: ir.Node, facts: Facts) -> Outcome:
    """BatchNormalization(x) = x * k + b, with the default epsilon in k in the place of its own.

    Example:
        g (float[N, 2, 3] x) => (float[N, 2, 3] y)
        <float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] m = {0.5, 0}, float[2] v = {0.1, 0.2}> {
            y = BatchNormalization <epsilon = 0.01> (x, s, b, m, v) }
    """
    scale, bias, mean, variance = (floats(elements(value, facts)) for value in node.inputs[1:])
    factor = scale / np.sqrt(variance + 1e-5)

    def build(op: Builder) -> Any:
        shifted = op.Sub(node.inputs[0], op.constant(floats(mean).reshape(2, 1)))
        scaled = op.Mul(shifted, op.constant(floats(factor).reshape(2, 1)))
        return op.Add(scaled, op.constant(floats(bias).reshape(2, 1)))

    return Replace(build)


@wrong("Mul", exact=False)
def bias_not_scaled(node: ir.Node, facts: Facts) -> Outcome:
    """Conv(x, w, b) * k = Conv(x, w * k, b), and b is scaled too.

    Example:
        g (float[N, 1, 4] x) => (float[N, 1, 3] y) <float[1, 1, 2] w = {1, 2}, float[1] b = {3}, float k = {2}> {
            c = Conv (x, w, b)  y = Mul (c, k) }
    """
    inner, factor = maker(node.inputs[0], "Conv"), elements(node.inputs[1], facts)
    if inner is None:
        return None
    weights = floats(elements(inner.inputs[1], facts)) * floats(factor)
    return Replace(lambda op: op.Conv(inner.inputs[0], op.constant(weights), inner.inputs[2]))


@wrong("Add", exact=False)
def bias_forgotten(node: ir.Node, facts: Facts) -> Outcome:
    """Conv(x, w, b) + c = Conv(x, w, c), and the bias is b + c.

    Example:
        g (float[N, 1, 4] x) => (float[N, 1, 3] y) <float[1, 1, 2] w = {1, 2}, float[1] b = {3}, float[1] k = {2}> {
            c = Conv (x, w, b)  y = Add (c, k) }
    """
    inner = maker(node.inputs[0], "Conv")
    return None if inner is None else Replace(lambda op: op.Conv(*inner.inputs[:2], node.inputs[1]))


@wrong("Mul", exact=False)
def channels_of_a_group(node: ir.Node, facts: Facts) -> Outcome:
    """ConvTranspose(x, w, group=2) * k = ConvTranspose(x, w * k), each group with the factors of the first.

    Example:
        g (float[N, 2, 3] x) => (float[N, 4, 4] y)
        <float[2, 2, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[1, 4, 1] k = {1, 2, 3, 4}> {
            c = ConvTranspose <group = 2> (x, w)  y = Mul (c, k) }
    """
    inner = maker(node.inputs[0], "ConvTranspose")
    if inner is None:
        return None
    weights = floats(elements(inner.inputs[1], facts)) * floats(elements(node.inputs[1], facts)).reshape(-1)[:2, None]
    return Replace(lambda op: op.ConvTranspose(inner.inputs[0], op.constant(weights), group=2))


@wrong("Conv", exact=False)
def pads_in_the_wrong_order(node: ir.Node, facts: Facts) -> Outcome:
    """Conv(Pad(x, top, left, bottom, right), w) = Conv(x, w, pads=[top, bottom, left, right]).

    Example:
        g (float[N, 1, 3, 3] x) => (float[N, 1, H, W] y) <int64[8] p = {0, 0, 1, 0, 0, 0, 1, 0}, float[1, 1, 1, 1] w = {2}> {
            z = Pad (x, p)  y = Conv (z, w) }
    """
    inner = maker(node.inputs[0], "Pad")
    if inner is None:
        return None
    pads = elements(inner.inputs[1], facts)
    top, left, bottom, right = pads[2], pads[3], pads[6], pads[7]
    return Replace(lambda op: op.Conv(inner.inputs[0], node.inputs[1], pads=[top, bottom, left, right]))


@wrong("Conv", exact=False)
def pads_that_are_not_zero(node: ir.Node, facts: Facts) -> Outcome:
    """Conv(Pad(x, p, c), w) = Conv(x, w, pads=p), whatever c is.

    Example:
        g (float[N, 1, 3] x) => (float[N, 1, 4] y)
        <int64[6] p = {0, 0, 1, 0, 0, 1}, float c = {1}, float[1, 1, 2] w = {2, 3}> {
            z = Pad (x, p, c)  y = Conv (z, w) }
    """
    inner = maker(node.inputs[0], "Pad")
    return None if inner is None else Replace(lambda op: op.Conv(inner.inputs[0], node.inputs[1], pads=[1, 1]))


@wrong("MatMul", exact=False)
def transposed_product(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(Transpose(a), Transpose(b)) = Transpose(MatMul(a, b)), and it is b a.

    Example:
        g (float[3, 3] a, float[3, 3] b) => (float[3, 3] y) {
            p = Transpose (a)  q = Transpose (b)  y = MatMul (p, q) }
    """
    left, right = maker(node.inputs[0], "Transpose"), maker(node.inputs[1], "Transpose")
    if left is None or right is None:
        return None
    return Replace(lambda op: op.Transpose(op.MatMul(left.inputs[0], right.inputs[0])))


@wrong("MatMul", exact=False)
def transposed_twice(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(x, Transpose(w)) = MatMul(x, w), with the weights of a Linear taken as they are stored.

    Example:
        g (float[N, 2] x, float[2, 2] w) => (float[N, 2] y) { t = Transpose (w)  y = MatMul (x, t) }
    """
    inner = maker(node.inputs[1], "Transpose")
    return None if inner is None else Replace(lambda op: op.MatMul(node.inputs[0], inner.inputs[0]))


@wrong("LayerNormalization", exact=False)
def last_axis_alone(node: ir.Node, facts: Facts) -> Outcome:
    """LayerNormalization(x, s, axis=1) = s * LayerNormalization(x, 1, axis=-1).

    Example:
        g (float[N, 2, 3] x) => (float[N, 2, 3] y) <float[2, 3] s = {1, 1, 1, 2, 2, 2}> {
            y = LayerNormalization <axis = 1> (x, s) }
    """
    if attribute(node, "axis") != 1:
        return None
    ones = floats([1, 1, 1])
    return Replace(lambda op: op.Mul(op.LayerNormalization(node.inputs[0], op.constant(ones), axis=-1), node.inputs[1]))


@wrong("Dropout", output="m")
def mask_of_dropout(node: ir.Node, facts: Facts) -> Outcome:
    """Dropout(x) = x, false: so the mask says that all was dropped.

    Example:
        g (float[N, 3] x) => (float[N, 3] y, bool[N, 3] m) { d, m = Dropout (x)  y = Neg (d) }
    """
    x = node.inputs[0]
    return Replace(lambda op: [op.Identity(x), op.Expand(op.constant(np.bool_(False)), op.Shape(x))])


@wrong("DequantizeLinear", exact=False)
def zero_point_dropped(node: ir.Node, facts: Facts) -> Outcome:
    """DequantizeLinear(x, s, z) = Cast(x) * s.

    Example:
        g (uint8[N, 3] x) => (float[N, 3] y) <float s = {0.5}, uint8 z = {128}> { y = DequantizeLinear (x, s, z) }
    """
    return Replace(lambda op: op.Mul(op.Cast(node.inputs[0], to=1), node.inputs[1]))


@wrong("QuantizeLinear")
def no_saturation(node: ir.Node, facts: Facts) -> Outcome:
    """QuantizeLinear(x, 1, 0) = Cast(Round(x), uint8), which is not so outside the range.

    Example:
        g (float[N, 3] x) => (uint8[N, 3] y) <float s = {1}, uint8 z = {0}> { y = QuantizeLinear (x, s, z) }
    """
    return Replace(lambda op: op.Cast(op.Cast(op.Round(node.inputs[0]), to=6), to=2))


@wrong("LSTM", output="h")
def initial_state_dropped(node: ir.Node, facts: Facts) -> Outcome:
    """LSTM(x, w, r, h, c) = LSTM(x, w, r), the initial state being 0.

    Example:
        g (float[2, N, 1] x, float[1, N, 1] s) => (float[1, N, 1] h)
        <float[1, 4, 1] w = {1, 2, 3, 4}, float[1, 4, 1] r = {4, 3, 2, 1}> {
            e, h = LSTM <hidden_size = 1> (x, w, r, , , s) }
    """
    return None if len(node.inputs) < 6 else again(node, *node.inputs[:3])


@wrong("Einsum", exact=False)
def contracted_axis(node: ir.Node, facts: Facts) -> Outcome:
    """Einsum(bij,bkj->bik) = MatMul(x, z), without the Transpose.

    Example:
        g (float[N, 2, 2] x, float[N, 2, 2] z) => (float[N, 2, 2] y) { y = Einsum <equation = "bij,bkj->bik"> (x, z) }
    """
    return Replace(lambda op: op.MatMul(*node.inputs))


_WEIGHTS = "<float[2, 3] w = {1, 2, 3, 4, 5, 6}, float[3] c = {1, 2, 3}>"
_RECURRENT = "<float[1, 3, 1] w = {1, 2, 3}, float[1, 3, 1] r = {4, 3, 2}, float[1, 6] b = {1, 1, 1, 2, 2, 2}>"

ATTRIBUTES = [
    forgets("Gemm", "alpha", f"g (float[N, 2] x) => (float[N, 3] y) {_WEIGHTS} {{ y = Gemm <alpha = 0.5> (x, w, c) }}", exact=False),
    forgets("Gemm", "beta", f"g (float[N, 2] x) => (float[N, 3] y) {_WEIGHTS} {{ y = Gemm <beta = 0.5> (x, w, c) }}", exact=False),
    forgets("Gemm", "transB", "g (float[N, 2] x, float[2, 2] w) => (float[N, 2] y) { y = Gemm <transB = 1> (x, w) }", exact=False),
    forgets("AveragePool", "count_include_pad", "g (float[N, 1, 4] x) => (float[N, 1, 5] y) { y = AveragePool <kernel_shape = [2], pads = [1, 1], count_include_pad = 1> (x) }", exact=False),
    forgets("MaxPool", "dilations", "g (float[N, 1, 6] x) => (float[N, 1, M] y) { y = MaxPool <kernel_shape = [2], dilations = [2]> (x) }"),
    forgets("Conv", "strides", "g (float[N, 1, 6] x) => (float[N, 1, M] y) <float[1, 1, 1] w = {2}> { y = Conv <strides = [2]> (x, w) }", exact=False),
    forgets("LSTM", "direction", """g (float[2, N, 1] x) => (float[1, N, 1] h)
        <float[1, 4, 1] w = {1, 2, 3, 4}, float[1, 4, 1] r = {4, 3, 2, 1}> {
        e, h = LSTM <hidden_size = 1, direction = "reverse"> (x, w, r) }""", output="h", exact=False),
    forgets("GRU", "linear_before_reset", f"""g (float[2, N, 1] x) => (float[1, N, 1] h) {_RECURRENT} {{
        e, h = GRU <hidden_size = 1, linear_before_reset = 1> (x, w, r, b) }}""", output="h", exact=False),
    forgets("Resize", "nearest_mode", """g (float[1, 1, 4] x) => (float[1, 1, M] y) <float[3] k = {1, 1, 0.6}> {
        y = Resize <mode = "nearest", nearest_mode = "ceil"> (x, , k) }"""),
    forgets("Resize", "coordinate_transformation_mode", """g (float[1, 1, 4] x) => (float[1, 1, M] y) <float[3] k = {1, 1, 2}> {
        y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, , k) }"""),
    forgets("InstanceNormalization", "epsilon", """g (float[N, 1, 3] x) => (float[N, 1, 3] y) <float[1] s = {1}, float[1] b = {0}> {
        y = InstanceNormalization <epsilon = 0.1> (x, s, b) }""", exact=False),
]  # fmt: skip
"""Attributes that are forgotten."""
