"""Rules about Slice: several at once, in place of Squeeze or Concat, and as one Split."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from foldproof.facts import DimLike, Facts
from foldproof.facts.dim import at_least
from foldproof.rewriting import Cost, Forward, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._moves import (
    INT64_MAX,
    TO_THE_END,
    attribute,
    axes_in,
    has_reference,
    int64s,
    ints_of,
    is_given,
    is_private,
    maker_of,
)

MIN_STEPS = 10
"""The first opset whose Slice has steps, and takes its bounds as inputs."""


@dataclasses.dataclass(frozen=True)
class Cut:
    """What a Slice does on one axis: [start, end) in steps. Negative bounds count from the end."""

    axis: int
    start: int
    end: int
    step: int = 1

    @property
    def is_to_the_end(self) -> bool:
        """Whether it goes to the end of the dim, whatever its size."""
        return self.end >= TO_THE_END

    def indices(self, dim: int) -> range | None:
        """The indices that it takes of a dim; None where the specification and runtimes disagree."""
        if self.step < 0 and (self.start < -dim or self.is_to_the_end):
            return None
        return range(*slice(self.start, self.end, self.step).indices(dim))


def cuts_of(node: ir.Node, facts: Facts) -> list[Cut] | None:
    """What a Slice does, axis by axis; None where that is not known."""
    starts, ends = ints_of(node, facts, "starts", 1), ints_of(node, facts, "ends", 2)
    if starts is None or ends is None or has_reference(node):
        return None
    axes = ints_of(node, facts, "axes", 3) if is_given(node, "axes", 3) else tuple(range(len(starts)))
    steps = ints_of(node, facts, "steps", 4) if is_given(node, "steps", 4) else (1,) * len(starts)
    found = axes_in(axes, facts.of(node.inputs[0]).rank)
    if found is None or steps is None or 0 in steps or not len(starts) == len(ends) == len(found) == len(steps):
        return None
    return [Cut(*cut) for cut in zip(found, starts, ends, steps, strict=True)]


def sliced(op: Builder, x: ir.Value | None, cuts: Sequence[Cut], version: int) -> Any:
    """A Slice, whose bounds are attributes before opset 10 and inputs from there on."""
    cuts = sorted(cuts, key=lambda cut: cut.axis)
    starts, ends = [_within_int64(cut.start) for cut in cuts], [_within_int64(cut.end) for cut in cuts]
    axes, steps = [cut.axis for cut in cuts], [cut.step for cut in cuts]
    if version < MIN_STEPS:
        return op.Slice(x, starts=starts, ends=ends, axes=axes)
    inputs = [starts, ends, axes, *([steps] if any(step != 1 for step in steps) else [])]
    return op.Slice(x, *(op.constant(int64s(values)) for values in inputs))


def _within_int64(bound: int) -> int:
    """A bound as int64 holds it: one that is beyond means the end, or the beginning, of any dim."""
    return max(min(bound, INT64_MAX), -INT64_MAX)


def only_cut(node: ir.Node, facts: Facts) -> Cut | None:
    """The cut of a Slice that cuts one axis only, in steps of 1."""
    if node.op_type != "Slice" or node.domain:
        return None
    cuts = cuts_of(node, facts)
    return cuts[0] if cuts is not None and len(cuts) == 1 and cuts[0].step == 1 else None


@rule("Slice", exact=True, benefit=3, level=1, after=("Slice",))
def slice_of_slice(node: ir.Node, facts: Facts) -> Outcome:
    """Slice(Slice(x, a), b) = Slice(x, c), for constant bounds, where the inner one is read by nothing else.

    On different axes c is both. On one axis, with the dim known: the indices that b takes of those that a takes. With
    an unknown dim: where both count from the same end, where a starts at a known distance from the front, or where both
    take all of it backwards.

    Example:
        g (float[N, 6] x) => (float[M, 3] y)
            <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] five = {5}> {
            z = Slice (x, two, five, one)  y = Slice (z, one, five, zero) }
    """
    inner = maker_of(node.inputs[0], "Slice")
    if inner is None:
        return None
    if not is_private(node.inputs[0], node):
        return Reason("what it slices is read elsewhere too")
    first, second = cuts_of(inner, facts), cuts_of(node, facts)
    if first is None or second is None:
        return Reason("its bounds, or those of what it slices, are not known")
    source = inner.inputs[0]
    shape = facts.shape(source)
    merged = {cut.axis: cut for cut in first}
    for cut in second:
        before = merged.get(cut.axis)
        both = cut if before is None else _composed(before, cut, None if shape is None else shape[cut.axis])
        if both is None:
            return Reason("on axis {} no bounds do what both do", cut.axis)
        merged[cut.axis] = both
    version, cuts = facts.opset_version(node), list(merged.values())
    if version < MIN_STEPS and any(cut.step != 1 for cut in cuts):
        return Reason("Slice of opset {} has no steps", version)
    return Replace(lambda op: sliced(op, source, cuts, version))


def _composed(first: Cut, second: Cut, dim: DimLike | None) -> Cut | None:
    """One cut that does what two on one axis do, whatever the dim is within what is known of it."""
    if isinstance(dim, int):
        taken = first.indices(dim)
        then = None if taken is None else second.indices(len(taken))
        if taken is None or then is None:
            return None
        return _cut_of(first.axis, [taken[index] for index in then], dim)
    if _is_reversal(first) and _is_reversal(second):
        return Cut(first.axis, 0, INT64_MAX)
    if first.step < 1 or second.step < 1 or second.start < 0:
        return None
    if first.start < 0 and (first.step > 1 or dim is None or not at_least(dim, -first.start)):
        return None
    start = first.start + second.start * first.step
    if first.start < 0 and start >= 0:
        return None
    end = _composed_end(first, second)
    return None if end is None else Cut(first.axis, start, end, first.step * second.step)


def _is_reversal(cut: Cut) -> bool:
    """Whether a cut takes all of an axis backwards, whatever the dim is."""
    return cut.step == -1 and (cut.start == -1 or cut.start >= TO_THE_END) and cut.end <= -TO_THE_END


def _composed_end(first: Cut, second: Cut) -> int | None:
    """The end of two cuts whose steps are positive; None where it depends on the dim.

    An end is at a distance from the front (>= 0) or from the end of the dim (< 0): two of one kind can be compared.
    """
    if second.is_to_the_end:
        return first.end
    if second.end >= 0:
        if first.start < 0:
            return first.start + second.end if first.is_to_the_end and first.start + second.end < 0 else None
        end = first.start + second.end * first.step
        return min(first.end, end) if first.end >= 0 else None
    if first.step > 1 or (first.end >= 0 and not first.is_to_the_end):
        return None
    return second.end + (0 if first.is_to_the_end else first.end)


def _cut_of(axis: int, taken: Sequence[int], dim: int) -> Cut:
    """The cut that takes some evenly spaced indices of a dim."""
    if not taken:
        return Cut(axis, 0, 0)
    if len(taken) == 1:
        return Cut(axis, taken[0], taken[0] + 1)
    step = taken[1] - taken[0]
    end = taken[-1] + (1 if step > 0 else -1)
    return Cut(axis, taken[0], end if end >= 0 else -dim - 1, step)


@rule("Squeeze", exact=True, level=1)
def squeeze_of_slice(node: ir.Node, facts: Facts) -> Outcome:
    """Squeeze(Slice(x, [i], [i+1], [a]), [a]) = Gather(x, i, a), where the Slice is read by nothing else.

    Both fail where x has no such element. Gather takes negative indices from opset 11 on.

    Example:
        g (float[N, 6] x) => (float[N] y) <int64[1] one = {1}, int64[1] two = {2}> {
            z = Slice (x, one, two, one)  y = Squeeze (z, one) }
    """
    inner = maker_of(node.inputs[0], "Slice")
    if inner is None or not is_private(node.inputs[0], node):
        return None
    cuts = cuts_of(inner, facts)
    given = is_given(node, "axes", 1)
    axes = axes_in(ints_of(node, facts, "axes", 1), facts.of(node.inputs[0]).rank) if given else None
    if cuts is None or len(cuts) != 1 or axes != (cuts[0].axis,) or has_reference(node):
        return Reason("it is not known to take one slice along the axis that it drops")
    cut, source = cuts[0], inner.inputs[0]
    follows = cut.is_to_the_end if cut.start == -1 else cut.end == cut.start + 1
    if not follows or cut.step != 1 or (cut.start < 0 and facts.opset_version(node) < 11):
        return Reason("it takes more than one element, or one counted from the end")
    return Replace(lambda op: op.Gather(source, op.constant(int64s([cut.start])[0]), axis=cut.axis))


@rule("Slice", exact=True, level=1, lowers=Cost.EXPRESSION, after=("Concat",))
def slice_of_concat(node: ir.Node, facts: Facts) -> Outcome:
    """Slice(Concat(a, b, ...), [s], [e]) = Slice(a, [s'], [e']), where all that it takes is of one input.

    Example:
        g (float[N, 2] x, float[N, 3] y) => (float[N, 2] z)
            <int64[1] one = {1}, int64[1] three = {3}, int64[1] five = {5}> {
            c = Concat <axis = 1> (x, y)  z = Slice (c, three, five, one) }
    """
    inner = maker_of(node.inputs[0], "Concat")
    cut = only_cut(node, facts)
    if inner is None or cut is None:
        return None
    rank = facts.of(node.inputs[0]).rank
    axes = axes_in((attribute(inner, "axis", 1),), rank)
    if axes != (cut.axis,) or cut.start < 0:
        return Reason("it cuts another axis, or counts from the end")
    at = 0
    for source in inner.inputs:
        shape = facts.shape(source)
        size = None if shape is None or len(shape) != rank else shape[cut.axis]
        if not isinstance(size, int) or cut.start < at:
            break
        if cut.end <= at + size and cut.end > cut.start and source is not None:
            if cut.start == at and cut.end == at + size:
                return Forward(source)
            here, version = Cut(cut.axis, cut.start - at, cut.end - at), facts.opset_version(node)
            return Replace(lambda op: sliced(op, source, [here], version))  # noqa: B023  it returns here
        at += size
    return Reason("what it takes is not proven to be of one input")


@rule("Slice", exact=True, level=1, lowers=Cost.EXPRESSION, since=15, after=("Shape",))
def slice_of_shape(node: ir.Node, facts: Facts) -> Outcome:
    """Slice(Shape(x), [s], [e]) = Shape(x, start=s, end=e), from opset 15 on.

    Example:
        g (float[N, 3, M] x) => (int64[2] y) <int64[1] one = {1}, int64[1] three = {3}> {
            s = Shape (x)  y = Slice (s, one, three) }
    """
    inner, cut = maker_of(node.inputs[0], "Shape"), only_cut(node, facts)
    if inner is None or cut is None:
        return None
    measured = measured_axes(inner, facts)
    taken = None if measured is None else cut.indices(len(measured))
    if measured is None or not taken:
        return Reason("the rank is not known, or it takes nothing")
    source = inner.inputs[0]
    return Replace(lambda op: shape_of(op, source, [measured[index] for index in taken]))


def measured_axes(node: ir.Node, facts: Facts) -> list[int] | None:
    """The axes whose dims a Shape gives; None where the rank of its input is not known."""
    rank = facts.of(node.inputs[0]).rank
    if rank is None or has_reference(node):
        return None
    return list(range(rank))[attribute(node, "start", 0) : attribute(node, "end", rank)]


def shape_of(op: Builder, x: ir.Value | None, axes: Sequence[int]) -> Any:
    """Shape of opset 15 and later, of axes that follow on each other."""
    return op.Shape(x, **({"start": axes[0]} if axes[0] else {}), end=axes[-1] + 1)
