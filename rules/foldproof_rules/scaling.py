"""Rules that carry a factor through data movement to constant weights, where it costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._patterns import end_of_pattern, maker_of, number_beside, orders
from foldproof_rules._weights import (
    Array,
    Weights,
    again,
    attribute_float,
    input_of,
    is_known,
    is_private,
    loss,
    shared,
    stored,
    weights,
)

MOVEMENT = frozenset({"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity"})
"""Operators that hand out each element of their first input once."""

_Build: TypeAlias = "Callable[[Builder], ir.Value]"


@rule("Mul", "Div", exact=False, benefit=3, lowers=Cost.EXPRESSION, after=(*MOVEMENT, "MatMul"))
def factor_into_weights(node: ir.Node, facts: Facts) -> Outcome:
    """Mul(f(x, w), c) = f(x, w * c), where c is one constant, w are constant weights, and f is linear in w.

    f is data movement (Reshape, Transpose, ...) of a MatMul, Gemm or Conv, or a MatMul of such. So the scale of
    attention scores goes into the projection of the queries.

    Example:
        g (float[N, 2, 3] x) => (float[N, 4, 2] y)
            <float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float c = {0.125}> {
            p = MatMul (x, w)  t = Transpose <perm = [0, 2, 1]> (p)  y = Mul (t, c) }
    """
    outcome: Outcome = None
    for source, constant in list(orders(node))[: 1 if node.op_type == "Div" else 2]:
        number = number_beside(source, constant, facts)
        maker = maker_of(source, *MOVEMENT, "MatMul")
        if maker is None or not number:
            continue
        found = _scaled(source, 1 / number if node.op_type == "Div" else number, facts)
        if not isinstance(found, Reason):
            return Replace(found)
        outcome = found
    return outcome


@rule("Conv", "MatMul", "Gemm", exact=False, benefit=3, lowers=Cost.EXPRESSION, after=MOVEMENT)
def weights_of_factor(node: ir.Node, facts: Facts) -> Outcome:
    """Conv(f(x * c), w, b) = Conv(f(x), w * c, b), where c is one constant and f is data movement.

    MatMul and Gemm alike.

    Example:
        g (float[N, 3, 2] x) => (float[N, 2, 1] y) <float[3, 1] w = {1, 2, 3}, float c = {0.125}> {
            s = Mul (x, c)  t = Transpose <perm = [0, 2, 1]> (s)  y = MatMul (t, w) }
    """
    weight, chain = input_of(node, 1), []
    value = input_of(node, 0)
    while (mover := maker_of(value, *MOVEMENT)) is not None and is_private(value):
        chain.append(mover)
        value = mover.inputs[0]
    scale = maker_of(value, "Mul", "Div")
    if scale is None or not chain or weight is None or not is_known(weight, facts):
        return None
    kept = None if is_private(value) else Reason("the scaled value is read elsewhere")
    kept = kept or end_of_pattern(scale) or shared(weight, facts)
    if kept is not None:
        return kept
    for x, constant in list(orders(scale))[: 1 if scale.op_type == "Div" else 2]:
        number = number_beside(x, constant, facts)
        if not number:
            continue
        old = weights(weight, facts)
        if old is None:
            return Reason("its weights can't be read")
        new = old.array * (1 / number if scale.op_type == "Div" else number)
        return loss(new, old) or _linear(node, x, chain, new, old)
    return Reason("it is not scaled by one constant")


def _linear(node: ir.Node, x: ir.Value, chain: list[ir.Node], new: Array, old: Weights) -> Replace:
    return Replace(lambda op: again(op, node, _moved(op, x, chain), stored(op, new, old), *node.inputs[2:]))


def _moved(op: Builder, x: ir.Value, chain: list[ir.Node]) -> ir.Value:
    """What the data movement of a chain, the last one first, makes of a value."""
    for mover in reversed(chain):
        x = again(op, mover, x, *mover.inputs[1:])
    return x


def _scaled(value: ir.Value | None, factor: float, facts: Facts) -> _Build | Reason:
    """Builds a value times a factor, if some weights that it is made with can take the factor."""
    if value is None or not is_private(value):
        return Reason("a value on the way to the weights is read elsewhere")
    node = maker_of(value, *MOVEMENT, "MatMul", "Add", "Gemm", "Conv")
    if node is None:
        return Reason("it is not made by weights")
    if node.op_type in MOVEMENT:
        return _with(node, 0, _scaled(node.inputs[0], factor, facts))
    if node.op_type == "Gemm":
        return _scaled_gemm(node, factor)
    reasons = []
    if node.op_type == "Add":
        if facts.opset_version(node) < 7:
            return Reason("its operator is of an old version")
        for k in (0, 1):
            addend = node.inputs[1 - k]
            if is_known(addend, facts):
                return _with(node, k, _scaled(node.inputs[k], factor, facts), _constant(addend, factor, facts))
        return Reason("what is added to it is not constant")
    for k in (1, 0) if node.op_type == "MatMul" else (1,):
        if is_known(node.inputs[k], facts):
            found = _constant(node.inputs[k], factor, facts)
            bias = input_of(node, 2) if node.op_type == "Conv" else None
            return _with(node, k, found) if bias is None else _with(node, 1, found, _constant(bias, factor, facts))
    for k in (0, 1) if node.op_type == "MatMul" else ():
        found = _with(node, k, _scaled(node.inputs[k], factor, facts))
        if not isinstance(found, Reason):
            return found
        reasons.append(found)
    return reasons[0] if reasons else Reason("its weights are not constant")


def _constant(value: ir.Value | None, factor: float, facts: Facts) -> _Build | Reason:
    """Builds constant weights times a factor."""
    old = weights(value, facts)
    if value is None or old is None:
        return Reason("its weights are not constant")
    new = np.asarray(old.array * factor)
    reason = shared(value, facts) or loss(new, old)
    return reason if reason is not None else lambda op: stored(op, new, old)


def _scaled_gemm(node: ir.Node, factor: float) -> _Build | Reason:
    """Builds a Gemm times a factor, which its attributes take."""
    alpha, beta = attribute_float(node, "alpha", 1.0), attribute_float(node, "beta", 1.0)
    if alpha is None or beta is None:
        return Reason("its attributes are those of the enclosing function")
    return lambda op: again(op, node, *node.inputs, alpha=alpha * factor, beta=beta * factor)


def _with(node: ir.Node, index: int, build: _Build | Reason, other: _Build | Reason | None = None) -> _Build | Reason:
    """Builds a node again with another input, and perhaps with another one for the one beside or behind it."""
    if isinstance(build, Reason):
        return build
    if isinstance(other, Reason):
        return other

    def rebuilt(op: Builder) -> ir.Value:
        inputs = list(node.inputs)
        inputs[index] = build(op)
        if other is not None:
            inputs[1 - index if node.op_type == "Add" else index + 1] = other(op)
        return again(op, node, *inputs)

    return rebuilt
