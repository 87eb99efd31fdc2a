"""Rules that read the one number that a tensor is filled with, and leave the tensor itself out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import DimLike, Facts, exact_array
from foldproof.rewriting import Cost, Outcome, Replace, rule
from foldproof_rules._operands import BROADCASTING, dim_at
from foldproof_rules._weights import again, input_of


@rule(*BROADCASTING, exact=True, lowers=Cost.EXPRESSION, since=8)
def filled_operand(node: ir.Node, facts: Facts) -> Outcome:
    """f(x, k, k, ...) = f(x, k), where a tensor that is not stored holds k alone, and each of its dims is one of x.

    f broadcasts k by itself. So `ConstantOfShape(Shape(x))` is not made.

    Example:
        g (float[N, M] x) => (float[N, M] y) {
            s = Shape (x)  k = ConstantOfShape <value = float[1] {2}> (s)  y = Sub (x, k) }
    """
    for index, value in enumerate(node.inputs):
        number = _fill(value, facts)
        if number is None:
            continue
        others = [facts.shape(other) for k, other in enumerate(node.inputs) if k != index]
        if not _is_covered(facts.shape(value) or (), others):
            continue
        return Replace(
            lambda op, index=index, number=number: again(  # type: ignore[misc]  # it is built at once
                op, node, *(op.constant(number) if k == index else other for k, other in enumerate(node.inputs))
            )
        )
    return None


def _is_covered(shape: tuple[DimLike, ...], others: list[tuple[DimLike, ...] | None]) -> bool:
    """Whether a tensor of a shape makes the result no larger than the other operands do."""
    known = [other for other in others if other is not None]
    if len(known) < len(others) or len(shape) > max(map(len, known), default=0):
        return False
    return all(
        dim == 1 or any(dim_at(other, axis) == dim for other in known)
        for axis, dim in ((k - len(shape), dim) for k, dim in enumerate(shape))
    )


@rule("Gemm", exact=True, lowers=Cost.EXPRESSION, since=7)
def filled_bias_of_gemm(node: ir.Node, facts: Facts) -> Outcome:
    """Gemm(a, b, c) = Gemm(a, b, k), where c is not stored and holds the number k alone.

    Example:
        g (float[N, 2] a, float[2, 9] b) => (float[N, 9] y) <int64[1] s = {9}> {
            c = ConstantOfShape <value = float[1] {2}> (s)  y = Gemm (a, b, c) }
    """
    number = _fill(input_of(node, 2), facts)
    if number is None:
        return None
    a, b = node.inputs[0], node.inputs[1]
    return Replace(lambda op: again(op, node, a, b, op.constant(number.reshape(1))))


def _fill(value: ir.Value | None, facts: Facts) -> np.ndarray[Any, Any] | None:
    """The number that fills a value, as a scalar; None for what is stored, is a scalar, or holds several numbers."""
    fact = facts.of(value)
    if fact.constant is not None or not isinstance(fact.fill, (int, Fraction)) or fact.dtype is None or not fact.shape:
        return None
    return exact_array([fact.fill], fact.dtype).reshape(())
