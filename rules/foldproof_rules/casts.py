"""Rules about `Cast` and `CastLike`."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts, NodeView
from foldproof.rewriting import Cost, Forward, Outcome, Reason, Replace, rule
from foldproof_rules._operands import INTEGERS, is_private, maker_of

_SIGNIFICANT_BITS = {
    ir.DataType.FLOAT16: 11,
    ir.DataType.BFLOAT16: 8,
    ir.DataType.FLOAT: 24,
    ir.DataType.DOUBLE: 53,
}
"""Integers of up to so many bits are exact in these types."""

_WIDER = {
    ir.DataType.FLOAT16: {ir.DataType.FLOAT, ir.DataType.DOUBLE},
    ir.DataType.BFLOAT16: {ir.DataType.FLOAT, ir.DataType.DOUBLE},
    ir.DataType.FLOAT: {ir.DataType.DOUBLE},
}
"""The float types that hold all values of another one."""


@rule("Cast", exact=True, level=1, after=("Cast",))
def cast_of_cast(node: ir.Node, facts: Facts) -> Outcome:
    """Cast(Cast(x, a), b) = Cast(x, b), where a holds all values of x; = x, where b is the type of x besides.

    Also where all three are integers and a is no narrower than b: by the specification a cast to a narrower integer
    drops the high bits, and drops no more in two steps. A detour by a float that ends in an integer which can't hold
    all values of x is left: what it gives for those that do not fit is not defined. Nor are strings and 8-bit floats
    ours, whose casts have options.

    Example:
        g (int8[N] x) => (int64[N] y) { z = Cast <to = 6> (x)  y = Cast <to = 7> (z) }
    """
    inner = maker_of(node.inputs[0], "Cast")
    if inner is None or inner.inputs[0] is None:
        return None
    source = inner.inputs[0]
    types = [facts.of(value).dtype for value in (source, inner.outputs[0], node.outputs[0])]
    first, middle, last = types
    if facts.opset_version(node) < 6 or first is None or middle is None or last is None:
        return Reason("its types are unknown")
    if not _is_detour(first, middle, last):
        names = [each.name for each in (first, middle, last)]
        return Reason("{} as {} as {} may be another value than without the detour", *names)
    if first is last:
        return Forward(source)
    if not is_private(inner.outputs[0]):
        return Reason("the value between is read elsewhere")
    options = {
        name: attribute.value for name, attribute in node.attributes.items() if name != "to" and not attribute.is_ref()
    }
    return Replace(lambda op: op.Cast(source, to=last.value, **options))


def _is_detour(first: ir.DataType, middle: ir.DataType, last: ir.DataType) -> bool:
    """Whether a cast by way of a middle type always gives what the direct cast gives."""
    if last is not ir.DataType.BOOL and last not in INTEGERS and last not in _SIGNIFICANT_BITS:
        return False
    if _holds(middle, first):
        only_middle_is_float = middle in _SIGNIFICANT_BITS and first not in _SIGNIFICANT_BITS and last in INTEGERS
        return not only_middle_is_float or _holds(last, first)
    return {first, middle, last} <= INTEGERS and bool(last.itemsize <= middle.itemsize)


def _holds(wide: ir.DataType, narrow: ir.DataType) -> bool:
    """Whether each value of one type is a value of another one."""
    if narrow is wide:
        return True
    if narrow is ir.DataType.BOOL:
        return wide in INTEGERS or wide in _SIGNIFICANT_BITS
    if narrow in INTEGERS:
        limits = np.iinfo(narrow.numpy())
        if wide in _SIGNIFICANT_BITS:
            return bool(limits.max < 2 ** _SIGNIFICANT_BITS[wide])
        outer = np.iinfo(wide.numpy()) if wide in INTEGERS else None
        return outer is not None and bool(outer.min <= limits.min and limits.max <= outer.max)
    return wide in _WIDER.get(narrow, set())


@rule("CastLike", exact=True, level=1, lowers=Cost.FORM)
def cast_like_known_type(node: ir.Node, facts: Facts) -> Outcome:
    """CastLike(x, y) = Cast(x, to = the type of y), so that y need not be there.

    Its options (`saturate` from version 19, `round_mode` from 24) are those of Cast.

    Example:
        g (int32[N] x, float[M] t) => (float[N] y) { y = CastLike (x, t) }
    """
    target = facts.of(node.inputs[1]).dtype
    if target is None or NodeView(node, facts).has_unknown_attribute():
        return Reason("the type of its second input is unknown")
    source = node.inputs[0]
    options = {name: attribute.value for name, attribute in node.attributes.items()}
    return Replace(lambda op: op.Cast(source, to=target.value, **options))
