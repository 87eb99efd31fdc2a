"""Rules about Gather, GatherElements and GatherND with indices that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Forward, Outcome, Reason, Replace, rule
from foldproof_rules._moves import (
    attribute,
    axes_in,
    has_reference,
    input_of,
    int64s,
    ints_of,
    is_private,
    maker_of,
    size_of,
)
from foldproof_rules.slicing import cuts_of, measured_axes, shape_of


def axis_of(node: ir.Node, facts: Facts) -> int | None:
    """The axis of a Gather counted from the front; None where it is not known."""
    axes = None if has_reference(node) else axes_in((attribute(node, "axis", 0),), facts.of(node.inputs[0]).rank)
    return None if axes is None else axes[0]


def _known(value: ir.Value | None, facts: Facts) -> np.ndarray[Any, Any] | None:
    """Constant indices of at most one dim."""
    fact = facts.of(value)
    if fact.ints is None or fact.rank is None or fact.rank > 1:
        return None
    return int64s(fact.ints) if fact.rank else int64s(fact.ints)[0]


@rule("Gather", exact=True, benefit=3, level=1)
def gather_all(node: ir.Node, facts: Facts) -> Outcome:
    """Gather(x, [0, 1, ..., n-1], axis) = x, where the dim is proven to be n.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <int64[3] i = {0, 1, -1}> { z = Gather <axis = 1> (x, i)  y = Neg (z) }
    """
    axis, indices, shape = axis_of(node, facts), _known(input_of(node, 1), facts), facts.shape(node.inputs[0])
    source = node.inputs[0]
    if axis is None or indices is None or shape is None or indices.ndim != 1 or source is None:
        return None
    dim = shape[axis]
    if not isinstance(dim, int) or dim != len(indices):
        return Reason("it takes {} of {}", len(indices), dim)
    in_order = all(int(index) in (place, place - dim) for place, index in enumerate(indices))
    return Forward(source) if in_order else Reason("it takes them in another order")


@rule("Gather", exact=True, benefit=2, level=1, lowers=Cost.EXPRESSION, after=("Gather",))
def gather_of_gather(node: ir.Node, facts: Facts) -> Outcome:
    """Gather(Gather(x, i, a), j, a) = Gather(x, i[j], a), for constant i of one dim and constant j.

    Example:
        g (float[N, 4] x) => (float[N, 2] y) <int64[3] i = {3, 1, 0}, int64[2] j = {0, -1}> {
            z = Gather <axis = 1> (x, i)  y = Gather <axis = 1> (z, j) }
    """
    inner = maker_of(node.inputs[0], "Gather")
    if inner is None:
        return None
    axis, before = axis_of(node, facts), axis_of(inner, facts)
    first, second = _known(input_of(inner, 1), facts), _known(input_of(node, 1), facts)
    if axis is None or axis != before or first is None or second is None or first.ndim != 1:
        return Reason("its indices, or those of what it reads, are not known, or of another axis")
    if any(not -len(first) <= int(index) < len(first) for index in second.reshape(-1)):
        return Reason("an index is out of range")
    source, indices = inner.inputs[0], first[second]
    return Replace(lambda op: op.Gather(source, op.constant(indices), axis=axis))


@rule("Gather", exact=True, benefit=2, level=1, lowers=Cost.EXPRESSION, after=("Slice",))
def gather_of_slice(node: ir.Node, facts: Facts) -> Outcome:
    """Gather(Slice(x, [s], [e], [a], [t]), j, a) = Gather(x, s + t*j, a), for constants.

    Where the dim is not known, s and j must count from the front, or both from the end. Gather fails on an index that
    the Slice does not have; then the result need not fail.

    Example:
        g (float[N, 6] x) => (float[N] y)
            <int64[1] start = {5}, int64[1] end = {0}, int64[1] axis = {1}, int64[1] step = {-2}, int64 i = {1}> {
            z = Slice (x, start, end, axis, step)  y = Gather <axis = 1> (z, i) }
    """
    inner, axis = maker_of(node.inputs[0], "Slice"), axis_of(node, facts)
    indices = _known(input_of(node, 1), facts)
    cuts = None if inner is None else cuts_of(inner, facts)
    if inner is None or axis is None:
        return None
    if cuts is None or len(cuts) != 1 or cuts[0].axis != axis or indices is None:
        return Reason("what the Slice takes, or the indices, are not known, or of another axis")
    cut, dim = cuts[0], size_of(inner.inputs[0], axis, facts)
    taken = cut.indices(dim) if isinstance(dim, int) else None
    if taken is not None:
        if any(not -len(taken) <= int(index) < len(taken) for index in indices.reshape(-1)):
            return Reason("an index is out of range")
        moved = np.array(taken, np.int64)[indices]
    elif cut.step < 0:
        return Reason("it goes backwards over a dim that is not known")
    elif bool((indices >= 0).all()) and cut.start >= 0:
        moved = cut.start + cut.step * indices
    elif bool((indices < 0).all()) and cut.is_to_the_end and cut.step == 1:
        moved = indices
    else:
        return Reason("it counts from the end")
    source = inner.inputs[0]
    return Replace(lambda op: op.Gather(source, op.constant(np.asarray(moved, np.int64)), axis=axis))


@rule("Gather", exact=True, benefit=2, level=1, after=("Unsqueeze",))
def gather_of_unsqueeze(node: ir.Node, facts: Facts) -> Outcome:
    """Gather(Unsqueeze(x, [a]), 0, a) = x.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <int64[1] axis = {1}, int64 i = {0}> {
            u = Unsqueeze (x, axis)  z = Gather <axis = 1> (u, i)  y = Neg (z) }
    """
    inner, axis = maker_of(node.inputs[0], "Unsqueeze"), axis_of(node, facts)
    if inner is None or axis is None:
        return None
    indices = _known(input_of(node, 1), facts)
    axes = axes_in(ints_of(inner, facts, "axes", 1), facts.of(node.inputs[0]).rank)
    source = inner.inputs[0]
    if indices is None or indices.ndim or int(indices) not in (0, -1) or axes != (axis,) or source is None:
        return Reason("it does not take the only slice of the new dim")
    return Forward(source)


@rule("Gather", exact=True, benefit=2, level=1, lowers=Cost.EXPRESSION, after=("Concat",))
def gather_of_concat(node: ir.Node, facts: Facts) -> Outcome:
    """Gather(Concat(a, b, ...), i, axis) = Gather(a, i', axis), where the constant i is of one input, on its axis.

    Example:
        g (float[N, 2] x, float[N, 3] y) => (float[N] z) <int64 i = {-1}> {
            c = Concat <axis = 1> (x, y)  z = Gather <axis = 1> (c, i) }
    """
    inner, axis = maker_of(node.inputs[0], "Concat"), axis_of(node, facts)
    indices = _known(input_of(node, 1), facts)
    if inner is None or axis is None or indices is None or not indices.size:
        return None
    if axes_in((attribute(inner, "axis", 1),), facts.of(node.inputs[0]).rank) != (axis,):
        return Reason("it was joined on another axis")
    dim = size_of(node.inputs[0], axis, facts)
    if bool((indices < 0).any()):
        if not isinstance(dim, int):
            return Reason("it counts from an end that is not known")
        indices = np.where(indices < 0, indices + dim, indices)
    at = 0
    for value in inner.inputs:
        size = size_of(value, axis, facts)
        if not isinstance(size, int):
            break
        if bool(((indices >= at) & (indices < at + size)).all()):
            moved = np.asarray(indices - at, np.int64)
            return Replace(lambda op: op.Gather(value, op.constant(moved), axis=axis))  # noqa: B023  it returns here
        at += size
    return Reason("its indices are not proven to be of one input")


@rule("Slice", exact=True, benefit=2, level=1)
def slice_of_gather(node: ir.Node, facts: Facts) -> Outcome:
    """Slice(Gather(x, i, a), [s], [e], [a], [t]) = Gather(x, i[s:e:t], a), for constants, where i has one dim.

    The Gather is read by nothing else. It fails on an index that x does not have; then the result need not fail.

    Example:
        g (float[N, 6] x) => (float[N, 2] y) <int64[3] i = {5, 0, 2}, int64[1] one = {1}, int64[1] last = {3}> {
            z = Gather <axis = 1> (x, i)  y = Slice (z, one, last, one) }
    """
    inner = maker_of(node.inputs[0], "Gather")
    if inner is None:
        return None
    if not is_private(node.inputs[0], node):
        return Reason("the Gather is read elsewhere too")
    axis, indices, cuts = axis_of(inner, facts), _known(input_of(inner, 1), facts), cuts_of(node, facts)
    if axis is None or indices is None or indices.ndim != 1 or cuts is None or len(cuts) != 1 or cuts[0].axis != axis:
        return Reason("the indices, or what the Slice takes of them, are not known, or of another axis")
    taken = cuts[0].indices(len(indices))
    if not taken:
        return Reason("it takes nothing")
    source, chosen = inner.inputs[0], indices[np.array(taken, np.int64)]
    return Replace(lambda op: op.Gather(source, op.constant(chosen), axis=axis))


@rule("Unsqueeze", exact=True, level=1)
def unsqueeze_of_gather(node: ir.Node, facts: Facts) -> Outcome:
    """Unsqueeze(Gather(x, i, a), [a]) = Gather(x, [i], a), for a constant i, where nothing else reads the Gather.

    Example:
        g (float[N, 4] x) => (float[N, 1] y) <int64 i = {2}, int64[1] axis = {1}> {
            z = Gather <axis = 1> (x, i)  y = Unsqueeze (z, axis) }
    """
    inner = maker_of(node.inputs[0], "Gather")
    if inner is None or has_reference(node) or not is_private(node.inputs[0], node):
        return None
    axis, indices = axis_of(inner, facts), _known(input_of(inner, 1), facts)
    axes = axes_in(ints_of(node, facts, "axes", 1), facts.of(node.outputs[0]).rank)
    if axis is None or indices is None or indices.ndim or axes != (axis,):
        return Reason("the new dim is not the one that a scalar index took away")
    source = inner.inputs[0]
    return Replace(lambda op: op.Gather(source, op.constant(indices.reshape(1)), axis=axis))


@rule("Squeeze", exact=True, level=1)
def squeeze_of_gather(node: ir.Node, facts: Facts) -> Outcome:
    """Squeeze(Gather(x, [i], a), [a]) = Gather(x, i, a), for a constant i, where nothing else reads the Gather.

    Example:
        g (float[N, 4] x) => (float[N] y) <int64[1] i = {2}, int64[1] axis = {1}> {
            z = Gather <axis = 1> (x, i)  y = Squeeze (z, axis) }
    """
    inner = maker_of(node.inputs[0], "Gather")
    if inner is None or has_reference(node) or not is_private(node.inputs[0], node):
        return None
    axis, indices = axis_of(inner, facts), _known(input_of(inner, 1), facts)
    axes = axes_in(ints_of(node, facts, "axes", 1), facts.of(node.inputs[0]).rank)
    if axis is None or indices is None or indices.shape != (1,) or axes != (axis,):
        return Reason("it does not drop the dim of one constant index")
    source = inner.inputs[0]
    return Replace(lambda op: op.Gather(source, op.constant(indices[0]), axis=axis))


@rule("Gather", exact=True, level=1, lowers=Cost.EXPRESSION, since=15, after=("Shape",))
def gather_of_shape(node: ir.Node, facts: Facts) -> Outcome:
    """Gather(Shape(x), [i, i+1, ...]) = Shape(x, start=i, end=...), from opset 15 on.

    Example:
        g (float[N, 3, M] x) => (int64[2] y) <int64[2] i = {1, 2}> { s = Shape (x)  y = Gather (s, i) }
    """
    inner, indices = maker_of(node.inputs[0], "Shape"), _known(input_of(node, 1), facts)
    if inner is None or indices is None or indices.ndim != 1 or not indices.size:
        return None
    measured = measured_axes(inner, facts)
    if measured is None or any(not -len(measured) <= int(index) < len(measured) for index in indices):
        return Reason("the rank is not known, or an index is out of range")
    places = [measured[int(index)] for index in indices]
    if places != list(range(places[0], places[0] + len(places))):
        return Reason("it takes dims that do not follow on each other")
    source = inner.inputs[0]
    return Replace(lambda op: shape_of(op, source, places))


@rule("GatherND", exact=True, lowers=Cost.EXPRESSION)
def gather_nd_of_rows(node: ir.Node, facts: Facts) -> Outcome:
    """GatherND(x, Unsqueeze(i, [-1])) = Gather(x, i, 0): indices of one number each take rows.

    Both count negative indices from the end. GatherND is there from opset 11 on, as Gather with negative indices is.

    Example:
        g (float[4, N] x) => (float[2, N] y) <int64[2] i = {1, -1}, int64[1] axis = {-1}> {
            u = Unsqueeze (i, axis)  y = GatherND (x, u) }
    """
    inner = maker_of(input_of(node, 1), "Unsqueeze")
    if inner is None or attribute(node, "batch_dims", 0) != 0:
        return None
    rank = facts.of(node.inputs[1]).rank
    given = ints_of(inner, facts, "axes", 1)
    if given is None or len(given) != 1 or (given != (-1,) and (rank is None or axes_in(given, rank) != (rank - 1,))):
        return Reason("its indices may have more than one number each")
    source, indices = node.inputs[0], inner.inputs[0]
    return Replace(lambda op: op.Gather(source, indices, axis=0))
