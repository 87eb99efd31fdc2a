"""Matrix products: MatMul, Gemm, their quantized forms, and Det."""

from __future__ import annotations

from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._matmul import matmul_shape


@infers("MatMul", "MatMulInteger")
def matmul(node: NodeView) -> Fact:
    """MatMul-1..13, MatMulInteger-10: as numpy.matmul."""
    return tensor_fact(None, matmul_shape(node, node.input(0).shape, node.input(1).shape))


@infers("QLinearMatMul")
def q_linear_matmul(node: NodeView) -> Fact:
    """QLinearMatMul-10..21: inputs are a, its scale and zero point, b ..."""
    return tensor_fact(None, matmul_shape(node, node.input(0).shape, node.input(3).shape))


@infers("Gemm")
def gemm(node: NodeView) -> Fact | None:
    """Gemm-1..13: [rows of A, columns of B], either transposed if asked for."""
    a, b = node.input(0).shape, node.input(1).shape
    if any(shape is not None and len(shape) != 2 for shape in (a, b)):
        return None
    rows = node.fresh(0) if a is None else a[1 if node.attribute("transA", 0) else 0]
    columns = node.fresh(1) if b is None else b[0 if node.attribute("transB", 0) else 1]
    return tensor_fact(None, (rows, columns))


@infers("Det")
def det(node: NodeView) -> Fact | None:
    """Det-11..22: without the last two dims."""
    data = node.input(0)
    if data.shape is None or len(data.shape) < 2:
        return None
    return tensor_fact(data.dtype, data.shape[:-2])
