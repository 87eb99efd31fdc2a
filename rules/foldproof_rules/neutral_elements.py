"""Rules about operators of two operands one of which changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Forward, Outcome, Reason, rule
from foldproof_rules._operands import FLOATS, INTEGERS, keeps_shape_of, splat

_Test: TypeAlias = "Callable[[ir.Node, np.generic, ir.DataType], bool]"
"""Whether a number of an operand's type is neutral as the other operand of a node."""

_EITHER_SIDE = ("Add", "Mul", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Max", "Min")
"""Operators whose neutral element is neutral on the left too."""


@rule(*_EITHER_SIDE, "Sub", "Div", "Pow", "BitShift", exact=True)
def neutral_operand(node: ir.Node, facts: Facts) -> Outcome:
    """f(x, e) = x, where e is neutral for f and the result has the shape of x: x * 1, x - 0.0, x / 1, And(x, true).

    The zero that is neutral for addition is -0.0, and for subtraction it is 0.0: -0.0 + 0.0 is 0.0. The base of a power
    is a float, or int32: onnxruntime raises wider integers as doubles.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float one = {1}> { z = Div (x, one)  y = Neg (z) }
    """
    return _forward_past(node, facts, _is_neutral)


@rule("Add", "Sub", exact=False)
def zero_operand(node: ir.Node, facts: Facts) -> Outcome:
    """Add(x, 0.0) = x, Sub(x, -0.0) = x, where the result has the shape of x.

    Where x is -0.0 the sum is 0.0.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float[3] zero = {0, 0, 0}> { z = Add (x, zero)  y = Neg (z) }
    """
    return _forward_past(node, facts, lambda node, number, dtype: dtype in FLOATS and bool(number == 0))


def _forward_past(node: ir.Node, facts: Facts, is_neutral: _Test) -> Outcome:
    """Reads one operand in place of the result, where the other one is neutral."""
    if len(node.inputs) != 2:
        return None
    outcome: Outcome = None
    for operand, other in _sides(node):
        number = splat(other, facts)
        dtype = facts.of(operand).dtype
        if number is None or dtype is None or not is_neutral(node, number, dtype):
            continue
        if keeps_shape_of(node, operand, [other], facts):
            return Forward(operand)
        outcome = Reason("{} may make the result larger than {}", other.name, operand.name)
    return outcome


def _sides(node: ir.Node) -> Iterator[tuple[ir.Value, ir.Value]]:
    left, right = node.inputs
    if left is None or right is None:
        return
    yield left, right
    if node.op_type in _EITHER_SIDE:
        yield right, left


def _is_neutral(node: ir.Node, number: np.generic, dtype: ir.DataType) -> bool:
    """Whether f(x, number) is x bit for bit for every x of a type, the shapes aside."""
    match node.op_type:
        case "Add":
            return bool(number == 0) and (dtype in INTEGERS or bool(np.signbit(number)))
        case "Sub":
            return bool(number == 0) and (dtype in INTEGERS or not np.signbit(number))
        case "Mul" | "Div":
            return bool(number == 1)
        case "Pow":
            return bool(number == 1) and (dtype in FLOATS or dtype is ir.DataType.INT32)
        case "And":
            return bool(number)
        case "Or" | "Xor":
            return not number
        case "BitwiseAnd":
            return bool(number == np.bitwise_not(np.zeros((), dtype.numpy())))
        case "BitwiseOr" | "BitwiseXor" | "BitShift":
            return bool(number == 0)
        case "Max" | "Min":
            return bool(number == _last(dtype, lowest=node.op_type == "Max"))
    return False


def _last(dtype: ir.DataType, *, lowest: bool) -> float | int:
    """The number that no other one of a type is below, or above."""
    if dtype in FLOATS:
        return -np.inf if lowest else np.inf
    limits = np.iinfo(dtype.numpy())
    return int(limits.min if lowest else limits.max)
