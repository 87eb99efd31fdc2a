"""Matrix products: MatMul, Gemm, Einsum, their quantized forms, and Det."""

from __future__ import annotations

import re
from collections.abc import Sequence

from foldproof.facts.dim import DimLike
from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._broadcast import broadcast_dim
from foldproof.facts.transfer._matmul import matmul_shape
from foldproof.facts.transfer._moves import widened


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


_TERM = re.compile(r"([A-Za-z]*)(\.\.\.)?([A-Za-z]*)")


@infers("Einsum")
def einsum(node: NodeView) -> Fact | None:
    """Einsum-12..28: the dims that the output's letters name; those of the ellipsis are broadcast.

    Runtimes broadcast a letter's dims too, though the specification doesn't.
    """
    equation = str(node.attribute("equation", "")).replace(" ", "")
    left, arrow, right = equation.partition("->")
    matches = [_TERM.fullmatch(term) for term in left.split(",")]
    inputs = node.inputs
    if None in matches or len(matches) != len(inputs):
        return None
    terms = [match.groups() for match in matches if match is not None]
    letters: dict[str, list[DimLike | None]] = {}
    hidden: list[Sequence[DimLike]] = []
    hidden_rank: int | None = None
    unknown_hidden = False
    for (before, dots, after), fact in zip(terms, inputs, strict=True):
        named = before + after
        if fact.shape is None:
            unknown_hidden = unknown_hidden or dots is not None
            for letter in named:
                letters.setdefault(letter, []).append(None)
            continue
        extra = len(fact.shape) - len(named)
        if extra < 0 or (extra and not dots):
            return None
        middle = len(before) + extra
        for letter, dim in zip(named, (*fact.shape[: len(before)], *fact.shape[middle:]), strict=True):
            letters.setdefault(letter, []).append(dim)
        if dots:
            hidden.append(fact.shape[len(before) : middle])
            hidden_rank = max(extra, hidden_rank or 0)
    if not arrow:
        once = sorted(letter for letter, dims in letters.items() if len(dims) == 1)
        right = ("..." if any(dots for _, dots, _ in terms) else "") + "".join(once)
    match = _TERM.fullmatch(right)
    if match is None:
        return None
    before, dots, after = match.groups()
    if any(letter not in letters for letter in before + after):
        return None
    found = [_common(letters[letter]) for letter in before]
    if dots:
        if hidden_rank is None:
            return tensor_fact() if unknown_hidden else None
        for axis in range(-hidden_rank, 0):
            column: list[DimLike | None] = [dims[axis] for dims in hidden if axis >= -len(dims)]
            found.append(_common([*column, None] if unknown_hidden else column))
    found += [_common(letters[letter]) for letter in after]
    return tensor_fact(None, [node.fresh(axis) if dim is None else dim for axis, dim in enumerate(found)])


def _common(dims: Sequence[DimLike | None]) -> DimLike | None:
    """The dim that dims are broadcast to, some of which are unknown; None where it is not proven."""
    known = broadcast_dim([dim for dim in dims if dim is not None])
    return known if None not in dims or known is None else widened(known)


@infers("Det")
def det(node: NodeView) -> Fact | None:
    """Det-11..22: without the last two dims."""
    data = node.input(0)
    if data.shape is None or len(data.shape) < 2:
        return None
    return tensor_fact(data.dtype, data.shape[:-2])
