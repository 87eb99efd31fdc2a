"""Rules about operators of one operand that undo or repeat each other."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Forward, Outcome, expression_rule, rule
from foldproof_rules._operands import FLOATS, INTEGERS, UNSIGNED, maker_of


@expression_rule(exact=True, shared=True)
class NegOfNeg:
    """-(-x) = x.

    Example:
        g (float[N] x) => (float[N] y) { n = Neg (x)  m = Neg (n)  y = Exp (m) }
    """

    def pattern(op: Any, x: Any) -> Any:
        return op.Neg(op.Neg(x))

    def replacement(op: Any, x: Any) -> Any:
        return x


@expression_rule(exact=True, shared=True)
class NotOfNot:
    """Not(Not(x)) = x.

    Example:
        g (bool[N] x, bool[N] y) => (bool[N] z) { n = Not (x)  m = Not (n)  z = And (m, y) }
    """

    def pattern(op: Any, x: Any) -> Any:
        return op.Not(op.Not(x))

    def replacement(op: Any, x: Any) -> Any:
        return x


@expression_rule(exact=True, shared=True)
class BitwiseNotOfBitwiseNot:
    """Inverting all bits twice gives them back.

    Example:
        g (int32[N] x) => (int32[N] y) { n = BitwiseNot (x)  m = BitwiseNot (n)  y = Abs (m) }
    """

    def pattern(op: Any, x: Any) -> Any:
        return op.BitwiseNot(op.BitwiseNot(x))

    def replacement(op: Any, x: Any) -> Any:
        return x


@expression_rule(exact=False, shared=True)
class ReciprocalOfReciprocal:
    """1 / (1 / x) = x.

    In floats the division rounds, and where 1 / x overflows the left side is 0.

    Example:
        g (float[N] x) => (float[N] y) { r = Reciprocal (x)  s = Reciprocal (r)  y = Neg (s) }
    """

    def pattern(op: Any, x: Any) -> Any:
        return op.Reciprocal(op.Reciprocal(x))

    def replacement(op: Any, x: Any) -> Any:
        return x


@expression_rule(exact=True, shared=True, lowers=Cost.EXPRESSION)
class AbsOfNeg:
    """|-x| = |x|.

    Also of the least integer, whose negative and absolute value it is itself.

    Example:
        g (int32[N] x) => (int32[N] y) { n = Neg (x)  y = Abs (n) }
    """

    def pattern(op: Any, x: Any) -> Any:
        return op.Abs(op.Neg(x))

    def replacement(op: Any, x: Any) -> Any:
        return op.Abs(x)


@expression_rule(exact=True, shared=True, lowers=Cost.EXPRESSION)
class SubOfNeg:
    """x - (-y) = x + y.

    IEEE 754 defines the difference as the sum with the negative, and integers wrap around.

    Example:
        g (float[N] x, float[N] y) => (float[N] z) { n = Neg (y)  z = Sub (x, n) }
    """

    def pattern(op: Any, x: Any, y: Any) -> Any:
        return op.Sub(x, op.Neg(y))

    def replacement(op: Any, x: Any, y: Any) -> Any:
        return op.Add(x, y)


@expression_rule(exact=True, shared=True, lowers=Cost.EXPRESSION)
class AddOfNeg:
    """x + (-y) = x - y.

    IEEE 754 defines the difference as the sum with the negative, and integers wrap around.

    Example:
        g (float[N] x, float[N] y) => (float[N] z) { n = Neg (y)  z = Add (n, x) }
    """

    def pattern(op: Any, x: Any, y: Any) -> Any:
        return op.Add(x, op.Neg(y))

    def replacement(op: Any, x: Any, y: Any) -> Any:
        return op.Sub(x, y)


_WHOLE = ("Floor", "Ceil", "Round", "Sign")
"""Operators whose results are whole numbers, NaN or infinite."""

_NOT_NEGATIVE = ("Abs", "Exp", "Sigmoid", "Softmax")
"""Operators on floats whose results are not negative, and never -0.0."""


@rule("Abs", "Ceil", "Floor", "Relu", "Round", "Sign", exact=True)
def repeated(node: ir.Node, facts: Facts) -> Outcome:
    """f(g(x)) = g(x), where f keeps all that g gives: f = g, Floor(Round(x)), Floor of integers, Relu(Abs(x)).

    The absolute value of the least integer is negative, so Relu(Abs(x)) is for floats. Of half floats onnxruntime takes
    NaN for 0 in Sign.

    Example:
        g (float[N] x) => (float[N] y) { f = Floor (x)  r = Round (f)  y = Neg (r) }
    """
    source = node.inputs[0]
    inner = maker_of(source, node.op_type, *_WHOLE, *_NOT_NEGATIVE, "Cast")
    if inner is None or source is None or not _keeps(node.op_type, inner, facts):
        return None
    return Forward(source)


def _keeps(outer: str, inner: ir.Node, facts: Facts) -> bool:
    """Whether an operator gives each result of a node back as it is."""
    given, dtype = facts.of(inner.inputs[0]).dtype, facts.of(inner.outputs[0]).dtype
    if outer == inner.op_type:
        return True
    if outer in ("Floor", "Ceil", "Round"):
        whole = given in INTEGERS or given is ir.DataType.BOOL
        return inner.op_type in _WHOLE or (inner.op_type == "Cast" and whole)
    if outer in ("Relu", "Abs"):
        if inner.op_type == "Cast":
            return dtype in FLOATS and (given in UNSIGNED or given is ir.DataType.BOOL)
        return inner.op_type in _NOT_NEGATIVE and dtype in FLOATS
    return False
