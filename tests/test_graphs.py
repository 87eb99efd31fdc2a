"""What is asked about nodes, graphs and schemas."""

from __future__ import annotations

import onnx
import onnx_ir as ir
import pytest

from foldproof.graphs import admitted_types, captured_by, reads_of
from tests.helpers import parse


def test_the_admitted_types_are_those_that_onnx_tells() -> None:
    """But for maps, which its two answers spell in different ways."""
    for schema in onnx.defs.get_all_schemas_with_history():
        for formal in [*schema.inputs, *schema.outputs]:
            try:
                told = set(formal.types)
            except TypeError:
                pytest.skip("this version of onnx can't hand out the types of a parameter")
            admitted = admitted_types(schema, formal)
            if not any("map(" in each for each in told):
                assert admitted == told, (schema.name, schema.since_version, formal.name)


NESTED = """g (float[N] x, float[N] w, bool c, bool d) => (float[N] y) {
    z = Exp(x)
    y = If (c) <then_branch = t () => (float[N] p) {
                    k = Neg(z)
                    p = If (d) <then_branch = t1 () => (float[N] a) { a = Add(k, w) },
                                else_branch = e1 () => (float[N] b) { b = Abs(z) }> },
                else_branch = e () => (float[N] q) { q = Abs(x) }> }"""


def test_a_node_reads_its_inputs_and_what_its_bodies_take_from_around_it() -> None:
    graph = ir.from_proto(parse(NESTED)).graph
    outer = graph[1]
    inner = outer.attributes["then_branch"].as_graph()[1]
    assert [value.name for value in reads_of(graph[0])] == ["x"]
    assert {value.name for value in reads_of(outer)} == {"c", "z", "x", "d", "w"}
    assert {value.name for value in reads_of(inner)} == {"d", "k", "w", "z"}
    assert reads_of(outer)[0].name == "c"


def test_who_has_seen_enough_of_what_bodies_read_looks_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    outer = ir.from_proto(parse(NESTED)).graph[1]
    read = []
    inputs = ir.Node.inputs.fget
    monkeypatch.setattr(ir.Node, "inputs", property(lambda node: read.append(node) or inputs(node)))
    next(captured_by(outer))
    assert len(read) == 1
    assert len(list(captured_by(outer))) == 5
    assert len(read) == 1 + 5
