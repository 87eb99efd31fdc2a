"""Rules about the reductions, such as `ReduceSum` and `ReduceMax`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import DimLike, Facts, NodeView
from foldproof.facts.dim import product
from foldproof.rewriting import Cost, Forward, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._operands import FLOATS, INTEGERS, is_private, keeps_shape_of, maker_of, splat

_REDUCTIONS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"),
    *("ReduceLogSum", "ReduceLogSumExp"),
)
_KEEP_ONE = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
"""Reductions that give one element back, though a sum may start from 0.0, which makes 0.0 of -0.0."""

_ASSOCIATIVE = (*_KEEP_ONE, "ReduceL1", "ReduceL2", "ReduceLogSumExp")
"""Reductions f of which f over some axes, and then f over others, is f over all of them."""


@dataclasses.dataclass(frozen=True)
class _Reduction:
    """What a reduction does.

    Attributes:
        source: What it reduces.
        shape: The dims of the source.
        axes: The axes that it reduces, from 0 and in order.
        keeps_dims: Whether they stay, as dims of 1.
    """

    source: ir.Value
    shape: tuple[DimLike, ...]
    axes: tuple[int, ...]
    keeps_dims: bool

    def left(self, axes: Iterable[int], *, keeps_dims: bool) -> tuple[DimLike, ...]:
        """The shape after reducing some axes."""
        gone = set(axes)
        return tuple(
            1 if axis in gone else dim for axis, dim in enumerate(self.shape) if keeps_dims or axis not in gone
        )


@rule("Squeeze", "Unsqueeze", "Reshape", "Flatten", exact=True, after=(*_REDUCTIONS, "ArgMax", "ArgMin"))
def reshape_of_reduction(node: ir.Node, facts: Facts) -> Outcome:
    """Squeeze(ReduceX(x, axes, keepdims = 1), axes) = ReduceX(x, axes, keepdims = 0), and the other way with Unsqueeze.

    So for Reshape and Flatten whose result has just the dims that the reduction gives with the other keepdims, and for
    ArgMax and ArgMin.

    Example:
        g (float[N, 3] x) => (float[N] y) <int64[1] axis = {1}> {
            r = ReduceSum <keepdims = 1> (x, axis)  y = Squeeze (r, axis) }
    """
    maker = maker_of(node.inputs[0], *_REDUCTIONS, "ArgMax", "ArgMin")
    if maker is None:
        return None
    reduction = _reduction(maker, facts)
    if isinstance(reduction, Reason):
        return reduction
    keeps_dims = not reduction.keeps_dims
    after = facts.shape(node.outputs[0])
    if after != reduction.left(reduction.axes, keeps_dims=keeps_dims):
        return Reason("it does more than to take the reduced axes out or to put them in")
    if not is_private(maker.outputs[0]):
        return Reason("the reduction is read elsewhere")
    attributes: dict[str, Any] = {name: each.value for name, each in maker.attributes.items()}
    attributes["keepdims"] = int(keeps_dims)
    return Replace(lambda op: op.node(maker.op_type, *maker.inputs, **attributes))


@rule("Flatten", "Squeeze", "Reshape", exact=False, since=5, after=("GlobalAveragePool",))
def mean_of_pool(node: ir.Node, facts: Facts) -> Outcome:
    """Flatten(GlobalAveragePool(x)) = ReduceMean(x, keepdims=0) over the spatial axes, for Squeeze and Reshape too.

    onnxruntime 1.32 takes a half to three quarters of the time for it.

    Example:
        g (float[N, 3, 2, 2] x) => (float[N, 3] y) { p = GlobalAveragePool (x)  y = Flatten (p) }
    """
    pool = maker_of(node.inputs[0], "GlobalAveragePool")
    if pool is None:
        return None
    source, before, after = pool.inputs[0], facts.shape(pool.inputs[0]), facts.shape(node.outputs[0])
    if source is None or before is None or after != before[:2] or len(before) < 3:
        return Reason("it does more than to take the spatial dims away")
    if not is_private(pool.outputs[0]):
        return Reason("the mean is read elsewhere")
    if facts.of(source).dtype not in (ir.DataType.FLOAT, ir.DataType.DOUBLE):
        return Reason("the runtime has no ReduceMean of its type")
    version, axes = facts.opset_version(node), tuple(range(2, len(before)))
    return Replace(lambda op: _reduce(op, "ReduceMean", version, source, axes, 0))


@rule(*_REDUCTIONS, exact=True, lowers=Cost.FORM)
def reduce_exactly_one(node: ir.Node, facts: Facts) -> Outcome:
    """ReduceX(x, axes) = x, or Squeeze(x, axes), where each reduced dim is proven to be 1, or no axis is reduced.

    For maxima and minima, for products of floats, and for sums, means and products of int32. onnxruntime adds and
    multiplies int64 as doubles, which do not hold all of them.

    Example:
        g (float[N, 1] x) => (float[N] y) <int64[1] axis = {1}> { y = ReduceMax <keepdims = 0> (x, axis) }
    """
    dtype = facts.of(node.inputs[0]).dtype
    if node.op_type in ("ReduceMax", "ReduceMin") or (node.op_type in _KEEP_ONE and dtype is ir.DataType.INT32):
        return _reduced_one(node, facts)
    return _reduced_one(node, facts) if node.op_type == "ReduceProd" and dtype in FLOATS else None


@rule("ReduceSum", "ReduceMean", "ReduceLogSumExp", exact=False, lowers=Cost.FORM)
def reduce_one(node: ir.Node, facts: Facts) -> Outcome:
    """ReduceX(x, axes) = x, or Squeeze(x, axes), where each reduced dim is proven to be 1, or no axis is reduced.

    A sum of -0.0 alone may be 0.0.

    Example:
        g (float[N, 1] x) => (float[N] y) <int64[1] axis = {1}> { y = ReduceMean <keepdims = 0> (x, axis) }
    """
    return _reduced_one(node, facts) if facts.of(node.inputs[0]).dtype in FLOATS else None


def _reduced_one(node: ir.Node, facts: Facts) -> Outcome:
    reduction = _reduction(node, facts)
    if isinstance(reduction, Reason):
        return reduction
    if any(reduction.shape[axis] != 1 for axis in reduction.axes):
        return Reason("the dims that it reduces are not proven to be 1")
    if reduction.keeps_dims or not reduction.axes:
        return Forward(reduction.source)
    version = facts.opset_version(node)
    axes = reduction.axes
    if version < 13:
        return Replace(lambda op: op.Squeeze(reduction.source, axes=axes))
    return Replace(lambda op: op.Squeeze(reduction.source, op.constant(np.array(axes, np.int64))))


@rule("ReduceMax", "ReduceMin", exact=True)
def reduction_of_integer_reduction(node: ir.Node, facts: Facts) -> Outcome:
    """ReduceX(ReduceX(x, a), b) = ReduceX(x, a and b) for maxima and minima of integers.

    A sum or product that overflows is none of them: onnxruntime does not let it wrap around in all types.

    Example:
        g (int32[N, 3, 2] x) => (int32[N] y) <int64[1] axis = {1}> {
            z = ReduceMax <keepdims = 0> (x, axis)  y = ReduceMax <keepdims = 0> (z, axis) }
    """
    return _merged(node, facts, ("ReduceMax", "ReduceMin"), INTEGERS)


@rule(*_ASSOCIATIVE, exact=False)
def reduction_of_reduction(node: ir.Node, facts: Facts) -> Outcome:
    """ReduceX(ReduceX(x, a), b) = ReduceX(x, a and b) for sums, means, products, maxima, minima, L1, L2 and LogSumExp.

    Both keep the reduced dims, or neither does. A maximum is the same on both sides but for NaN: whether onnxruntime
    takes one into account depends on the axes.

    Example:
        g (float[N, 3, 2] x) => (float[N] y) <int64[1] axis = {1}> {
            z = ReduceMean <keepdims = 0> (x, axis)  y = ReduceMean <keepdims = 0> (z, axis) }
    """
    return _merged(node, facts, _ASSOCIATIVE, FLOATS)


@rule("Mul", "Div", exact=False, after=("ReduceSum",))
def mean_of_sum(node: ir.Node, facts: Facts) -> Outcome:
    """ReduceSum(x, axes) / n = ReduceSum(x, axes) * (1 / n) = ReduceMean(x, axes), where n elements are summed.

    Not so for norms, such as the root of a sum of squares: onnxruntime 1.32 takes 1.7 to 4.8 times as long for
    ReduceL1, ReduceL2 and ReduceSumSquare as for what they are made of.

    Example:
        g (float[N, 4] x) => (float[N] y) <int64[1] axis = {1}, float four = {4}> {
            s = ReduceSum <keepdims = 0> (x, axis)  y = Div (s, four) }
    """
    sides = (tuple(node.inputs),) if node.op_type == "Div" else (tuple(node.inputs), tuple(reversed(node.inputs)))
    for total, other in sides:
        maker = maker_of(total, "ReduceSum")
        number = splat(other, facts)
        if maker is None or total is None or other is None or number is None:
            continue
        dtype, reduction = facts.of(total).dtype, _reduction(maker, facts)
        if isinstance(reduction, Reason) or dtype not in FLOATS or dtype is None:
            return reduction if isinstance(reduction, Reason) else None
        count = product(reduction.shape[axis] for axis in reduction.axes)
        if not isinstance(count, int) or count < 2 or not keeps_shape_of(node, total, [other], facts):
            return Reason("it is not proven how many elements are summed, or the result is larger")
        expected = np.array(count if node.op_type == "Div" else 1 / count).astype(dtype.numpy())
        if number != expected:
            return Reason("{} is not the number of elements that are summed, or its reciprocal", number)
        if not is_private(total):
            return Reason("the sum is read elsewhere")
        version, axes, keepdims = facts.opset_version(node), reduction.axes, int(reduction.keeps_dims)
        return Replace(lambda op: _reduce(op, "ReduceMean", version, reduction.source, axes, keepdims))  # noqa: B023
    return None


def _merged(node: ir.Node, facts: Facts, op_types: tuple[str, ...], dtypes: frozenset[ir.DataType]) -> Outcome:
    """One reduction over the axes of two."""
    maker = maker_of(node.inputs[0], node.op_type)
    if maker is None or node.op_type not in op_types or facts.of(node.inputs[0]).dtype not in dtypes:
        return None
    inner, outer = _reduction(maker, facts), _reduction(node, facts)
    if isinstance(inner, Reason) or isinstance(outer, Reason):
        return inner if isinstance(inner, Reason) else outer if isinstance(outer, Reason) else None
    if inner.keeps_dims is not outer.keeps_dims:
        return Reason("one of them keeps the reduced dims, and the other one does not")
    if not is_private(maker.outputs[0]):
        return Reason("the inner reduction is read elsewhere")
    left = [axis for axis in range(len(inner.shape)) if inner.keeps_dims or axis not in inner.axes]
    axes = tuple(sorted({*inner.axes, *(left[axis] for axis in outer.axes)}))
    version, keepdims = facts.opset_version(node), int(inner.keeps_dims)
    return Replace(lambda op: _reduce(op, node.op_type, version, inner.source, axes, keepdims))


def _reduce(
    op: Builder, op_type: str, version: int, source: ir.Value, axes: tuple[int, ...], keepdims: int
) -> ir.Value:
    """A reduction as a version of the opset writes it."""
    if version < _axes_are_input_from(op_type):
        made = op.node(op_type, source, axes=axes, keepdims=keepdims)
    else:
        made = op.node(op_type, source, op.constant(np.array(axes, np.int64)), keepdims=keepdims)
    assert isinstance(made, ir.Value)
    return made


def _axes_are_input_from(op_type: str) -> int:
    return 13 if op_type == "ReduceSum" else 18


def _reduction(node: ir.Node, facts: Facts) -> _Reduction | Reason:
    """What a node reduces, or the reason why that is not known."""
    view = NodeView(node, facts)
    source, shape = node.inputs[0], facts.shape(node.inputs[0])
    if view.has_unknown_attribute() or source is None or shape is None:
        return Reason("the rank of what it reduces is unknown")
    keeps_dims = view.attribute("keepdims", 1) != 0
    axes: tuple[int, ...] | None
    if node.op_type in ("ArgMax", "ArgMin"):
        axes = (view.attribute("axis", 0),)
    elif view.version < _axes_are_input_from(node.op_type):
        axes = view.attribute("axes") or ()
    else:
        axes = view.input(1).ints if view.has_input(1) else ()
        if axes is None:
            return Reason("its axes are not known")
        if not axes and view.attribute("noop_with_empty_axes", 0):
            return _Reduction(source, shape, (), keeps_dims)
    rank = len(shape)
    every = tuple(range(rank))
    is_some = bool(axes) and rank > 0
    return _Reduction(source, shape, tuple(sorted({a % rank for a in axes})) if is_some else every, keeps_dims)
