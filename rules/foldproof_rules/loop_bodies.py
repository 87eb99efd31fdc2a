"""Rules about what the body of a Loop or Scan needn't do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.graphs import bodies_of, reads_of
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._iterated import Iterated, is_read, iterated, runs


@rule("Loop", "Scan", exact=True, benefit=30, lowers=Cost.OPERANDS)
def unread_loop_output(node: ir.Node, facts: Facts) -> Outcome:
    """Loop(m, c, x, y) = Loop(m, c, x), where nothing reads what becomes of y, but y itself in the next iteration.

    What is gathered and not read goes too, and all in the body that only serves these.

    Example:
        g (float[N, 3] x, float[3] s, int64 m) => (float[N, 3] y) <bool c = {1}> {
            y, z, q = Loop (m, c, x, x) <body = b (int64 i, bool k, float[N, 3] v, float[N, 3] u)
                    => (bool l, float[N, 3] w, float[N, 3] t, float[N, 3] r) {
                l = Identity (k) w = Add (v, s) t = Mul (u, v) r = Neg (t) }> }
    """
    parts = iterated(node, facts)
    if parts is None:
        return None
    needed = _needed(parts, facts)
    unread = [k for k, output in enumerate(node.outputs) if k not in needed and not is_read(output)]
    if not unread or len(unread) == len(node.outputs):
        return None
    return Replace(lambda op: _with_less(op, parts, unread))


def _needed(parts: Iterated, facts: Facts) -> set[int]:
    """The positions of the outputs that the body computes for others, or for what may have an effect."""
    node, body = parts.node, parts.body
    needed = {k for k, output in enumerate(node.outputs) if is_read(output)}
    waiting = [*body.outputs[: parts.handed], *(body.outputs[parts.handed + k] for k in sorted(needed))]
    waiting += [value for each in body if facts.is_opaque(each) for value in reads_of(each)]
    carried = {body.inputs[parts.inside + k]: k for k in range(parts.carried)}
    seen: set[ir.Value] = set()
    while waiting:
        value = waiting.pop()
        if value in seen or value.graph is not body:
            continue
        seen.add(value)
        maker = value.producer()
        if maker is not None:
            waiting.extend(reads_of(maker))
        elif value in carried:
            needed.add(carried[value])
            waiting.append(body.outputs[parts.handed + carried[value]])
    return needed


@rule("Loop", "Scan", exact=True, benefit=29, lowers=Cost.OPERANDS)
def unchanged_in_loop(node: ir.Node, facts: Facts) -> Outcome:
    """Loop(m, c, x, y) = (Loop(m, c, x), y), where the body hands y on as it is, so that it can read it from outside.

    Example:
        g (float[N, 3] x, float[N, 3] z, int64 m) => (float[N, 3] y) <bool c = {1}> {
            y, q = Loop (m, c, x, z) <body = b (int64 i, bool k, float[N, 3] v, float[N, 3] u)
                    => (bool l, float[N, 3] w, float[N, 3] t) {
                l = Identity (k) w = Add (v, u) t = Identity (u) }> }
    """
    parts = iterated(node, facts)
    if parts is None:
        return None
    unchanged = [k for k in range(parts.carried) if _is_unchanged(parts, k)]
    if not unchanged or (len(unchanged) == len(node.outputs) and facts.is_opaque(node)):
        return None

    def build(op: Builder) -> list[ir.Value | None]:
        rest: Sequence[ir.Value | None] = [None] * len(node.outputs)
        if len(unchanged) < len(node.outputs):
            rest = _with_less(op, parts, unchanged)
        return [parts.initial(k) if k in unchanged else value for k, value in enumerate(rest)]

    return Replace(build)


def _is_unchanged(parts: Iterated, index: int) -> bool:
    """Whether a value that is carried is the same in all iterations: the body hands on what it got, or the initial."""
    value: ir.Value | None = parts.body.outputs[parts.handed + index]
    unchanged = parts.body.inputs[parts.inside + index], parts.initial(index)
    while value is not None and value not in unchanged:
        maker = value.producer()
        value = maker.inputs[0] if maker is not None and maker.op_type == "Identity" and not maker.domain else None
    return value is not None


def _with_less(op: Builder, parts: Iterated, without: Sequence[int]) -> list[ir.Value | None]:
    """A Loop or Scan without some of its outputs, and without the inputs of those that are carried.

    What reads such an input in the body reads the initial value: where that is another one, nothing is made of it.
    """
    node, body = parts.node, parts.body
    carried = [k for k in without if k < parts.carried]
    for k in carried:
        op.reread(body.inputs[parts.inside + k], parts.initial(k), [body])
    outputs = [value for k, value in enumerate(body.outputs, -parts.handed) if k not in without]
    body.outputs.clear()
    body.outputs.extend(outputs)
    gone = [body.inputs[parts.inside + k] for k in carried]
    for value in gone:
        body.inputs.remove(value)
    inputs = [value for k, value in enumerate(node.inputs, -parts.given) if k not in carried]
    return op.remake(node, inputs=inputs, without=without, **_scan_lists(parts, without))


def _scan_lists(parts: Iterated, without: Sequence[int]) -> dict[str, Any]:
    """The attributes of a Scan that hold a number for each output that it gathers."""
    lists: dict[str, Any] = {}
    for name in ("scan_output_axes", "scan_output_directions"):
        attribute = parts.node.attributes.get(name)
        if attribute is not None and not attribute.is_ref():
            lists[name] = [each for k, each in enumerate(attribute.as_ints(), parts.carried) if k not in without]
    return lists


@rule("Loop", "Scan", exact=True, benefit=8, lowers=Cost.NESTING)
def invariant_in_loop(node: ir.Node, facts: Facts) -> Outcome:
    """Loop(m, c, x: f(x, g(y))) = Loop(m, c, x: f(x, z)), z = g(y), where y is from outside, and the body runs.

    It must be proven to run at least once: so nothing is computed that was not, and what fails failed before. Random
    and unknown operators stay.

    Example:
        g (float[N, 3] x, float[3] s) => (float[N, 3] y) <int64 m = {4}, bool c = {1}> {
            y = Loop (m, c, x) <body = b (int64 i, bool k, float[N, 3] v) => (bool l, float[N, 3] w) {
                l = Identity (k) e = Exp (s) w = Add (v, e) }> }
    """
    parts = iterated(node, facts)
    if parts is None:
        return None
    if not runs(node, facts):
        return Reason("its body is not known to run")
    invariant = _invariant(parts.body, facts)
    if not invariant:
        return None

    def build(op: Builder) -> list[ir.Value | None]:
        for each in invariant:
            op.move(each)
        return op.remake(node)

    return Replace(build)


def _invariant(body: ir.Graph, facts: Facts) -> list[ir.Node]:
    """The nodes of a body that compute the same in each iteration, in their order, and what these need.

    What a body hands out has to be made in it. A Constant alone gains nothing outside.
    """
    found: dict[ir.Node, None] = {}
    for node in body:
        if any(output.is_graph_output() for output in node.outputs):
            continue
        reads = reads_of(node)
        if all(value.graph is not body or value.producer() in found for value in reads) and _is_movable(node, facts):
            found[node] = None
    needed: dict[ir.Node, None] = {}
    for node in reversed(found):
        if node.op_type != "Constant" or any(use.node in needed for output in node.outputs for use in output.uses()):
            needed[node] = None
    return list(reversed(needed))


def _is_movable(node: ir.Node, facts: Facts) -> bool:
    is_reference = any(attribute.is_ref() for attribute in node.attributes.values())
    return facts.is_deterministic(node) and not is_reference and not any(bodies_of(node))
