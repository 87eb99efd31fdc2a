"""Rules that merge what bounds a value from below and above: `Clip`, `Relu`, `Max` and `Min` with a number."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts, NodeView
from foldproof.rewriting import Forward, Outcome, Reason, Replace, rule
from foldproof_rules._operands import FLOATS, INTEGERS, is_private, keeps_shape_of, maker_of, splat

Number: TypeAlias = Any
"""A number of numpy: `np.generic` has no order that a type checker knows."""


@dataclasses.dataclass(frozen=True)
class _Bounds:
    """A node that computes min(max(x, low), high).

    Attributes:
        source: x.
        low: None for none.
        high: None for none. Where it is below `low`, it is what each element becomes.
        dtype: The type of x.
    """

    source: ir.Value
    low: Number | None
    high: Number | None
    dtype: ir.DataType

    @property
    def zeros(self) -> list[Number]:
        return [bound for bound in (self.low, self.high) if bound is not None and bound == 0]


@rule("Clip", exact=True)
def clip_to_all(node: ir.Node, facts: Facts) -> Outcome:
    """Clip(x, low, high) = x, where no value of the type of x is outside.

    A bound of a float type that is left out is its largest finite number in onnxruntime, so there both have to be
    given.

    Example:
        g (int8[N] x) => (int8[N] y) <int8 low = {-128}, int8 high = {127}> { y = Clip (x, low, high) }
    """
    bounds = _bounds(node, facts)
    if not isinstance(bounds, _Bounds):
        return bounds
    if bounds.dtype in INTEGERS:
        limits = np.iinfo(bounds.dtype.numpy())
        is_open = bounds.low in (None, limits.min) and bounds.high in (None, limits.max)
    else:
        is_open = bounds.low == -np.inf and bounds.high == np.inf
    return Forward(bounds.source) if is_open else Reason("values may be outside its bounds")


@rule("Clip", "Relu", "Max", "Min", exact=True)
def clip_of_clip(node: ir.Node, facts: Facts) -> Outcome:
    """Clip(Clip(x, a, b), c, d) = Clip(x, max(a, c), min(max(b, c), d)), and so for Relu, which is Clip from 0 up.

    Of integers so for Max and Min with a number too.
    In this form it is right for disjoint ranges too: everything becomes c, or d. There the sign of a zero may change,
    and so it may where one bound is 0.0 and another one is -0.0: those are left. Where the outer one changes nothing,
    the inner one is what stays.

    Example:
        g (float[N] x) => (float[N] y) <float a = {-1}, float b = {2}, float c = {0.5}, float d = {6}> {
            z = Clip (x, a, b)  y = Clip (z, c, d) }
    """
    integers = facts.of(node.inputs[0]).dtype in INTEGERS
    if not integers and node.op_type in ("Max", "Min"):
        return None
    return _merged(node, facts, ("Clip", "Relu", *(("Max", "Min") if integers else ())), exact=True)


@rule("Clip", "Relu", "Max", "Min", exact=False)
def max_min_to_clip(node: ir.Node, facts: Facts) -> Outcome:
    """Min(Max(x, low), high) = Clip(x, low, high), and so for each chain of Clip, Relu, Max and Min with numbers.

    Which zero is the larger one is left open for Max and Min, so the sign of a zero may change.

    Example:
        g (float[N] x) => (float[N] y) <float low = {-1}, float high = {2}> { z = Max (x, low)  y = Min (z, high) }
    """
    return _merged(node, facts, ("Clip", "Relu", "Max", "Min"), exact=False)


def _merged(node: ir.Node, facts: Facts, op_types: tuple[str, ...], *, exact: bool) -> Outcome:
    """One node in place of two that bound, or the inner one in place of both."""
    outer = _bounds(node, facts)
    if not isinstance(outer, _Bounds):
        return outer
    maker = maker_of(outer.source, *op_types)
    inner = None if maker is None else _bounds(maker, facts)
    if maker is None or inner is None:
        return None
    if isinstance(inner, Reason):
        return inner
    merged = _compose(inner, outer)
    kinds = {node.op_type, maker.op_type}
    reason = _zero_may_change(inner, outer, merged) if exact else None
    if "Clip" in kinds:
        reason = reason or _infinity_may_pass(inner, outer)
    if reason is not None:
        return reason
    # A bound that onnxruntime puts in for one that is left out is not among these: it may still matter.
    is_given = node.op_type != "Clip" or (outer.low is not None and outer.high is not None) or outer.dtype in INTEGERS
    if is_given and _is_alike(merged, inner):
        return Forward(outer.source)
    if not is_private(outer.source):
        return Reason("the value between is read elsewhere")
    # Not as a Clip: the bound that it leaves out is a finite number in onnxruntime.
    if kinds <= {"Max", "Relu"} or kinds == {"Min"}:
        op_type = "Min" if kinds == {"Min"} else "Max"
        return Replace(lambda op: op.node(op_type, inner.source, op.constant(_either(merged))))
    return _refused(merged.dtype, node, facts, kinds) or _clip(merged, facts.opset_version(node))


def _compose(inner: _Bounds, outer: _Bounds) -> _Bounds:
    """min(max(min(max(x, a), b), c), d) = min(max(x, max(a, c)), min(max(b, c), d)), as min and max distribute."""
    low = _larger(inner.low, outer.low)
    raised = inner.high if outer.low is None or inner.high is None else max(inner.high, outer.low)
    high = raised if outer.high is None else outer.high if raised is None else min(raised, outer.high)
    return _Bounds(inner.source, low, high, inner.dtype)


def _zero_may_change(inner: _Bounds, outer: _Bounds, merged: _Bounds) -> Reason | None:
    """Why -0.0 may become 0.0 or the other way round, None where it can't."""
    if inner.dtype in INTEGERS:
        return None
    if len({bool(np.signbit(zero)) for zero in (*inner.zeros, *outer.zeros)}) > 1:
        return Reason("its bounds are zeros of both signs")
    if len(merged.zeros) == 2:
        return Reason("all that is left is a zero, whose sign may change")
    return None


def _infinity_may_pass(inner: _Bounds, outer: _Bounds) -> Reason | None:
    """Why a bound would let an infinity pass which one that is left out stops, None where it would not."""
    bounds = (inner.low, inner.high, outer.low, outer.high)
    infinite = next((bound for bound in bounds if bound is not None and np.isinf(bound)), None)
    if infinite is None or all(bound is not None for bound in bounds):
        return None
    return Reason("a bound is {}, and one that is left out is finite in onnxruntime", infinite)


def _larger(a: Number | None, b: Number | None) -> Number | None:
    return b if a is None else a if b is None else max(a, b)


def _either(bounds: _Bounds) -> Number:
    bound = bounds.low if bounds.low is not None else bounds.high
    assert bound is not None
    return bound


def _is_alike(a: _Bounds, b: _Bounds) -> bool:
    return (
        (a.low is None) == (b.low is None)
        and (a.high is None) == (b.high is None)
        and bool((a.low is None or a.low == b.low) and (a.high is None or a.high == b.high))
    )


def _refused(dtype: ir.DataType, node: ir.Node, facts: Facts, kinds: set[str]) -> Reason | None:
    """Why Clip may not be there for a type; None where it is, in the specification and in onnxruntime."""
    version = facts.opset_version(node)
    floats = {ir.DataType.FLOAT, ir.DataType.DOUBLE}
    wide = {ir.DataType.INT32, ir.DataType.INT64, ir.DataType.UINT32, ir.DataType.UINT64}
    known = floats | wide if version >= 12 else {ir.DataType.FLOAT}
    if dtype in known or "Clip" in kinds:
        return None
    return Reason("Clip of opset {} may not be there for {}", version, dtype.name)


def _clip(bounds: _Bounds, version: int) -> Outcome:
    """Clip as a version of the opset writes it."""
    if version < 11:
        if bounds.low is not None and bounds.high is not None and bounds.low > bounds.high:
            return Reason("onnxruntime refuses a Clip from {} to {} in attributes", bounds.low, bounds.high)
        given = {"min": bounds.low, "max": bounds.high}
        attributes = {name: float(bound) for name, bound in given.items() if bound is not None}
        return Replace(lambda op: op.Clip(bounds.source, **attributes))
    return Replace(
        lambda op: op.Clip(
            bounds.source,
            *(None if bound is None else op.constant(bound) for bound in _trimmed(bounds.low, bounds.high)),
        )
    )


def _trimmed(low: Number | None, high: Number | None) -> tuple[Number | None, ...]:
    return (low, high) if high is not None else (low,)


def _bounds(node: ir.Node, facts: Facts) -> _Bounds | Reason | None:
    """What a node bounds, and by what; None for a node that does not bound by numbers."""
    dtype = facts.of(node.inputs[0]).dtype
    view = NodeView(node, facts)
    if dtype is None or dtype not in FLOATS | INTEGERS or view.has_unknown_attribute():
        return Reason("its type is unknown")
    if node.op_type in ("Max", "Min"):
        return _bound(node, facts, dtype)
    source = node.inputs[0]
    if source is None:
        return None
    zero: Number = np.zeros((), dtype.numpy())[()]
    if node.op_type == "Relu":
        return _Bounds(source, zero, None, dtype)
    if view.version < 11:
        low, high = (_attribute(view, name, dtype) for name in ("min", "max"))
        return _Bounds(source, low, high, dtype)
    bounds: list[Number | None] = []
    for index in (1, 2):
        bound = splat(node.inputs[index], facts) if view.has_input(index) else None
        if bound is None and view.has_input(index):
            return Reason("its bound {} is not known", node.inputs[index])
        bounds.append(bound)
    return _Bounds(source, bounds[0], bounds[1], dtype)


def _attribute(view: NodeView, name: str, dtype: ir.DataType) -> Number | None:
    bound = view.attribute(name)
    number: Number | None = None if bound is None else np.array(bound).astype(dtype.numpy())[()]
    return None if number is None or number != number else number


def _bound(node: ir.Node, facts: Facts, dtype: ir.DataType) -> _Bounds | Reason | None:
    """The bound that a Max or Min with one number is, where the number does not make the result larger."""
    if len(node.inputs) != 2 or facts.opset_version(node) < 8:
        return None  # before version 8 all operands have one shape
    for operand, other in (node.inputs, reversed(node.inputs)):
        bound = splat(other, facts)
        if operand is None or other is None or bound is None:
            continue
        if not keeps_shape_of(node, operand, [other], facts):
            return Reason("{} may make the result larger", other.name)
        is_low = node.op_type == "Max"
        return _Bounds(operand, bound if is_low else None, None if is_low else bound, dtype)
    return None
