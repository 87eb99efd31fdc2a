"""Rules about Loops whose trip count is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Fact, Facts
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._iterated import Iterated, given, is_read, iterated, limit_of, trips_of
from foldproof_rules._remaining import remaining
from foldproof_rules.known_values import known_tensor

MAX_UNROLLED = 64
"""A Loop of more iterations is never unrolled."""

MAX_COPIED = 64
"""Nor is one of which so many nodes would be left that the file grows by more than some kilobytes."""


@rule("Loop", exact=True, benefit=50, level=1, lowers=Cost.CONTROL)
def loop_without_iterations(node: ir.Node, facts: Facts) -> Outcome:
    """Loop(m, c, x) = x, where m is proven to be at most 0, or c false: nothing is gathered either.

    Example:
        g (float[N, 3] x, float[3] s) => (float[N, 3] y) <int64 m = {0}, bool c = {1}> {
            y = Loop (m, c, x) <body = b (int64 i, bool k, float[N, 3] v) => (bool l, float[N, 3] w) {
                l = Identity (k) w = Add (v, s) }> }
    """
    parts = iterated(node, facts)
    limit = limit_of(node, facts)
    never = (limit is not None and limit <= 0) or facts.of(given(node, 1)).ints == (0,)
    if parts is None or not never:
        return None if parts is None else Reason("it is not known to have no iteration")
    gathered = node.outputs[parts.carried :]
    empty = {output: _empty(facts.of(output)) for output in gathered if output.uses() or output.is_graph_output()}
    if None in empty.values():
        return Reason("the dims of what it gathers are not known where there is no iteration")
    tensors = {output: tensor for output, tensor in empty.items() if tensor is not None}

    def build(op: Builder) -> list[ir.Value | None]:
        made = {output: op.constant(tensor) for output, tensor in tensors.items()}
        return [*map(parts.initial, range(parts.carried)), *map(made.get, gathered)]

    return Replace(build)


def _empty(fact: Fact) -> ir.TensorProtocol | None:
    """The tensor without elements that a value is; None where it is not known to be one."""
    if not fact.is_static or fact.element_count != 0 or fact.dtype is None or fact.dtype is ir.DataType.STRING:
        return None
    shape = [dim for dim in fact.shape or () if isinstance(dim, int)]
    return ir.Tensor(np.zeros(shape, fact.dtype.numpy()), dtype=fact.dtype)


@rule("Loop", exact=True, benefit=45, lowers=Cost.CONTROL)
def loop_of_one_iteration(node: ir.Node, facts: Facts) -> Outcome:
    """Loop(m, c, x) = body(0, true, x), where it is proven to run just once; what it gathers is unsqueezed.

    Example:
        g (float[N, 3] x, float[3] s) => (float[N, 3] y) <int64 m = {1}, bool c = {1}> {
            y = Loop (m, c, x) <body = b (int64 i, bool k, float[N, 3] v) => (bool l, float[N, 3] w) {
                l = Identity (k) w = Add (v, s) }> }
    """
    parts = iterated(node, facts)
    if parts is None or trips_of(parts, facts) != 1:
        return None if parts is None else Reason("it is not known to run just once")
    body = parts.body

    def build(op: Builder) -> list[ir.Value | None]:
        outputs = op.inline(body, *_first_inputs(op, body, 0), *map(parts.initial, range(parts.carried)))
        gathered = zip(outputs[1 + parts.carried :], node.outputs[parts.carried :], strict=True)
        stacked = [_unsqueezed(op, value, node, facts) if is_read(output) else None for value, output in gathered]
        return [*outputs[1 : 1 + parts.carried], *stacked]

    return Replace(build)


@rule("Loop", exact=True, benefit=40, lowers=Cost.CONTROL)
def loop_that_folds(node: ir.Node, facts: Facts) -> Outcome:
    """Loop(m, true, x) = body(m - 1, ... body(0, x)), where m is known and so much folds that fewer nodes are left.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <int64 m = {3}, bool c = {1}, int64 one = {1}, int64 start = {5}> {
            z, y = Loop (m, c, start, x) <body = b (int64 i, bool k, int64 u, float[N, 3] v)
                    => (bool l, int64 t, float[N, 3] w) {
                l = Identity (k) t = Mul (u, one) r = Shape (v) n = Size (r) o = Sub (n, one) p = Less (u, o)
                w = If (p) <then_branch = d () => (float[N, 3] e) { e = Exp (v) },
                            else_branch = f () => (float[N, 3] h) { h = Identity (v) }> }> }
    """
    parts = iterated(node, facts)
    if parts is None:
        return None
    here = 1 + sum(each.op_type != "Constant" for each in parts.body.all_nodes())
    return _unrolled(parts, facts, at_most=here - 1)


@rule("Loop", exact=True, benefit=5, level=3, lowers=Cost.CONTROL)
def short_loop(node: ir.Node, facts: Facts) -> Outcome:
    """Loop(m, true, x) = body(m - 1, ... body(0, x)), where m is known and small, though more nodes are left.

    Example:
        g (float[N, 3] x, float[3] s) => (float[N, 3] y) <int64 m = {3}, bool c = {1}> {
            y = Loop (m, c, x) <body = b (int64 i, bool k, float[N, 3] v) => (bool l, float[N, 3] w) {
                l = Identity (k) a = Add (v, s) w = Tanh (a) }> }
    """
    parts = iterated(node, facts)
    return None if parts is None else _unrolled(parts, facts, at_most=MAX_COPIED)


def _unrolled(parts: Iterated, facts: Facts, *, at_most: int) -> Outcome:
    """A Loop written out, if no more nodes than a given number are left of it."""
    node, body, trips = parts.node, parts.body, trips_of(parts, facts)
    if trips is None or trips > MAX_UNROLLED:
        return Reason("its trip count is not known, or it is more than {}", MAX_UNROLLED)
    if not facts.is_deterministic(node) or any(facts.function(each) for each in body.all_nodes()):
        return Reason("it is random, or calls what is unknown here")
    left = _left(parts, trips, facts, at_most)
    if left is None:
        return Reason("more than {} nodes would be left of it", at_most)

    def build(op: Builder) -> list[ir.Value | None]:
        state: list[ir.Value | None] = [*map(parts.initial, range(parts.carried))]
        gathered: list[list[ir.Value]] = [[] for _ in node.outputs[parts.carried :]]
        for trip in range(trips):
            outputs = op.inline_copy(body, *_first_inputs(op, body, trip), *state)
            state = outputs[1 : 1 + parts.carried]
            for values, value, output in zip(
                gathered, outputs[1 + parts.carried :], node.outputs[parts.carried :], strict=True
            ):
                if is_read(output):
                    values.append(_unsqueezed(op, value, node, facts))
        return [*state, *(op.Concat(*values, axis=0) if values else None for values in gathered)]

    return Replace(build)


def _left(parts: Iterated, trips: int, facts: Facts, at_most: int) -> int | None:
    """How many nodes are left of a Loop that is written out; None if they are more than a given number."""
    body, node = parts.body, parts.node
    state = [facts.of(parts.initial(index)) for index in range(parts.carried)]
    read = [k for k, output in enumerate(node.outputs[parts.carried :], 1 + parts.carried) if is_read(output)]
    stacked = dict.fromkeys(read, True)
    left = 0
    for trip in range(trips):
        first = [
            Fact(constant=ir.Tensor(each), dtype=each_type, shape=each.shape) for each, each_type in _firsts(body, trip)
        ]
        assumption = facts.assuming(body, [*first, *state])
        rest = remaining(body.outputs[1:], assumption)
        if rest is None:
            return None
        left += rest
        if left > at_most:
            return None
        outputs = [assumption.of(output) for output in body.outputs]
        state = outputs[1 : 1 + parts.carried]
        stacked = {k: known and known_tensor(outputs[k]) is not None for k, known in stacked.items()}
    left += sum(trips + 1 for known in stacked.values() if not known)
    return left if left <= at_most else None


def _firsts(body: ir.Graph, trip: int) -> Iterator[tuple[np.ndarray[Any, Any], ir.DataType]]:
    """The iteration number and the condition, with as many dims as the body declares."""
    for value, number, dtype in zip(body.inputs, (np.int64(trip), np.bool_(True)), _FIRST_TYPES, strict=False):
        rank = 0 if value.shape is None else value.shape.rank()
        yield np.full((1,) * rank, number), dtype


_FIRST_TYPES = (ir.DataType.INT64, ir.DataType.BOOL)


def _first_inputs(op: Builder, body: ir.Graph, trip: int) -> list[ir.Value | None]:
    """Constants for the iteration number and the condition, where the body reads them."""
    firsts = zip(body.inputs, _firsts(body, trip), strict=False)
    return [op.constant(array) if value.uses() or value.is_graph_output() else None for value, (array, _) in firsts]


def _unsqueezed(op: Builder, value: ir.Value | None, node: ir.Node, facts: Facts) -> ir.Value:
    """A value with an axis in front."""
    root = facts.root(node.graph) if node.graph is not None else None
    unsqueezed: ir.Value
    if root is not None and facts.opset_version(node) < 13:
        unsqueezed = op.Unsqueeze(value, axes=[0])
    else:
        unsqueezed = op.Unsqueeze(value, op.constant(np.array([0])))
    return unsqueezed
