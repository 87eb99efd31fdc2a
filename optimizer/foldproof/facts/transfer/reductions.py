"""Reductions over axes, and the elements of those of small tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
import onnx_ir as ir

from foldproof.facts.dim import DimLike
from foldproof.facts.fact import MAX_ELEMENTS, Element, Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer import _arithmetic as arithmetic
from foldproof.facts.transfer._broadcast import static_count, static_sizes

_AXES_AS_INPUT = {"ReduceSum": 13}
"""The version from which on the axes are an input, 18 for all others."""

_ELEMENT_OF: dict[str, Callable[..., Element]] = {
    "ReduceMax": arithmetic.largest,
    "ReduceMean": arithmetic.exact_mean,
    "ReduceMin": arithmetic.smallest,
    "ReduceProd": arithmetic.exact_product,
    "ReduceSum": arithmetic.exact_sum,
}


@infers(
    *_ELEMENT_OF,
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
)
def reduce(node: NodeView) -> Fact | None:
    """All reductions 1..28: the axes go, or become 1 with `keepdims`. Without axes, all do."""
    data = node.input(0)
    keep = bool(node.attribute("keepdims", 1))
    if data.shape is None:
        return _of_unknown_rank(node, keep)
    rank = len(data.shape)
    if node.version < _AXES_AS_INPUT.get(node.op_type, 18):
        given: tuple[int, ...] | None = tuple(node.attribute("axes", ()))
    else:
        given = node.input(1).ints if node.has_input(1) else ()
    if given is None:
        return _of_unknown_axes(node, data.shape, keep)
    if not given:
        axes = frozenset() if node.attribute("noop_with_empty_axes", 0) else frozenset(range(rank))
    elif all(-rank <= axis < rank for axis in given):
        axes = frozenset(axis % rank for axis in given)
    else:
        return None
    shape = reduced_shape(data.shape, axes, keep)
    return tensor_fact(data.dtype, shape, _elements(node, data, axes))


def reduced_shape(shape: Sequence[DimLike], axes: frozenset[int], keep: bool) -> tuple[DimLike, ...]:
    """The dims that a reduction leaves; with `keep`, 1 in place of those that it takes."""
    if keep:
        return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


def _of_unknown_rank(node: NodeView, keep: bool) -> Fact:
    all_axes = (
        not node.has_input(1) and not node.attribute("axes", ()) and not node.attribute("noop_with_empty_axes", 0)
    )
    return tensor_fact(None, () if all_axes and not keep else None)


def _of_unknown_axes(node: NodeView, shape: tuple[DimLike, ...], keep: bool) -> Fact:
    if keep:
        return tensor_fact(None, tuple(1 if dim == 1 else node.fresh(axis) for axis, dim in enumerate(shape)))
    if node.input(1).shape == (1,):
        return tensor_fact(None, node.fresh_shape(len(shape) - 1) if shape else None)
    return tensor_fact(None)  # an axis may be given twice, so that even their number tells nothing


def _elements(node: NodeView, data: Fact, axes: frozenset[int]) -> list[Element] | None:
    compute = _ELEMENT_OF.get(node.op_type)
    count = static_count(data.shape)
    if compute is None or data.shape is None or count is None or count > MAX_ELEMENTS:
        return None
    elements = data.elements
    if elements is None or len(elements) != count:
        return None
    sizes = static_sizes(data.shape)
    kept = [axis for axis in range(len(sizes)) if axis not in axes]
    rows = prod(sizes[axis] for axis in kept)
    if rows > MAX_ELEMENTS or (count == 0 and rows and node.op_type not in ("ReduceSum", "ReduceProd")):
        return None
    order = np.arange(count).reshape(sizes)
    groups = order.transpose([*kept, *sorted(axes)]).reshape(rows, -1 if count else 0).tolist()
    return [compute(data.dtype, *(elements[k] for k in group)) for group in groups]


@infers("ArgMax", "ArgMin")
def arg_extreme(node: NodeView) -> Fact | None:
    """ArgMax, ArgMin 1..13: one axis goes, or becomes 1 with `keepdims`."""
    shape = node.input(0).shape
    if shape is None:
        return tensor_fact(ir.DataType.INT64)
    axis = node.attribute("axis", 0)
    if not -len(shape) <= axis < len(shape):
        return None
    keep = bool(node.attribute("keepdims", 1))
    return tensor_fact(ir.DataType.INT64, reduced_shape(shape, frozenset({axis % len(shape)}), keep))
