"""Rules about the condition of an If."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import partial

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.graphs import bodies_of
from foldproof.rewriting import ANY, Cost, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._branches import Branches, branches_of

MAX_TESTED = 12
"""A condition that more nodes compute is not looked through."""


@rule("If", exact=True, benefit=50, level=1, lowers=Cost.CONTROL)
def known_condition(node: ir.Node, facts: Facts) -> Outcome:
    """If(c, t, e) = t where c is proven true, e where it is proven false.

    The branch that is never taken goes: it may not even be valid at the shapes that are known.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <bool c = {1}> {
            y = If (c) <then_branch = a () => (float[N, 3] t) { t = Neg (x) },
                        else_branch = b () => (float[N, 3] e) { e = Abs (x) }> }
    """
    condition = facts.of(node.inputs[0]).ints
    if condition is None or len(condition) != 1:
        return Reason("its condition is not known")
    branch = node.attributes.get("then_branch" if condition[0] else "else_branch")
    if branch is None or branch.is_ref():
        return Reason("its branch is not given")
    if len(branch.as_graph().outputs) != len(node.outputs):
        return Reason("its branch has another number of outputs")
    return Replace(lambda op: op.inline(branch.as_graph()))


@rule("If", exact=True, benefit=20, lowers=Cost.EXPRESSION)
def negated_condition(node: ir.Node, facts: Facts) -> Outcome:
    """If(Not(c), t, e) = If(c, e, t).

    Example:
        g (float[N, 3] x, bool c) => (float[N, 3] y) {
            n = Not (c)
            y = If (n) <then_branch = a () => (float[N, 3] t) { t = Neg (x) },
                        else_branch = b () => (float[N, 3] e) { e = Abs (x) }> }
    """
    negated, branches = _negated(node.inputs[0]), branches_of(node)
    if negated is None or branches is None:
        return None
    return Replace(partial(_remade, node=node, condition=negated, branches=Branches(branches.orelse, branches.then)))


@rule("If", exact=True, benefit=15, lowers=Cost.EXPRESSION)
def condition_of_another_if(node: ir.Node, facts: Facts) -> Outcome:
    """If(f(If(c, a, b)), t, e) = If(c, t, e), where f is proven true of a and false of b; If(c, e, t) the other way.

    So what tests the rank of a tensor that another If has squeezed or not takes the same condition.

    Example:
        g (float[N, M, 3] x, bool c) => (int64[1] y) <int64[1] axis = {2}, int64 two = {2}> {
            s = If (c) <then_branch = a () => (r) { r = ReduceSum <keepdims = 0> (x, axis) },
                        else_branch = b () => (q) { q = Identity (x) }>
            h = Shape (s) n = Size (h) d = Equal (n, two)
            y = If (d) <then_branch = t () => (int64[1] i) { i = Shape <start = 0, end = 1> (x) },
                        else_branch = e () => (int64[1] j) { j = Shape <start = 1, end = 2> (x) }> }
    """
    condition, branches = node.inputs[0], branches_of(node)
    if condition is None or branches is None:
        return None
    chain, tested = _computed_from(condition, facts)
    for other in tested:
        verdicts, original = _supposed(condition, chain, other, facts), other.inputs[0]
        if original is None or verdicts is None or not facts.order.is_ready(original, node):
            continue
        then, orelse = branches if verdicts == (1, 0) else reversed(branches)
        return Replace(partial(_remade, node=node, condition=original, branches=Branches(then, orelse)))
    return None


@rule(ANY, exact=True, benefit=40, level=1, lowers=Cost.OPERANDS)
def known_in_branch(node: ir.Node, facts: Facts) -> Outcome:
    """If(c, t(c), e(c)) = If(c, t(true), e(false)), also where the branch reads what c is made of by Not, And and Or.

    Example:
        g (float[N, 3] x, bool c) => (float[N, 3] y) {
            y = If (c) <then_branch = a () => (float[N, 3] t) { z = Neg (x) t = Where (c, z, x) },
                        else_branch = b () => (float[N, 3] e) { e = Abs (x) }> }
    """
    if node.graph is None or facts.owner(node.graph) is None or not _reads_truth(node, facts):
        return None
    decided = _decided(node, facts)
    known = {
        value: truth for value in node.inputs if value is not None and (truth := _truth(value, decided)) is not None
    }
    shapes = {value: _static_shape(value, facts) for value in known}
    if not known or any(shape is None or facts.of(value).ints is not None for value, shape in shapes.items()):
        return None
    if not facts.is_deterministic(node) and not any(bodies_of(node)):
        return Reason("it is random, or its operator is unknown")

    def build(op: Builder) -> list[ir.Value | None]:
        constants: dict[ir.Value | None, ir.Value] = {
            value: op.constant(np.full(shapes[value] or (), truth)) for value, truth in known.items()
        }
        return op.remake(node, inputs=[constants.get(value, value) for value in node.inputs])

    return Replace(build)


# What is known of a condition ------------------------------------------------------------------------------------


def _negated(value: ir.Value | None) -> ir.Value | None:
    """What a value is the negation of."""
    maker = None if value is None else value.producer()
    return maker.inputs[0] if maker is not None and maker.op_type == "Not" and not maker.domain else None


def _decided(node: ir.Node, facts: Facts) -> dict[ir.Value, bool]:
    """The values that are true, or false, whenever a node runs, because of the branches that it stands in."""
    decided: dict[ir.Value, bool] = {}
    inner = node.graph
    for graph in itertools.islice(facts.order.graphs_around(node.graph), 1, None):
        owner = None if inner is None else facts.owner(inner)
        if owner is not None and owner.op_type == "If" and not owner.domain and owner.inputs[0] is not None:
            branch = owner.attributes.get("then_branch")
            _decide(owner.inputs[0], branch is not None and branch.value is inner, decided)
        inner = graph
    return decided


def _decide(condition: ir.Value, truth: bool, decided: dict[ir.Value, bool]) -> None:
    """Notes what follows if a condition of one element is true, or false."""
    waiting = [(condition, truth)]
    while waiting and len(decided) < MAX_TESTED:
        value, is_true = waiting.pop()
        if value in decided:
            continue
        decided[value] = is_true
        maker = value.producer()
        if maker is None or maker.domain:
            continue
        if maker.op_type == "Not":
            waiting.extend((each, not is_true) for each in maker.inputs if each is not None)
        elif maker.op_type == ("And" if is_true else "Or"):
            waiting.extend((each, is_true) for each in maker.inputs if each is not None)


def _truth(value: ir.Value, decided: Mapping[ir.Value, bool]) -> bool | None:
    """Whether a value is decided, by itself or as the negation of another one."""
    negated = _negated(value)
    if value not in decided and negated is not None and negated in decided:
        return not decided[negated]
    return decided.get(value)


def _reads_truth(node: ir.Node, facts: Facts) -> bool:
    return any(value is not None and facts.of(value).dtype is ir.DataType.BOOL for value in node.inputs)


def _static_shape(value: ir.Value, facts: Facts) -> tuple[int, ...] | None:
    """The shape of a value of one element; None for one of more, or where that is not known."""
    shape = facts.shape(value)
    return (1,) * len(shape) if shape is not None and all(dim == 1 for dim in shape) else None


def _computed_from(value: ir.Value, facts: Facts) -> tuple[list[ir.Node], list[ir.Node]]:
    """The nodes that a value is computed by, in their order, and the Ifs whose outputs they start from."""
    chain: dict[ir.Node, None] = {}
    sources: dict[ir.Node, None] = {}
    waiting = [(value, False)]
    while waiting:
        current, is_done = waiting.pop()
        maker = current.producer()
        if maker is None or maker in chain or facts.of(current).ints is not None:
            continue
        if is_done:
            chain[maker] = None
        elif maker.op_type == "If" and not maker.domain:
            sources[maker] = None
        elif len(waiting) > MAX_TESTED or len(chain) >= MAX_TESTED or any(bodies_of(maker)):
            continue
        else:
            waiting.append((current, True))
            waiting.extend((each, False) for each in maker.inputs if each is not None)
    return list(chain), list(sources)


def _supposed(
    condition: ir.Value, chain: list[ir.Node], source: ir.Node, facts: Facts
) -> tuple[int | None, int | None] | None:
    """What a condition is if an If took its one branch, and if it took the other; None unless they differ."""
    branches = branches_of(source)
    if branches is None:
        return None
    verdicts = []
    for branch in branches:
        outputs = zip(source.outputs, branch.outputs, strict=True)
        supposition = facts.supposing({output: facts.of(given) for output, given in outputs})
        for node in chain:
            supposition.infer(node)
        elements = supposition.of(condition).ints
        verdicts.append(elements[0] if elements is not None and len(elements) == 1 else None)
    return (verdicts[0], verdicts[1]) if sorted(map(str, verdicts)) == ["0", "1"] else None


def _remade(op: Builder, node: ir.Node, condition: ir.Value, branches: Branches) -> list[ir.Value | None]:
    """An If on another condition."""
    return op.remake(node, inputs=[condition], then_branch=branches.then, else_branch=branches.orelse)
