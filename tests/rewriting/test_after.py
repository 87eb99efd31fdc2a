"""`Rule.after` only spares questions: at a node that it rules out, the rule has nothing to say."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

from foldproof.facts import Facts
from foldproof.facts.schema_form import malformation
from foldproof.graphs import all_graphs
from foldproof.rewriting import Rewriter, Rule, rule
from foldproof.rewriting.examples import example_of
from foldproof.rewriting.packs import installed
from tests.helpers import parse

RULES = installed()
PICKY = [each for each in RULES if each.after]
MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.onnx"))


def makers_of(node: ir.Node) -> frozenset[str]:
    producers = [value.producer() for value in node.inputs if value is not None]
    return frozenset(producer.op_type for producer in producers if producer is not None)


def answers(proto: onnx.ModelProto) -> list[tuple[Rule, ir.Node, object]]:
    """What rules say at the nodes of their operators that come after none of the operators that they name."""
    model = ir.from_proto(proto)
    facts = Facts(model)
    found = []
    for graph in all_graphs(model):
        for node in graph:
            version = facts.opset_version(node)
            if malformation(node, version) is None:
                rules = [each for each in PICKY if each.is_for(node.domain, node.op_type, version)]
                ruled_out = [each for each in rules if not each.is_after(makers_of(node))]
                found += [(each, node, each.apply(node, facts)) for each in ruled_out]
    return found


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_what_is_ruled_out_in_the_sample_models_does_not_apply(path: Path) -> None:
    assert [each for each in answers(onnx.load(path)) if each[2] is not None] == []


def test_what_is_ruled_out_in_the_examples_of_all_rules_does_not_apply() -> None:
    examples = [example for each in RULES if (example := example_of(each)) is not None]
    found = [each for example in examples for each in answers(example)]
    assert len({each[0].name for each in found}) > 30, "hardly a rule was put to the test"
    assert [each for each in found if each[2] is not None] == []


def test_a_rule_is_asked_only_after_the_operators_that_it_names() -> None:
    asked = []

    @rule("Mul", exact=True, after=("Exp", "Log"))
    def noting(node: ir.Node, facts: Facts) -> None:
        """x = x."""
        asked.append(node.outputs[0].name)

    model = ir.from_proto(
        parse("g (float[N] x) => (float[N] a, float[N] b, float[N] c) { e = Exp (x)  s = Sin (x)"
              "  a = Mul (x, e)  b = Mul (s, x)  c = Mul (x, x) }")
    )  # fmt: skip
    Rewriter(model, Facts(model), [noting]).run()
    assert asked == ["a"]


def test_an_expression_rule_names_the_operators_of_its_pattern() -> None:
    (found,) = [each for each in RULES if each.name == "neg_of_neg"]
    assert found.after == ("Neg",)
