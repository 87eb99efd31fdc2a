"""Rules that make `Gemm` of products and sums of matrices, and take it apart where it only costs reshapes."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import DimLike, Facts
from foldproof.rewriting import Outcome, Reason, Replace, rule
from foldproof_rules._patterns import maker_of
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
