"""Rules that merge an affine function of each channel with the normalization before or after it."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._affine import OPERATORS, affine, not_inference, sources
from foldproof_rules._patterns import maker_of
from foldproof_rules._weights import (
    Array,
    Weights,
    again,
    attribute_int,
    input_of,
    is_private,
    loss,
    plain,
    stored,
    weights,
)

CHANNELS_FIRST = ("BatchNormalization", "InstanceNormalization", "GroupNormalization")
CHANNELS_LAST = ("LayerNormalization", "RMSNormalization")


@rule(*OPERATORS, exact=False, benefit=7, after=(*CHANNELS_FIRST, *CHANNELS_LAST))
def affine_into_normalization(node: ir.Node, facts: Facts) -> Outcome:
    """Normalization(x, s, b) * a + c = Normalization(x, s * a, b * a + c), where all but x are constants.

    There is one a and one c for each channel: at axis 1 of Batch-, Instance- and GroupNormalization (the latter from
    version 21 on), at the last axis of Layer- and RMSNormalization.

    Example:
        g (float[N, 4] x) => (float[N, 4] y)
            <float[4] s = {1, 2, 3, 4}, float[4] b = {0, 1, 0, 1}, float[4] a = {2, 0.5, -1, 3}> {
            n = LayerNormalization (x, s, b)  y = Mul (n, a) }
    """
    outcome: Outcome = None
    for source in sources(node, facts):
        maker = maker_of(source, *CHANNELS_FIRST, *CHANNELS_LAST)
        if maker is None:
            continue
        outcome = _into(node, source, maker, facts)
        if not isinstance(outcome, Reason):
            return outcome
    return outcome


def _into(node: ir.Node, source: ir.Value, maker: ir.Node, facts: Facts) -> Outcome:
    version, rank = facts.opset_version(maker), facts.of(source).rank
    if not is_private(source) or any(o.uses() or o.is_graph_output() for o in maker.outputs[1:]):
        return Reason("the normalization is read elsewhere")
    if maker.op_type == "GroupNormalization" and version < 21:
        return Reason("its scale is one number for each group")
    if maker.op_type == "BatchNormalization" and (reason := not_inference(maker, facts)) is not None:
        return reason
    scale, bias = weights(input_of(maker, 1), facts), weights(input_of(maker, 2), facts)
    if scale is None or rank is None or len(scale.shape) != 1 or (bias is None and input_of(maker, 2) is not None):
        return Reason("its scale is not a constant vector")
    if bias is not None and bias.shape != scale.shape:
        return Reason("its bias has another size than its scale")
    last = maker.op_type in CHANNELS_LAST
    if last and attribute_int(maker, "axis", -1) not in (-1, rank - 1):
        return Reason("it is taken over more than the last axis")
    change = affine(node, source, facts, rank=rank, axis=rank - 1 if last else 1, channels=scale.shape[0])
    if isinstance(change, Reason):
        return change
    if change.shift is not None and maker.op_type == "RMSNormalization":
        return Reason("it has no bias")
    new_scale = scale.full() * change.factor
    new_bias = None
    if bias is not None or change.shift is not None:
        old = np.zeros(1) if bias is None else bias.full()
        new_bias = np.broadcast_to(old * change.factor + (0.0 if change.shift is None else change.shift), scale.shape)
    return _replaced(maker, new_scale, new_bias, plain(scale), plain(bias or scale))


def _replaced(maker: ir.Node, scale: Array, bias: Array | None, like: Weights, bias_like: Weights) -> Outcome:
    reason = loss(scale, like) or (None if bias is None else loss(bias, bias_like))
    if reason is not None:
        return reason

    def build(op: Builder) -> ir.Value:
        inputs = list(maker.inputs)
        inputs[1] = stored(op, scale, like)
        if bias is not None:
            inputs[2:3] = [stored(op, bias, bias_like)]
        return again(op, maker, *inputs)

    return Replace(build)


@rule("BatchNormalization", exact=False, benefit=5, after=OPERATORS)
def batch_normalization_of_affine(node: ir.Node, facts: Facts) -> Outcome:
    """BatchNormalization(x * a + c, s, b, m, v) = BatchNormalization(x, s * a, b', m, v), in inference, with constants.

    b' is b + s * (c - m + a * m) / sqrt(v + epsilon). Two BatchNormalizations in a row are one.

    Example:
        g (float[N, 2, W] x) => (float[N, 2, W] y)
            <float[2, 1] a = {2, 3}, float[2] s = {1, 0.5}, float[2] b = {0, 1}, float[2] m = {0.1, 0.2}, float[2] v =
            {1, 4}> { p = Mul (x, a)  y = BatchNormalization (p, s, b, m, v) }
    """
    source = node.inputs[0] if node.inputs else None
    maker = maker_of(source, *OPERATORS)
    if maker is None or source is None:
        return None
    reason = not_inference(node, facts)
    channels = (facts.shape(input_of(node, 1)) or (None,))[0]
    if reason is not None or not is_private(source) or not isinstance(channels, int):
        return reason or Reason("its input is read elsewhere")
    outcome: Outcome = None
    for inner in sources(maker, facts):
        before = facts.shape(inner)
        if before is None or len(before) < 2 or before[1] != channels or len(before) != facts.of(source).rank:
            outcome = Reason("the channels of its input are not proven")
            continue
        change = affine(maker, inner, facts, rank=len(before), axis=1, channels=channels)
        own = affine(node, source, facts, rank=len(before), axis=1, channels=channels)
        scale, bias, mean = (weights(value, facts) for value in node.inputs[1:4])
        if isinstance(own, Reason):
            return own
        if isinstance(change, Reason):
            outcome = change
            continue
        if scale is None or bias is None or mean is None or own.shift is None:
            return Reason("its parameters can't be read")
        shift = 0.0 if change.shift is None else change.shift
        new_bias = own.shift + own.factor * (shift + change.factor * mean.full())
        outcome = _merged(node, inner, scale.full() * change.factor, new_bias, plain(scale), plain(bias))
        if not isinstance(outcome, Reason):
            return outcome
    return outcome


def _merged(node: ir.Node, x: ir.Value, scale: Array, bias: Array, like: Weights, bias_like: Weights) -> Outcome:
    """The normalization of another value with a new scale and bias."""
    reason = loss(scale, like) or loss(bias, bias_like)
    return reason or Replace(
        lambda op: again(op, node, x, stored(op, scale, like), stored(op, bias, bias_like), *node.inputs[3:])
    )
