"""What must hold of any provenance, over the examples of all rules and the sample models."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

import foldproof
from foldproof.graphs import all_graphs
from foldproof.provenance import Record
from foldproof.provenance.record import FROM, RECORD, RULES
from foldproof.rewriting import Rule
from foldproof.rewriting.description import place_of
from foldproof.rewriting.examples import example_of
from foldproof.rewriting.packs import installed

RULES_WITH_EXAMPLES = [rule for rule in installed() if example_of(rule) is not None]
SAMPLES = sorted((Path(__file__).parents[2] / "models").glob("*.onnx"))


def check(model: onnx.ModelProto, **options: object) -> None:
    optimized = foldproof.optimize(model, verify=False, provenance=True, **options)
    assert isinstance(optimized, onnx.ModelProto)
    original, result = ir.from_proto(model), ir.from_proto(optimized)
    record = Record.read(result)
    assert record is not None
    before = {place_of(node) for graph in all_graphs(original) for node in graph}
    rules = {rule.name for rule in installed()}
    there = {str(value.name) for graph in all_graphs(result) for value in values_of(graph)}
    gone = {each.output for each in record.gone}
    for graph in all_graphs(result):
        for node in graph:
            origin = record.nodes.get(node)
            # A node tells where it comes from, or it is one of the original.
            assert origin is not None or place_of(node) in before
            assert origin is None or set(origin.nodes) <= before
            assert origin is None or set(origin.rules) <= rules
    for origin in record.constants.values():
        assert set(origin.nodes) <= before
    assert set(record.constants) <= there
    for each in record.gone:
        assert each.output in before
        assert {name for name in (*each.now, *each.into) if name} <= there
        assert set(each.rules) <= rules
    # None is lost: each node of the original is there as it was, or gone.
    kept = {place_of(node) for graph in all_graphs(result) for node in graph if node not in record.nodes}
    named = {name for origin in record.nodes.values() for name in origin.nodes}
    assert before <= kept | gone | named
    without = foldproof.optimize(model, verify=False, **options)
    assert isinstance(without, onnx.ModelProto)
    strip(result)
    assert ir.to_proto(result) == ir.to_proto(ir.from_proto(without))


def values_of(graph: ir.Graph) -> list[ir.Value]:
    return [*graph.inputs, *graph.initializers.values(), *(output for node in graph for output in node.outputs)]


def strip(model: ir.Model) -> None:
    del model.metadata_props[RECORD]
    for graph in all_graphs(model):
        for node in graph:
            node.metadata_props.pop(FROM, None)
            node.metadata_props.pop(RULES, None)


@pytest.mark.parametrize("rule", RULES_WITH_EXAMPLES, ids=lambda rule: rule.name)
def test_of_the_example_of_each_rule(rule: Rule) -> None:
    example = example_of(rule)
    assert example is not None
    example.ir_version = 10
    check(example, level=3, inline_functions=rule.name == "inline_functions")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_of_the_sample_models(path: Path) -> None:
    check(onnx.load(path))
