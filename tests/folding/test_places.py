"""What folds where: in bodies and functions, under old versions, and what never does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import foldproof
from tests.folding.folding import fold
from tests.helpers import operators, parse

W = "float[2] w = {1.0, 4.0}"


def test_names_and_order_of_outputs_stay() -> None:
    nodes = "a = Sqrt(w) b = Neg(a) y = Mul(x, b)"
    proto = parse(f"g (float[2] x) => (float[2] b, float[2] a, float[2] y) <{W}> {{ {nodes} }}")
    result = fold(proto)
    assert result.operators == ["Mul"]
    assert result.proto.graph.output == proto.graph.output
    assert result.constant("a").tolist() == [1, 2]
    assert result.constant("b").tolist() == [-1, -2]


def test_of_several_outputs_those_that_are_read_are_stored() -> None:
    proto = parse("g (float[2] x) => (float[2] y) <float[4] w = {1, 4, 3, 2}, int64[1] k = {2}> {"
                  " a, i = TopK(w, k) y = Mul(x, a) }")  # fmt: skip
    result = fold(proto)
    assert result.operators == ["Mul"]
    assert [tensor.name for tensor in result.proto.graph.initializer] == ["a"]
    assert result.constant("a").tolist() == [4, 3]


def test_in_a_body_it_becomes_an_initializer_of_the_main_graph() -> None:
    proto = parse(f"""g (float[2] x, bool c) => (float[2] y) <{W}> {{
        y = If(c) <then_branch = t () => (float[2] p) {{ q = Sqrt(w) p = Add(q, x) }},
                   else_branch = e () => (float[2] r) {{ r = Neg(w) }}>
    }}""")
    result = fold(proto)
    then, other = (attribute.g for attribute in result.proto.graph.node[0].attribute)
    assert [node.op_type for node in then.node] == ["Add"]
    assert [node.op_type for node in other.node] == []
    assert result.constant("q").tolist() == [1, 2]


def test_what_a_body_reads_of_its_loop_stays() -> None:
    proto = parse(f"""g (int64 n, float[2] x) => (float[2] y) <{W}> {{
        y = Loop(n, , x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] e) {{
            s = Cos(w) e = Add(a, s) d = Less(i, n) }}>
    }}""")
    result = fold(proto)
    body = result.proto.graph.node[0].attribute[0].g
    assert [node.op_type for node in body.node] == ["Add", "Less"]


def test_a_node_with_a_body_folds_whole() -> None:
    proto = parse(f"""g (float[2] x) => (float[2] y) <{W}> {{
        c = Constant<value = bool {{1}}>()
        z = If(c) <then_branch = t () => (float[2] p) {{ q = Sqrt(w) p = Add(q, w) }},
                   else_branch = e () => (float[2] r) {{ r = Neg(w) }}>
        y = Mul(x, z)
    }}""")
    result = fold(proto)
    assert result.operators == ["Mul"]
    assert result.constant("z").tolist() == [2, 6]
    assert [tensor.name for tensor in result.proto.graph.initializer] == ["z"]


FUNCTION = """<domain: "d", opset_import: ["": 18]>
f (x) => (y) { c = Constant<value_floats = [1.0, 4.0]>() e = Sqrt(c) y = Mul(x, e) }"""


def test_in_a_function_it_becomes_a_constant_node() -> None:
    proto = parse("g (float[2] x) => (float[2] y) { y = d.f(x) }", imports='"d": 1', functions=FUNCTION)
    result = fold(proto)
    (function,) = result.proto.functions
    assert [node.op_type for node in function.node] == ["Constant", "Mul"]
    assert numpy_helper.to_array(function.node[0].attribute[0].t).tolist() == [1, 2]


def test_a_call_of_a_function_folds() -> None:
    text = f"g (float[2] x) => (float[2] y) <{W}> {{ z = d.f(w) y = Mul(x, z) }}"
    result = fold(parse(text, imports='"d": 1', functions=FUNCTION))
    assert result.operators == ["Mul"]
    assert result.constant("z").tolist() == [1, 8]


def test_what_depends_on_an_attribute_of_a_function_stays() -> None:
    function = """<domain: "d", opset_import: ["": 18]>
    f <k> (x) => (y) { c = Constant<value_floats = [1.0, 4.0]>() e = Elu<alpha: float = @k>(c) y = Mul(x, e) }"""
    proto = parse("g (float[2] x) => (float[2] y) { y = d.f<k = 2.0>(x) }", imports='"d": 1', functions=function)
    result = fold(proto)
    assert [node.op_type for node in result.proto.functions[0].node] == ["Constant", "Elu", "Mul"]


def test_a_function_of_another_opset_is_computed_at_its_own() -> None:
    """Softmax before opset 13 flattens; at 13 it works along the last axis."""
    function = """<domain: "d", opset_import: ["": 11]>
    f (x) => (y) { c = Constant<value = float[1,2,2] {0.0, 0.0, 0.0, 0.0}>() e = Softmax<axis = 1>(c) y = Mul(x, e) }"""
    proto = parse("""g (float[1,2,2] x) => (float[1,2,2] y, float[1,2,2] z) <float[1,2,2] w = {0, 0, 0, 0}> {
        a = d.f(x) s = Softmax(w) y = Mul(a, s) z = d.f(w) }""", imports='"d": 1', functions=function)  # fmt: skip
    result = fold(proto)
    constant = next(node for node in result.proto.functions[0].node if node.op_type == "Constant")
    assert numpy_helper.to_array(constant.attribute[0].t).ravel().tolist() == [0.25] * 4
    assert result.constant("s").ravel().tolist() == [0.5] * 4


def test_under_ir_version_3_no_input_is_added() -> None:
    proto = parse("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 4}> { a = Sqrt(w) y = Mul(x, a) }",
                  opset=8, ir_version=3)  # fmt: skip
    result = fold(proto)
    assert result.operators == ["Mul"]
    assert [value.name for value in result.proto.graph.input] == ["x"]
    assert numpy_helper.to_array(result.proto.graph.node[0].attribute[0].t).tolist() == [1, 2]


def test_a_default_that_the_caller_may_override_is_no_constant() -> None:
    proto = parse("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 4}> { a = Sqrt(w) y = Mul(x, a) }")
    assert fold(proto).operators == ["Sqrt", "Mul"]


@pytest.mark.parametrize(
    "text",
    [
        "r = RandomNormal<shape = [2]>()",
        "r = RandomNormalLike(w)",
        "r = RandomUniform<shape = [2], seed = 1.0>()",
        "q = Sigmoid(w) r = Bernoulli(q)",
        "p = Constant<value_float = 0.5>() t = Constant<value = bool {1}>() r = Dropout(w, p, t)",
        "r = com.other.Magic(w)",
        "c = Constant<value = bool {1}>() r = If(c) <then_branch = t () => (float[2] p) { p = RandomNormalLike(w) },"
        " else_branch = e () => (float[2] q) { q = Neg(w) }>",
    ],
)
def test_random_and_unknown_operators_never_fold(text: str) -> None:
    proto = parse(f"g (float[2] x) => (float[2] y) <{W}> {{ {text} y = Mul(x, r) }}", imports='"com.other": 1')
    before = [node.op_type for node in proto.graph.node if node.op_type not in ("Constant", "Sigmoid")]
    assert fold(proto).operators == before


def test_a_kept_node_stays_with_what_it_makes() -> None:
    proto = parse(f"g (float[2] x) => (float[2] y) <{W}> {{ a = Sin(w) [mine] b = Cos(a) c = Exp(b) y = Mul(x, c) }}")
    result = fold(proto, keep_node=["mine"])
    assert result.operators == ["Cos", "Exp", "Mul"]


def test_an_invalid_node_is_not_repaired_by_folding() -> None:
    nodes = "a = Elu(w) b = Cast<to = 1>(a) y = Mul(x, b)"
    proto = parse(f"g (float[2] x) => (float[2] y) <int64[2] w = {{1, 4}}> {{ {nodes} }}")
    assert fold(proto).operators == ["Elu", "Cast", "Mul"]


def test_quantized_weights_stay_in_each_form() -> None:
    text = """g (float[4] x) => (float[4] y) <{}float s = {{0.5}}, int8 zp = {{0}}> {{ {} t = Neg(d) y = Mul(x, t) }}"""
    stored = parse(text.format("int8[4] q = {1, 2, 3, 4}, ", "d = DequantizeLinear(q, s, zp)"))
    pair = "q = QuantizeLinear(k, s, zp) d = DequantizeLinear(q, s, zp)"
    fake = parse(text.format("float[4] k = {1, 2, 3, 4}, ", pair))
    assert fold(stored).operators == ["DequantizeLinear", "Neg", "Mul"]
    assert fold(fake).operators == ["QuantizeLinear", "DequantizeLinear", "Neg", "Mul"]
    for proto, expected in ((stored, [-0.5, -1, -1.5, -2]), (fake, [-1, -2, -3, -4])):
        result = fold(proto, quantized=True)
        assert result.operators == ["Mul"]
        assert result.constant("t").tolist() == expected


def test_quantized_weights_fold_on_demand_whatever_they_add() -> None:
    q = numpy_helper.from_array(np.ones((300, 400), np.int8), "q")
    s = numpy_helper.from_array(np.array(0.5, np.float32), "s")
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("DequantizeLinear", ["q", "s"], ["d"]), helper.make_node("MatMul", ["x", "d"], ["y"])],
        "g", [value("x", TensorProto.FLOAT, [None, 300])], [value("y", TensorProto.FLOAT, [None, 400])], [q, s],
    )  # fmt: skip
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    assert fold(proto, limit=10**9).operators == ["DequantizeLinear", "MatMul"]
    assert fold(proto, limit=0, quantized=True).operators == ["MatMul"]
    kept = foldproof.optimize(proto)
    assert [node.op_type for node in kept.graph.node] == ["DequantizeLinear", "MatMul"]
    folded = foldproof.optimize(proto, fold_quantized_weights=True)
    assert [node.op_type for node in folded.graph.node] == ["MatMul"]


def test_blocks_of_4_bits_stay() -> None:
    q = helper.make_tensor("q", TensorProto.INT4, [4, 2], [1, 2, 3, 4, 5, 6, 7, -8])
    s = numpy_helper.from_array(np.ones((2, 2), np.float32), "s")
    value = helper.make_tensor_value_info
    dequantize = helper.make_node("DequantizeLinear", ["q", "s"], ["d"], axis=0, block_size=2)
    graph = helper.make_graph(
        [dequantize, helper.make_node("MatMul", ["x", "d"], ["y"])],
        "g", [value("x", TensorProto.FLOAT, [None, 4])], [value("y", TensorProto.FLOAT, [None, 2])], [q, s],
    )  # fmt: skip
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    assert fold(proto).operators == ["DequantizeLinear", "MatMul"]
    assert fold(proto, quantized=True).operators == ["MatMul"]


def test_a_dequantized_constant_that_is_only_handed_out_is_no_weight() -> None:
    proto = parse("g () => (float[2] y) <int8[2] q = {1, 2}, float s = {0.5}> { y = DequantizeLinear(q, s) }")
    assert fold(proto).constant("y").tolist() == [0.5, 1.0]


def test_large_constants_go_where_the_model_keeps_its_weights(tmp_path: Path) -> None:
    w = np.arange(60_000, dtype=np.float32).reshape(300, 200)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Transpose", ["w"], ["t"]), helper.make_node("MatMul", ["x", "t"], ["y"])],
        "g",
        [value("x", TensorProto.FLOAT, ["N", 200])],
        [value("y", TensorProto.FLOAT, ["N", 300])],
        [numpy_helper.from_array(w, "w")],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(proto, tmp_path / "in.onnx", save_as_external_data=True, location="in.data", size_threshold=0)
    report = foldproof.optimize_file(tmp_path / "in.onnx", tmp_path / "out.onnx")
    assert report.verdict == "verified"
    (tensor,) = onnx.load(tmp_path / "out.onnx", load_external_data=False).graph.initializer
    assert tensor.data_location == TensorProto.EXTERNAL
    assert np.array_equal(numpy_helper.to_array(onnx.load(tmp_path / "out.onnx").graph.initializer[0]), w.T)


def test_the_ledger_names_folding() -> None:
    result = fold(parse(f"g (float[2] x) => (float[2] y) <{W}> {{ a = Sqrt(w) y = Mul(x, a) }}"))
    (entry, *_) = result.rewriter.ledger.entries
    assert (entry.rule, entry.exact, entry.place) == ("constant_folding", True, "a")
    assert entry.removed == ("Sqrt(w) -> a",)


def test_what_reads_a_folded_shape_learns_its_dims() -> None:
    """The shape comes of floats, so that no fact knew its elements before it was computed."""
    proto = parse("""g (float[6] x) => (int64[2] y) <float[2] f = {4.0, 9.0}> {
        r = Log(f) e = Exp(r) q = Sqrt(e) t = Round(q) i = Cast<to = 7>(t) z = Reshape(x, i) y = Shape(z) }""")
    result = fold(proto, "static_shape", "known_elements")
    assert result.operators == []
    assert result.constant("y").tolist() == [2, 3]


def test_a_failed_evaluation_is_reported() -> None:
    proto = parse("""g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 4}, int64[2] far = {7, 7}> {
        y = If(c) <then_branch = t () => (float[2] p) { p = Gather(w, far) },
                   else_branch = e () => (float[2] q) { q = Neg(x) }>
    }""")
    report = foldproof.pipeline.Optimizer(foldproof.Options()).run(proto).report
    assert report.verdict == "verified"
    (warning,) = report.warnings
    assert "node 'p' (Gather) is constant, but it can't be computed" in warning
    assert "out of data bounds" in warning


def test_folding_can_be_skipped() -> None:
    proto = parse(f"g (float[2] x) => (float[2] y) <{W}> {{ a = Cos(w) y = Mul(x, a) }}")
    kept = foldproof.optimize(proto, skip_rules=["constant_folding"], verify=False)
    assert [node.op_type for node in kept.graph.node] == ["Cos", "Mul"]


def test_a_loop_with_a_node_that_the_person_keeps_is_not_computed() -> None:
    proto = parse("""g () => (float y) <bool on = {1}, int64 m = {3}, float x = {2}> {
        y = Loop (m, on, x) <body = b (int64 i, bool k, float v) => (bool l, float w) {
            l = Identity (k) [mine] w = Add (v, v) }> }""")
    assert operators(fold(proto, keep_node=["mine"]).proto)["Add"] == 1
    assert operators(fold(proto).proto)["Add"] == 0
