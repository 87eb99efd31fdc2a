"""Rules that turn Slices of one value into a Split, and a Split of which one part is read into a Slice."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Forward, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._moves import attribute, axes_in, has_reference, int64s
from foldproof_rules.slicing import Cut, only_cut, sliced

MAX_READERS = 256
"""Of a value with more readers nothing is looked for among them: each of its Slices would look through all."""


@rule("Slice", exact=True, benefit=2)
def slices_as_split(node: ir.Node, facts: Facts) -> Outcome:
    """Slice(x, a), Slice(x, b), ... = Split(x), where together the Slices of x cut an axis of known size into parts.

    The Split takes the place of the first of the Slices, and the others go with it. One pass over x is left of several.

    Example:
        g (float[N, 4] x) => (float[N, 1] p, float[N, 3] q)
            <int64[1] zero = {0}, int64[1] one = {1}, int64[1] four = {4}> {
            a = Slice (x, zero, one, one)  b = Slice (x, one, four, one)  p = Neg (a)  q = Abs (b) }
    """
    cut, shape = only_cut(node, facts), facts.shape(node.inputs[0])
    source = node.inputs[0]
    if cut is None or shape is None or source is None or has_reference(node):
        return None
    dim = shape[cut.axis]
    if not isinstance(dim, int) or cut.step != 1:
        return Reason("the size of the dim that it cuts is not known")
    part = cut.indices(dim)
    if not part:
        return Reason("it takes nothing")
    if len(source.uses()) > MAX_READERS:
        return Reason("more than {} nodes read what it cuts", MAX_READERS)
    split = _split_with(part, cut.axis, node, facts)
    if split is not None:
        return Forward(split)
    if facts.opset_version(node) < 2:
        return Reason("Split of opset 1 does not take all types")
    others: dict[int, tuple[range, ir.Node]] = {}
    for use in source.uses():
        sibling = only_cut(use.node, facts) if use.node.graph is node.graph and use.idx == 0 else None
        taken = sibling.indices(dim) if sibling is not None and sibling.axis == cut.axis and sibling.step == 1 else None
        if taken and not _becomes_gather(use.node, taken):
            others.setdefault(taken.start, (taken, use.node))
    parts, readers = _partition(others, dim)
    if len(parts) < 2 or part not in parts:
        return Reason("no other Slices take the rest of the dim")
    if not all(reader is node or facts.order.is_ready(node.outputs[0], reader) for reader in readers):
        return Reason("another Slice of the same value comes first")
    sizes, version, mine = [len(each) for each in parts], facts.opset_version(node), parts.index(part)
    siblings = tuple(reader for reader in readers if reader is not node)

    def build(op: Builder) -> Any:
        if version < 13:
            outputs = op.node("Split", source, outputs=len(sizes), axis=cut.axis, split=sizes)
        else:
            outputs = op.node("Split", source, op.constant(int64s(sizes)), outputs=len(sizes), axis=cut.axis)
        return [outputs[mine], *outputs[:mine], *outputs[mine + 1 :]]  # type: ignore[index]

    return Replace(build, gone_too=siblings)


def _becomes_gather(node: ir.Node, taken: range) -> bool:
    """Whether a Slice takes one element of the dim, which a Squeeze drops then: a Gather does both."""
    readers = [use.node.op_type for use in node.outputs[0].uses()]
    return len(taken) == 1 and readers == ["Squeeze"]


def _partition(parts: dict[int, tuple[range, ir.Node]], dim: int) -> tuple[list[range], list[ir.Node]]:
    """Parts, by their start, that follow on each other from 0 to the end; empty where some are missing."""
    ranges: list[range] = []
    readers: list[ir.Node] = []
    at = 0
    while at < dim and at in parts:
        taken, reader = parts[at]
        ranges.append(taken)
        readers.append(reader)
        at = taken.stop
    return (ranges, readers) if at == dim else ([], [])


def _split_with(part: range, axis: int, node: ir.Node, facts: Facts) -> ir.Value | None:
    """An output of a Split of the same value, before a Slice, that is the part which the Slice takes."""
    source = node.inputs[0]
    for use in () if source is None else source.uses():
        split = use.node
        if split.op_type != "Split" or split.domain or use.idx != 0 or has_reference(split):
            continue
        where = split_parts(split, facts)
        if where is None or where[0] != axis or part not in where[1]:
            continue
        output = split.outputs[where[1].index(part)]
        if output.name and facts.order.is_ready(output, node):
            return output
    return None


def split_parts(split: ir.Node, facts: Facts) -> tuple[int, list[range]] | None:
    """The axis of a Split and what each output takes of it; None where that is not known."""
    rank = facts.of(split.inputs[0]).rank
    axes = axes_in((attribute(split, "axis", 0),), rank)
    if axes is None or rank is None or has_reference(split):
        return None
    ranges: list[range] = []
    at = 0
    for output in split.outputs:
        shape = facts.shape(output)
        size = None if shape is None or len(shape) != rank else shape[axes[0]]
        if not isinstance(size, int):
            return None
        ranges.append(range(at, at + size))
        at += size
    return axes[0], ranges


@rule("Split", exact=True, lowers=Cost.FORM)
def split_for_one(node: ir.Node, facts: Facts) -> Outcome:
    """Split(x).k = Slice(x), where the other outputs are not read, and no Slice of x could read them.

    Example:
        g (float[N, 4] x) => (float[N, 2] y) { a, b = Split <axis = 1, num_outputs = 2> (x)  y = Neg (b) }
    """
    used = [k for k, output in enumerate(node.outputs) if output.uses() or output.is_graph_output()]
    if len(used) != 1 or len(node.outputs) < 2:
        return None
    where, version = split_parts(node, facts), facts.opset_version(node)
    if where is None or not where[1][used[0]]:
        return Reason("the sizes of its parts are not known")
    axis, ranges = where
    source, part = node.inputs[0], ranges[used[0]]
    if source is None:
        return None
    total = ranges[-1].stop
    for use in source.uses():
        sibling = only_cut(use.node, facts) if use.idx == 0 else None
        if sibling is not None and sibling.axis == axis and sibling.indices(total) in ranges:
            return Reason("a Slice of the same value takes another part")
    cut, count = Cut(axis, part.start, part.stop), len(node.outputs)
    return Replace(lambda op: [sliced(op, source, [cut], version) if k == used[0] else None for k in range(count)])
