"""Random graphs compute the same after all rules as before: exactly where only exact rules fired, else but for rounding.

`FOLDPROOF_FUZZ=nightly` checks 20,000 of them, otherwise it is 240; `python -m tests.fuzzing` checks any others.
"""

from __future__ import annotations

import contextlib
import os

import onnx_ir as ir
import pytest

from foldproof.facts import Facts
from foldproof.rewriting import Forward, Outcome, Replace, rule
from tests.fuzzing import checking
from tests.fuzzing.campaign import fuzz
from tests.fuzzing.checking import DifferenceError
from tests.fuzzing.generator import Case, make
from tests.fuzzing.shrinking import needed_rules, shrink
from tests.helpers import needs_recent_onnxruntime, parse

NIGHTLY = os.environ.get("FOLDPROOF_FUZZ") == "nightly"
GRAPHS = 20_000 if NIGHTLY else 240
PARTS = 80 if NIGHTLY else 8


@needs_recent_onnxruntime
@pytest.mark.parametrize("part", range(PARTS))
def test_random_graphs_stay_the_same(part, record_property):
    size = GRAPHS // PARTS
    tally = fuzz(range(part * size, (part + 1) * size))
    record_property("tally", str(tally))
    assert not tally.faults, "\n\n".join(tally.faults.values())
    assert sum(tally.unrunnable.values()) <= size / 8, "too many graphs are nothing that onnxruntime runs"
    assert len(tally.rules) >= 45, "the graphs are not what rules look for"


def test_a_graph_depends_on_its_seed_alone():
    first, other = make(7), make(8)
    assert make(7).model.SerializeToString() == first.model.SerializeToString()
    assert other.model.SerializeToString() != first.model.SerializeToString()


# What follows takes a wrong rule for a right one: the checks must notice it. --------------------------------------------


@rule("Relu", exact=True)
def wrong_everywhere(node: ir.Node, facts: Facts) -> Outcome:
    """Relu(x) = x."""
    return Forward(node.inputs[0])


@rule("Add", exact=True)
def wrong_for_minus_zero(node: ir.Node, facts: Facts) -> Outcome:
    """Add(x, 0) = x."""
    fact = facts.of(node.inputs[1])
    same = facts.shape(node.inputs[0]) == facts.shape(node.outputs[0])
    is_zero = fact.constant is not None and not fact.constant.numpy().any()
    return Forward(node.inputs[0]) if is_zero and same else None


def case_of(nodes: str) -> Case:
    """A case whose model is given as text."""
    body = f"g (float[N, 3] x, float[N, 3] z) => (float[N, 3] y) <float zero = {{0}}> {{ {nodes} }}"
    return Case(1, parse(body), ({"N": 7}, {"N": 1}, {"N": 0}), frozenset())


@pytest.mark.parametrize(
    ("wrong", "nodes"),
    [(wrong_everywhere, "a = Neg(x) y = Relu(a)"), (wrong_for_minus_zero, "a = Identity(x) y = Add(a, zero)")],
)
def test_a_wrong_rule_is_noticed(wrong, nodes, monkeypatch):
    monkeypatch.setattr(checking, "rules", lambda: (wrong,))
    with pytest.raises(DifferenceError, match="the output y differs"):
        checking.check(case_of(nodes))


@pytest.mark.parametrize("exact", [True, False])
def test_what_only_rounds_otherwise_is_a_fault_of_an_exact_rule_alone(exact, monkeypatch):
    @rule("Div", exact=exact)
    def quotient_as_product(node: ir.Node, facts: Facts) -> Outcome:
        """Div(x, z) = Mul(x, Reciprocal(z))."""
        return Replace(lambda op: op.Mul(node.inputs[0], op.Reciprocal(node.inputs[1])))

    monkeypatch.setattr(checking, "rules", lambda: (quotient_as_product,))
    case = case_of("y = Div(x, z)")
    with pytest.raises(DifferenceError) if exact else contextlib.nullcontext():
        assert checking.check(case).runs > 0


def test_a_fault_is_made_small(monkeypatch):
    monkeypatch.setattr(checking, "rules", lambda: (wrong_everywhere, wrong_for_minus_zero))
    small = shrink(case_of("a = Neg(x) b = Relu(a) c = Abs(z) d = Mul(b, c) e = Add(d, zero) f = Abs(e) y = Exp(f)"))
    assert [node.op_type for node in small.model.graph.node] == ["Identity", "Relu"]
    assert needed_rules(small) == ["wrong_everywhere"]
