"""Rules about what the branches of an If hand out, and about several Ifs on one condition."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Sequence
from functools import partial

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.graphs import reads_of
from foldproof.rewriting import Cost, Outcome, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._branches import Branches, branches_of
from foldproof_rules.known_values import known_tensor

MAX_SIBLINGS = 16
"""Of more Ifs on one condition, only these are looked at from each: so a model with thousands takes no longer."""

MAX_OUTPUTS = 1024
"""Ifs are not merged into one with more outputs: a rewrite in its branches takes longer the more they hand out."""


@rule("If", exact=True, benefit=12, lowers=Cost.OPERANDS)
def unread_branch_output(node: ir.Node, facts: Facts) -> Outcome:
    """If(c, (t, u), (e, f)) = If(c, t, e), where nothing reads what u and f give.

    Example:
        g (float[N, 3] x, bool c) => (float[N, 3] y) {
            y, z = If (c) <then_branch = a () => (float[N, 3] t, float[N, 3] u) { t = Neg (x) u = Abs (t) },
                           else_branch = b () => (float[N, 3] e, float[N, 3] f) { e = Abs (x) f = Neg (e) }> }
    """
    branches = branches_of(node)
    unread = [k for k, output in enumerate(node.outputs) if not output.uses() and not output.is_graph_output()]
    if branches is None or not unread or len(unread) == len(node.outputs):
        return None
    return Replace(lambda op: _with_less(op, node, branches, unread))


@rule("If", exact=True, benefit=11, lowers=Cost.OPERANDS)
def same_in_both_branches(node: ir.Node, facts: Facts) -> Outcome:
    """If(c, (t, v), (e, v)) = (If(c, t, e), v), where v is a value from outside the branches, or one constant.

    Example:
        g (float[N, 3] x, bool c) => (float[N, 3] y, float[N, 3] z) {
            y, z = If (c) <then_branch = a () => (float[N, 3] t, float[N, 3] u) { t = Neg (x) u = Identity (x) },
                           else_branch = b () => (float[N, 3] e, float[N, 3] f) { e = Abs (x) f = Identity (x) }> }
    """
    branches = branches_of(node)
    if branches is None:
        return None
    values: dict[int, ir.Value] = {}
    constants: dict[int, ir.TensorProtocol] = {}
    for k, output in enumerate(node.outputs):
        then, orelse = (_source(branch.outputs[k]) for branch in branches)
        tensor = known_tensor(facts.of(output))
        if then is orelse:  # no branch can read what is in the other one
            values[k] = then
        elif tensor is not None and (output.uses() or output.is_graph_output()):
            constants[k] = tensor
    if (not values and not constants) or facts.is_opaque(node):
        return None

    def build(op: Builder) -> list[ir.Value | None]:
        known = {k: op.constant(tensor) for k, tensor in constants.items()} | values
        rest = _with_less(op, node, branches, known) if len(known) < len(node.outputs) else [None] * len(node.outputs)
        return [known.get(k, value) for k, value in enumerate(rest)]

    return Replace(build)


@rule("If", exact=True, benefit=10, lowers=Cost.OPERANDS)
def equal_branch_outputs(node: ir.Node, facts: Facts) -> Outcome:
    """If(c, (t, t), (e, e)) = (y, y), y = If(c, t, e).

    Example:
        g (float[N, 3] x, bool c) => (float[N, 3] y) {
            a, b = If (c) <then_branch = a () => (float[N, 3] t, float[N, 3] u) { t = Neg (x) u = Identity (t) },
                           else_branch = b () => (float[N, 3] e, float[N, 3] f) { e = Abs (x) f = Identity (e) }>
            y = Mul (a, b) }
    """
    branches = branches_of(node)
    if branches is None:
        return None
    first: dict[tuple[ir.Value, ...], int] = {}
    equal: dict[int, int] = {}
    for k in range(len(node.outputs)):
        sources = tuple(_source(branch.outputs[k]) for branch in branches)
        if first.setdefault(sources, k) != k:
            equal[k] = first[sources]
    if not equal:
        return None

    def build(op: Builder) -> list[ir.Value | None]:
        rest = _with_less(op, node, branches, equal)
        return [rest[equal.get(k, k)] for k in range(len(rest))]

    return Replace(build)


@rule("If", exact=True, benefit=9, lowers=Cost.CONTROL)
def merged_branches(node: ir.Node, facts: Facts) -> Outcome:
    """If(c, t, e), If(c, u, f) = If(c, (t, u), (e, f)), where no other node has to stand between the two.

    What the second reads of the first is then read within the branch.

    Example:
        g (float[N, 3] x, bool c) => (float[N, 3] y) {
            z = If (c) <then_branch = a () => (float[N, 3] t) { t = Neg (x) },
                        else_branch = b () => (float[N, 3] e) { e = Abs (x) }>
            y = If (c) <then_branch = d () => (float[N, 3] u) { u = Exp (z) },
                        else_branch = f () => (float[N, 3] v) { v = Sqrt (z) }> }
    """
    siblings = [] if branches_of(node) is None else sorted(_siblings(node), key=facts.order.position)
    if not siblings or not facts.is_deterministic(node):
        return None
    later = _movable(node, [each for each in siblings if facts.order.is_ready(node.outputs[0], each)], facts)
    if later:
        return Replace(lambda op: _merged(op, node, later), gone_too=tuple(later))
    for earlier in siblings:
        is_earlier = facts.order.is_ready(earlier.outputs[0], node)
        is_small = len(earlier.outputs) + len(node.outputs) <= MAX_OUTPUTS
        if is_earlier and is_small and _is_read_after(earlier, node, facts) and facts.is_deterministic(earlier):
            return Replace(partial(_merged_behind, first=earlier, second=node), gone_too=(earlier,))
    return None


def _with_less(op: Builder, node: ir.Node, branches: Branches, without: Container[int]) -> list[ir.Value | None]:
    """An If without some of its outputs."""
    for branch in branches:
        kept = [output for k, output in enumerate(branch.outputs) if k not in without]
        branch.outputs.clear()
        branch.outputs.extend(kept)
    return op.remake(node, without=without)


def _source(value: ir.Value) -> ir.Value:
    """What a value is handed on from, by Identity nodes."""
    maker = value.producer()
    while maker is not None and maker.op_type == "Identity" and not maker.domain and maker.inputs[0] is not None:
        value = maker.inputs[0]
        maker = value.producer()
    return value


def _siblings(node: ir.Node) -> Iterator[ir.Node]:
    """Other Ifs on the same condition in the same graph."""
    condition = node.inputs[0]
    uses = () if condition is None else itertools.islice(condition.uses(), MAX_SIBLINGS)
    for each in dict.fromkeys(use.node for use in uses):
        if each is not node and each.op_type == "If" and each.graph is node.graph and branches_of(each) is not None:
            yield each


def _movable(first: ir.Node, later: list[ir.Node], facts: Facts) -> list[ir.Node]:
    """Those of some later Ifs, given in their order, that could stand where the first one does, and be one with it."""
    made = set(first.outputs)
    movable: list[ir.Node] = []
    for node in later:
        if len(made) + len(node.outputs) > MAX_OUTPUTS:
            continue
        is_ready = all(value in made or facts.order.is_ready(value, first) for value in reads_of(node))
        if is_ready and facts.is_deterministic(node):
            movable.append(node)
            made.update(node.outputs)
    return movable


def _is_read_after(first: ir.Node, second: ir.Node, facts: Facts) -> bool:
    """Whether all that reads an If's outputs stands behind a second one, or is it."""
    for use in (use for output in first.outputs for use in output.uses()):
        reader: ir.Node | None = use.node
        while reader is not None and reader.graph is not second.graph:
            reader = None if reader.graph is None else facts.owner(reader.graph)
        if reader is None or not (reader is second or facts.order.is_ready(second.outputs[0], reader)):
            return False
    return True


def _merged(op: Builder, first: ir.Node, others: Sequence[ir.Node]) -> list[ir.Value | None]:
    """One If that does what several on the same condition do, in their order. The first one's branches take all in.

    What the others read of those before them, they read from within.
    """
    ours = branches_of(first)
    outputs = list(first.outputs)
    for other in others:
        theirs = branches_of(other)
        if ours is None or theirs is None:
            raise ValueError("only Ifs with both branches are merged")
        for body, more in zip(ours, theirs, strict=True):
            for output, value in zip(outputs, body.outputs, strict=True):
                op.reread(output, value, [more])
            op.extend(body, more)
        outputs.extend(other.outputs)
    return op.remake(first, extra=outputs[len(first.outputs) :])


def _merged_behind(op: Builder, first: ir.Node, second: ir.Node) -> list[ir.Value | None]:
    """The same of two Ifs, with the outputs of the second one first: it is the one in whose place the new one is."""
    merged = _merged(op, first, [second])
    count = len(first.outputs)
    return [*merged[count:], *merged[:count]]
