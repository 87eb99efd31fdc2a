from __future__ import annotations

import json
from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

import foldproof
from foldproof.explaining import explain
from foldproof.provenance import Gone, Origin, Record
from tests.helpers import parse

CHAIN = """g (float[N,3] x, float[3,4] w, float[4] b, float[2,3] z) => (float[N,M] y, int64 s) {
    p = MatMul(x, w) y = Add(p, b) s = Size(z) }"""


def optimized(model: onnx.ModelProto, **options: object) -> onnx.ModelProto:
    found = foldproof.optimize(model, verify=False, provenance=True, **options)
    assert isinstance(found, onnx.ModelProto)
    onnx.checker.check_model(found)
    return found


def record_of(model: onnx.ModelProto) -> Record:
    record = Record.read(ir.from_proto(model))
    assert record is not None
    return record


def gone_of(model: onnx.ModelProto) -> dict[str, Gone]:
    return {gone.output: gone for gone in record_of(model).gone}


def told(node: onnx.NodeProto) -> dict[str, object]:
    return {each.key: json.loads(each.value) for each in node.metadata_props if each.key.startswith("foldproof.")}


def test_a_new_node_tells_what_it_was_made_of() -> None:
    (gemm,) = optimized(parse(CHAIN)).graph.node
    assert gemm.op_type == "Gemm"
    assert told(gemm) == {"foldproof.from": ["y", "p"], "foldproof.rules": ["matmul_add"]}


def test_what_is_gone_tells_what_has_its_place() -> None:
    gone = gone_of(optimized(parse(CHAIN)))
    assert (gone["y"].operator, gone["y"].graph, gone["y"].now) == ("Add", "g", ("y",))
    assert (gone["p"].now, gone["p"].into) == ((), ("y",))
    assert "matmul_add" in gone["p"].rules
    assert gone["s"].now == ("s",)


def test_a_constant_tells_what_it_was_made_of() -> None:
    model = optimized(
        parse(
            "g (float[N] x, float[2,3] z) => (float[N] y) { s = Size(z) f = Cast<to=1>(s) q = Sqrt(f) y = Mul(x, q) }"
        )
    )
    (constant,) = [tensor.name for tensor in model.graph.initializer]
    assert set(record_of(model).constants[constant].nodes) == {"s", "f", "q"}
    assert {output: gone.now or gone.into for output, gone in gone_of(model).items()} == {
        "s": (constant,),
        "f": (constant,),
        "q": (constant,),
    }


def test_a_chain_of_rewrites_leads_to_what_is_there_at_last() -> None:
    body = "g (float[N,3] x, float[3,4] w, float[4] b) => (float[N,M] y) { i = Identity(x) j = Identity(i) p = MatMul(j, w) k = Identity(p) y = Add(k, b) }"
    gone = gone_of(optimized(parse(body)))
    assert gone["i"].now == gone["j"].now == ("x",)
    assert gone["k"].into == gone["p"].into == ("y",)


def test_what_nothing_read_is_in_nothing() -> None:
    gone = gone_of(optimized(parse("g (float[N] x) => (float[N] y) { dead = Exp(x) y = Relu(x) }")))
    assert gone == {"dead": Gone("dead", "", "Exp", "g", ("dead_node",))}


def test_what_was_not_touched_tells_nothing() -> None:
    model = optimized(parse("g (float[N] x) => (float[N] y) { y = Relu(x) }"))
    assert told(model.graph.node[0]) == {}
    assert record_of(model) == Record()


def test_merged_branches_and_bodies_are_told_too() -> None:
    body = """g (float[2,3] x, float[N] z, bool c) => (int64 s) {
        s = If (c) <then_branch = a () => (int64 p) { p = Size(x) }, else_branch = b () => (int64 q) { q = Size(z) }> }"""
    gone = gone_of(optimized(parse(body)))
    assert gone["p"].graph == "g/a"
    assert gone["p"].now == ("p",)


def test_a_node_that_takes_the_name_of_an_output_is_known_by_its_own() -> None:
    model = optimized(parse("g (float[N] x) => (float[N] y) { a = Exp(x) b = Identity(a) y = Identity(b) }"))
    (node,) = model.graph.node
    assert (node.op_type, node.output[0]) == ("Exp", "y")
    assert told(node)["foldproof.from"] == ["a"]
    assert gone_of(model)["b"].now == ("y",)


def test_without_the_option_nothing_is_written() -> None:
    model = foldproof.optimize(parse(CHAIN), verify=False)
    assert isinstance(model, onnx.ModelProto)
    assert not model.metadata_props
    assert all(not node.metadata_props for node in model.graph.node)
    with_it = optimized(parse(CHAIN))
    del with_it.metadata_props[:]
    for node in with_it.graph.node:
        del node.metadata_props[:]
    assert with_it == model


def test_a_second_run_changes_nothing() -> None:
    once = optimized(parse(CHAIN))
    assert optimized(once) == once


def test_a_later_run_goes_on_from_the_original() -> None:
    body = "g (float[N,3] x) => (float[M] y, int64 s) <float[1] h = {2.0}> { r = Relu(x) s = Size(r) f = Cast<to=1>(s) y = Mul(f, h) }"
    first = optimized(parse(body))
    assert "r" in gone_of(first)
    second = optimized(first, set_dim={"N": 4})
    gone = gone_of(second)
    # r went in the first run, s and all that it led to in the second: 12, and 24.0.
    assert {"r", "s", "f", "y"} <= set(gone)
    assert gone["s"].now == ("s",)
    assert gone["y"].now == ("y",)
    assert {"r"} <= {name for each in record_of(second).constants.values() for name in each.nodes} | set(gone)


@pytest.mark.parametrize("ir_version", [8, 9])
def test_an_old_model_tells_it_in_its_own_metadata(ir_version: int) -> None:
    model = optimized(parse(CHAIN, ir_version=ir_version))
    assert model.ir_version == ir_version
    assert all(not node.metadata_props for node in model.graph.node)
    assert list(record_of(model).nodes.values()) == [Origin(("y", "p"), ("matmul_add",))]
    assert optimized(model) == model


def test_the_report_says_where_an_old_model_tells_it() -> None:
    options = foldproof.Options(verify=False, provenance=True)
    old = foldproof.Optimizer(options).run(parse(CHAIN, ir_version=8)).report
    assert any("no metadata in IR version 8" in warning for warning in old.warnings)
    assert foldproof.Optimizer(options).run(parse(CHAIN, ir_version=10)).report.warnings == ()


def test_other_metadata_stays() -> None:
    model = parse(CHAIN)
    model.metadata_props.add(key="author", value="me")
    model.graph.node[0].metadata_props.add(key="layer", value="fc")
    found = optimized(model)
    assert {each.key for each in found.metadata_props} == {"author", "foldproof.provenance"}
    assert {each.key: each.value for each in found.graph.node[0].metadata_props}["layer"] == "fc"


def test_inlined_functions_lead_to_their_call() -> None:
    function = '<domain: "my", opset_import: ["": 18]> F (a) => (c) { b = Exp(a) c = Sin(b) }'
    model = parse("g (float[N] x) => (float[N] y) { y = my.F(x) }", imports='"my": 1', functions=function)
    found = optimized(model, inline_functions=True)
    assert [node.op_type for node in found.graph.node] == ["Exp", "Sin"]
    assert all(told(node)["foldproof.from"] == ["y"] for node in found.graph.node)


def test_explain_answers_where_a_node_went_and_what_made_one(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    onnx.save(optimized(parse(CHAIN)), file)
    found = explain(file, nodes=["p"])
    assert (found.found, [each.into for each in found.gone]) == ((), [("y",)])
    both = explain(file, nodes=["y"])
    assert [each.origin for each in both.found] == [Origin(("y", "p"), ("matmul_add",))]
    assert [each.operator for each in both.gone] == ["Add"]


def test_what_can_not_be_read_is_an_error(tmp_path: Path) -> None:
    model = parse(CHAIN)
    model.metadata_props.add(key="foldproof.provenance", value='{"version": 99}')
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(foldproof.ModelError, match="it has the version 99"):
        explain(tmp_path / "model.onnx")
    with pytest.raises(foldproof.ModelError, match=r"foldproof\.provenance"):
        foldproof.optimize(model, verify=False, provenance=True)
    foldproof.optimize(model, verify=False)  # without the option nobody reads it
