"""Rules that recognize `LayerNormalization` and `RMSNormalization`, and that give normalizations their parameters."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._patterns import fits_attribute, maker_of, number_beside, orders, reads_only, reduced_axes
from foldproof_rules._weights import again, attribute_float, input_of, is_private, loss, single, weights

RUNTIME_TYPES = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE})
"""The types of which onnxruntime 1.32 runs these normalizations on the CPU as it ran what they replace."""

MAX_SCALE = 2**20
"""A scale of more ones is not stored."""


def _quotient(node: ir.Node, facts: Facts) -> tuple[ir.Value, ir.Value, list[ir.Node]] | None:
    """The numerator n, the radicand r and the nodes, of n / sqrt(r) in one of its forms."""
    if node.op_type == "Div":
        top, bottom = node.inputs
        root = maker_of(bottom, "Sqrt")
        return None if root is None or top is None or root.inputs[0] is None else (top, root.inputs[0], [node, root])
    for top, bottom in orders(node):
        inverse = maker_of(bottom, "Reciprocal", "Pow", "Div")
        if inverse is None:
            continue
        if inverse.op_type == "Pow":
            if single(inverse.inputs[1], facts) == -0.5 and inverse.inputs[0] is not None:
                return top, inverse.inputs[0], [node, inverse]
            continue
        if inverse.op_type == "Div" and single(inverse.inputs[0], facts) != 1:
            continue
        root = maker_of(inverse.inputs[-1], "Sqrt")
        if root is not None and root.inputs[0] is not None:
            return top, root.inputs[0], [node, inverse, root]
    return None


def _mean_square(radicand: ir.Value, facts: Facts) -> tuple[ir.Value, float, tuple[int, ...], list[ir.Node]] | None:
    """x, epsilon, axes and the nodes, of mean(x * x) + epsilon."""
    add = maker_of(radicand, "Add")
    for mean, constant in orders(add):
        epsilon, reduce = number_beside(mean, constant, facts), maker_of(mean, "ReduceMean")
        if epsilon is None or reduce is None or add is None or epsilon < 0:
            continue
        axes, square = reduced_axes(reduce, facts), maker_of(reduce.inputs[0], "Pow", "Mul")
        if axes is None or square is None:
            continue
        for x, other in list(orders(square))[:1]:
            if other is x if square.op_type == "Mul" else number_beside(x, other, facts) == 2:
                return x, epsilon, axes, [add, reduce, square]
    return None


def _normalized(node: ir.Node, facts: Facts) -> tuple[ir.Value, float, tuple[int, ...], list[ir.Node]] | Reason | None:
    """What a node divides by the root of its mean square, with epsilon, the axes and the nodes."""
    quotient = _quotient(node, facts)
    found = None if quotient is None else _mean_square(quotient[1], facts)
    if quotient is None or found is None or found[0] is not quotient[0]:
        return None
    x, epsilon, axes, nodes = found
    nodes = [*quotient[2], *nodes]
    if not all(reads_only(each.outputs[0], nodes) for each in nodes[1:]):
        return Reason("a value inside the pattern is read elsewhere")
    return x, epsilon, axes, nodes


def _last_dims(x: ir.Value, axes: tuple[int, ...], facts: Facts) -> tuple[int, ...] | Reason:
    """The dims of the given axes, if these are the last ones and each is known."""
    fact = facts.of(x)
    if fact.dtype not in RUNTIME_TYPES:
        return Reason("the runtime has no such normalization of its type")
    if fact.shape is None or axes != tuple(range(len(fact.shape) - len(axes), len(fact.shape))):
        return Reason("it is not taken over the last axes")
    dims = tuple(dim for dim in fact.shape[axes[0] :] if isinstance(dim, int) and dim > 0)
    return dims if len(dims) == len(axes) else Reason("the dims that it is taken over are not known")


@rule("Div", "Mul", exact=False, benefit=4, since=17, after=("Sqrt", "Reciprocal", "Pow", "Div"))
def layer_normalization(node: ir.Node, facts: Facts) -> Outcome:
    """Div(x - mean(x), sqrt(var(x) + e)) = LayerNormalization(x, 1, epsilon=e), over the last axes, from opset 17 on.

    var(x) is the mean of the squares of x - mean(x). The scale and the bias that follow are merged by other rules.

    Example:
        <opset_import: ["" : 18]>
        g (float[N, 4] x) => (float[N, 4] y) <int64[1] axis = {-1}, float two = {2}, float epsilon = {0.00001}> {
            m = ReduceMean (x, axis)  c = Sub (x, m)  q = Pow (c, two)  v = ReduceMean (q, axis)
            s = Add (v, epsilon)  r = Sqrt (s)  y = Div (c, r) }
    """
    found = _normalized(node, facts)
    if found is None or isinstance(found, Reason):
        return found
    centered, epsilon, axes, nodes = found
    subtract = maker_of(centered, "Sub")
    x, mean = (None, None) if subtract is None else subtract.inputs
    reduce = maker_of(mean, "ReduceMean")
    if (
        subtract is None
        or reduce is None
        or x is None
        or reduce.inputs[0] is not x
        or reduced_axes(reduce, facts) != axes
    ):
        return None
    if not reads_only(centered, nodes) or not is_private(mean):
        return Reason("a value inside the pattern is read elsewhere")
    dims = _last_dims(x, axes, facts)
    return dims if isinstance(dims, Reason) else _fused("LayerNormalization", x, dims, epsilon, facts)


@rule("Div", "Mul", exact=False, benefit=3, since=23, after=("Sqrt", "Reciprocal", "Pow", "Div"))
def rms_normalization(node: ir.Node, facts: Facts) -> Outcome:
    """Div(x, sqrt(mean(x * x) + e)) = RMSNormalization(x, 1, epsilon=e), over the last axes, from opset 23 on.

    Example:
        <opset_import: ["" : 23]>
        g (float[N, 4] x) => (float[N, 4] y) <int64[1] axis = {-1}, float epsilon = {0.00001}> {
            q = Mul (x, x)  v = ReduceMean (q, axis)  s = Add (v, epsilon)  r = Sqrt (s)  y = Div (x, r) }
    """
    found = _normalized(node, facts)
    if found is None or isinstance(found, Reason):
        return found
    x, epsilon, axes, _ = found
    dims = _last_dims(x, axes, facts)
    return dims if isinstance(dims, Reason) else _fused("RMSNormalization", x, dims, epsilon, facts)


def _fused(op_type: str, x: ir.Value, dims: tuple[int, ...], epsilon: float, facts: Facts) -> Replace | Reason:
    dtype = facts.of(x).dtype or ir.DataType.FLOAT
    if not fits_attribute(epsilon, x, facts):
        return Reason("its epsilon of {} is no float32, as an attribute is", epsilon)
    if math.prod(dims) > MAX_SCALE:
        return Reason("a scale of {} elements would be stored", math.prod(dims))

    def build(op: Builder) -> ir.Value:
        ones = op.constant(np.ones(dims, dtype.numpy()))
        made = op.node(op_type, x, ones, axis=-len(dims), epsilon=epsilon)
        assert isinstance(made, ir.Value)
        return made

    return Replace(build)


@rule("Mul", exact=False, benefit=7, after=("LayerNormalization", "RMSNormalization"))
def scale_of_normalization(node: ir.Node, facts: Facts) -> Outcome:
    """LayerNormalization(x, 1) * s = LayerNormalization(x, s), where s has the dims of the scale.

    RMSNormalization(x, 1) * s = RMSNormalization(x, s) likewise.

    Example:
        g (float[N, 4] x, float[4] s) => (float[N, 4] y) <float[4] one = {1, 1, 1, 1}> {
            n = LayerNormalization (x, one)  y = Mul (n, s) }
    """
    for normalized, scale in orders(node):
        maker = maker_of(normalized, "LayerNormalization", "RMSNormalization")
        if maker is None or input_of(maker, 2) is not None:
            continue
        fact = facts.of(input_of(maker, 1))
        if fact.constant is None or facts.shape(scale) != fact.shape or (fact.constant.numpy() != 1).any():
            continue
        reason = _kept(maker, normalized)
        return reason or _with(maker, maker.inputs[0], scale)
    return None


@rule("Add", exact=False, benefit=7, after=("LayerNormalization",))
def bias_of_normalization(node: ir.Node, facts: Facts) -> Outcome:
    """LayerNormalization(x, s) + b = LayerNormalization(x, s, b), where b has the dims of the scale.

    Example:
        g (float[N, 4] x, float[4] s, float[4] b) => (float[N, 4] y) { n = LayerNormalization (x, s)  y = Add (n, b) }
    """
    for normalized, bias in orders(node):
        maker = maker_of(normalized, "LayerNormalization")
        if maker is None or input_of(maker, 2) is not None:
            continue
        shape = facts.shape(input_of(maker, 1))
        if shape is None or facts.shape(bias) != shape:
            continue
        reason = _kept(maker, normalized)
        return reason or _with(maker, *maker.inputs[:2], bias)
    return None


@rule("Reshape", exact=False, benefit=4, after=("InstanceNormalization",))
def instance_normalization_of_reshape(node: ir.Node, facts: Facts) -> Outcome:
    """Reshape(InstanceNormalization(Reshape(x), s, b)) = InstanceNormalization(x, s, b), where batch and channels stay.

    Each channel has the same elements in either shape. That is how GroupNormalization with one channel in each group is
    exported.

    Example:
        g (float[N, 2, 3, 4] x) => (float[N, 2, 3, 4] y)
            <int64[3] flat = {0, 2, -1}, int64[4] full = {-1, 2, 3, 4}, float[2] s = {1, 2}, float[2] b = {0, 1}> {
            r = Reshape (x, flat)  n = InstanceNormalization (r, s, b)  y = Reshape (n, full) }
    """
    normalization = maker_of(input_of(node, 0), "InstanceNormalization")
    reshape = None if normalization is None else maker_of(input_of(normalization, 0), "Reshape")
    if normalization is None or reshape is None:
        return None
    x, inner = input_of(reshape, 0), reshape.outputs[0]
    before, between, after = facts.shape(x), facts.shape(inner), facts.shape(node.outputs[0])
    if before is None or between is None or before != after or len(before) < 3 or before[:2] != between[:2]:
        return Reason("the batch and the channels are not proven to stay where they are")
    if not is_private(inner) or not is_private(normalization.outputs[0]):
        return Reason("a value inside the pattern is read elsewhere")
    return _with(normalization, x, *normalization.inputs[1:])


@rule("Reshape", exact=False, benefit=3, level=3, since=21, after=("InstanceNormalization",))
def group_normalization(node: ir.Node, facts: Facts) -> Outcome:
    """Reshape(InstanceNormalization(Reshape(x), s, b)) = GroupNormalization(x, s', b'), where channels are grouped.

    s' and b' have the number of its group for each channel. What scales the channels then goes into them by other
    rules. Only at level 3: onnxruntime 1.32 has no kernel of it on the CPU. It writes it out, and takes twice as long.

    Example:
        g (float[N, 4, 6] x) => (float[N, 4, 6] y)
            <int64[3] grouped = {0, 2, -1}, int64[3] full = {-1, 4, 6}, float[2] s = {1, 2}, float[2] b = {0, 1}> {
            r = Reshape (x, grouped)  n = InstanceNormalization (r, s, b)  y = Reshape (n, full) }
    """
    normalization = maker_of(input_of(node, 0), "InstanceNormalization")
    reshape = None if normalization is None else maker_of(input_of(normalization, 0), "Reshape")
    if normalization is None or reshape is None:
        return None
    x, inner = input_of(reshape, 0), reshape.outputs[0]
    before, between, after = facts.shape(x), facts.shape(inner), facts.shape(node.outputs[0])
    epsilon = attribute_float(normalization, "epsilon", 1e-5)
    if before is None or between is None or before != after or len(before) < 3 or before[0] != between[0]:
        return Reason("the batch is not proven to stay where it is")
    channels, groups = before[1], between[1]
    if not isinstance(channels, int) or not isinstance(groups, int) or channels % groups or epsilon is None:
        return Reason("its channels are not known, or not grouped")
    if not is_private(inner) or not is_private(normalization.outputs[0]) or facts.of(x).dtype not in RUNTIME_TYPES:
        return Reason("a value inside the pattern is read elsewhere, or the runtime lacks its type")
    scale, bias = (weights(value, facts) for value in normalization.inputs[1:])
    if scale is None or bias is None:
        return Reason("its scale or its bias is not constant")
    if scale.shape != (groups,) or bias.shape != (groups,):
        return Reason("its scale or its bias is not one number for each group")
    if (reason := loss(scale.array, scale) or loss(bias.array, bias)) is not None:
        return reason
    spread = [np.repeat(each.full(), channels // groups).astype(each.dtype.numpy()) for each in (scale, bias)]
    return Replace(lambda op: op.GroupNormalization(x, *map(op.constant, spread), num_groups=groups, epsilon=epsilon))


def _kept(maker: ir.Node, normalized: ir.Value) -> Reason | None:
    if not is_private(normalized):
        return Reason("the normalization is read elsewhere")
    if any(output.uses() or output.is_graph_output() for output in maker.outputs[1:]):
        return Reason("the mean of the normalization is read")
    return None


def _with(maker: ir.Node, *inputs: ir.Value | None) -> Replace:
    return Replace(lambda op: again(op, maker, *inputs))
