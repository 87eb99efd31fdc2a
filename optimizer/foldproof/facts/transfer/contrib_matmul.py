"""onnxruntime's own matrix products (`com.microsoft`): fused, quantized, or both."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._matmul import matmul_shape, transposed

DOMAIN = "com.microsoft"


@infers("FusedMatMul", "TransposeMatMul", domain=DOMAIN)
def fused_matmul(node: NodeView) -> Fact:
    """MatMul of operands that are transposed first; a vector is not."""
    a, b = node.input(0), node.input(1)
    left = transposed(a.shape, bool(node.attribute("transA", 0)), bool(node.attribute("transBatchA", 0)))
    right = transposed(b.shape, bool(node.attribute("transB", 0)), bool(node.attribute("transBatchB", 0)))
    return tensor_fact(a.dtype, matmul_shape(node, left, right))


@infers("MatMulNBits", "MatMulBnb4", domain=DOMAIN)
def matmul_of_blocks(node: NodeView) -> Fact:
    """The weight is packed; the attribute N tells how many columns it has."""
    data = node.input(0)
    columns = node.attribute("N")
    if not data.shape or columns is None or not node.attribute("transB", 1):
        return tensor_fact(data.dtype)
    return tensor_fact(data.dtype, (*data.shape[:-1], columns))


@infers("DynamicQuantizeMatMul", "MatMulIntegerToFloat", domain=DOMAIN)
def matmul_to_float(node: NodeView) -> Fact:
    """A product with a quantized matrix; the result has the type of the scale."""
    return tensor_fact(node.input(2).dtype, matmul_shape(node, node.input(0).shape, node.input(1).shape))


@infers("MatMulInteger16", domain=DOMAIN)
def matmul_integer16(node: NodeView) -> Fact:
    """A product of 16-bit integers: int32 if either is signed."""
    types = {node.input(0).dtype, node.input(1).dtype}
    dtype = None if None in types else ir.DataType.UINT32 if types == {ir.DataType.UINT16} else ir.DataType.INT32
    return tensor_fact(dtype, matmul_shape(node, node.input(0).shape, node.input(1).shape))


@infers("GemmFastGelu", domain=DOMAIN)
def gemm_fast_gelu(node: NodeView) -> Fact:
    """MatMul and an activation."""
    return tensor_fact(node.input(0).dtype, matmul_shape(node, node.input(0).shape, node.input(1).shape))


@infers("FusedGemm", "QGemm", domain=DOMAIN)
def fused_gemm(node: NodeView) -> Fact | None:
    """Gemm: rows of A, columns of B. QGemm has scales between; without one for the result it is float."""
    quantized = node.op_type == "QGemm"
    a, b = node.input(0), node.input(3 if quantized else 1)
    dtype = a.dtype
    if quantized:
        dtype = node.input(8).dtype if node.has_input(8) else ir.DataType.FLOAT
    left = transposed(a.shape, bool(node.attribute("transA", 0)))
    right = transposed(b.shape, bool(node.attribute("transB", 0)))
    if (left is not None and len(left) != 2) or (right is not None and len(right) != 2):
        return None
    rows = node.fresh(0) if left is None else left[0]
    columns = node.fresh(1) if right is None else right[1]
    return tensor_fact(dtype, (rows, columns))


@infers("CDist", domain=DOMAIN)
def cdist(node: NodeView) -> Fact | None:
    """The distance of each row of A and each row of B."""
    a, b = node.input(0), node.input(1)
    if a.shape is None or b.shape is None or len(a.shape) != 2 or len(b.shape) != 2:
        return None
    return tensor_fact(a.dtype, (a.shape[0], b.shape[0]))


@infers("DynamicQuantizeLSTM", domain=DOMAIN)
def dynamic_quantize_lstm(node: NodeView) -> Sequence[Fact]:
    """LSTM with quantized weights: all hidden states, and the last hidden and cell state."""
    data, recurrence = node.input(0), node.input(2)
    shape = data.shape if data.shape is not None and len(data.shape) == 3 else None
    directions = 2 if node.attribute("direction", "forward") == "bidirectional" else 1
    hidden = node.attribute("hidden_size")
    if hidden is None:
        hidden = recurrence.shape[1] if recurrence.shape is not None and len(recurrence.shape) == 3 else node.fresh(3)
    steps = node.fresh(0) if shape is None else shape[0]
    batch = node.fresh(2) if shape is None else shape[1]
    state = tensor_fact(data.dtype, (directions, batch, hidden))
    return [tensor_fact(data.dtype, (steps, directions, batch, hidden)), state, state]
