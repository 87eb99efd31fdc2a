"""Rules that recognize `Softmax` and `LogSoftmax`."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Outcome, Reason, Replace, rule
from foldproof_rules._patterns import maker_of, private_maker, reads_only, reduced_axes
from foldproof_rules._weights import again, is_private

RUNTIME_TYPES = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE})
"""The types of which onnxruntime 1.32 runs both operators at every opset."""


@rule("Div", exact=False, benefit=4, after=("Exp",))
def softmax(node: ir.Node, facts: Facts) -> Outcome:
    """Div(Exp(x), ReduceSum(Exp(x), axis)) = Softmax(x, axis).

    Softmax(x - ReduceMax(x, axis)) is Softmax(x): the same factor is above and below.

    Example:
        g (float[N, 4] x) => (float[N, 4] y) <int64[1] axis = {1}> {
            m = ReduceMax (x, axis)  d = Sub (x, m)  e = Exp (d)  s = ReduceSum (e, axis)  y = Div (e, s) }
    """
    exp, total = maker_of(node.inputs[0], "Exp"), private_maker(node.inputs[1], "ReduceSum")
    if exp is None or total is None or total.inputs[0] is not node.inputs[0] or exp.inputs[0] is None:
        return None
    if not reads_only(exp.outputs[0], [node, total]):
        return Reason("the exponential is read elsewhere")
    axis = _axis(total, facts)
    if isinstance(axis, Reason):
        return axis
    x = _unshifted(exp, axis, facts)
    return Replace(lambda op: op.Softmax(x, axis=axis))


def _axis(reduction: ir.Node, facts: Facts) -> int | Reason:
    """The axis of a sum that Softmax can be taken over."""
    fact, axes = facts.of(reduction.inputs[0]), reduced_axes(reduction, facts)
    if fact.dtype not in RUNTIME_TYPES:
        return Reason("the runtime has no Softmax of its type")
    if axes is None or len(axes) != 1 or fact.rank is None:
        return Reason("it is not summed over one known axis")
    if axes[0] != fact.rank - 1 and facts.opset_version(reduction) < 13:
        return Reason("Softmax is taken over all axes from the given one on, before opset 13")
    return axes[0]


def _unshifted(exp: ir.Node, axis: int, facts: Facts) -> ir.Value:
    """x, where the exponent is x - ReduceMax(x, axis); else the exponent."""
    exponent = exp.inputs[0]
    assert exponent is not None
    subtract = private_maker(exponent, "Sub")
    largest = None if subtract is None else private_maker(subtract.inputs[1], "ReduceMax")
    if subtract is None or largest is None or subtract.inputs[0] is None:
        return exponent
    same = largest.inputs[0] is subtract.inputs[0] and reduced_axes(largest, facts) == (axis,)
    return subtract.inputs[0] if same else exponent


@rule("Log", exact=False, benefit=4)
def log_softmax(node: ir.Node, facts: Facts) -> Outcome:
    """Log(Softmax(x)) = LogSoftmax(x), over the same axes.

    Where Softmax underflows to 0, LogSoftmax is not -infinity, but right.

    Example:
        g (float[N, 4] x) => (float[N, 4] y) { s = Softmax (x)  y = Log (s) }
    """
    maker = maker_of(node.inputs[0], "Softmax")
    if maker is None:
        return None
    if not is_private(node.inputs[0]):
        return Reason("the Softmax is read elsewhere")
    if facts.of(node.inputs[0]).dtype not in RUNTIME_TYPES:
        return Reason("the runtime has no LogSoftmax of its type")
    return Replace(lambda op: again(op, maker, *maker.inputs, op_type="LogSoftmax"))
