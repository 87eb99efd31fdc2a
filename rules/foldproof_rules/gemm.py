"""Rules that make `Gemm` of products and sums of matrices, and that compute new weights of `Gemm` and `MatMul`."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import DimLike, Facts
from foldproof.rewriting import Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._affine import OPERATORS, Affine, affine, sources
from foldproof_rules._patterns import end_of_pattern, maker_of
from foldproof_rules._weights import (
    Array,
    Weights,
    again,
    attribute_float,
    attribute_int,
    input_of,
    is_known,
    is_private,
    loss,
    plain,
    shared,
    stored,
    weights,
)

RUNTIME_TYPES = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE})
"""The types of which onnxruntime 1.32 runs `Gemm` on the CPU."""


@rule("Add", exact=False, benefit=4)
def matmul_add(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(a, b) + c = Gemm(a, b, c), where a and b are matrices and c does not make the sum larger."""
    if facts.opset_version(node) < 7 or len(node.inputs) != 2:
        return None
    outcome: Outcome = None
    for product, other in (node.inputs, node.inputs[::-1]):
        maker = maker_of(product, "MatMul")
        if maker is None or product is None or other is None:
            continue
        outcome = _no_bias(product, other, facts)
        if facts.of(maker.inputs[0]).rank != 2 or facts.of(maker.inputs[1]).rank != 2:
            outcome = Reason("its factors are not proven to be matrices")
        if outcome is None:
            return _gemm(*maker.inputs, other)
    return outcome


def _gemm(*inputs: ir.Value | None) -> Replace:
    return Replace(lambda op: op.Gemm(*inputs))


@rule("Add", exact=False, benefit=4)
def add_into_gemm(node: ir.Node, facts: Facts) -> Outcome:
    """Gemm(a, b) + c = Gemm(a, b, c), where c does not make the sum larger.

    Gemm(a, b, k) + Gemm(d, e, k') = Gemm(a, b, Gemm(d, e, k + k')), where both biases are constant or left out.
    """
    if facts.opset_version(node) < 7 or len(node.inputs) != 2:
        return None
    outcome: Outcome = None
    for product, other in (node.inputs, node.inputs[::-1]):
        maker = maker_of(product, "Gemm")
        if maker is None or product is None or other is None:
            continue
        outcome = _no_bias(product, other, facts)
        if outcome is not None:
            continue
        has_bias = input_of(maker, 2) is not None
        outcome = _sum_of_gemms(maker, other, facts) if has_bias else _with_bias(maker, other)
        if not isinstance(outcome, Reason):
            return outcome
    return outcome


def _no_bias(product: ir.Value, other: ir.Value, facts: Facts) -> Reason | None:
    """Why a value can't be the bias of the Gemm that makes a product."""
    if not is_private(product):
        return Reason("the product is read elsewhere")
    if facts.of(product).dtype not in RUNTIME_TYPES:
        return Reason("the runtime has no Gemm of its type")
    shape, bias = facts.shape(product), facts.shape(other)
    if shape is None or bias is None:
        return Reason("its shape is unknown")
    if not _fits(bias, shape):
        return Reason("[{}] may make [{}] larger", ", ".join(map(str, bias)), ", ".join(map(str, shape)))
    return None


def _fits(bias: tuple[DimLike, ...], shape: tuple[DimLike, ...]) -> bool:
    """Whether a bias is broadcast to a shape, and never the other way round."""
    if len(bias) > len(shape):
        return False
    return all(small in (1, large) for small, large in zip(bias[::-1], shape[::-1], strict=False))


def _with_bias(gemm: ir.Node, bias: ir.Value) -> Outcome:
    return Replace(lambda op: again(op, gemm, *gemm.inputs[:2], bias, beta=1.0))


def _sum_of_gemms(gemm: ir.Node, other: ir.Value, facts: Facts) -> Outcome:
    """The sum of two Gemms with constant biases: the second is the bias of the first, with both biases."""
    second = maker_of(other, "Gemm")
    if second is None:
        return Reason("it has a bias already")
    if not is_private(other) or facts.shape(other) != facts.shape(gemm.outputs[0]):
        return Reason("the other Gemm is read elsewhere, or of another shape")
    first_bias, second_bias = _bias(gemm, facts), _bias(second, facts)
    if first_bias is None or second_bias is None:
        return Reason("one of the biases is not constant")
    kind = facts.of(other).dtype
    assert kind is not None
    total = first_bias + second_bias
    like = Weights(total, total.shape, kind)
    return loss(total, like) or Replace(
        lambda op: again(
            op,
            gemm,
            *gemm.inputs[:2],
            again(op, second, *second.inputs[:2], stored(op, total, like), beta=1.0),
            beta=1.0,
        )
    )


def _bias(gemm: ir.Node, facts: Facts) -> Array | None:
    """The bias of a Gemm times its beta: zero where it is left out, None where it is not constant."""
    value, beta = input_of(gemm, 2), attribute_float(gemm, "beta", 1.0)
    if value is None:
        return np.zeros(1)
    found = weights(value, facts)
    return None if found is None or beta is None else found.full() * beta


@rule(*OPERATORS, exact=False, benefit=8)
def affine_into_gemm(node: ir.Node, facts: Facts) -> Outcome:
    """Gemm(x, w, b) * a + c = Gemm(x, w * a, b * a + c), where w, a, b and c are constants, one for each column."""
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
    old, bias = weights(weight, facts) if scales else None, _bias(gemm, facts)
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


@rule("Mul", "Div", "Neg", exact=False, benefit=8)
def scale_into_matmul(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(x, w) * a = MatMul(x, w * a), where w and a are constants, one for each column.

    (MatMul(x, w) + b) * a = MatMul(x, w * a) + b * a likewise.
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


@rule("MatMul", "Gemm", exact=False, benefit=6)
def matmul_of_affine(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(x * a, w) = MatMul(x, a * w), Gemm(x * a + c, w, b) = Gemm(x, a * w, b + c * w), with constants.

    There is one a and one c for each column of x, or for all.
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
    bias = _bias(node, facts) if shifts else None
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


@rule("MatMul", exact=False, benefit=4)
def matmul_of_matmul(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(MatMul(x, w), w') = MatMul(x, w * w'), where both are constants, and w * w' is no larger."""
    inner = maker_of(node.inputs[0], "MatMul")
    if inner is None or not is_private(node.inputs[0]):
        return None
    values = inner.inputs[1], node.inputs[1]
    if any(value is None or not is_known(value, facts) or facts.of(value).rank != 2 for value in values):
        return Reason("its weights are not two constant matrices")
    first, second = (tuple(d for d in facts.shape(value) or () if isinstance(d, int)) for value in values)
    rows, columns = first[0], second[1]
    if rows * columns > first[0] * first[1] + second[0] * second[1]:
        return Reason("the product of its weights has more elements than both")
    reasons = [shared(value, facts) for value in values if value is not None]
    left, right = weights(values[0], facts), weights(values[1], facts)
    if left is None or right is None or any(reasons):
        return next(filter(None, reasons), None) or Reason("its weights can't be read")
    product = left.full() @ right.full()
    like = plain(left)
    return loss(product, like) or Replace(lambda op: op.MatMul(inner.inputs[0], stored(op, product, like)))


@rule("Reshape", exact=False, benefit=4)
def gemm_of_rows(node: ir.Node, facts: Facts) -> Outcome:
    """Reshape(Gemm(Reshape(x), w, b)) = MatMul(x, w) + b, where only the rows of x are flattened, and unflattened.

    PyTorch exports its `Conv1D` so. onnxruntime runs both equally fast.
    """
    gemm = maker_of(node.inputs[0], "Gemm")
    flat = None if gemm is None else maker_of(gemm.inputs[0], "Reshape", "Flatten")
    if gemm is None or flat is None:
        return None
    x, weight, bias = flat.inputs[0], gemm.inputs[1], input_of(gemm, 2)
    before, after = facts.shape(x), facts.shape(node.outputs[0])
    columns = facts.shape(weight)
    if x is None or before is None or after is None or columns is None or len(columns) != 2:
        return Reason("its shape is unknown")
    flattened = facts.shape(flat.outputs[0])
    rows_stay = flattened is not None and len(flattened) == 2 and flattened[-1] == before[-1:][0] if before else False
    if len(before) < 3 or before[:-1] != after[:-1] or after[-1] != columns[1] or not rows_stay:
        return Reason("more than the rows is reshaped")
    if not is_private(node.inputs[0]) or not all(maker.op_type == "Gemm" for maker, _ in flat.outputs[0].uses()):
        return Reason("the product or the rows are read elsewhere")
    defaults = {"transA": 0, "transB": 0, "alpha": 1.0, "beta": 1.0}
    if any(
        name not in defaults or each.is_ref() or each.value != defaults[name] for name, each in gemm.attributes.items()
    ):
        return Reason("its factors are transposed or scaled")
    shape = () if bias is None else facts.shape(bias)
    if shape is None or any(dim != 1 for dim in shape[:-1]) or shape[-1:] not in ((), (1,), columns[1:]):
        return Reason("its bias is not one number for each column")
    return _matmul(x, weight, bias)


def _matmul(x: ir.Value, weight: ir.Value | None, bias: ir.Value | None) -> Replace:
    return Replace(lambda op: op.MatMul(x, weight) if bias is None else op.Add(op.MatMul(x, weight), bias))
