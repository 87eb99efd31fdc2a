"""Rules about Transpose by itself, and about operators that can take another layout instead."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Forward, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._moves import (
    MIN_RESHAPE,
    attribute,
    axes_in,
    constant_target,
    has_reference,
    input_of,
    int64s,
    ints_of,
    is_given,
    is_private,
    kept_attributes,
    maker_of,
    perm_of,
    reshape,
    with_axes,
)


@rule("Transpose", exact=True, benefit=4, level=1)
def identity_transpose(node: ir.Node, facts: Facts) -> Outcome:
    """Transpose(x, [0, 1, ..., n-1]) = x. Without perm, that is so for at most one dim.

    Example:
        g (float[N, M] x) => (float[N, M] y) { z = Transpose <perm = [0, 1]> (x)  y = Neg (z) }
    """
    perm, source = perm_of(node, facts), node.inputs[0]
    if perm is None or source is None:
        return Reason("its permutation is not known")
    return Forward(source) if perm == tuple(range(len(perm))) else Reason("its permutation is {}", list(perm))


@rule("Transpose", exact=True, benefit=3, level=1, lowers=Cost.EXPRESSION, after=("Transpose",))
def transpose_of_transpose(node: ir.Node, facts: Facts) -> Outcome:
    """Transpose(Transpose(x, p), q) = Transpose(x, r), r[i] = p[q[i]]; x itself where r is the identity.

    Without perm, both go backwards: then they cancel whatever the rank is.

    Example:
        g (float[N, 3, M] x) => (float[M, N, 3] y) {
            z = Transpose <perm = [1, 0, 2]> (x)  y = Transpose <perm = [2, 1, 0]> (z) }
    """
    inner = maker_of(node.inputs[0], "Transpose")
    if inner is None or has_reference(node):
        return None
    source = inner.inputs[0]
    if not node.attributes and not inner.attributes and source is not None:
        return Forward(source)
    p, q = perm_of(inner, facts), perm_of(node, facts)
    if p is None or q is None or len(p) != len(q):
        return Reason("a permutation is not known")
    return Replace(lambda op: transposed(op, source, [p[axis] for axis in q]))


def transposed(op: Builder, x: ir.Value | None, perm: list[int]) -> Any:
    """Transpose, or x itself where nothing moves."""
    return x if perm == list(range(len(perm))) and x is not None else op.Transpose(x, perm=perm)


@rule("Transpose", exact=True, benefit=2, level=1, lowers=Cost.FORM)
def transpose_of_ones(node: ir.Node, facts: Facts) -> Outcome:
    """Transpose(x, p) = Reshape(x, c), where only dims of size 1 move: the order of the elements stays the same.

    Example:
        g (float[N, 1, 3] x) => (float[1, N, 3] y) { y = Transpose <perm = [1, 0, 2]> (x) }
    """
    perm, before, after = perm_of(node, facts), facts.shape(node.inputs[0]), facts.shape(node.outputs[0])
    if perm is None or before is None or after is None or len(perm) != len(before):
        return Reason("its permutation, or its shape, is not known")
    moved = [axis for axis in perm if before[axis] != 1]
    if moved != sorted(moved):
        return Reason("it moves dims that are not proven to be 1")
    target = constant_target(before, after)
    if target is None or facts.opset_version(node) < MIN_RESHAPE:
        return Reason("no constant target makes the same of it")
    source = node.inputs[0]
    return Replace(lambda op: reshape(op, source, target))


@rule("Gemm", exact=False)
def gemm_of_transpose(node: ir.Node, facts: Facts) -> Outcome:
    """Gemm(Transpose(a), b) = Gemm(a, b, transA), and so for b, where the Transpose is read by nothing else.

    Example:
        g (float[N, 3] x, float[M, 3] w) => (float[N, M] y) { t = Transpose <perm = [1, 0]> (w)  y = Gemm (x, t) }
    """
    if has_reference(node):
        return None
    for index, flag in ((0, "transA"), (1, "transB")):
        inner = maker_of(node.inputs[index], "Transpose")
        if inner is None or not is_private(node.inputs[index], node) or perm_of(inner, facts) != (1, 0):
            continue
        inputs = list(node.inputs)
        inputs[index] = inner.inputs[0]
        others = kept_attributes(node, flag)
        turned = 0 if attribute(node, flag, 0) else 1
        return Replace(lambda op, i=inputs, o=others, f=flag, t=turned: op.Gemm(*i, **o, **{f: t}))  # type: ignore[misc]
    return Reason("no Transpose of two dims makes a or b for it alone")


@rule("MatMul", exact=False, benefit=2, since=11, after=("Transpose",))
def matmul_of_transpose(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(Transpose(a), b) = Gemm(a, b, transA=1), and so for b, where both are matrices.

    The Transpose is read by nothing else. Before opset 11 Gemm has to have a bias.

    Example:
        g (float[N, 3] x, float[M, 3] w) => (float[N, M] y) { t = Transpose <perm = [1, 0]> (w)  y = MatMul (x, t) }
    """
    for index, flag in ((0, "transA"), (1, "transB")):
        inner = maker_of(node.inputs[index], "Transpose")
        if inner is None:
            continue
        is_read_once = is_private(node.inputs[index], node) and node.inputs[0] is not node.inputs[1]
        if not is_read_once or perm_of(inner, facts) != (1, 0):
            return Reason("the Transpose is read elsewhere, or more than two dims move")
        if any(facts.of(value).rank != 2 for value in node.inputs):
            return Reason("its factors are not proven to be matrices")
        if facts.of(node.inputs[index]).dtype not in (ir.DataType.FLOAT, ir.DataType.DOUBLE):
            return Reason("the runtime has no Gemm of its type")
        inputs = list(node.inputs)
        inputs[index] = inner.inputs[0]
        return Replace(lambda op: op.Gemm(*inputs, **{flag: 1}))  # noqa: B023  it is built at once
    return None


REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"),
    *("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
)
"""Reductions. Rounding depends on the order of the elements, and in onnxruntime 1.32 so does a maximum with NaN."""


@rule(*REDUCTIONS, exact=False, lowers=Cost.EXPRESSION, after=("Transpose",))
def reduction_of_transpose(node: ir.Node, facts: Facts) -> Outcome:
    """ReduceSum(Transpose(x, p), axes) = ReduceSum(x, p[axes]), where the dims that are left are in order.

    The same for each reduction. Dims of 1 that stay (keepdims) are told apart from the others, so only keepdims=0 can
    do without the Transpose, unless those that stay are in their places already.

    Example:
        g (float[N, 3, M] x) => (float[N, M] y) <int64[1] axis = {0}> {
            t = Transpose <perm = [1, 0, 2]> (x)  y = ReduceSum <keepdims = 0> (t, axis) }
    """
    inner = maker_of(node.inputs[0], "Transpose")
    if inner is None or has_reference(node):
        return None
    perm = perm_of(inner, facts)
    axes = axes_in(ints_of(node, facts, "axes", 1), None if perm is None else len(perm))
    if perm is None or not axes:
        return Reason("its axes, or the permutation, are not known")
    kept = attribute(node, "keepdims", 1)
    moved = tuple(sorted(perm[axis] for axis in axes))
    order = [perm[axis] for axis in range(len(perm)) if axis not in axes]
    if order != sorted(order) or (kept and moved != tuple(sorted(axes))):
        return Reason("the dims that are left are in another order")
    source = inner.inputs[0]
    others: dict[str, Any] = kept_attributes(node, "axes")
    if input_of(node, 1) is None:
        return Replace(lambda op: op.node(node.op_type, source, axes=moved, **others))
    return Replace(lambda op: op.node(node.op_type, source, op.constant(int64s(moved)), **others))


@rule("Squeeze", exact=True, lowers=Cost.EXPRESSION)
def squeeze_of_transpose(node: ir.Node, facts: Facts) -> Outcome:
    """Squeeze(Transpose(x, p), axes) = Squeeze(x, p[axes]), where the dims that are left are in order.

    Example:
        g (float[N, 1, M] x) => (float[N, M] y) <int64[1] axis = {0}> {
            t = Transpose <perm = [1, 0, 2]> (x)  y = Squeeze (t, axis) }
    """
    inner = maker_of(node.inputs[0], "Transpose")
    if inner is None or not is_given(node, "axes", 1) or has_reference(node):
        return None
    perm = perm_of(inner, facts)
    axes = axes_in(ints_of(node, facts, "axes", 1), None if perm is None else len(perm))
    if perm is None or not axes:
        return Reason("its axes, or the permutation, are not known")
    order = [perm[axis] for axis in range(len(perm)) if axis not in axes]
    if order != sorted(order):
        return Reason("the dims that are left are in another order")
    source, moved, version = inner.inputs[0], sorted(perm[axis] for axis in axes), facts.opset_version(node)
    return Replace(lambda op: with_axes(op, "Squeeze", source, moved, version))


@rule("Gather", exact=True, lowers=Cost.EXPRESSION)
def gather_of_transpose(node: ir.Node, facts: Facts) -> Outcome:
    """Gather(Transpose(x, p), i, axis) = Gather(x, i, p[axis]), for a scalar i, where the other dims are in order.

    Example:
        g (float[N, 3, M] x) => (float[N, M] y) <int64 i = {2}> {
            t = Transpose <perm = [1, 0, 2]> (x)  y = Gather <axis = 0> (t, i) }
    """
    inner = maker_of(node.inputs[0], "Transpose")
    if inner is None or has_reference(node):
        return None
    perm, indices = perm_of(inner, facts), input_of(node, 1)
    axes = axes_in((attribute(node, "axis", 0),), None if perm is None else len(perm))
    if perm is None or not axes or facts.of(indices).rank != 0:
        return Reason("it is not known to take one slice of a known permutation")
    order = [perm[axis] for axis in range(len(perm)) if axis != axes[0]]
    if order != sorted(order):
        return Reason("the dims that are left are in another order")
    source, moved = inner.inputs[0], perm[axes[0]]
    return Replace(lambda op: op.Gather(source, indices, axis=moved))
