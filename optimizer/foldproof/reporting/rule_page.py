"""What there is to say of a rule, with its example before and after."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import onnx

from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.rewriting import ANY, Cost, Rule
from foldproof.rewriting.examples import example_of
from foldproof.rewriting.rule import LAST_OPSET

CLEAN_UP = ("dead_node", "unused_initializer")
"""The rules that take away what another one has left without a reader."""

LOWERS = {
    Cost.CALLS: "the calls of the model's own functions",
    Cost.CONTROL: "the nodes that hold bodies",
    Cost.NODES: "the nodes",
    Cost.NESTING: "the nodes inside bodies",
    Cost.EXPRESSION: "the operators that an output is made by",
    Cost.FORM: "the nodes in a form for which there is a cheaper one",
    Cost.OPERANDS: "the values that nodes read and make",
    Cost.STORED: "the nodes and initializers that are stored",
}
"""The costs in words."""


@dataclasses.dataclass(frozen=True)
class RulePage:
    """A rule, and its example as graphs in ONNX's text form.

    Attributes:
        rule: The rule.
        before: The example, empty where the rule gives none.
        after: What the rule makes of it.
    """

    rule: Rule
    before: str
    after: str

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**summary(self.rule), "before": self.before, "after": self.after}


def page_of(rule: Rule, rules: Sequence[Rule]) -> RulePage:
    """The page of a rule.

    Args:
        rule: The rule.
        rules: All rules, among which are those that clean up.

    Raises:
        UsageError: Its example is no model.
        RuleError: It fails in its example.
    """
    example = example_of(rule)
    if example is None:
        return RulePage(rule, "", "")
    return RulePage(rule, _graph_text(example), _graph_text(rewritten_example(rule, example, rules)))


def rewritten_example(rule: Rule, example: onnx.ModelProto, rules: Sequence[Rule]) -> onnx.ModelProto:
    """What a rule makes of its example, by itself but for the clean-up."""
    applied = [each for each in rules if each.name in (rule.name, *CLEAN_UP)]
    model = Optimizer(Options(verify=False, level=3), applied).run(example).model
    assert isinstance(model, onnx.ModelProto)
    return model


def summary(rule: Rule) -> dict[str, Any]:
    """All that a rule says of itself, for JSON."""
    return {
        "name": rule.name,
        "family": rule.family,
        "equation": rule.equation,
        "class": "exact" if rule.exact else "tolerant",
        "operators": [] if ANY in rule.op_types else list(rule.op_types),
        "domain": rule.domain,
        "since": rule.since,
        "until": None if rule.until == LAST_OPSET else rule.until,
        "level": rule.level,
        "benefit": rule.benefit,
        "lowers": rule.lowers.name,
        "explanation": rule.explanation,
        "example": rule.example,
    }


def _graph_text(model: onnx.ModelProto) -> str:
    """A model's main graph, without the names of nodes and the declarations of inner values."""
    graph = onnx.GraphProto()
    graph.CopyFrom(model.graph)
    graph.ClearField("value_info")
    for node in graph.node:
        node.ClearField("name")
    return "\n".join(line.rstrip().replace("=  {", "= {") for line in onnx.printer.to_text(graph).splitlines())
