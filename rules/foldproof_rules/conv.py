"""Rules that compute new weights of `Conv` and `ConvTranspose`."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._affine import OPERATORS, Affine, affine, bias_of, sources
from foldproof_rules._patterns import end_of_pattern, maker_of
from foldproof_rules._weights import (
    Array,
    Weights,
    again,
    attribute_int,
    attribute_ints,
    attribute_string,
    input_of,
    is_known,
    is_private,
    loss,
    plain,
    shared,
    stored,
    weights,
)


@rule(*OPERATORS, exact=False, benefit=8, lowers=Cost.EXPRESSION, after=("Conv", "ConvTranspose"))
def affine_into_conv(node: ir.Node, facts: Facts) -> Outcome:
    """Conv(x, w, b) * a + c = Conv(x, w * a, b * a + c), where a and c are constants, one for each output channel.

    The same of `ConvTranspose`. The affine node is a BatchNormalization in inference, or an Add, Sub, Mul or Div with a
    constant that does not make the result larger.

    Example:
        g (float[N, 1, 4, 4] x) => (float[N, 2, 3, 3] y)
            <float[2, 1, 2, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] s = {1, 2}, float[2] b = {0, 1},
            float[2] m = {0.5, 0.1}, float[2] v = {1, 4}> {
            c = Conv (x, w)  y = BatchNormalization (c, s, b, m, v) }
    """
    outcome: Outcome = None
    for source in sources(node, facts):
        conv = maker_of(source, "Conv", "ConvTranspose")
        if conv is None:
            continue
        outcome = _into_conv(node, source, conv, facts)
        if not isinstance(outcome, Reason):
            return outcome
    return outcome


def _into_conv(node: ir.Node, source: ir.Value, conv: ir.Node, facts: Facts) -> Outcome:
    if not is_private(source):
        return Reason("the convolution is read elsewhere")
    if len(conv.inputs) < 2 or conv.inputs[1] is None or not is_known(conv.inputs[1], facts):
        return Reason("the weights of its convolution are not constant")
    weight = conv.inputs[1]
    shape, group = facts.of(weight).shape or (), attribute_int(conv, "group", 1)
    if group is None or len(shape) < 3:
        return Reason("the groups of its convolution are not known")
    channels = shape[0] if conv.op_type == "Conv" else shape[1] * group
    if not isinstance(channels, int):
        return Reason("the channels of its convolution are not known")
    change = affine(node, source, facts, rank=len(shape), axis=1, channels=channels)
    if isinstance(change, Reason):
        return change
    old_bias, reason = bias_of(conv, 2, facts)
    if old_bias is not None and old_bias.shape != (channels,):
        return Reason("its convolution has a bias that does not fit its channels")
    scales = not (change.factor == 1).all()
    reason = reason or (shared(weight, facts) if scales else None)
    if reason is not None:
        return reason
    old = weights(weight, facts) if scales else None
    new = None if old is None else _scaled_outputs(old, change.factor, conv.op_type, group)
    bias = _combined(old_bias, change.factor, change.shift, channels)
    kind = old or Weights(np.zeros(0), (channels,), facts.of(weight).dtype or ir.DataType.FLOAT)
    reason = None if new is None or old is None else loss(new, old)
    reason = reason or (None if bias is None else loss(bias, plain(kind)))
    if reason is not None:
        return reason

    def build(op: Builder) -> ir.Value:
        inputs = [conv.inputs[0], weight if new is None or old is None else stored(op, new, old)]
        if bias is not None:
            inputs.append(stored(op, bias, plain(kind)))
        return again(op, conv, *inputs)

    return Replace(build)


def _combined(bias: Array | None, factor: Array, shift: Array | None, channels: int) -> Array | None:
    """The new bias: factor * bias + shift, None where nothing is added."""
    if bias is None and shift is None:
        return None
    old = np.zeros(channels) if bias is None else bias
    combined: Array = np.broadcast_to(factor * old + (0.0 if shift is None else shift), (channels,))
    return combined


def _scaled_outputs(old: Weights, factor: Array, op_type: str, group: int) -> Array:
    """The weights with each output channel scaled. Conv: (M, C/g, ...), ConvTranspose: (C, M/g, ...)."""
    ones = (1,) * (len(old.shape) - 2)
    if factor.size == 1:
        return old.array * factor.reshape(1, 1, *ones)
    if op_type == "Conv":
        return old.array * factor.reshape(-1, 1, *ones)
    if group == 1:
        return old.array * factor.reshape(1, -1, *ones)
    by_group = old.full().reshape(group, old.shape[0] // group, *old.shape[1:])
    return (by_group * factor.reshape(group, 1, old.shape[1], *ones)).reshape(old.shape)


@rule("Conv", "ConvTranspose", exact=False, benefit=6, lowers=Cost.EXPRESSION, after=OPERATORS)
def conv_of_affine(node: ir.Node, facts: Facts) -> Outcome:
    """Conv(a * x + c, w, b) = Conv(x, w * a, b + sum(w * c)), where a and c are constants, one for each input channel.

    Where c is not 0, no padding: at the border a padded 0 stands for x, and c is not added to it. So never into a
    `ConvTranspose`, whose borders see fewer inputs, unless c is 0.

    Example:
        g (float[N, 2, 4] x) => (float[N, 1, 3] y) <float[2, 1] a = {2, 3}, float[1, 2, 2] w = {1, 2, 3, 4}> {
            p = Add (x, a)  y = Conv (p, w) }
    """
    source = node.inputs[0] if node.inputs else None
    maker = maker_of(source, *OPERATORS)
    if source is None or maker is None:
        return None
    kept = Reason("its input is read elsewhere") if not is_private(source) else end_of_pattern(maker)
    if kept is not None:
        return kept
    weight = input_of(node, 1)
    if weight is None or not is_known(weight, facts):
        return Reason("its weights are not constant")
    shape, group = facts.of(weight).shape or (), attribute_int(node, "group", 1)
    if group is None or len(shape) < 3:
        return Reason("its groups are not known")
    channels = shape[1] * group if node.op_type == "Conv" else shape[0]
    outcome: Outcome = None
    for inner in sources(maker, facts):
        before = facts.shape(inner)
        if before is None or len(before) != len(shape) or before[1] != channels or not isinstance(channels, int):
            outcome = Reason("the channels of its input are not proven")
            continue
        change = affine(maker, inner, facts, rank=len(shape), axis=1, channels=channels)
        outcome = change if isinstance(change, Reason) else _absorbed(node, inner, weight, change, group, facts)
        if not isinstance(outcome, Reason):
            return outcome
    return outcome


def _absorbed(node: ir.Node, inner: ir.Value, weight: ir.Value, change: Affine, group: int, facts: Facts) -> Outcome:
    """The convolution of the inner value with weights that hold what was done to its channels before."""
    factor, shift = change.factor, change.shift
    shifts = shift is not None and bool(shift.any())
    if shifts and (node.op_type != "Conv" or not _is_unpadded(node)):
        return Reason("it pads, and what is added to its input is not 0")
    scales = not (factor == 1).all()
    reason = shared(weight, facts) if scales else None
    old = weights(weight, facts)
    old_bias, unknown = bias_of(node, 2, facts) if shifts else (None, None)
    if old is None or reason is not None or unknown is not None:
        return reason or unknown or Reason("its weights can't be read")
    new = _scaled_inputs(old, factor, node.op_type, group) if scales else None
    bias = None
    if shifts and shift is not None:
        bias = _summed(old, shift, group) + (0.0 if old_bias is None else old_bias)
    reason = (None if new is None else loss(new, old)) or (None if bias is None else loss(bias, plain(old)))
    if reason is not None:
        return reason

    def build(op: Builder) -> ir.Value:
        inputs = [inner, weight if new is None else stored(op, new, old), *node.inputs[2:]]
        if bias is not None:
            inputs[2:] = [stored(op, bias, plain(old))]
        return again(op, node, *inputs)

    return Replace(build)


def _scaled_inputs(old: Weights, factor: Array, op_type: str, group: int) -> Array:
    """The weights with each input channel scaled."""
    ones = (1,) * (len(old.shape) - 2)
    if factor.size == 1:
        return old.array * factor.reshape(1, 1, *ones)
    if op_type == "ConvTranspose":
        return old.array * factor.reshape(-1, 1, *ones)
    if group == 1:
        return old.array * factor.reshape(1, -1, *ones)
    by_group = old.full().reshape(group, old.shape[0] // group, *old.shape[1:])
    return (by_group * factor.reshape(group, 1, old.shape[1], *ones)).reshape(old.shape)


def _summed(old: Weights, shift: Array, group: int) -> Array:
    """What a constant input of one number for each channel adds to each output channel of a Conv."""
    taps = old.full().reshape(group, old.shape[0] // group, old.shape[1], -1).sum(axis=3)
    by_group = np.broadcast_to(shift, (group * old.shape[1],)).reshape(group, 1, -1)
    summed: Array = (taps * by_group).sum(axis=2).reshape(-1)
    return summed


def _is_unpadded(node: ir.Node) -> bool:
    pads = attribute_ints(node, "pads", ())
    return pads is not None and not any(pads) and attribute_string(node, "auto_pad", "NOTSET") in ("NOTSET", "VALID")
