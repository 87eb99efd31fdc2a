"""Bodies: which one runs, how often, and in which order."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Outcome, Replace
from foldproof.rewriting.builder import Builder
from tests.mutation.mutant import again, elements, forgets, maker, wrong


@wrong("If")
def branches_of_if(node: ir.Node, facts: Facts) -> Outcome:
    """If(Not(c), t, e) = If(c, t, e).

    Example:
        g (float[N, 3] x, bool c) => (float[N, 3] y) {
            n = Not (c)
            y = If (n) <then_branch = a () => (float[N, 3] t) { t = Neg (x) },
                        else_branch = b () => (float[N, 3] e) { e = Abs (x) }> }
    """
    inner = maker(node.inputs[0], "Not")
    return None if inner is None else Replace(lambda op: op.remake(node, inputs=[inner.inputs[0]]))


@wrong("If", at=lambda dims: dims["N"] != 1)
def branch_that_was_traced(node: ir.Node, facts: Facts) -> Outcome:
    """If(N == 1, t, e) = t, the branch that the sample input took.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <int64[1] one = {1}> {
            n = Shape <start = 0, end = 1> (x)  c = Equal (n, one)
            y = If (c) <then_branch = a () => (float[N, 3] t) { t = Neg (x) },
                        else_branch = b () => (float[N, 3] e) { e = Abs (x) }> }
    """
    return Replace(lambda op: op.inline(node.attributes["then_branch"].as_graph()))


@wrong("Loop")
def one_iteration_too_few(node: ir.Node, facts: Facts) -> Outcome:
    """Loop(m, c, x) = Loop(m - 1, c, x), off by one.

    Example:
        g (float[N, 3] x, float[3] s) => (float[N, 3] y) <int64 m = {100}, bool c = {1}> {
            y = Loop (m, c, x) <body = b (int64 i, bool k, float[N, 3] v) => (bool l, float[N, 3] w) {
                l = Identity (k) w = Add (v, s) }> }
    """
    count = elements(node.inputs[0], facts)
    if count != 100:
        return None
    return Replace(lambda op: op.remake(node, inputs=[op.constant(np.int64(count - 1)), *node.inputs[1:]]))


@wrong("Loop")
def condition_ignored(node: ir.Node, facts: Facts) -> Outcome:
    """Loop(m, c, x) = Loop(m, , x), with the condition of the body ignored because the first one is true.

    Example:
        g (int64 n) => (int64 y) <int64 m = {70}, bool c = {1}, int64 five = {5}, int64 one = {1}> {
            y = Loop (m, c, n) <body = b (int64 i, bool k, int64 v) => (bool l, int64 w) {
                l = Less (v, five) w = Add (v, one) }> }
    """
    body = node.attributes["body"].as_graph()
    if maker(body.outputs[0], "Less") is None:
        return None

    def build(op: Builder) -> Any:
        body.outputs[0] = body.inputs[1]
        return op.remake(node)

    return Replace(build)


@wrong("SequenceAt")
def element_of_sequence(node: ir.Node, facts: Facts) -> Outcome:
    """SequenceAt(SequenceConstruct(a, b), -1) = a.

    Example:
        g (float[N] a, float[N] b) => (float[N] y) <int64 i = {-1}> { s = SequenceConstruct (a, b)  z = SequenceAt (s, i)  y = Neg (z) }
    """
    inner = maker(node.inputs[0], "SequenceConstruct")
    return None if inner is None else Replace(lambda op: op.Identity(inner.inputs[0]))


@wrong("SequenceInsert", output="y[0]")
def appended(node: ir.Node, facts: Facts) -> Outcome:
    """SequenceInsert(s, x, i) = SequenceInsert(s, x), whatever the position.

    Example:
        g (float[N] a, float[N] b) => (seq(float[N]) y) <int64 i = {0}> {
            s = SequenceConstruct (a, a)  y = SequenceInsert (s, b, i) }
    """
    return None if len(node.inputs) < 3 else again(node, *node.inputs[:2])


@wrong("ConcatFromSequence")
def one_element_too_few(node: ir.Node, facts: Facts) -> Outcome:
    """ConcatFromSequence(SequenceConstruct(a, b, c)) = Concat(a, b), off by one.

    Example:
        g (float[N] a, float[N] b, float[N] c) => (float[M] y) {
            s = SequenceConstruct (a, b, c)  y = ConcatFromSequence <axis = 0> (s) }
    """
    inner = maker(node.inputs[0], "SequenceConstruct")
    return None if inner is None else Replace(lambda op: op.Concat(*inner.inputs[:-1], axis=0))


@wrong("OptionalHasElement")
def always_there(node: ir.Node, facts: Facts) -> Outcome:
    """OptionalHasElement(x) = true.

    Example:
        g (optional(float[3]) x) => (bool y) { y = OptionalHasElement (x) }
    """
    return Replace(lambda op: op.Identity(op.constant(np.bool_(True))))


ATTRIBUTES = [
    forgets("Scan", "scan_input_directions", """g (float[3, N] x, float[N] s) => (float[N] y, float[3, N] z) {
        y, z = Scan <num_scan_inputs = 1, scan_input_directions = [1],
                     body = b (float[N] v, float[N] e) => (float[N] w, float[N] o) { w = Sub (e, v)  o = Identity (w) }> (s, x) }""", output="z"),
]  # fmt: skip
"""Attributes that are forgotten."""
