"""Rules that take away what nothing reads."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import ANY, Cost, Outcome, Reason, Remove, initializer_rule, rule


@rule(ANY, exact=True, benefit=100, level=1, lowers=Cost.STORED, early=True)
def dead_node(node: ir.Node, facts: Facts) -> Outcome:
    """A node none of whose outputs is read = nothing.

    A node of an unknown operator stays, and so does one that holds or calls such a one: it may have an effect.

    Example:
        g (float[N] x) => (float[N] y) { z = Exp (x)  y = Neg (x) }
    """
    if any(map(facts.is_read, node.outputs)):
        return None
    if node.graph is not None and not facts.root(node.graph).outputs:
        return Reason("the model has no outputs, and runtimes refuse one without nodes")
    if facts.is_opaque(node):
        return Reason("nothing reads it, but its operator is unknown and may have an effect")
    return Remove()


@initializer_rule(exact=True, level=1)
def unused_initializer(value: ir.Value, facts: Facts) -> Outcome:
    """An initializer that nothing reads = nothing.

    One that is also a graph input stays where the caller may feed it.

    Example:
        g (float[N] x) => (float[N] y) <float[2] k = {1, 2}> { y = Neg (x) }
    """
    if facts.is_read(value):
        return None
    if facts.is_overridable(value):
        return Reason("it is a graph input, with a default")
    return Remove()
