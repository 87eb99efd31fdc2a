"""Over which axes is reduced, and what is left of them."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Forward, Outcome, Replace
from foldproof.rewriting.builder import Builder
from tests.mutation.mutant import elements, forgets, ints, maker, wrong


@wrong("ReduceMean", exact=False)
def axes_of_the_transposed(node: ir.Node, facts: Facts) -> Outcome:
    """ReduceMean(Transpose(x, p), axes) = ReduceMean(x, axes), and it is p[axes].

    Example:
        g (float[3, 3, 3] x) => (float[3, 3] y) <int64[1] axes = {0}> {
            t = Transpose <perm = [1, 0, 2]> (x)  y = ReduceMean <keepdims = 0> (t, axes) }
    """
    inner = maker(node.inputs[0], "Transpose")
    return None if inner is None else Replace(lambda op: op.ReduceMean(inner.inputs[0], node.inputs[1], keepdims=0))


@wrong("Squeeze")
def squeezed_reduction(node: ir.Node, facts: Facts) -> Outcome:
    """Squeeze(ReduceSum(x, a, keepdims=1), b) = ReduceSum(x, a, keepdims=0), also where b is another axis.

    Example:
        g (float[N, 1, 3] x) => (float[N, 1] y) <int64[1] a = {2}, int64[1] b = {1}> {
            r = ReduceSum <keepdims = 1> (x, a)  s = Squeeze (r, b)  y = Neg (s) }
    """
    inner = maker(node.inputs[0], "ReduceSum")
    if inner is None:
        return None
    return Replace(lambda op: op.ReduceSum(inner.inputs[0], op.constant(ints(1)), keepdims=0))


@wrong("ReduceSum", exact=False)
def mean_for_sum(node: ir.Node, facts: Facts) -> Outcome:
    """ReduceSum(x) = ReduceMean(x), the count being forgotten.

    Example:
        g (float[N, 3] x) => (float[N] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 0> (x, a) }
    """
    return Replace(lambda op: op.ReduceMean(node.inputs[0], node.inputs[1], keepdims=0))


@wrong("ReduceMax", at=lambda dims: dims["N"] != 1)
def first_of_batch(node: ir.Node, facts: Facts) -> Outcome:
    """ReduceMax(x over the batch) = x[0].

    Example:
        g (float[N, 3] x) => (float[3] y) <int64[1] a = {0}> { y = ReduceMax <keepdims = 0> (x, a) }
    """
    return Replace(lambda op: op.Gather(node.inputs[0], op.constant(ints(0).reshape(()))))


@wrong("Softmax", exact=False)
def softmax_of_opset_12(node: ir.Node, facts: Facts) -> Outcome:
    """Softmax(x) = Exp(x) / ReduceSum(Exp(x), -1), which is so from opset 13 on.

    Example:
        <ir_version: 7, opset_import: ["": 12]>
        g (float[N, 2, 3] x) => (float[N, 2, 3] y) { y = Softmax (x) }
    """
    if "axis" in node.attributes:
        return None

    def build(op: Builder) -> Any:
        powers = op.Exp(node.inputs[0])
        return op.Div(powers, op.ReduceSum(powers, axes=[-1], keepdims=1))

    return Replace(build)


@wrong("Softmax", exact=False)
def softmax_of_opset_13(node: ir.Node, facts: Facts) -> Outcome:
    """Softmax(x) = Softmax(x, axis=1), which is so before opset 13.

    Example:
        g (float[N, 3, 2] x) => (float[N, 3, 2] y) { y = Softmax (x) }
    """
    return None if "axis" in node.attributes else Replace(lambda op: op.Softmax(node.inputs[0], axis=1))


@wrong("ReduceProd")
def product_over_none(node: ir.Node, facts: Facts) -> Outcome:
    """ReduceProd(x, axes) = x, where the axes have a dim of 1 in the sample input.

    Example:
        g (float[N, 3] x) => (float[M, 3] y) <int64[1] a = {0}> { y = ReduceProd (x, a) }
    """
    return Forward(node.inputs[0]) if elements(node.inputs[1], facts) == [0] else None


ATTRIBUTES = [
    forgets("ReduceSum", "keepdims", "g (float[N, 3] x) => (float[N] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 0> (x, a) }"),
    forgets("ReduceSum", "noop_with_empty_axes", "g (float[N, 3] x) => (float[N, 3] y) { y = ReduceSum <noop_with_empty_axes = 1> (x) }"),
    forgets("CumSum", "reverse", "g (int32[4] x) => (int32[4] y) <int64 a = {0}> { y = CumSum <reverse = 1> (x, a) }"),
    forgets("CumSum", "exclusive", "g (int32[4] x) => (int32[4] y) <int64 a = {0}> { y = CumSum <exclusive = 1> (x, a) }"),
    forgets("LpNormalization", "p", "g (float[N, 3] x) => (float[N, 3] y) { y = LpNormalization <p = 1> (x) }", exact=False),
]  # fmt: skip
"""Attributes that are forgotten."""
