"""Rules for the tests of the checker: one that is right, and wrong ones."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Constant, Cost, Forward, Outcome, Reason, Replace, Rule, rule


@rule("Abs", exact=True)
def abs_of_abs(node: ir.Node, facts: Facts) -> Outcome:
    """Abs(Abs(x)) = Abs(x).

    Example:
        g (float[N, 3] x) => (float[N, 3] y) { a = Abs (x)  b = Abs (a)  y = Neg (b) }
    """
    inner = node.inputs[0].producer()
    return Forward(node.inputs[0]) if inner is not None and inner.op_type == "Abs" else None


@rule("Add", exact=True)
def add_nothing(node: ir.Node, facts: Facts) -> Outcome:
    """x + 0 = x, which forgets that 0 may broadcast x, and -0.0.

    Example:
        g (int32[N, 3] x) => (int32[N, 3] y) <int32 zero = {0}> { a = Add (x, zero)  y = Neg (a) }
    """
    constant = facts.of(node.inputs[1]).constant
    return None if constant is None or constant.numpy().any() else Forward(node.inputs[0])


@rule("Size", exact=True)
def size_at_one(node: ir.Node, facts: Facts) -> Outcome:
    """Size(x) = the product of its dims, where a symbol counts for 1.

    Example:
        g (float[2, 3] x) => (int64 y) { y = Size (x) }
    """
    dims = facts.shape(node.inputs[0]) or ()
    return Constant(np.int64(np.prod([dim if isinstance(dim, int) else 1 for dim in dims])))


@rule("Neg", exact=True)
def fails_at_scalars(node: ir.Node, facts: Facts) -> Outcome:
    """Neg(x) = x, where the first dim is 0.

    Example:
        g (float[0] x) => (float[0] y) { a = Neg (x)  y = Abs (a) }
    """
    return Forward(node.inputs[0]) if (facts.shape(node.inputs[0]) or ())[0] == 0 else None


@rule("Neg", exact=True)
def gives_a_truth(node: ir.Node, facts: Facts) -> Outcome:
    """Neg(x) = x, where x is a Neg.

    Example:
        g (float[N] x) => (float[N] y) { a = Neg (x)  b = Neg (a)  y = Abs (b) }
    """
    return bool(node.inputs[0].producer())  # type: ignore[return-value]


@rule("Relu", exact=True)
def never(node: ir.Node, facts: Facts) -> Outcome:
    """Relu(x) = x, never.

    Example:
        g (float[N] x) => (float[N] y) { y = Relu (x) }
    """
    return Reason("it never applies")


@rule("Exp", exact=True)
def without_example(node: ir.Node, facts: Facts) -> Outcome:
    """Exp(x) = Exp(x)."""
    return None


@rule("Sub", exact=True)
def more_nodes(node: ir.Node, facts: Facts) -> Outcome:
    """x - y = x + (-y), of integers: one node becomes two.

    Example:
        g (int32[N] x, int32[N] y) => (int32[N] z) { z = Sub (x, y) }
    """
    if facts.of(node.inputs[0]).dtype is not ir.DataType.INT32:
        return None
    return Replace(lambda op: op.Add(node.inputs[0], op.Neg(node.inputs[1])))


@rule("Mul", exact=True, lowers=Cost.EXPRESSION)
def back_and_forth(node: ir.Node, facts: Facts) -> Outcome:
    """x * y = y * x, for ever.

    Example:
        g (int32[N] x, int32[N] y) => (int32[N] z) { z = Mul (x, y) }
    """
    return Replace(lambda op: op.Mul(node.inputs[1], node.inputs[0]))


def rules() -> list[Rule]:
    """What an entry point would give."""
    return [abs_of_abs, add_nothing]
