from __future__ import annotations

import json
import time

import numpy as np
import onnx
import pytest
from onnx import helper

from foldproof.errors import ModelError
from foldproof.verification import examination, verify
from foldproof.verification import verification as module
from tests.helpers import parse

POOL = """g (float[N, 3] x) => (float[N, 1] mean, int64 count) <int64[1] axes = {1}> {
    mean = ReduceMean <axes = [1], keepdims = 1> (x)
    count = Size (x)
}"""


def usual(result):
    """The runs without special numbers and dims of 0."""
    return [each for each in result.runs if "numbers" not in each.feeds and 0 not in each.binding.values()]


def kinds(result):
    return {(each.output, each.kind) for each in result.differences}


def compared(parse, one, other, **options):
    return verify(parse(one), parse(other), **options)


def test_a_model_is_the_same_as_itself_at_two_bindings(parse):
    result = compared(parse, POOL, POOL)
    assert (result.status, result.differences, result.reason) == ("same", (), None)
    assert [run.binding for run in usual(result)] == [{"N": 1}, {"N": 2}]
    assert {run.outputs for run in result.runs} == {2}
    assert all(run.original_engine.startswith("onnxruntime ") for run in result.runs)


def test_the_result_is_json_and_the_same_each_time(parse):
    one, other = (compared(parse, POOL, POOL.replace("[1]", "[-1]"), seed=3).to_dict() for _ in range(2))
    for each in (one, other):
        assert each.pop("seconds") > 0
    assert json.loads(json.dumps(one)) == one == other


def test_the_models_are_not_changed(parse):
    one, other = parse(POOL), parse(POOL.replace("Size (x)", "Size (mean)"))
    before = [each.SerializeToString() for each in (one, other)]
    verify(one, other)
    assert [each.SerializeToString() for each in (one, other)] == before


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("count = Size (x)", "count = Size (mean)", {("count", "value")}),  # only on the second output
        ("mean = ReduceMean", "mean = ReduceMax", {("mean", "value")}),
        ("keepdims = 1> (x)", "keepdims = 0> (x)", {("mean", "shape")}),
        ("count = Size (x)", "big = Size (x) count = Cast <to = 6> (big)", {("count", "dtype")}),
        ("count = Size (x)", "count = Constant <value = int64 {3}> ()", {("count", "value")}),
    ],
)
def test_mutations_are_found(parse, old, new, found):
    mutated = POOL.replace(old, new)
    if "Cast" in new:
        mutated = mutated.replace("int64 count", "int32 count")
    result = compared(parse, POOL, mutated)
    assert (result.status, kinds(result)) == ("different", found)


def test_a_batch_frozen_at_one_shows_only_at_the_other_binding(parse):
    frozen = POOL.replace("count = Size (x)", "count = Constant <value = int64 {3}> ()")
    first, *_, last = compared(parse, POOL, frozen).differences
    assert (first.binding, first.original, first.optimized) == ({"N": 2}, 6, 3)
    assert (last.binding, last.original, last.optimized) == ({"N": 0}, 0, 3)


def test_an_input_frozen_at_one_raises_only_at_the_other_binding(parse):
    found = compared(parse, POOL, POOL.replace("float[N, 3] x", "float[1, 3] x")).differences[0]
    assert (found.kind, found.binding) == ("raised", {"N": 2})
    assert "Expected: 1" in found.detail


def test_a_dropped_output_is_missing(parse):
    result = compared(parse, POOL, POOL.replace(", int64 count", ""))
    assert ("count", "missing") in kinds(result)


def test_outputs_in_another_order_are_found(parse):
    swapped = POOL.replace("(float[N, 1] mean, int64 count)", "(int64 count, float[N, 1] mean)")
    assert kinds(compared(parse, POOL, swapped)) == {("", "missing")}


def test_a_renamed_input_is_missing(parse):
    result = compared(parse, POOL, POOL.replace("] x)", "] z)").replace("(x)", "(z)"))
    assert {("x", "missing"), ("z", "missing")} <= kinds(result)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("zero = Sub (x, x) y = Div (zero, zero)", "y = Sub (x, x)"),  # NaN became 0
        ("zero = Sub (x, x) y = Neg (zero)", "y = Sub (x, x)"),  # -0.0 became 0.0
        ("y = Exp (x)", "e = Exp (x) f = Add (e, tiny) y = Identity (f)"),
    ],
)
def test_float_differences_are_found_bit_for_bit(parse, one, other):
    graph = "g (float[N] x) => (float[N] y) <float tiny = {{2e-7}}> {{ {} }}"
    assert kinds(compared(parse, graph.format(one), graph.format(other))) == {("y", "value")}


def test_tolerance_forgives_rounding_and_nothing_more(parse):
    graph = "g (float[N] x) => (float[N] y) <float f = {{{}}}> {{ y = Mul (x, f) }}"
    close = compared(parse, graph.format("1.0"), graph.format("1.00001"), exact=False)
    assert close.status == "same"
    assert 0 < max(run.max_relative_error for run in close.runs) < 2e-5
    assert compared(parse, graph.format("1.0"), graph.format("1.001"), exact=False).status == "different"


def test_a_constant_that_was_a_weight_behind_a_transpose_is_no_false_alarm(parse):
    weight = "float[48, 64] w = {" + ", ".join(str(np.float32(k % 97 / 7)) for k in range(48 * 64)) + "}"
    one = f"g (float[N, 64] x) => (float[N, 48] y) <{weight}> {{ t = Transpose (w) y = MatMul (x, t) }}"
    original = parse(one)
    folded = onnx.ModelProto()
    folded.CopyFrom(original)
    array = onnx.numpy_helper.to_array(original.graph.initializer[0]).T
    folded.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(array), "t"))
    del folded.graph.node[0]
    assert verify(original, folded).status == "same"


def test_where_the_original_raises_the_other_may_do_as_it_likes(parse):
    one = "g (float[N] x) => (float[2] y) <int64[1] two = {2}> { y = Reshape (x, two) }"
    other = "g (float[N] x) => (float[2] y) <int64[1] n = {0}, int64[1] two = {2}> { y = Slice (x, n, two) }"
    result = compared(parse, one, other)
    assert result.status == "same"
    assert {run.binding["N"] for run in result.runs} == {2}
    assert {"N": 0} in [each.binding for each in result.not_admitted]
    assert {"N": 1} in [each.binding for each in result.not_admitted]
    assert any("only one size was admitted of: N" in note for note in result.notes)


def test_where_the_original_runs_the_other_must_not_raise(parse):
    one = "g (float[N] x) => (float[M] y) <int64[1] zero = {0}, int64[1] two = {2}> { y = Slice (x, zero, two) }"
    other = "g (float[N] x) => (float[M] y) <int64[1] two = {2}> { y = Reshape (x, two) }"
    first, *_, last = compared(parse, one, other).differences
    assert (first.kind, first.binding) == ("raised", {"N": 1})
    assert (last.kind, last.binding) == ("raised", {"N": 0})


def test_an_optimized_model_that_cannot_be_loaded_is_a_difference(parse):
    model = parse(POOL)
    broken = onnx.ModelProto()
    broken.CopyFrom(model)
    broken.graph.node[0].input[0] = "nowhere"
    result = verify(model, broken)
    assert (result.status, kinds(result)) == ("different", {("", "raised")})
    assert "can't be loaded" in result.differences[0].detail


@pytest.mark.parametrize("element", ["complex64", "bfloat16", "float8e5m2"])
def test_the_reference_stands_in_where_the_original_cannot_be_loaded(parse, element):
    original = f"g ({element}[N, 3] x) => (int64 s) {{ s = Size (x) }}"
    right = f"g ({element}[N, 3] x) => (int64 s) <int64[1] f = {{3}}> {{ r = Abs (f) s = Size (x) }}"
    wrong = f"g ({element}[N, 3] x) => (int64 s) {{ s = Constant <value = int64 {{3}}> () }}"
    result = verify(parse(original, opset=19), parse(right, opset=19))
    assert result.status == "same"
    assert all(run.original_engine.startswith("onnx reference") for run in result.runs)
    assert verify(parse(original, opset=19), parse(wrong, opset=19)).status == "different"


def test_two_engines_are_compared_by_tolerance_and_it_is_said(parse, monkeypatch):
    model = parse("g (float[N, 9] x) => (float[N, 9] y) { y = Softmax (x) }")
    loaded = []

    def load(*arguments, **options):
        from foldproof.engines import OnnxRuntime, Reference

        loaded.append((Reference if not loaded else OnnxRuntime)(*arguments))
        return loaded[-1]

    for each in (module, examination):
        monkeypatch.setattr(each, "load_engine", load)
    result = verify(model, model)
    assert result.status == "same"
    assert any("compared by tolerance" in note for note in result.notes)


def test_what_nothing_can_run_is_unverified(parse):
    model = parse("g (float[N] x) => (float[N] y) { y = acme.Foo (x) }", imports='"acme" : 1')
    result = verify(model, model)
    assert (result.status, result.runs) == ("unverified", ())
    assert "acme:Foo" in result.reason


def test_an_original_that_runs_on_no_feed_is_unverified(parse):
    model = parse(
        """g (float[N] x) => (float[3] y) <int64[1] three = {3}> {
            even = Concat <axis = 0> (x, x)
            y = Reshape (even, three)
        }"""
    )
    result = verify(model, model)
    assert result.status == "unverified"
    assert "the original ran on no feed" in result.reason
    assert result.not_admitted


def test_inputs_too_large_to_make_up_are_unverified(parse):
    model = parse("g (float[65536, 32769] x) => (int64 s) { s = Size (x) }")
    result = verify(model, model)
    assert result.status == "unverified"
    assert "too large" in result.reason


def test_a_static_model_runs_with_two_seeds(parse):
    model = parse("g (float[2, 3] x) => (float[2, 3] y) { y = Abs (x) }")
    assert [run.seed for run in usual(verify(model, model, seed=7))] == [7, 8]


def test_an_overridable_initializer_is_no_constant(parse):
    graph = "g (float[N] x, float f = {{2}}) => (float[N] y) {{ {} }}"
    constant = graph.format("c = Constant <value = float {2}> () y = Mul (x, c)")
    found = compared(parse, graph.format("y = Mul (x, f)"), constant).differences
    assert {each.feeds for each in found} == {"generated, other values of the initializers too"}


def test_a_dimension_that_the_graph_demands_is_found(parse):
    model = parse(
        """g (float[N, W] x) => (float[M, 7] y) <float[1, 7] row = {1,2,3,4,5,6,7}> {
            y = Concat <axis = 0> (x, row)
        }"""
    )
    assert [run.binding for run in verify(model, model).runs][:2] == [{"N": 1, "W": 7}, {"N": 2, "W": 7}]


def test_a_cache_is_run_at_lengths_that_fit(parse):
    model = parse(
        "g (float[B, seq] x, float[B, past] k, float[B, total] m) => (float[B, total] y)"
        "{ h = Concat <axis = 1> (k, x) y = Concat <axis = 0> (h, m) }"
    )
    result = verify(model, model)
    assert result.status == "same"
    for run in usual(result):
        assert run.binding["total"] == run.binding["past"] + run.binding["seq"]
    assert {run.binding["B"] for run in result.runs} >= {1, 2}


def test_dims_that_strides_shrink_to_one_are_run_at_a_larger_size_too(parse):
    graph = """g (float[N, 1, H, W] x) => (int64[K] s) <float[1, 1, 8, 8] w = {WEIGHT}> {
        y = Conv <strides = [8, 8], pads = [4, 4, 4, 4]> (x, w)
        SHAPE
    }""".replace("WEIGHT", ", ".join(["1"] * 64))
    frozen = "n = Shape <end = 1> (x) c = Constant <value = int64[3] {1, 1, 1}> () s = Concat <axis = 0> (n, c)"
    original = graph.replace("SHAPE", "s = Shape (y)")
    assert compared(parse, original, original).status == "same"
    assert compared(parse, original, graph.replace("SHAPE", frozen)).status == "different"


def test_a_value_that_the_graph_compares_with_takes_both_branches(parse):
    graph = """g (int64 rate, float[N] x) => (float[N] y) <int64 fast = {{16000}}> {{
        is_fast = Equal (rate, fast)
        y = If (is_fast) <then_branch = t () => (float[N] p) {{ p = {} (x) }},
                          else_branch = e () => (float[N] q) {{ q = {} (x) }}>
    }}"""
    original = graph.format("Abs", "Neg")
    assert compared(parse, original, graph.format("Exp", "Neg")).status == "different"
    assert compared(parse, original, graph.format("Abs", "Exp")).status == "different"


def test_an_input_without_rank_is_tried_at_several(parse):
    model = parse("g (float[N] x) => (float[N] y) { y = GlobalAveragePool (x) }")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    result = verify(model, model)
    assert result.status == "same"
    assert len(result.runs[0].binding) >= 3


def test_sequences_optionals_and_maps_are_run(parse):
    graph = "g (seq(float[N]) x, optional(float[M]) o) => (seq(float[N]) y, bool has) {{ y = {} (x) has = {} }}"
    original = graph.format("Identity", "OptionalHasElement (o)")
    assert compared(parse, original, original).status == "same"
    assumed = graph.format("Identity", "Constant <value = bool {1}> ()")
    assert ("has", "value") in kinds(compared(parse, original, assumed))


def test_maps_are_compared():
    def vectorizer(*vocabulary):
        node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=list(vocabulary))
        given = onnx.ValueInfoProto(name="x")
        given.type.map_type.key_type = onnx.TensorProto.STRING
        given.type.map_type.value_type.CopyFrom(helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, []))
        output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 2])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)]
        graph = helper.make_graph([node], "g", [given], [output])
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    assert verify(vectorizer("a", "b"), vectorizer("a", "b")).status == "same"
    assert verify(vectorizer("a", "b"), vectorizer("b", "a")).status == "different"


def test_files_with_external_data_are_run_where_they_are(parse, tmp_path):
    graph = "g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {{1, 2, 3, {}}}> {{ y = MatMul (x, w) }}"
    paths = []
    for name, last in (("a", 4), ("b", 4), ("c", 5)):
        paths.append(tmp_path / f"{name}.onnx")
        options = {"save_as_external_data": True, "location": f"{name}.bin", "size_threshold": 0}
        onnx.save(parse(graph.format(last)), paths[-1], **options)
    assert verify(paths[0], paths[1]).status == "same"
    assert verify(paths[0], paths[2]).status == "different"


def test_a_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x00\x01nonsense")
    with pytest.raises(ModelError, match=r"model\.onnx"):
        verify(path, path)


def test_changed_declarations_are_noted(parse):
    result = compared(parse, POOL, POOL.replace("float[N, 1] mean", "float[M, 1] mean"))
    assert result.status == "same"
    assert any("output mean: declared float[N, 1], now float[M, 1]" in note for note in result.notes)


def test_the_time_limit_holds(parse):
    endless = """g (float[N] x) => (float[N] y) <bool yes = {1}> {
        y = Loop (, yes, x) <body = b (int64 i, bool c, float[N] a) => (bool d, float[N] e) {
            d = Identity (c)
            e = Neg (a)
        }>
    }"""
    started = time.monotonic()
    result = compared(parse, endless, endless, seconds=1)
    assert time.monotonic() - started < 8
    assert result.status == "unverified"
    assert any("time limit" in note for note in result.notes)


def test_what_broadcasts_only_where_one_dim_is_1_is_found(parse):
    """At other sizes the original fails, or both dims are the same."""
    original = parse("g (float[N, 3] x, float[M, 3] z) => (float[K, 3] y) { s = Shape (z) y = Expand (x, s) }")
    optimized = parse("g (float[N, 3] x, float[M, 3] z) => (float[K, 3] y) { y = Identity (x) }")
    found = verify(original, optimized)
    assert found.status == "different"
    assert found.differences[0].binding["N"] == 1


def test_models_of_truth_values_alone_are_run_at_many_of_them(parse):
    original = parse("g (bool[N] a, bool[N] b) => (bool[N] y) { y = Equal (a, b) }")
    optimized = parse("g (bool[N] a, bool[N] b) => (bool[N] y) { y = And (a, b) }")
    assert verify(original, original).status == "same"
    assert verify(original, optimized).status == "different"


def test_infinity_is_no_number_to_a_tolerant_rewrite(parse):
    """(x v) w = x (v w) in real arithmetic; of infinity one side makes NaN."""
    constants = (
        "<float[3, 2] v = {1, 2, 3, 4, 5, 6}, float[2, 2] w = {1, 2, 3, -1}, float[3, 2] u = {7, 0, 15, 2, 23, 4}>"
    )
    original = parse(f"g (float[N, 3] x) => (float[N, 2] y) {constants} {{ p = MatMul (x, v) y = MatMul (p, w) }}")
    optimized = parse(f"g (float[N, 3] x) => (float[N, 2] y) {constants} {{ y = MatMul (x, u) }}")
    assert verify(original, optimized, exact=False).status == "same"


def test_an_output_with_another_dim_than_is_declared_differs() -> None:
    original = parse("g (float[N,3] x) => (float[N,3] y) { y = Relu(x) }")
    frozen = parse("g (float[N,3] x) => (float[7,3] y) { y = Relu(x) }")
    verification = verify(original, frozen)
    assert verification.status == "different"
    first = verification.differences[0]
    assert (first.output, first.kind) == ("y", "shape")
    assert "declares float[7, 3], and hands out [1, 3]" in first.detail


def test_an_output_that_is_listed_twice_may_be_declared_in_two_ways() -> None:
    model = parse("g (float[N,3] x) => (float[7,3] y, float[K,L] y) { y = Relu(x) }")
    assert verify(model, model).status == "same"


@pytest.mark.parametrize("declared", ["float[N,3] y", "float[M,3] y", "float[N,K] y", "float[7,3] y"])
def test_what_is_declared_rightly_or_was_so_before_is_no_difference(declared: str) -> None:
    claimed = "float[7,3] y" if declared == "float[7,3] y" else "float[N,K] y"
    original = parse(f"g (float[N,3] x) => ({claimed}) {{ y = Relu(x) }}")
    assert verify(original, parse(f"g (float[N,3] x) => ({declared}) {{ y = Relu(x) }}")).status == "same"
