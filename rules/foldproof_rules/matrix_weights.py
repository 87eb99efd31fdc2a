"""Rules that compute new weights of `Gemm` and `MatMul`."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._affine import OPERATORS, Affine, affine, sources
from foldproof_rules._patterns import end_of_pattern, maker_of
from foldproof_rules._weights import (
    Weights,
    again,
    attribute_float,
    attribute_int,
    bias_of_gemm,
    input_of,
    is_known,
    is_private,
    loss,
    plain,
    shared,
    stored,
    weights,
)


@rule(*OPERATORS, exact=False, benefit=8, lowers=Cost.EXPRESSION, after=("Gemm",))
def affine_into_gemm(node: ir.Node, facts: Facts) -> Outcome:
    """Gemm(x, w, b) * a + c = Gemm(x, w * a, b * a + c), where w, a, b and c are constants, one for each column.

    Example:
        g (float[N, 2] x) => (float[N, 3] y)
            <float[2, 3] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}, float[3] a = {2, 3, 4}> {
            p = Gemm (x, w, b)  y = Mul (p, a) }
    """
    outcome: Outcome = None
    for source in sources(node, facts):
        gemm = maker_of(source, "Gemm")
        if gemm is None:
            continue
        outcome = _into_gemm(node, source, gemm, facts)
        if not isinstance(outcome, Reason):
            return outcome
    return outcome


def _into_gemm(node: ir.Node, source: ir.Value, gemm: ir.Node, facts: Facts) -> Outcome:
    shape, weight, transposed = facts.shape(source), gemm.inputs[1], attribute_int(gemm, "transB", 0)
    if not is_private(source):
        return Reason("the product is read elsewhere")
    if shape is None or weight is None or transposed is None or not isinstance(shape[1], int):
        return Reason("its columns are not known")
    change = affine(node, source, facts, rank=2, axis=1, channels=shape[1])
    if isinstance(change, Reason):
        return change
    scales = not (change.factor == 1).all()
    old, bias = weights(weight, facts) if scales else None, bias_of_gemm(gemm, facts)
    if bias is None or (scales and old is None):
        return Reason("its weights or its bias are not constant")
    if bias.ndim == 2 and bias.shape[0] > 1:
        return Reason("its bias is not one number for each column")
    reason = shared(weight, facts) if scales else None
    new = None if old is None else old.array * change.factor.reshape((-1, 1) if transposed else (1, -1))
    total = bias * change.factor + (0.0 if change.shift is None else change.shift)
    kind = facts.of(source).dtype or ir.DataType.FLOAT
    like = Weights(total, total.shape, kind)
    reason = reason or (None if new is None or old is None else loss(new, old)) or loss(total, like)
    if reason is not None:
        return reason

    def build(op: Builder) -> ir.Value:
        scaled = weight if new is None or old is None else stored(op, new, old)
        if input_of(gemm, 2) is None and change.shift is None:
            return again(op, gemm, gemm.inputs[0], scaled)
        return again(op, gemm, gemm.inputs[0], scaled, stored(op, total, like), beta=1.0)

    return Replace(build)


@rule("Mul", "Div", "Neg", exact=False, benefit=8, lowers=Cost.EXPRESSION, after=("Add", "MatMul"))
def scale_into_matmul(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(x, w) * a = MatMul(x, w * a), where w and a are constants, one for each column.

    (MatMul(x, w) + b) * a = MatMul(x, w * a) + b * a likewise.

    Example:
        g (float[N, M, 2] x) => (float[N, M, 3] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}, float[3] a = {2, 3, 4}> {
            p = MatMul (x, w)  y = Mul (p, a) }
    """
    outcome: Outcome = None
    for source in sources(node, facts):
        bias: ir.Value | None = None
        product: ir.Value | None = source
        add = maker_of(source, "Add")
        if add is not None and facts.opset_version(add) >= 7 and is_private(source):
            product, bias = add.inputs if is_known(add.inputs[1], facts) else add.inputs[::-1]
        matmul = maker_of(product, "MatMul")
        if matmul is None or product is None:
            continue
        outcome = _into_matmul(node, source, matmul, product, bias, facts)
        if not isinstance(outcome, Reason):
            return outcome
    return outcome


def _into_matmul(
    node: ir.Node, source: ir.Value, matmul: ir.Node, product: ir.Value, bias: ir.Value | None, facts: Facts
) -> Outcome:
    weight, rank = matmul.inputs[1], facts.of(source).rank
    columns = (facts.shape(weight) or (None,))[-1]
    if not is_private(product) or not is_private(source):
        return Reason("the product is read elsewhere")
    if (
        weight is None
        or not is_known(weight, facts)
        or (facts.of(weight).rank or 0) < 2
        or not isinstance(columns, int)
    ):
        return Reason("its weights are not a constant matrix")
    if not rank or facts.of(product).rank != rank:
        return Reason("its rank is not known")
    change = affine(node, source, facts, rank=rank, axis=rank - 1, channels=columns)
    old, addend = weights(weight, facts), None if bias is None else weights(bias, facts)
    if isinstance(change, Reason):
        return change
    if old is None or (bias is not None and addend is None):
        return Reason("its weights can't be read")
    new = old.array * change.factor
    total = None if addend is None else addend.full() * change.factor
    reason = shared(weight, facts) or loss(new, old)
    if addend is not None and total is not None:
        # A bias of one number may become one for each column.
        addend = plain(addend)
        reason = reason or loss(total, addend)
    if reason is not None:
        return reason

    def build(op: Builder) -> ir.Value:
        scaled = again(op, matmul, matmul.inputs[0], stored(op, new, old))
        if addend is None or total is None:
            return scaled
        made: ir.Value = op.Add(scaled, stored(op, total, addend))
        return made

    return Replace(build)


@rule("BatchNormalization", exact=False, benefit=8, since=7, after=("MatMul",))
def normalized_matmul(node: ir.Node, facts: Facts) -> Outcome:
    """BatchNormalization(MatMul(x, w)) = Gemm(x, w * a, c), in inference, for matrices and constants.

    a is the scale of each column by its deviation, c what the means and the bias come to then.

    Example:
        g (float[N, 3] x) => (float[N, 2] y)
            <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] m = {0.5, 0.1},
            float[2] v = {1, 4}> {
            p = MatMul (x, w)  y = BatchNormalization (p, s, b, m, v) }
    """
    product = node.inputs[0]
    matmul = maker_of(product, "MatMul")
    if matmul is None or product is None:
        return None
    weight = matmul.inputs[1]
    columns = (facts.shape(weight) or (None,))[-1]
    if not is_private(product) or facts.of(product).dtype not in (ir.DataType.FLOAT, ir.DataType.DOUBLE):
        return Reason("the product is read elsewhere, or the runtime has no Gemm of its type")
    if not is_known(weight, facts) or not isinstance(columns, int) or facts.of(product).rank != 2:
        return Reason("it is not a product with a constant matrix")
    change = affine(node, product, facts, rank=2, axis=1, channels=columns)
    old = weights(weight, facts)
    if isinstance(change, Reason):
        return change
    if old is None or weight is None or len(old.shape) != 2 or change.shift is None:
        return Reason("its weights can't be read")
    new, bias = old.array * change.factor, np.broadcast_to(change.shift, (columns,))
    like = plain(old)
    reason = shared(weight, facts) or loss(new, old) or loss(bias, like)
    return reason or Replace(lambda op: op.Gemm(matmul.inputs[0], stored(op, new, old), stored(op, bias, like)))


@rule("MatMul", "Gemm", exact=False, benefit=6, lowers=Cost.EXPRESSION, after=OPERATORS)
def matmul_of_affine(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(x * a, w) = MatMul(x, a * w), Gemm(x * a + c, w, b) = Gemm(x, a * w, b + c * w), with constants.

    There is one a and one c for each column of x, or for all.

    Example:
        g (float[N, 2] x) => (float[N, 3] y)
            <float[2, 3] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}, float[2] c = {5, 7}> {
            s = Add (x, c)  y = Gemm (s, w, b) }
    """
    source, weight = input_of(node, 0), input_of(node, 1)
    maker = maker_of(source, *OPERATORS)
    if maker is None or source is None or weight is None:
        return None
    if not is_private(source) or not is_known(weight, facts):
        return Reason("its input is read elsewhere, or its weights are not constant")
    kept = end_of_pattern(maker)
    if kept is not None:
        return kept
    transposed = attribute_int(node, "transB", 0)
    if attribute_int(node, "transA", 0) != 0 or transposed is None or facts.of(weight).rank != 2:
        return Reason("its factors are transposed, or not matrices")
    rows = (facts.shape(weight) or (None, None))[1 if transposed else 0]
    outcome: Outcome = None
    for inner in sources(maker, facts):
        before = facts.shape(inner)
        if not before or before[-1] != rows or not isinstance(rows, int) or len(before) != facts.of(source).rank:
            outcome = Reason("the columns of its input are not proven")
            continue
        change = affine(maker, inner, facts, rank=len(before), axis=len(before) - 1, channels=rows)
        outcome = (
            change if isinstance(change, Reason) else _absorbed(node, inner, weight, change, bool(transposed), facts)
        )
        if not isinstance(outcome, Reason):
            return outcome
    return outcome


def _absorbed(
    node: ir.Node, inner: ir.Value, weight: ir.Value, change: Affine, transposed: bool, facts: Facts
) -> Outcome:
    shifts = change.shift is not None and bool(change.shift.any())
    if shifts and node.op_type == "MatMul":
        return Reason("it has no bias to hold what is added to its input")
    old = weights(weight, facts)
    bias = bias_of_gemm(node, facts) if shifts else None
    alpha = attribute_float(node, "alpha", 1.0)
    reason = shared(weight, facts)
    if old is None or alpha is None or reason is not None or (shifts and bias is None):
        return reason or Reason("its weights or its bias are not constant")
    new = old.array * change.factor.reshape((1, -1) if transposed else (-1, 1))
    total = None
    if bias is not None and change.shift is not None:
        matrix = old.full().T if transposed else old.full()
        total = bias + alpha * (np.broadcast_to(change.shift, matrix.shape[:1]) @ matrix)
    like = plain(old)
    reason = loss(new, old) or (None if total is None else loss(total, like))
    if reason is not None:
        return reason

    def build(op: Builder) -> ir.Value:
        scaled = stored(op, new, old)
        if total is None:
            return again(op, node, inner, scaled, *node.inputs[2:])
        return again(op, node, inner, scaled, stored(op, total, like), beta=1.0)

    return Replace(build)


@rule("MatMul", exact=False, benefit=4, after=("MatMul",))
def matmul_of_matmul(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(MatMul(x, w), w') = MatMul(x, w * w'), where both are constants, and w * w' is no larger.

    Example:
        g (float[N, 3] x) => (float[N, 2] y) <float[3, 2] v = {1, 2, 3, 4, 5, 6}, float[2, 2] w = {1, 2, 3, 4}> {
            p = MatMul (x, v)  y = MatMul (p, w) }
    """
    inner = maker_of(node.inputs[0], "MatMul")
    if inner is None or not is_private(node.inputs[0]):
        return None
    values = inner.inputs[1], node.inputs[1]
    if any(value is None or not is_known(value, facts) or facts.of(value).rank != 2 for value in values):
        return Reason("its weights are not two constant matrices")
    first, second = (tuple(d for d in facts.shape(value) or () if isinstance(d, int)) for value in values)
    rows, columns = first[0], second[1]
    if first[1] != second[0]:
        return Reason("its weights can't be multiplied")
    if rows * columns > first[0] * first[1] + second[0] * second[1]:
        return Reason("the product of its weights has more elements than both")
    reasons = [shared(value, facts) for value in values if value is not None]
    left, right = weights(values[0], facts), weights(values[1], facts)
    if left is None or right is None or any(reasons):
        return next(filter(None, reasons), None) or Reason("its weights can't be read")
    product = left.full() @ right.full()
    like = plain(left)
    return loss(product, like) or Replace(lambda op: op.MatMul(inner.inputs[0], stored(op, product, like)))
