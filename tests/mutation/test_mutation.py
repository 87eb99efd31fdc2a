"""Each of many wrong rules is found by verification, taken back and named, and the rest of the run is as without it."""

from __future__ import annotations

import onnx
import pytest

import foldproof
from foldproof.rewriting.examples import example_of
from foldproof.rewriting.packs import installed
from tests.helpers import needs_recent_onnxruntime
from tests.mutation.mutant import Mutant
from tests.mutation.wrong_rules import mutants

MUTANTS = mutants()
RECENT = {"reducesum_without_noop_with_empty_axes"}
"""Mutants at whose examples it was onnxruntime that was wrong."""
RULES = installed()


def among_others(example: onnx.ModelProto) -> onnx.ModelProto:
    """A model with nodes before and after, at which right rules apply: the guilty rewrite is one of several."""
    model = onnx.ModelProto()
    model.CopyFrom(example)
    given, *handed_out = (onnx.helper.make_tensor_value_info(f"aside{k}", onnx.TensorProto.BOOL, [2]) for k in range(3))
    model.graph.input.append(given)
    model.graph.output.extend(handed_out)
    make = onnx.helper.make_node
    before = [make("Not", ["aside0"], ["aside3"]), make("Not", ["aside3"], ["aside1"])]
    after = [make("And", ["aside0", "aside0"], ["aside4"]), make("Not", ["aside4"], ["aside2"])]
    nodes = [*before, *model.graph.node, *after]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(mutant, marks=needs_recent_onnxruntime if mutant.rule.name in RECENT else ()) for mutant in MUTANTS],
    ids=lambda mutant: mutant.rule.name,
)
def test_a_wrong_rule_is_found_and_taken_back(mutant: Mutant) -> None:
    example = example_of(mutant.rule)
    assert example is not None
    model = among_others(example)
    onnx.checker.check_model(model, full_check=True)
    result = foldproof.Optimizer(rules=[mutant.rule, *RULES]).run(model)
    assert result.report.verdict == "verified"
    assert [each.rule for each in result.report.taken_back] == [mutant.rule.name]
    difference = result.report.taken_back[0].difference
    assert (difference.output or mutant.output) == mutant.output
    assert mutant.at(difference.binding)
    assert mutant.feeds in difference.feeds
    without = foldproof.Optimizer(foldproof.Options(verify=False), rules=RULES).run(model)
    assert result.model.SerializeToString(deterministic=True) == without.model.SerializeToString(deterministic=True)


def test_there_are_many_under_names_of_their_own() -> None:
    names = [mutant.rule.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= 70
    assert not set(names) & {rule.name for rule in RULES}
