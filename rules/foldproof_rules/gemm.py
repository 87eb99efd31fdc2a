"""Rules that make `Gemm` of products and sums of matrices, and take it apart where it only costs reshapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import onnx_ir as ir

from foldproof.facts import DimLike, Facts
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof_rules._patterns import maker_of, orders, private_maker
from foldproof_rules._weights import (
    Weights,
    again,
    bias_of_gemm,
    input_of,
    is_private,
    loss,
    stored,
)

RUNTIME_TYPES = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE})
"""The types of which onnxruntime 1.32 runs `Gemm` on the CPU."""


@rule("Add", exact=False, benefit=4, since=7, after=("MatMul",))
def matmul_add(node: ir.Node, facts: Facts) -> Outcome:
    """MatMul(a, b) + c = Gemm(a, b, c), where a and b are matrices and c does not make the sum larger.

    Example:
        g (float[N, 3] x, float[3, M] w, float[M] b) => (float[N, M] y) { p = MatMul (x, w)  y = Add (p, b) }
    """
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


@rule("Add", exact=False, benefit=4, since=7, after=("Gemm",))
def add_into_gemm(node: ir.Node, facts: Facts) -> Outcome:
    """Gemm(a, b) + c = Gemm(a, b, c), where c does not make the sum larger.

    Gemm(a, b, k) + Gemm(d, e, k') = Gemm(a, b, Gemm(d, e, k + k')), where both biases are constant or left out.

    Example:
        g (float[N, 3] x, float[M, 3] w, float[M] b) => (float[N, M] y) {
            p = Gemm <transB = 1> (x, w)  y = Add (b, p) }
    """
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
    first_bias, second_bias = bias_of_gemm(gemm, facts), bias_of_gemm(second, facts)
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


@rule("Reshape", exact=False, benefit=3, lowers=Cost.FORM, after=("Add",))
def rows_into_gemm(node: ir.Node, facts: Facts) -> Outcome:
    """Reshape(MatMul(x, w) + b, s) = Reshape(Gemm(Reshape(x, [-1, k]), w, b), s), where other such products read x too.

    The rows are flattened once for all of them: so the queries, keys and values of attention. One product alone would
    only get another form.

    Example:
        g (float[N, 2, 3] x) => (float[N, 2, 2, 1] y, float[N, 2, 1, 2] z)
            <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[3, 2] v = {6, 5, 4, 3, 2, 1}, float[2] b = {1, 2},
            int64[4] s = {-1, 2, 2, 1}, int64[4] t = {-1, 2, 1, 2}> {
            p = MatMul (x, w)  a = Add (p, b)  y = Reshape (a, s)  q = MatMul (x, v)  c = Add (q, b)
            z = Reshape (c, t) }
    """
    product = _product_of_rows(node, facts)
    if product is None or isinstance(product, Reason):
        return product
    x, weight, bias, columns = product
    readers = [use.node for use in x.uses()]
    alike = sum(isinstance(_product_of_rows(reader, facts), tuple) for reader in _reshapes_after(readers))
    if alike < 2 and not any(_flattens_rows(reader, columns, facts) for reader in readers):
        return Reason("no other product reads the same rows")
    return Replace(
        lambda op: op.Reshape(
            op.Gemm(op.Reshape(x, op.constant(np.array([-1, columns], np.int64))), weight, bias), node.inputs[1]
        )
    )


def _product_of_rows(node: ir.Node, facts: Facts) -> tuple[ir.Value, ir.Value, ir.Value, int] | Reason | None:
    """The x, w and b of Reshape(MatMul(x, w) + b), and the columns of x."""
    total = private_maker(node.inputs[0], "Add") if node.op_type == "Reshape" and not node.domain else None
    for value, bias in orders(total):
        matmul = private_maker(value, "MatMul")
        if matmul is None:
            continue
        x, weight = matmul.inputs
        rows, matrix, added = facts.shape(x), facts.shape(weight), facts.shape(bias)
        target = facts.of(node.inputs[1]).ints if len(node.inputs) == 2 else None
        if x is None or weight is None or facts.opset_version(node) < 7 or facts.of(x).dtype not in RUNTIME_TYPES:
            return Reason("the runtime has no Gemm of its type")
        if rows is None or matrix is None or added is None or len(rows) < 3 or len(matrix) != 2:
            return Reason("it is not a matrix that multiplies rows")
        if not isinstance(rows[-1], int) or rows[-1] == 0 or target is None or 0 in target:
            return Reason("its columns, or the dims that it gets, are not known")
        if any(dim != 1 for dim in added[:-1]) or len(added) > 2 or added[-1:] not in ((), (1,), matrix[1:]):
            return Reason("its bias is not one number for each column")
        return x, weight, bias, rows[-1]
    return None


def _reshapes_after(readers: Iterable[ir.Node]) -> Iterator[ir.Node]:
    """The nodes that read what is added to what nodes make."""
    for reader in readers:
        for total in reader.outputs[0].uses():
            yield from (use.node for use in total.node.outputs[0].uses())


def _flattens_rows(node: ir.Node, columns: int, facts: Facts) -> bool:
    """Whether a node flattens all but the last dim, as `rows_into_gemm` does."""
    is_reshape = node.op_type == "Reshape" and not node.domain and len(node.inputs) == 2
    return is_reshape and facts.of(node.inputs[1]).ints == (-1, columns)


@rule("Reshape", exact=False, benefit=4, lowers=Cost.EXPRESSION, after=("Gemm",))
def gemm_of_rows(node: ir.Node, facts: Facts) -> Outcome:
    """Reshape(Gemm(Reshape(x), w, b)) = MatMul(x, w) + b, where only the rows of x are flattened, and unflattened.

    PyTorch exports its `Conv1D` so. onnxruntime runs both equally fast.

    Example:
        g (float[N, 2, 3] x) => (float[N, 2, 4] y)
            <float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[4] b = {1, 2, 3, 4},
            int64[2] rows = {-1, 3}, int64[3] back = {-1, 2, 4}> {
            r = Reshape (x, rows)  p = Gemm (r, w, b)  y = Reshape (p, back) }
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
