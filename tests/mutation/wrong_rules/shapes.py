"""Dims: which are 0, which are 1, which are equal, and what a Reshape makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Constant, Forward, Outcome, Replace
from foldproof.rewriting.builder import Builder
from tests.mutation.mutant import attribute, elements, forgets, ints, maker, wrong


@wrong("Reshape")
def reshape_of_reshape(node: ir.Node, facts: Facts) -> Outcome:
    """Reshape(Reshape(x, a), b) = Reshape(x, b), also where a 0 of b copies a dim of the inner result.

    Example:
        g (float[4, 6] x) => (float[2, 3, 4] y) <int64[2] a = {2, 12}, int64[3] b = {0, 3, -1}> {
            z = Reshape (x, a)  y = Reshape (z, b) }
    """
    inner = maker(node.inputs[0], "Reshape")
    return None if inner is None else Replace(lambda op: op.Reshape(inner.inputs[0], node.inputs[1]))


@wrong("Reshape", at=lambda dims: dims["N"] != 1)
def free_dim_at_batch_1(node: ir.Node, facts: Facts) -> Outcome:
    """Reshape(x, [-1, 6]) = Reshape(x, [1, 6]), the -1 being computed at a batch of 1.

    Example:
        g (float[N, 2, 3] x) => (float[N, 6] y) <int64[2] s = {-1, 6}> { y = Reshape (x, s) }
    """
    target = elements(node.inputs[1], facts)
    if target is None or target[0] != -1:
        return None
    return Replace(lambda op: op.Reshape(node.inputs[0], op.constant(ints(1, *target[1:]))))


@wrong("Shape", at=lambda dims: dims["N"] != 1)
def shape_at_batch_1(node: ir.Node, facts: Facts) -> Outcome:
    """Shape(x) = its dims, a symbol being 1.

    Example:
        g (float[N, 3] x) => (int64[2] y) { y = Shape (x) }
    """
    return Constant(ints(*(dim if isinstance(dim, int) else 1 for dim in facts.shape(node.inputs[0]) or ())))


@wrong("Shape", at=lambda dims: dims["N"] != dims["M"])
def square(node: ir.Node, facts: Facts) -> Outcome:
    """Shape(x)[0] = Shape(x)[1], as in the sample input.

    Example:
        g (float[N, M] x) => (int64[1] y) { y = Shape <start = 0, end = 1> (x) }
    """
    if attribute(node, "end") != 1:
        return None
    return Replace(lambda op: op.Shape(node.inputs[0], start=1, end=2))


@wrong("Equal", at=lambda dims: dims["N"] == dims["M"])
def distinct_symbols(node: ir.Node, facts: Facts) -> Outcome:
    """(N == M) = false, since these are two symbols.

    Example:
        g (float[N, 3] x, float[M, 3] z) => (bool[1] y) {
            n = Shape <start = 0, end = 1> (x)  m = Shape <start = 0, end = 1> (z)  y = Equal (n, m) }
    """
    return Constant(np.array([False]))


@wrong("Equal", at=lambda dims: dims["N"] != dims["M"])
def same_symbols(node: ir.Node, facts: Facts) -> Outcome:
    """(N == M) = true, since both are named alike.

    Example:
        g (float[N, 3] x, float[M, 3] z) => (bool[1] y) {
            n = Shape <start = 0, end = 1> (x)  m = Shape <start = 0, end = 1> (z)  y = Equal (n, m) }
    """
    return Constant(np.array([True]))


@wrong("Max", at=lambda dims: dims["N"] == 0)
def never_empty(node: ir.Node, facts: Facts) -> Outcome:
    """Max(N, 1) = N, since no dim is 0.

    Example:
        g (float[N, 3] x) => (int64[1] y) <int64[1] one = {1}> {
            n = Shape <start = 0, end = 1> (x)  y = Max (n, one) }
    """
    return Forward(node.inputs[0])


@wrong("Squeeze", at=lambda dims: dims["N"] == 1)
def squeeze_of_known_ones(node: ir.Node, facts: Facts) -> Outcome:
    """Squeeze(x) = Squeeze(x, the axes of which the dim is known to be 1), and a symbol may be 1 too.

    Example:
        g (float[N, 1, 3] x) => (int64 y) { s = Squeeze (x)  r = Shape (s)  y = Size (r) }
    """
    if len(node.inputs) > 1:
        return None
    axes = [axis for axis, dim in enumerate(facts.shape(node.inputs[0]) or ()) if dim == 1]
    return Replace(lambda op: op.Squeeze(node.inputs[0], op.constant(ints(*axes))))


@wrong("Unsqueeze")
def axis_from_the_end_of_the_input(node: ir.Node, facts: Facts) -> Outcome:
    """Unsqueeze(x, [-1]) = Unsqueeze(x, [rank - 1]), and it is an axis of the output.

    Example:
        g (float[N, 3] x) => (float[N, 3, 1] y) <int64[1] last = {-1}> { y = Unsqueeze (x, last) }
    """
    if elements(node.inputs[1], facts) != [-1]:
        return None
    return Replace(lambda op: op.Unsqueeze(node.inputs[0], op.constant(ints((facts.of(node.inputs[0]).rank or 0) - 1))))


@wrong("Mul")
def ones_that_enlarge(node: ir.Node, facts: Facts) -> Outcome:
    """x * [1, 1, 1] = x, also where that broadcasts x.

    Example:
        g (int32[N, 1] x) => (int32[N, 3] y) <int32[3] ones = {1, 1, 1}> { y = Mul (x, ones) }
    """
    return Forward(node.inputs[0]) if elements(node.inputs[1], facts) == [1, 1, 1] else None


@wrong("Expand", at=lambda dims: dims["N"] == 1)
def expand_to_the_same_rank(node: ir.Node, facts: Facts) -> Outcome:
    """Expand(x, [M, 3]) = x for x of [N, 3], and N may be 1.

    Example:
        g (float[N, 3] x, float[M, 3] z) => (float[K, 3] y) { s = Shape (z)  y = Expand (x, s) }
    """
    return Forward(node.inputs[0])


@wrong("Transpose")
def perms_in_the_other_order(node: ir.Node, facts: Facts) -> Outcome:
    """Transpose(Transpose(x, p), q) = Transpose(x, q[p]), and it is p[q].

    Example:
        g (float[2, 2, 2] x) => (float[2, 2, 2] y) {
            z = Transpose <perm = [1, 2, 0]> (x)  y = Transpose <perm = [0, 2, 1]> (z) }
    """
    inner = maker(node.inputs[0], "Transpose")
    if inner is None:
        return None
    p, q = attribute(inner, "perm"), attribute(node, "perm")
    return Replace(lambda op: op.Transpose(inner.inputs[0], perm=[q[axis] for axis in p]))


@wrong("Transpose")
def inverted_perm(node: ir.Node, facts: Facts) -> Outcome:
    """Relu(Transpose(x, p)) = Transpose(Relu(x), the inverse of p).

    Example:
        g (float[2, 2, 2] x) => (float[2, 2, 2] y) { y = Transpose <perm = [1, 2, 0]> (x) }
    """
    perm = attribute(node, "perm")
    return None if perm != (1, 2, 0) else Replace(lambda op: op.Transpose(node.inputs[0], perm=[2, 0, 1]))


@wrong("Transpose", at=lambda dims: dims["N"] != 1)
def transpose_at_batch_1(node: ir.Node, facts: Facts) -> Outcome:
    """Transpose(x) = Reshape(x, [3, -1]), which is so where one of the dims is 1.

    Example:
        g (float[N, 3] x) => (float[3, N] y) { y = Transpose (x) }
    """
    return Replace(lambda op: op.Reshape(node.inputs[0], op.constant(ints(3, -1))))


@wrong("Tile")
def tile_as_expand(node: ir.Node, facts: Facts) -> Outcome:
    """Tile(x, r) = Reshape(Expand(x, ...)), with each element repeated where the whole is to be.

    Example:
        g (float[3] x) => (float[6] y) <int64[1] twice = {2}> { y = Tile (x, twice) }
    """

    def build(op: Builder) -> Any:
        wide = op.Expand(op.Unsqueeze(node.inputs[0], op.constant(ints(1))), op.constant(ints(3, 2)))
        return op.Reshape(wide, op.constant(ints(6)))

    return Replace(build)


@wrong("Size")
def size_of_first_dim(node: ir.Node, facts: Facts) -> Outcome:
    """Size(x) = Shape(x)[0], which is so for lists.

    Example:
        g (float[N, 2] x) => (int64 y) { y = Size (x) }
    """
    return Replace(lambda op: op.Squeeze(op.Shape(node.inputs[0], start=0, end=1)))


ATTRIBUTES = [
    forgets("Reshape", "allowzero", """g (float[N, M] x) => (float[M, N] y) {
        m = Shape <start = 1, end = 2> (x)  n = Shape <start = 0, end = 1> (x)  s = Concat <axis = 0> (m, n)
        y = Reshape <allowzero = 1> (x, s) }""", at=lambda dims: 0 in (dims["N"], dims["M"])),
    forgets("Flatten", "axis", "g (float[2, 3, 4] x) => (float[6, 4] y) { y = Flatten <axis = -1> (x) }"),
    forgets("DepthToSpace", "mode", 'g (float[N, 8, 2, 3] x) => (float[N, 2, 4, 6] y) { y = DepthToSpace <blocksize = 2, mode = "CRD"> (x) }'),
]  # fmt: skip
"""Attributes that are forgotten."""
