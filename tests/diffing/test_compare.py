from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import foldproof
from foldproof import model_file
from foldproof.diffing import Difference, compare
from tests.helpers import parse

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "diff.schema.json").read_text(encoding="utf-8"))

CHAIN = "g (float[N,3] x) => (float[N,3] y) <float[3] c = {1, 2, 3}> { a = Relu(x) b = Mul(a, c) y = Exp(b) }"


def between(a: onnx.ModelProto, b: onnx.ModelProto) -> Difference:
    found = compare(model_file.from_proto(a), model_file.from_proto(b))
    jsonschema.validate(json.loads(json.dumps(found.to_dict())), SCHEMA)
    return found


def diff(a: str, b: str, **options: object) -> Difference:
    return between(parse(a, **options), parse(b, **options))


def what(changes: object) -> list[tuple[str, str | None, str | None]]:
    return [(change.what, change.before, change.after) for change in changes]  # type: ignore[attr-defined]


def test_a_model_is_equal_to_itself() -> None:
    found = diff(CHAIN, CHAIN)
    assert found.is_equal
    assert not found.is_renamed
    assert found.operators_a == found.operators_b == {"Relu": 1, "Mul": 1, "Exp": 1}


def test_other_inner_names_are_no_difference() -> None:
    found = diff(
        CHAIN,
        CHAIN.replace("a", "q")
        .replace("b)", "r)")
        .replace("b =", "r =")
        .replace("flo" + "qt", "float")
        .replace("c", "k"),
    )
    assert found.is_equal
    assert set(found.renamed_values) == {("a", "q"), ("b", "r"), ("c", "k")}


def test_names_that_are_swapped_do_not_mislead() -> None:
    a = "g (float[N] x) => (float[N] y) { p = Relu(x) q = Exp(p) r = Abs(q) y = Neg(r) }"
    b = "g (float[N] x) => (float[N] y) { r = Relu(x) p = Exp(r) q = Abs(p) y = Neg(q) }"
    found = diff(a, b)
    assert found.is_equal
    assert set(found.renamed_values) == {("p", "r"), ("q", "p"), ("r", "q")}


def test_of_nodes_that_compute_the_same_those_go_together_that_are_read_alike() -> None:
    a = """g (float[N] x) => (float[N] y) {
        p = Relu(x) q = Relu(x) r = Exp(p) s = Exp(q) t = Sin(r) u = Cos(s) y = Add(t, u) }"""
    b = """g (float[N] x) => (float[N] y) {
        h = Relu(x) g = Relu(x) j = Exp(h) i = Exp(g) k = Sin(i) l = Cos(j) y = Add(k, l) }"""
    found = diff(a, b)
    assert found.is_equal
    assert set(found.renamed_values) == {("p", "g"), ("q", "h"), ("r", "i"), ("s", "j"), ("t", "k"), ("u", "l")}


def test_the_order_of_nodes_is_no_difference() -> None:
    a = "g (float[N] x) => (float[N] y) { p = Relu(x) q = Exp(x) y = Add(p, q) }"
    b = "g (float[N] x) => (float[N] y) { q = Exp(x) p = Relu(x) y = Add(p, q) }"
    assert diff(a, b).is_equal


def test_a_node_that_is_left_out_is_one_difference_and_what_reads_it_another() -> None:
    a = "g (float[N] x) => (float[N] y) { p = Relu(x) q = Exp(p) r = Abs(q) s = Sin(r) y = Neg(s) }"
    b = "g (float[N] x) => (float[N] y) { p = Relu(x) r = Abs(p) s = Sin(r) y = Neg(s) }"
    found = diff(a, b)
    assert [node.text for node in found.nodes_removed] == ["Exp(p) -> q"]
    assert found.nodes_added == ()
    ((change,),) = [[each] for each in found.nodes_changed]
    assert (change.before.text, what(change.changes)) == ("Abs(q) -> r", [("input 0", "q", "p")])


def test_the_same_with_all_names_changed() -> None:
    a = "g (float[N] x) => (float[N] y) { p = Relu(x) q = Exp(p) r = Abs(q) s = Sin(r) y = Neg(s) }"
    b = "g (float[N] x) => (float[N] y) { k = Relu(x) l = Abs(k) m = Sin(l) y = Neg(m) }"
    found = diff(a, b)
    assert [node.operator for node in found.nodes_removed] == ["Exp"]
    assert (found.nodes_added, [change.after.text for change in found.nodes_changed]) == ((), ["Abs(k) -> l"])


def test_a_changed_attribute_is_told_with_both_values() -> None:
    a = "g (float[N,3] x) => (float[N,3] y) { a = Relu(x) b = Softmax<axis=1>(a) y = Exp(b) }"
    found = diff(a, a.replace("axis=1", "axis=0"))
    (change,) = found.nodes_changed
    assert what(change.changes) == [("attribute axis", "1", "0")]
    assert (found.nodes_removed, found.nodes_added) == ((), ())


def test_negative_zero_and_nan_are_themselves() -> None:
    def model(alpha: float) -> onnx.ModelProto:
        node = helper.make_node("Elu", ["x"], ["y"], alpha=alpha)
        value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in "xy"]
        return helper.make_model(
            helper.make_graph([node], "g", value[:1], value[1:]), opset_imports=[helper.make_opsetid("", 18)]
        )

    assert between(model(float("nan")), model(float("nan"))).is_equal
    assert not between(model(0.0), model(-0.0)).is_equal


def test_swapped_inputs_are_a_difference() -> None:
    a = "g (float[N] x, float[N] z) => (float[N] y) { p = Relu(x) q = Exp(z) y = Sub(p, q) }"
    (change,) = diff(a, a.replace("Sub(p, q)", "Sub(q, p)")).nodes_changed
    assert what(change.changes) == [("input 0", "p", "q"), ("input 1", "q", "p")]


def test_two_random_nodes_are_not_one() -> None:
    """Both compute alike, but a sum of one with itself is not a sum of two."""
    a = "g () => (float[2] y) { p = RandomNormal<shape=[2]>() q = RandomNormal<shape=[2]>() y = Add(p, q) }"
    found = diff(a, a.replace("Add(p, q)", "Add(p, p)"))
    assert [what(change.changes) for change in found.nodes_changed] == [[("input 1", "q", "p")]]


def test_a_constant_of_other_content_is_one_difference() -> None:
    found = diff(CHAIN, CHAIN.replace("{1, 2, 3}", "{1, 2, 4}"))
    ((change,),) = [[each] for each in found.constants_changed]
    assert (change.before.name, change.after.name, change.before.type) == ("c", "c", "float32[3]")
    assert (found.nodes_changed, found.constants_removed, found.constants_added) == ((), (), ())


def test_constants_go_together_by_content_whatever_they_are_called() -> None:
    a = "g (float[3] x) => (float[3] y) <float[3] c = {1, 2, 3}, float[3] d = {4, 5, 6}> { p = Mul(x, c) y = Add(p, d) }"
    b = "g (float[3] x) => (float[3] y) <float[3] d = {1, 2, 3}, float[3] c = {4, 5, 6}> { p = Mul(x, d) y = Add(p, c) }"
    found = diff(a, b)
    assert found.is_equal
    assert set(found.renamed_values) == {("c", "d"), ("d", "c")}


def test_a_constant_node_and_an_initializer_hold_the_same() -> None:
    a = "g (int64[2] x) => (int64[2] y) { c = Constant<value_ints=[1, 2]>() y = Add(x, c) }"
    b = "g (int64[2] x) => (int64[2] y) <int64[2] c = {1, 2}> { y = Add(x, c) }"
    found = diff(a, b)
    assert (found.nodes_removed, found.nodes_added, found.nodes_changed) == ((), (), ())
    assert [(change.before.kind, change.after.kind) for change in found.constants_moved] == [
        ("Constant", "initializer")
    ]


def test_copies_of_a_constant_are_counted() -> None:
    a = "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}, float[2] d = {1, 2}> { p = Mul(x, c) y = Add(p, d) }"
    b = "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { p = Mul(x, c) y = Add(p, c) }"
    found = diff(a, b)
    assert [each.name for each in found.constants_merged] == ["d"]
    assert (found.constants_removed, found.nodes_changed) == ((), ())


def test_external_data_is_compared_by_content(tmp_path: Path) -> None:
    def saved(folder: str, last: float) -> Path:
        weights = np.arange(1000, dtype=np.float32)
        weights[-1] = last
        value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1000]) for name in "xy"]
        graph = helper.make_graph(
            [helper.make_node("Add", ["x", "w"], ["y"])],
            "g",
            value[:1],
            value[1:],
            [numpy_helper.from_array(weights, "w")],
        )
        path = tmp_path / folder / "model.onnx"
        path.parent.mkdir()
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
        onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
        return path

    a, b, c = saved("a", 1), saved("b", 1), saved("c", 2)
    assert compare(model_file.read(a), model_file.read(b)).is_equal
    assert [each.before.name for each in compare(model_file.read(a), model_file.read(c)).constants_changed] == ["w"]
    (tmp_path / "c" / "weights.bin").unlink()
    with pytest.raises(foldproof.ModelError, match="can't be read"):
        compare(model_file.read(a), model_file.read(c))


def test_weights_of_other_shapes_are_not_read() -> None:
    a = parse("g (float[3] x) => (float[3] y) <float[3] c = {1, 2, 3}> { y = Add(x, c) }")
    b = parse("g (float[3] x) => (float[3] y) <float[1] c = {1}> { y = Add(x, c) }")
    for model in (a, b):
        (tensor,) = model.graph.initializer
        tensor.ClearField("float_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="missing.bin")
    assert [each.after.type for each in between(a, b).constants_changed] == ["float32[1]"]


def test_the_signature_is_compared_by_name_and_order() -> None:
    a = "g (float[N,3] x, int64[2] z) => (float[N,3] y, int64[2] w) { y = Relu(x) w = Neg(z) }"
    b = "g (int64[2] z, float[M,3] x) => (float[N,3] y, int64[2] w) { y = Relu(x) w = Neg(z) }"
    found = diff(a, b)
    assert what(found.signature) == [
        ("order of the inputs", "x, z", "z, x"),
        ("input x", "float32[N, 3]", "float32[M, 3]"),
    ]
    assert (found.nodes_changed, found.renamed_values) == ((), ())


def test_an_output_that_another_node_makes() -> None:
    a = "g (float[N] x) => (float[N] y, float[N] z) { y = Relu(x) z = Exp(x) }"
    b = "g (float[N] x) => (float[N] y, float[N] z) { z = Relu(x) y = Exp(x) }"
    found = diff(a, b)
    assert what(found.outputs) == [("y of g", "Relu(x) -> y", "Exp(x) -> y"), ("z of g", "Exp(x) -> z", "Relu(x) -> z")]
    assert not found.is_equal


def test_a_default_input_is_no_constant() -> None:
    a = "g (float[2] x, float[2] d) => (float[2] y) <float[2] d = {1, 2}> { y = Add(x, d) }"
    found = diff(a, a.replace("float[2] x, float[2] d", "float[2] x"))
    assert what(found.signature) == [("input d", "float32[2], with a default", None)]
    assert not found.is_equal


def test_opsets_versions_and_metadata() -> None:
    a, b = parse(CHAIN, opset=18, ir_version=9), parse(CHAIN, opset=19, ir_version=10)
    b.metadata_props.add(key="author", value="me")
    b.graph.node[0].doc_string = "first"
    found = between(a, b)
    assert what(found.opsets) == [("ai.onnx", "18", "19")]
    assert what(found.metadata) == [
        ("IR version", "9", "10"),
        ("metadata author", None, "me"),
        ("node a: doc string", "", "first"),
    ]
    assert not found.is_equal


def test_declarations_of_inner_values() -> None:
    a, b = parse(CHAIN), parse(CHAIN)
    b.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["N", 3]))
    assert what(between(a, b).declared) == [("a", None, "float32[N, 3]")]


BRANCHES = """g (float[N] x, bool c) => (float[N] y) { k = Relu(x)
    y = If (c) <then_branch = t () => (float[N] p) { o = Exp(k) p = Abs(o) }, else_branch = e () => (float[N] q) { q = Neg(x) }> }"""


def test_bodies_are_compared_too() -> None:
    assert diff(
        BRANCHES, BRANCHES.replace("k", "kk").replace("o = Exp", "oo = Exp").replace("Abs(o)", "Abs(oo)")
    ).is_equal
    found = diff(BRANCHES, BRANCHES.replace("Exp", "Sin"))
    assert [(node.operator, node.graph) for node in found.nodes_removed] == [("Exp", "g/t")]
    assert [(node.operator, node.graph) for node in found.nodes_added] == [("Sin", "g/t")]


def test_what_a_body_captures_counts() -> None:
    (change,) = diff(BRANCHES, BRANCHES.replace("Neg(x)", "Neg(k)")).nodes_changed
    assert (change.before.graph, what(change.changes)) == ("g/e", [("input 0", "x", "k")])


FUNCTION = '<domain: "my", opset_import: ["": 18]> F (a) => (c) { b = Relu(a) c = Exp(b) }'
CALL = "g (float[N] x) => (float[N] y) { y = my.F(x) }"


def test_functions_are_compared_by_what_they_hold() -> None:
    same = between(
        *(
            parse(CALL, imports='"my": 1', functions=text)
            for text in (FUNCTION, FUNCTION.replace("b", "k").replace("douk", "doub"))
        )
    )
    assert not same.nodes_removed
    other = between(
        *(parse(CALL, imports='"my": 1', functions=text) for text in (FUNCTION, FUNCTION.replace("Relu", "Abs")))
    )
    assert [(node.operator, node.graph) for node in other.nodes_removed] == [("Relu", "F")]


def test_a_function_that_only_one_has() -> None:
    found = between(parse(CALL, imports='"my": 1', functions=FUNCTION), parse(CALL, imports='"my": 1'))
    ((name, before, after),) = what(found.functions)
    assert (name, after) == ("my::F", None)
    assert before is not None
    assert before.startswith("1 inputs, 1 outputs")
    assert [node.graph for node in found.nodes_removed] == ["F", "F"]


def test_an_optimized_model_shows_its_rewrites() -> None:
    a = parse(
        "g (float[N,3] x, float[3,4] w, float[4] b, float[2,3] z) => (float[N,M] y, int64 s) { r = Relu(x) p = MatMul(r, w) q = Add(p, b) y = Exp(q) s = Size(z) }"
    )
    b = foldproof.optimize(a, verify=False)
    found = between(a, b)
    assert sorted(node.operator for node in found.nodes_removed) == ["Add", "MatMul", "Size"]
    assert [node.operator for node in found.nodes_added] == ["Gemm"]
    assert [(change.before.operator, what(change.changes)[0][0]) for change in found.nodes_changed] in (
        [("Exp", "input 0")],
        [],
    )
    assert [each.type for each in found.constants_added] == ["int64[]"]


def test_two_models_with_nothing_in_common() -> None:
    found = diff(CHAIN, "h (int64[2] k) => (int64[2] m) { m = Neg(k) }")
    assert {node.operator for node in found.nodes_removed} == {"Relu", "Mul", "Exp"}
    assert [node.operator for node in found.nodes_added] == ["Neg"]


def test_a_change_in_a_long_chain_of_like_nodes_is_found_in_its_place() -> None:
    def chain(length: int, without: int = -1) -> onnx.ModelProto:
        operators = ["Relu", "Abs", "Neg", "Exp", "Tanh"]
        nodes, last = [], "x"
        for k in range(length):
            if k != without:
                nodes.append(helper.make_node(operators[k % 5], [last], [f"v{k}{'' if without < 0 else 'r'}"]))
                last = nodes[-1].output[0]
        nodes.append(helper.make_node("Identity", [last], ["y"]))
        value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in "xy"]
        return helper.make_model(
            helper.make_graph(nodes, "g", value[:1], value[1:]), opset_imports=[helper.make_opsetid("", 18)]
        )

    found = between(chain(1000), chain(1000, without=500))
    assert [node.output for node in found.nodes_removed] == ["v500"]
    assert (found.nodes_added, [change.before.output for change in found.nodes_changed]) == ((), ["v501"])
