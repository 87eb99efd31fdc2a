"""Rules about truth values: `Not`, comparisons, `Where`, and operators of two equal operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Constant, Cost, Forward, Outcome, Reason, Replace, expression_rule, rule
from foldproof_rules._operands import FLOATS, INTEGERS, is_private, keeps_shape_of, maker_of, splat

MAX_STORED = 64
"""A result of more elements is not stored as a constant: the file would grow."""

_OPPOSITE = {
    "Less": "GreaterOrEqual",
    "Greater": "LessOrEqual",
    "LessOrEqual": "Greater",
    "GreaterOrEqual": "Less",
}


@rule("Not", exact=True)
def not_of_comparison(node: ir.Node, facts: Facts) -> Outcome:
    """Not(x < y) = x >= y, and so for the other orders, where x and y are integers.

    Of floats one may be NaN, and then no order holds. onnxruntime has all four comparisons for int32 and int64;
    GreaterOrEqual and LessOrEqual are there from opset 12.

    Example:
        g (int64[N] x, int64[N] y) => (bool[N] z) { c = Less (x, y)  z = Not (c) }
    """
    inner = maker_of(node.inputs[0], *_OPPOSITE)
    if inner is None:
        return None
    if facts.of(inner.inputs[0]).dtype not in (ir.DataType.INT32, ir.DataType.INT64):
        return Reason("what it compares is not proven to be int32 or int64")
    if facts.opset_version(node) < 12:
        return Reason("its opset lacks {}", _OPPOSITE[inner.op_type])
    if not is_private(inner.outputs[0]):
        return Reason("the comparison is read elsewhere")
    return Replace(lambda op: op.node(_OPPOSITE[inner.op_type], *inner.inputs))


@rule("Xor", exact=True, lowers=Cost.FORM)
def xor_true(node: ir.Node, facts: Facts) -> Outcome:
    """Xor(x, true) = not x, where the result has the shape of x.

    Example:
        g (bool[N] x) => (bool[N] y) <bool t = {1}> { y = Xor (x, t) }
    """
    return _one_operand(node, facts, value=True, replace=lambda x: Replace(lambda op: op.Not(x)))


@rule("And", "Or", exact=True)
def absorbing_operand(node: ir.Node, facts: Facts) -> Outcome:
    """And(x, false) = false, Or(x, true) = true, where the result is small and its shape proven.

    Example:
        g (bool[3] x) => (bool[3] y) <bool f = {0}> { y = And (x, f) }
    """
    return _one_operand(node, facts, value=node.op_type == "Or", replace=None)


def _one_operand(node: ir.Node, facts: Facts, *, value: bool, replace: Any) -> Outcome:
    """What to do where one operand is known to be a truth value in each element."""
    outcome: Outcome = None
    for operand, other in (node.inputs, reversed(node.inputs)):
        known = splat(other, facts)
        if operand is None or other is None or known is None or bool(known) is not value:
            continue
        if replace is None:
            return _filled(node, facts, value)
        if keeps_shape_of(node, operand, [other], facts):
            return replace(operand)  # type: ignore[no-any-return]
        outcome = Reason("{} may make the result larger than {}", other.name, operand.name)
    return outcome


def _filled(node: ir.Node, facts: Facts, value: bool | int) -> Outcome:
    """A small constant of the type and shape of the result, one value in each element."""
    fact = facts.of(node.outputs[0])
    dims = [dim for dim in fact.shape or () if isinstance(dim, int)]
    if fact.dtype is None or not fact.is_static or np.prod(dims, dtype=np.float64) > MAX_STORED:
        return Reason("the shape of its result is not proven, or not small")
    return Constant(np.full(dims, value, fact.dtype.numpy()))


@rule("And", "Or", "Max", "Min", "BitwiseAnd", "BitwiseOr", exact=True)
def same_operands(node: ir.Node, facts: Facts) -> Outcome:
    """f(x, x) = x, where f is And, Or, Max, Min, BitwiseAnd or BitwiseOr.

    Example:
        g (float[N] x) => (float[N] y) { z = Max (x, x)  y = Neg (z) }
    """
    return Forward(node.inputs[0]) if len(node.inputs) > 1 and len(set(node.inputs)) == 1 else None


@rule("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Sub", "Xor", "BitwiseXor", exact=True)
def compared_with_itself(node: ir.Node, facts: Facts) -> Outcome:
    """Equal(x, x) = true, Less(x, x) = false, Sub(x, x) = 0, for small integer tensors of a proven shape.

    NaN is not equal to itself, and infinity - infinity is NaN.

    Example:
        g (int64[3] x) => (bool[3] y) { y = Equal (x, x) }
    """
    if node.inputs[0] is not node.inputs[1]:
        return None
    dtype = facts.of(node.inputs[0]).dtype
    if dtype not in INTEGERS and dtype is not ir.DataType.BOOL:
        return Reason("its operands may be NaN")
    return _filled(node, facts, node.op_type in ("Equal", "LessOrEqual", "GreaterOrEqual"))


@rule("Where", exact=True)
def where_known(node: ir.Node, facts: Facts) -> Outcome:
    """Where(true, x, y) = x, Where(false, x, y) = y, Where(c, x, x) = x, where the result has that operand's shape.

    For all types but floats: where onnxruntime chooses one, it may give 0.0 for -0.0.

    Example:
        g (int64[N, 3] x, int64[3] y) => (int64[N, 3] z) <bool c = {1}> { w = Where (c, x, y)  z = Neg (w) }
    """
    return None if facts.of(node.outputs[0]).dtype in FLOATS else _chosen(node, facts)


@rule("Where", exact=False)
def where_known_of_floats(node: ir.Node, facts: Facts) -> Outcome:
    """Where(true, x, y) = x, Where(false, x, y) = y, Where(c, x, x) = x, where the result has that operand's shape.

    Example:
        g (float[N, 3] x, float[1] y) => (float[N, 3] z) <bool c = {1}> { w = Where (c, x, y)  z = Neg (w) }
    """
    return _chosen(node, facts) if facts.of(node.outputs[0]).dtype in FLOATS else None


def _chosen(node: ir.Node, facts: Facts) -> Outcome:
    condition, left, right = node.inputs
    if condition is None or left is None or right is None:
        return None
    known = splat(condition, facts)
    if left is right:
        chosen, others = left, [condition]
    elif known is not None:
        chosen, others = (left, [condition, right]) if known else (right, [condition, left])
    else:
        return Reason("its condition is not known")
    if not keeps_shape_of(node, chosen, others, facts):
        return Reason("the result may be larger than {}", chosen.name)
    return Forward(chosen)


@expression_rule(exact=False, shared=True, lowers=Cost.EXPRESSION)
class WhereOfNot:
    """Where(Not(c), x, y) = Where(c, y, x).

    Where onnxruntime chooses a float, it may give 0.0 for -0.0, and for other ones on both sides.

    Example:
        g (bool[N] c, float[N] x, float[N] y) => (float[N] z) { n = Not (c)  z = Where (n, x, y) }
    """

    def pattern(op: Any, c: Any, x: Any, y: Any) -> Any:
        return op.Where(op.Not(c), x, y)

    def replacement(op: Any, c: Any, x: Any, y: Any) -> Any:
        return op.Where(c, y, x)


@rule("Where", exact=True, lowers=Cost.FORM)
def where_truth(node: ir.Node, facts: Facts) -> Outcome:
    """Where(c, true, false) = c and Where(c, false, true) = not c, where the result has the shape of c.

    Example:
        g (bool[N] c) => (bool[N] y) <bool t = {1}, bool f = {0}> { y = Where (c, f, t) }
    """
    condition, left, right = node.inputs
    if condition is None or left is None or right is None or facts.of(left).dtype is not ir.DataType.BOOL:
        return None
    if_true, if_false = splat(left, facts), splat(right, facts)
    if if_true is None or if_false is None or bool(if_true) is bool(if_false):
        return Reason("its operands are not known to be true and false")
    if not keeps_shape_of(node, condition, [left, right], facts):
        return Reason("the result may be larger than {}", condition.name)
    return Forward(condition) if if_true else Replace(lambda op: op.Not(condition))
