"""Rules that compute and store once what is there twice."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import ANY, Forward, Outcome, Reason, initializer_rule, rule


@rule(ANY, exact=True, benefit=3, level=1)
def same_computation(node: ir.Node, facts: Facts) -> Outcome:
    """f(x, ...) = f(x, ...), so one of two equal nodes is enough.

    Small constants are compared by their bits. Random and unknown operators are never merged. A node in a body is
    merged with an equal one in the graphs around it.

    Example:
        g (float[N] x) => (float[N] y, float[N] z) { y = Exp (x)  a = Exp (x)  z = Neg (a) }
    """
    other = facts.equivalents.earlier_node(node)
    if other is None:
        return None
    if node.op_type == "Constant" and node.outputs[0].is_graph_output():
        return Reason("an Identity would take its place, which is folded to a Constant again")
    return Forward(*other.outputs)


@initializer_rule(exact=True, level=1)
def same_initializer(value: ir.Value, facts: Facts) -> Outcome:
    """K = k', where both hold the same bits under the same type and dims. -0.0 is not 0.0.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float[3] a = {1, 2, 3}, float[3] b = {1, 2, 3}> {
            s = Add (x, a)  y = Mul (s, b) }
    """
    other = facts.equivalents.earlier_initializer(value)
    return None if other is None else Forward(other)
