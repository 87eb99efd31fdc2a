"""Rules about operators of any number of operands: `Max` and `Min`."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Outcome, Reason, Replace, rule
from foldproof_rules._operands import is_private, maker_of


@rule("Max", "Min", exact=True)
def nested_maximum(node: ir.Node, facts: Facts) -> Outcome:
    """Max(Max(a, b), c) = Max(a, b, c), and so for Min.

    Where the inner one comes first the operands are compared in the order in which they were: which zero is the larger
    one, and which NaN is kept, is decided as before. Before version 8 all operands have the shape of the result.

    Example:
        g (float[N] x, float[N] y, float[N] z) => (float[N] m) { a = Max (x, y)  m = Max (a, z) }
    """
    inner = maker_of(node.inputs[0], node.op_type)
    if inner is None or len(node.inputs) < 2:
        return None
    if not is_private(inner.outputs[0]) or node.inputs[0] in node.inputs[1:]:
        return Reason("the inner {} is read elsewhere", node.op_type)
    operands = (*inner.inputs, *node.inputs[1:])
    return Replace(lambda op: op.node(node.op_type, *operands))
