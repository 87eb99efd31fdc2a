"""Rules about Concat and Split: joined, nested, and taking each other back."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Forward, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._moves import attribute, axes_in, has_reference, int64s, is_private, maker_of
from foldproof_rules.slicing import Cut, cuts_of, measured_axes, shape_of, sliced


def concat_axis(node: ir.Node, facts: Facts) -> int | None:
    """The axis of a Concat counted from the front; None where it is not known. Only Concat-1 has a default."""
    axis, rank = attribute(node, "axis", 1), facts.of(node.outputs[0]).rank
    axes = None if axis is None else axes_in((axis,), rank)
    return None if axes is None or has_reference(node) else axes[0]


@rule("Concat", exact=True, benefit=3, level=1, after=("Concat",))
def nested_concat(node: ir.Node, facts: Facts) -> Outcome:
    """Concat(a, Concat(b, c), d) = Concat(a, b, c, d) on one axis, where the inner one is read by nothing else.

    Example:
        g (float[N] x, float[M] y) => (float[S] z) { a = Concat <axis = 0> (x, y)  z = Concat <axis = -1> (a, x) }
    """
    axis = concat_axis(node, facts)
    inputs: list[ir.Value | None] = []
    for value in node.inputs:
        inner = maker_of(value, "Concat")
        same = inner is not None and axis is not None and concat_axis(inner, facts) == axis
        if inner is not None and same and is_private(value, node) and node.inputs.count(value) == 1:
            inputs.extend(inner.inputs)
        else:
            inputs.append(value)
    if len(inputs) == len(node.inputs) and not any(maker_of(value, "Concat") for value in node.inputs):
        return None
    if inputs == list(node.inputs):
        return Reason("what it joins is joined on another axis, or read elsewhere too")
    return Replace(lambda op: op.Concat(*inputs, axis=axis))


@rule("Concat", exact=True, benefit=2, level=1, lowers=Cost.OPERANDS)
def concat_of_empty(node: ir.Node, facts: Facts) -> Outcome:
    """Concat(a, e, b) = Concat(a, b), where the dim of e on the axis is proven to be 0.

    Example:
        g (float[N, 0] e, float[N, 3] x, float[N, 2] y) => (float[N, 5] z) { z = Concat <axis = 1> (e, x, y) }
    """
    axis, rank = concat_axis(node, facts), facts.of(node.outputs[0]).rank
    if axis is None or len(node.inputs) < 2:
        return None
    shapes = [facts.shape(value) for value in node.inputs]
    if any(shape is None or len(shape) != rank for shape in shapes):
        return Reason("the shape of an input is not known")
    kept = [v for v, shape in zip(node.inputs, shapes, strict=True) if shape is not None and shape[axis] != 0]
    if len(kept) == len(node.inputs):
        return Reason("no input is proven to be empty")
    if not kept:  # all are: one of them is the result
        kept = [node.inputs[0]]
    if len(kept) == 1 and kept[0] is not None:
        return Forward(kept[0])
    return Replace(lambda op: op.Concat(*kept, axis=axis))


@rule("Concat", exact=True, benefit=2, level=1, lowers=Cost.EXPRESSION, after=("Split",))
def concat_of_split(node: ir.Node, facts: Facts) -> Outcome:
    """Concat(a, Split(x).0, Split(x).1, ..., b) = Concat(a, x, b), where all parts follow in order, on one axis.

    Example:
        g (float[N, 4] x, float[N, 1] y) => (float[N, 5] z) {
            a, b = Split <axis = 1, num_outputs = 2> (x)  z = Concat <axis = 1> (a, b, y) }
    """
    axis = concat_axis(node, facts)
    inputs: list[ir.Value] = []
    index = 0
    while index < len(node.inputs):
        value = node.inputs[index]
        if value is None:
            return None
        split = maker_of(value, "Split")
        count = 0 if split is None else len(split.outputs)
        whole = split is not None and list(node.inputs[index : index + count]) == list(split.outputs)
        if split is not None and whole and axis is not None and split.inputs[0] is not None:
            axes = axes_in((attribute(split, "axis", 0),), facts.of(split.inputs[0]).rank)
            if axes == (axis,):
                inputs.append(split.inputs[0])
                index += count
                continue
        inputs.append(value)
        index += 1
    if len(inputs) == len(node.inputs):
        return None
    return Forward(inputs[0]) if len(inputs) == 1 else Replace(lambda op: op.Concat(*inputs, axis=axis))


@rule("Concat", exact=True, benefit=2, level=1)
def concat_of_slices(node: ir.Node, facts: Facts) -> Outcome:
    """Concat(x[a:b], x[b:c]) = x[a:c], on the axis of both; x itself where that is all of it.

    Bounds from the front follow on each other if a <= b <= c. One from the end does where a is the very beginning, and
    where c is the end or counts from there too: then it holds whatever the dim is.

    Example:
        g (float[N] x) => (float[M] z) <int64[1] zero = {0}, int64[1] two = {2}, int64[1] five = {5}> {
            a = Slice (x, zero, two)  b = Slice (x, two, five)  z = Concat <axis = 0> (a, b) }
    """
    axis = concat_axis(node, facts)
    if axis is None or len(node.inputs) < 2:
        return None
    pieces: list[tuple[ir.Value | None, Cut | None]] = []
    for value in node.inputs:
        source, cut = _slice_of(value, axis, facts)
        if pieces and cut is not None and source is pieces[-1][0]:
            both = _joined(pieces[-1][1], cut)
            if both is not None:
                pieces[-1] = source, both
                continue
        pieces.append((source, cut) if cut is not None else (value, None))
    if len(pieces) == len(node.inputs):
        return None
    version = facts.opset_version(node)

    def build(op: Builder) -> Any:
        parts = [
            value if cut is None or (cut.start == 0 and cut.is_to_the_end) else sliced(op, value, [cut], version)
            for value, cut in pieces
        ]
        return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=axis)

    pure = [cut for _, cut in pieces if cut is not None and not (cut.start == 0 and cut.is_to_the_end)]
    dying = sum(is_private(value, node) for value in node.inputs if _slice_of(value, axis, facts)[1] is not None)
    if len(pure) - dying - (len(pieces) == 1) >= 0:
        return Reason("the Slices that it joins are read elsewhere too")
    return Replace(build)


def _slice_of(value: ir.Value | None, axis: int, facts: Facts) -> tuple[ir.Value | None, Cut | None]:
    """What a value is a slice of, along one axis, in steps of 1."""
    maker = maker_of(value, "Slice")
    cuts = None if maker is None else cuts_of(maker, facts)
    if maker is None or cuts is None or len(cuts) != 1 or cuts[0].axis != axis or cuts[0].step != 1:
        return value, None
    return maker.inputs[0], cuts[0]


def _joined(first: Cut | None, second: Cut) -> Cut | None:
    """The cut of two that follow on each other, whatever the dim is; None where they may not."""
    if first is None or first.end != second.start:
        return None
    middle = second.start
    begins = first.start == 0 or (0 <= first.start <= middle) or (first.start < 0 and first.start <= middle < 0)
    ends = second.is_to_the_end or (middle <= second.end and (middle < 0) == (second.end < 0))
    return Cut(first.axis, first.start, second.end) if begins and ends else None


@rule("Split", exact=True, benefit=4, level=1)
def split_into_one(node: ir.Node, facts: Facts) -> Outcome:
    """Split(x) = x, where it has one output. A size that is given is that of x, or the Split fails.

    Example:
        g (float[N, 4] x) => (float[N, 4] y) { a = Split <axis = 1, num_outputs = 1> (x)  y = Neg (a) }
    """
    source = node.inputs[0]
    return Forward(source) if len(node.outputs) == 1 and source is not None else None


@rule("Split", exact=True, benefit=3, level=1)
def split_of_concat(node: ir.Node, facts: Facts) -> Outcome:
    """Split(Concat(a, b, ...)) = a, b, ..., where it splits where they were joined.

    Each part must be proven to have the dims of what was joined: onnxruntime lets an empty tensor have any.

    Example:
        g (float[N, 2] x, float[N, 3] y) => (float[N, 2] p, float[N, 3] q) <int64[2] sizes = {2, 3}> {
            c = Concat <axis = 1> (x, y)  a, b = Split <axis = 1> (c, sizes)  p = Neg (a)  q = Abs (b) }
    """
    inner = maker_of(node.inputs[0], "Concat")
    if inner is None or has_reference(node):
        return None
    axis = concat_axis(inner, facts)
    axes = axes_in((attribute(node, "axis", 0),), facts.of(node.inputs[0]).rank)
    if axis is None or axes != (axis,) or len(node.outputs) != len(inner.inputs):
        return Reason("it splits another axis, or into more or fewer parts")
    for value, output in zip(inner.inputs, node.outputs, strict=True):
        before, after = facts.shape(value), facts.shape(output)
        if before is None or before != after:
            return Reason("a part has other dims than what was joined")
    return Forward(*inner.inputs)


@rule("Concat", exact=True, benefit=2, level=1, lowers=Cost.EXPRESSION, since=15, after=("Shape",))
def concat_of_shapes(node: ir.Node, facts: Facts) -> Outcome:
    """Concat(Shape(x, start=a, end=b), Shape(x, start=b, end=c)) = Shape(x, start=a, end=c), from opset 15 on.

    Example:
        g (float[N, 2, M] x) => (int64[2] s) {
            a = Shape <start = 0, end = 1> (x)  b = Shape <start = 1, end = 2> (x)  s = Concat <axis = 0> (a, b) }
    """
    runs: list[tuple[ir.Value | None, list[int], list[ir.Value | None]]] = []  # a source, its axes, the values of them
    for value in node.inputs:
        maker = maker_of(value, "Shape")
        axes = [] if maker is None else measured_axes(maker, facts) or []
        source = None if maker is None else maker.inputs[0]
        if axes and runs and runs[-1][0] is source and runs[-1][1][-1] + 1 == axes[0]:
            runs[-1][1].extend(axes)
            runs[-1][2].append(value)
        else:
            runs.append((source if axes else None, axes, [value]))
    joined = [values for _, _, values in runs if len(values) > 1]
    if not joined:
        return None
    gone = sum(is_private(value, node) for values in joined for value in values) + (len(runs) == 1)
    if gone < len(joined):
        return Reason("the Shapes that it joins are read elsewhere too")

    def build(op: Builder) -> Any:
        parts = [shape_of(op, source, axes) if len(values) > 1 else values[0] for source, axes, values in runs]
        return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)

    return Replace(build)


@rule("Concat", exact=True, level=1, after=("Gather",))
def concat_of_gathers(node: ir.Node, facts: Facts) -> Outcome:
    """Concat(Gather(x, i), Gather(x, j)) = Gather(x, i + j), on the axis of all, for constant indices of one dim.

    Only where the Gathers are read by nothing else: dims of a Shape, one by one, in most models.

    Example:
        g (float[4, N] x) => (float[3, N] y) <int64[1] i = {3}, int64[2] j = {0, 2}> {
            a = Gather <axis = 0> (x, i)  b = Gather <axis = 0> (x, j)  y = Concat <axis = 0> (a, b) }
    """
    axis = concat_axis(node, facts)
    pieces: list[tuple[ir.Value | None, list[int]]] = []
    for value in node.inputs:
        maker = maker_of(value, "Gather")
        indices = None if maker is None or axis is None else _gathered(maker, axis, facts)
        if maker is None or indices is None or not is_private(value, node):
            pieces.append((value, []))
        elif pieces and pieces[-1][1] and pieces[-1][0] is maker.inputs[0]:
            pieces[-1] = maker.inputs[0], [*pieces[-1][1], *indices]
        else:
            pieces.append((maker.inputs[0], indices))
    if len(pieces) == len(node.inputs):
        return None

    def build(op: Builder) -> Any:
        parts = [
            op.Gather(source, op.constant(int64s(indices)), axis=axis) if indices else source
            for source, indices in pieces
        ]
        return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=axis)

    return Replace(build)


def _gathered(node: ir.Node, axis: int, facts: Facts) -> list[int] | None:
    """The constant indices that a Gather takes along an axis; None where it does something else."""
    axes = axes_in((attribute(node, "axis", 0),), facts.of(node.inputs[0]).rank)
    indices = facts.of(node.inputs[1])
    return list(indices.ints) if axes == (axis,) and indices.rank == 1 and indices.ints else None
