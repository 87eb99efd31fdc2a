"""Rules about `Expand`."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof_rules._operands import BROADCASTING, dim_at, is_private, maker_of


@rule(*BROADCASTING, exact=True, lowers=Cost.EXPRESSION, since=8, after=("Expand",))
def operand_expanded_for_nothing(node: ir.Node, facts: Facts) -> Outcome:
    """f(Expand(x, s), y) = f(x, y), where each dim that Expand enlarges is proven to be that of y.

    f broadcasts x by itself. The Expand has to go: each node that reads it must do without.

    Example:
        g (float[1, M] x, float[N, M] y) => (float[N, M] z) { s = Shape (y)  e = Expand (x, s)  z = Add (e, y) }
    """
    for value in node.inputs:
        maker = maker_of(value, "Expand")
        if maker is None or value is None:
            continue
        if value.is_graph_output() or not all(_does_without(use.node, value, facts) for use in value.uses()):
            return Reason("what is expanded is needed in full")
        inputs = [maker.inputs[0] if each is value else each for each in node.inputs]
        attributes = {name: attribute.value for name, attribute in node.attributes.items()}
        return Replace(lambda op: op.node(node.op_type, *inputs, **attributes))  # noqa: B023  it is built at once
    return None


def _does_without(node: ir.Node, value: ir.Value, facts: Facts) -> bool:
    """Whether a node gives the same result where one of its inputs is what that was expanded from."""
    if node.domain or node.op_type not in BROADCASTING or facts.opset_version(node) < 8:
        return False
    maker = maker_of(value, "Expand")
    if maker is None or any(attribute.is_ref() for attribute in node.attributes.values()):
        return False
    before, after = facts.shape(maker.inputs[0]), facts.shape(value)
    others = [facts.shape(other) for other in node.inputs if other is not value]
    if before is None or after is None or None in others:
        return False
    return all(
        dim_at(before, axis) == dim or any(dim_at(other, axis) == dim for other in others if other is not None)
        for axis, dim in ((k - len(after), dim) for k, dim in enumerate(after))
    ) and len(after) <= max(len(shape) for shape in (before, *others) if shape is not None)


@rule("Expand", exact=True, level=1, lowers=Cost.EXPRESSION)
def expand_target(node: ir.Node, facts: Facts) -> Outcome:
    """Expand(x, s) = Expand(x, c), where each dim of the result is an integer, or that of x.

    c has 1 for a dim that x has already.

    Example:
        g (float[N, 1] x) => (float[N, 4] y) <int64[1] four = {4}> {
            n = Shape <end = 1> (x)  s = Concat <axis = 0> (n, four)  y = Expand (x, s) }
    """
    if facts.of(node.inputs[1]).ints is not None:
        return None
    before, after = facts.shape(node.inputs[0]), facts.shape(node.outputs[0])
    if before is None or after is None:
        return Reason("its shape is unknown")
    target = []
    for axis, dim in ((k - len(after), dim) for k, dim in enumerate(after)):
        if dim_at(before, axis) == dim:
            target.append(1)
        elif isinstance(dim, int):
            target.append(dim)
        else:
            return Reason("its dim {} is not one of its input", dim)
    source = node.inputs[0]
    return Replace(lambda op: op.Expand(source, op.constant(np.array(target, np.int64))))


@rule("Expand", exact=True)
def expand_of_expand(node: ir.Node, facts: Facts) -> Outcome:
    """Expand(Expand(x, a), b) = Expand(x, b), where each dim of the result is one of b, or of x.

    Example:
        g (float[1, M] x) => (float[2, 3, M] y) <int64[2] s = {3, 1}, int64[3] t = {2, 3, 1}> {
            e = Expand (x, s)  y = Expand (e, t) }
    """
    inner = maker_of(node.inputs[0], "Expand")
    if inner is None:
        return None
    source, target = inner.inputs[0], node.inputs[1]
    before, after, wanted = facts.shape(source), facts.shape(node.outputs[0]), facts.of(target).dims
    if before is None or after is None or wanted is None or len(after) > max(len(before), len(wanted)):
        return Reason("its shape, or what it is expanded to, is unknown")
    for axis, dim in ((k - len(after), dim) for k, dim in enumerate(after)):
        if dim_at(before, axis) != dim and dim_at(wanted, axis) != dim:
            return Reason("its dim {} comes from the inner Expand", dim)
    if not is_private(inner.outputs[0]):
        return Reason("the value between is read elsewhere")
    return Replace(lambda op: op.Expand(source, target))
