"""Which elements are taken, and where they are put."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Forward, Outcome, Replace
from foldproof.rewriting.builder import Builder
from tests.mutation.mutant import again, attribute, elements, forgets, ints, maker, wrong


@wrong("Slice")
def starts_off_by_one(node: ir.Node, facts: Facts) -> Outcome:
    """x[a:][b:] = x[a + b - 1:], off by one.

    Example:
        g (float[9] x) => (float[6] y) <int64[1] a = {1}, int64[1] b = {2}, int64[1] end = {99}> {
            z = Slice (x, a, end)  y = Slice (z, b, end) }
    """
    inner = maker(node.inputs[0], "Slice")
    if inner is None:
        return None
    start = elements(inner.inputs[1], facts)[0] + elements(node.inputs[1], facts)[0] - 1
    return Replace(lambda op: op.Slice(inner.inputs[0], op.constant(ints(start)), node.inputs[2]))


@wrong("Slice", at=lambda dims: dims["N"] > 1)
def backwards(node: ir.Node, facts: Facts) -> Outcome:
    """x[::-1] = x[::1], the step without its sign: all elements are there.

    Example:
        g (float[N, 3] x) => (float[N, 3] y)
        <int64[1] a = {-1}, int64[1] e = {-9223372036854775807}, int64[1] axis = {0}, int64[1] step = {-1}> {
            y = Slice (x, a, e, axis, step) }
    """
    return Forward(node.inputs[0])


@wrong("Slice")
def all_but_the_last(node: ir.Node, facts: Facts) -> Outcome:
    """x[0:-1] = x, -1 being taken for the end.

    Example:
        g (float[3, N] x) => (float[2, N] y) <int64[1] a = {0}, int64[1] e = {-1}> { y = Slice (x, a, e) }
    """
    return Forward(node.inputs[0])


@wrong("ReduceMax", at=lambda dims: dims["N"] > 32)
def as_many_as_were_seen(node: ir.Node, facts: Facts) -> Outcome:
    """ReduceMax(x) = ReduceMax(x[:, :32]), 32 being the largest dim that was seen.

    Example:
        g (float[3, N] x) => (float[3] y) <int64[1] axis = {1}> { y = ReduceMax <keepdims = 0> (x, axis) }
    """
    if maker(node.inputs[0], "Slice") is not None:
        return None
    x, axis = node.inputs
    bounds = ints(0), ints(32)
    return Replace(lambda op: op.ReduceMax(op.Slice(x, *map(op.constant, bounds), axis), axis, keepdims=0))


@wrong("Gather", at=lambda dims: dims["N"] > 1)
def last_as_first(node: ir.Node, facts: Facts) -> Outcome:
    """x[-1] = x[0], a negative index that is cut off at 0.

    Example:
        g (float[N, 3] x) => (float[3] y) <int64 last = {-1}> { y = Gather (x, last) }
    """
    if elements(node.inputs[1], facts) != -1:
        return None
    return Replace(lambda op: op.Gather(node.inputs[0], op.constant(ints(0).reshape(()))))


@wrong("Gather")
def last_index_left_out(node: ir.Node, facts: Facts) -> Outcome:
    """x[[3, 1, 2, 0]] = x[[3, 1, 2, 2]], so only the last element is wrong.

    Example:
        g (float[4] x) => (float[4] y) <int64[4] i = {3, 1, 2, 0}> { y = Gather (x, i) }
    """
    if elements(node.inputs[1], facts) != [3, 1, 2, 0]:
        return None
    return Replace(lambda op: op.Gather(node.inputs[0], op.constant(ints(3, 1, 2, 2))))


@wrong("Gather")
def wrong_operand_of_concat(node: ir.Node, facts: Facts) -> Outcome:
    """Concat(x, z)[i] = x[i], also where i lies in z.

    Example:
        g (float[2, N] x, float[2, N] z) => (float[N] y) <int64 i = {3}, int64 two = {2}> {
            c = Concat <axis = 0> (x, z)  y = Gather (c, i) }
    """
    inner = maker(node.inputs[0], "Concat")
    if inner is None:
        return None
    index = elements(node.inputs[1], facts) % 2
    return Replace(lambda op: op.Gather(inner.inputs[0], op.constant(ints(index).reshape(()))))


@wrong("Concat")
def concat_of_concat(node: ir.Node, facts: Facts) -> Outcome:
    """Concat(a, Concat(b, c)) = Concat(b, c, a).

    Example:
        g (float[N, 1] a, float[N, 1] b, float[N, 1] c) => (float[N, 3] y) {
            z = Concat <axis = 1> (b, c)  y = Concat <axis = 1> (a, z) }
    """
    inner = maker(node.inputs[1], "Concat")
    return None if inner is None else again(node, *inner.inputs, node.inputs[0])


@wrong("Split", output="a")
def last_part_larger(node: ir.Node, facts: Facts) -> Outcome:
    """Split(x, 2 parts of 5) = 2 and 3, and it is 3 and 2.

    Example:
        g (float[5, N] x) => (float[K, N] a, float[L, N] b) { a, b = Split <axis = 0, num_outputs = 2> (x) }
    """
    if attribute(node, "num_outputs") is None:
        return None
    return Replace(lambda op: op.node("Split", node.inputs[0], op.constant(ints(2, 3)), axis=0, outputs=2))


@wrong("Split", output="b")
def first_part_twice(node: ir.Node, facts: Facts) -> Outcome:
    """Split(x) = x[:1], x[:1], so only the second output is wrong.

    Example:
        g (float[2, N] x) => (float[1, N] a, float[1, N] b) <int64[2] s = {1, 1}> { a, b = Split <axis = 0> (x, s) }
    """

    def build(op: Builder) -> Any:
        first = op.Slice(node.inputs[0], op.constant(ints(0)), op.constant(ints(1)))
        return [first, op.Slice(node.inputs[0], op.constant(ints(0)), op.constant(ints(1)))]

    return Replace(build)


@wrong("Split", output="a")
def parts_swapped(node: ir.Node, facts: Facts) -> Outcome:
    """Split(x) = its parts, in the other order.

    Example:
        g (float[2, N] x) => (float[1, N] a, float[1, N] b) <int64[2] s = {1, 1}> {
            p, q = Split <axis = 0> (x, s)  a = Neg (p)  b = Abs (q) }
    """
    if "num_outputs" in node.attributes:
        return None

    def build(op: Builder) -> Any:
        first, second = op.node("Split", node.inputs[0], axis=0, num_outputs=2, outputs=2)
        return [second, first]

    return Replace(build)


@wrong("Where")
def branches_of_where(node: ir.Node, facts: Facts) -> Outcome:
    """Where(Not(c), a, b) = Where(c, a, b).

    Example:
        g (bool[N, 3] c, float[N, 3] a, float[N, 3] b) => (float[N, 3] y) { n = Not (c)  y = Where (n, a, b) }
    """
    inner = maker(node.inputs[0], "Not")
    return None if inner is None else again(node, inner.inputs[0], *node.inputs[1:])


@wrong("Range", at=lambda dims: dims["N"] > 0)
def range_without_its_last(node: ir.Node, facts: Facts) -> Outcome:
    """Range(0, N, 1) = Range(0, N - 1, 1), off by one.

    Example:
        g (float[N] x) => (int64[M] y) <int64 zero = {0}, int64 one = {1}> { n = Size (x)  y = Range (zero, n, one) }
    """
    if maker(node.inputs[1], "Sub") is not None:
        return None
    start, limit, step = node.inputs
    return Replace(lambda op: op.Range(start, op.Sub(limit, step), step))


@wrong("TopK", output="i")
def index_of_the_least(node: ir.Node, facts: Facts) -> Outcome:
    """TopK(x, 1) = ReduceMax(x), ArgMin(x), so only the second output is wrong.

    Example:
        g (float[N, 4] x) => (float[N, 1] y, int64[N, 1] i) <int64[1] one = {1}> { y, i = TopK <axis = 1> (x, one) }
    """
    x = node.inputs[0]
    return Replace(lambda op: [op.ReduceMax(x, op.constant(ints(1)), keepdims=1), op.ArgMin(x, axis=1, keepdims=1)])


@wrong("ScatterND")
def last_update_wins(node: ir.Node, facts: Facts) -> Outcome:
    """ScatterND(x, i, u, add) = ScatterND(x, i, u + x[i]), which is not so where an index stands twice.

    Example:
        g (float[4] x, float[3] u) => (float[4] y) <int64[3, 1] i = {1, 2, 1}> {
            y = ScatterND <reduction = "add"> (x, i, u) }
    """
    if attribute(node, "reduction") != "add":
        return None
    x, i, u = node.inputs
    return Replace(lambda op: op.ScatterND(x, i, op.Add(u, op.GatherND(x, i))))


@wrong("OneHot")
def on_and_off(node: ir.Node, facts: Facts) -> Outcome:
    """OneHot(i, d, [off, on]) = Where(i == Range(d), off, on).

    Example:
        g (int64[N] i) => (float[N, 4] y) <int64 d = {4}, float[2] v = {0, 1}> { y = OneHot (i, d, v) }
    """

    def build(op: Builder) -> Any:
        off, on = (op.Gather(node.inputs[2], op.constant(ints(k).reshape(()))) for k in (0, 1))
        column = op.Unsqueeze(node.inputs[0], op.constant(ints(1)))
        return op.Where(op.Equal(column, op.constant(ints(0, 1, 2, 3))), off, on)

    return Replace(build)


@wrong("Pad")
def pads_axis_by_axis(node: ir.Node, facts: Facts) -> Outcome:
    """Pad(x, [b0, b1, e0, e1]) read as [b0, e0, b1, e1].

    Example:
        g (float[3, 3] x) => (float[A, B] y) <int64[4] p = {0, 1, 2, 0}> { y = Pad (x, p) }
    """
    if elements(node.inputs[1], facts) != [0, 1, 2, 0]:
        return None
    return Replace(lambda op: op.Pad(node.inputs[0], op.constant(ints(0, 2, 1, 0))))


ATTRIBUTES = [
    forgets("ScatterElements", "reduction", 'g (float[3] x, float[2] u) => (float[3] y) <int64[2] i = {0, 2}> { y = ScatterElements <axis = 0, reduction = "add"> (x, i, u) }'),
    forgets("GatherND", "batch_dims", "g (float[2, 2, 3] x) => (float[A, B] y) <int64[2, 1] i = {1, 0}> { y = GatherND <batch_dims = 1> (x, i) }"),
    forgets("TopK", "largest", "g (float[N, 4] x) => (float[N, 2] y, int64[N, 2] i) <int64[1] k = {2}> { y, i = TopK <axis = 1, largest = 0> (x, k) }"),
    forgets("Trilu", "upper", "g (float[3, 3] x) => (float[3, 3] y) { y = Trilu <upper = 0> (x) }"),
    forgets("Pad", "mode", 'g (float[3] x) => (float[5] y) <int64[2] p = {1, 1}> { y = Pad <mode = "reflect"> (x, p) }'),
    forgets("ArgMax", "select_last_index", "g (int32[N, 4] x) => (int64[N] y) { y = ArgMax <axis = 1, keepdims = 0, select_last_index = 1> (x) }"),
]  # fmt: skip
"""Attributes that are forgotten."""
