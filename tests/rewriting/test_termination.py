"""Rewriting ends: each rewrite lowers the cost that its rule declares, and raises none that stands before it."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.rewriting import Cost, Rule
from foldproof.rewriting.examples import example_of
from foldproof.rewriting.packs import installed
from tests.rewriting.cost import costs

MODELS = Path(__file__).parents[2] / "models"
RULES = installed()
BY_NAME = {rule.name: rule for rule in RULES}


def assert_each_rewrite_lowers_its_cost(model: onnx.ModelProto, rules: list[Rule]) -> None:
    options = {"verify": False, "level": 3}
    ledger = Optimizer(Options(**options), rules).run(model).report.ledger
    before, before_with_dead = (costs(ir.from_proto(model), dead=dead) for dead in (False, True))
    for entry in ledger:
        prefix = Optimizer(Options(**options, stop_after=entry.number), rules).run(model)
        assert [each.rule for each in prefix.report.ledger] == [each.rule for each in ledger[: entry.number]]
        after, after_with_dead = (costs(ir.from_proto(prefix.model), dead=dead) for dead in (False, True))
        changes = {cost: after[cost] - before[cost] for cost in Cost if after[cost] != before[cost]}
        text = f"{entry.rule} at {entry.place}: {entry.removed} => {entry.added}: {changes}"
        lowered = BY_NAME[entry.rule].lowers
        if set(changes) <= {
            Cost.STORED
        }:  # it is at what nothing reads, such as what is folded in a batch with its reader
            assert tuple(after_with_dead.values()) < tuple(before_with_dead.values()), text
        else:
            assert all(change < 0 for cost, change in changes.items() if cost < lowered), text
            assert changes.get(lowered, 0) < 0 or min(changes) < lowered, text
        before, before_with_dead = after, after_with_dead


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_lowers_its_declared_cost_in_its_example(rule: Rule) -> None:
    example = example_of(rule)
    assert example is not None
    clean_up = [BY_NAME[name] for name in ("dead_node", "unused_initializer") if name != rule.name]
    assert_each_rewrite_lowers_its_cost(example, [rule, *clean_up])


@pytest.mark.parametrize("name", ["mean_pooling", "static_mean", "branches_and_loop"])
def test_each_rewrite_of_a_sample_model_lowers_the_cost_that_its_rule_declares(name: str) -> None:
    model = onnx.load(MODELS / f"{name}.onnx")
    assert_each_rewrite_lowers_its_cost(model, RULES)


def test_a_cheaper_form_is_never_turned_back() -> None:
    """What a rule that only changes the form makes, no rule makes into what it was."""
    for rule in RULES:
        if rule.lowers is Cost.FORM:
            example = example_of(rule)
            assert example is not None
            ledger = Optimizer(Options(verify=False, level=3), RULES).run(example).report.ledger
            places = [(entry.rule, entry.place) for entry in ledger]
            assert len(places) == len(set(places)), rule.name
