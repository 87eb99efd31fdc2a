from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import foldproof
from benchmarks.explaining import check
from foldproof.explaining import Explanation, explain, explain_rule
from tests.helpers import parse


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"


def told(file: Path, body: str, node: str, **options: object) -> Explanation:
    model = {key: options.pop(key) for key in ("imports", "functions") if key in options}
    onnx.save(parse(body, **model), file)
    (found,) = explain(file, foldproof.Options(**options), nodes=[node]).found
    return found


def test_a_size_that_depends_on_dims_is_folded_by_binding_them(file: Path) -> None:
    found = told(
        file,
        "g (float[batch,seq,16] x) => (int64 s) { r = Relu(x) s = Size(r) }",
        "s",
        skip_rules=["same_elements", "size_of_source"],
    )
    assert found.known == {"s": "int64[], 16*batch*seq"}
    assert found.outcome == "stays"
    assert found.reasons["static_size"] == "its element count is 16*batch*seq"
    assert found.suggestion is not None
    assert dict(found.suggestion.set_dim) == {"batch": 1, "seq": 64}
    assert found.suggestion.value == "1024"
    assert found.suggestion.arguments == ["--set-dim", "batch=1", "--set-dim", "seq=64"]


def test_no_dim_is_bound_that_does_not_matter(file: Path) -> None:
    body = """g (float[batch,seq] x, float[other] z) => (int64 b, float[other] y) <int64 one = {1}> {
        s = Shape(x) b = Gather(s, one) y = Relu(z) }"""
    found = told(file, body, "b")
    assert found.suggestion is not None
    assert dict(found.suggestion.set_dim) == {"seq": 64}
    assert found.suggestion.value == "64"


def test_an_unnamed_dim_is_bound_by_its_input_and_axis(file: Path) -> None:
    found = told(file, "g (float[3,?] x) => (int64 s) { s = Size(x) }", "s")
    assert found.suggestion is not None
    assert found.suggestion.arguments == ["--set-dim", "x:1=64"]


def test_the_model_runs_at_the_sizes_that_are_suggested(file: Path) -> None:
    """Each row has to have 3 times 16 elements: at 64 the model does not run."""
    body = """g (float[N,length] x) => (float[N,3,16] y, int64[2] s) <int64[3] t = {0, 3, 16}> {
        y = Reshape(x, t) s = Shape(x) }"""
    found = told(file, body, "s")
    assert found.suggestion is not None
    assert (dict(found.suggestion.set_dim), found.suggestion.model_runs) == ({"N": 1, "length": 48}, True)
    assert found.suggestion.value == "[1, 48]"


def test_where_nothing_can_run_the_model_sizes_are_suggested_all_the_same(file: Path) -> None:
    body = "g (float[N] x) => (float[N] y, int64 s) { y = acme.Thing(x) s = Size(x) }"
    found = told(file, body, "s", imports='"acme": 1')
    assert found.suggestion is not None
    assert not found.suggestion.model_runs


def test_where_data_decides_nothing_is_suggested_and_it_says_what_data(file: Path) -> None:
    found = told(file, "g (float[N,3] x) => (int64 s) { nz = NonZero(x) s = Size(nz) }", "s")
    assert found.suggestion is None
    assert found.why_not == (
        "dim 1 of nz = NonZero(x) is known only when the model runs: it depends on what is in the input x"
    )


def test_what_decides_on_a_dim_is_told_before_the_data(file: Path) -> None:
    found = told(file, "g (float[N,3] x, int64[2] t) => (int64 s) { r = Tile(x, t) s = Size(r) }", "s")
    assert found.suggestion is None
    assert found.why_not is not None
    assert found.why_not.endswith("it depends on what is in the input t")


def test_of_an_unknown_operator_it_says_that_nothing_is_known(file: Path) -> None:
    found = told(file, "g (float[2] x) => (int64 s) { y = acme.Thing(x) s = Size(y) }", "s", imports='"acme": 1')
    assert found.why_not == "the rank of y = acme::Thing(x) is not known: nothing is known of what acme::Thing does"


def test_random_numbers_are_a_reason(file: Path) -> None:
    found = told(file, "g (float[2] x) => (float[2] y) { r = RandomNormal<shape=[2]>() y = Exp(r) }", "y")
    assert found.why_not is not None
    assert found.why_not.startswith("r = RandomNormal()")


def test_a_default_that_the_caller_may_override_is_a_reason(file: Path) -> None:
    found = told(file, "g (float[2] d) => (float[2] y) <float[2] d = {1, 2}> { y = Exp(d) }", "y")
    assert found.why_not == "it depends on d, a default that the caller may override"


def test_what_folds_anyway_needs_no_suggestion(file: Path) -> None:
    found = told(file, "g (float[2,3] x, float[N] z) => (int64 s, float[N] y) { s = Size(x) y = Relu(z) }", "s")
    assert found.outcome == "folded"
    assert found.suggestion is None
    assert found.why_not is None
    assert found.entry is not None
    assert found.entry.removed == ("Size(x) -> s",)


def test_what_is_too_big_to_fold_says_so(file: Path) -> None:
    body = "g (float[N] z) => (float[400,400] y) <int64[2] t = {400, 400}, float[1] o = {1.5}> { y = Expand(o, t) }"
    found = told(file, body, "y")
    assert found.outcome == "stays"
    assert found.suggestion is None
    assert found.why_not is not None
    assert found.why_not.startswith("it is constant, but the file would grow by")


def test_dims_that_would_make_a_shape_static_are_told_where_the_data_stays(file: Path) -> None:
    found = told(file, "g (float[batch,3] x) => (float[batch,3] y) { y = Exp(x) }", "y")
    assert found.why_not == "it depends on what is in the input x"
    assert found.static_shape == {"batch": 1}


def test_with_the_dim_bound_it_folds(file: Path) -> None:
    found = told(file, "g (float[batch,3] x) => (int64 s) { s = Size(x) }", "s", set_dim={"batch": 5})
    assert found.outcome == "folded"
    assert found.known == {"s": "int64[], 15"}


def test_it_looks_into_bodies(file: Path) -> None:
    body = """g (float[N,3] x, bool c) => (int64 s) {
        s = If (c) <then_branch = a () => (int64 p) { p = Size(x) }, else_branch = b () => (int64 q) { r = NonZero(x) q = Size(r) }> }"""
    found = told(file, body, "p")
    assert found.graph == "g/a"
    assert found.suggestion is not None
    assert dict(found.suggestion.set_dim) == {"N": 1}
    assert found.suggestion.value == "3"


FUNCTION = '<domain: "my", opset_import: ["": 18]> F (a) => (c) { b = Relu(a) c = Size(b) }'


def test_in_a_function_it_looks_at_each_call(file: Path) -> None:
    body = "g (float[N,3] x, float[2,3] y) => (int64 s, int64 t) { s = my.F(x) t = my.F(y) }"
    found = told(file, body, "c", imports='"my": 1', functions=FUNCTION)
    assert found.calls == {"my::F(x)": "int64[], 3*N", "my::F(y)": "int64[], 6"}
    assert found.suggestion is not None
    assert found.suggestion.inline_functions
    assert dict(found.suggestion.set_dim) == {"N": 1}
    assert found.suggestion.value == "3, 6"


def test_a_function_that_nothing_calls(file: Path) -> None:
    body = "g (float[N,3] x) => (float[N,3] s) { s = Relu(x) }"
    found = told(file, body, "c", imports='"my": 1', functions=FUNCTION)
    assert found.why_not == "nothing calls its function"


def test_the_derivation_goes_back_to_the_inputs(file: Path) -> None:
    body = """g (float[N,3] x, float[3] w, float[N] other) => (int64 s, float[N] o) {
        a = Relu(x) b = Exp(a) c = Abs(b) d = Mul(c, w) s = Size(d) o = Neg(other) }"""
    steps = told(file, body, "s", rules=[]).derivation.steps
    # One step for s, one for d, and what Mul reads: c, past the nodes that keep the shape, and w.
    assert [(step.value, step.aspect, step.known) for step in steps] == [
        ("s", "elements", "3*N"),
        ("d", "shape", "[N, 3]"),
        ("c", "shape", "[N, 3]"),
        ("w", "shape", "[3]"),
        ("x", "shape", "[N, 3]"),
    ]
    assert steps[1].by == ("c", "w")
    assert (steps[2].by, steps[2].skipped) == (("x",), 2)


def test_the_derivation_tells_elements_from_shapes(file: Path) -> None:
    body = """g (float[N,3] x) => (float[M,K] y) <int64[1] three = {3}> {
        s = Shape<start=0, end=1>(x) t = Concat<axis=0>(s, three) y = Reshape(x, t) }"""
    derivation = told(file, body, "y", rules=[]).derivation
    # The target's elements decide, and they come from the shape of x and the content of an initializer.
    assert ("t", "elements") in [(step.value, step.aspect) for step in derivation.steps]
    assert ("three", "elements") in [(step.value, step.aspect) for step in derivation.steps]
    assert derivation.inputs == ("x",)
    assert derivation.initializers == ("three",)


def test_the_derivation_leaves_a_body_by_what_its_node_reads(file: Path) -> None:
    body = """g (float[N,3] x, int64 n, bool c) => (float[N,3] y) {
        y = Loop(n, c, x) <body = b (int64 i, bool k, float[M,K] v) => (bool k2, float[M,K] v2) { k2 = Identity(k) v2 = Relu(v) }> }"""
    derivation = told(file, body, "v2", rules=[]).derivation
    assert derivation.inputs == ("x",)


def test_inputs_and_initializers_are_explained_too(file: Path) -> None:
    found = told(file, "g (float[N,3] x) => (float[N,3] y) { y = Relu(x) }", "x")
    assert (found.operator, found.outcome, found.source) == ("", "no node", "an input of the model")
    assert found.known == {"x": "float32[N, 3]"}


def test_a_node_is_found_by_its_own_name_or_by_any_output(file: Path) -> None:
    model = parse("g (float[N] x) => (float[K] v, int64[K] i) <int64[1] k = {1}> { v, i = TopK(x, k) }")
    model.graph.node[0].name = "the_node"
    onnx.save(model, file)
    found = explain(file, nodes=["the_node", "v", "i"]).found
    assert [each.value for each in found] == ["v"]


def test_a_name_that_is_not_there_gets_those_that_are_like_it(file: Path) -> None:
    onnx.save(parse("g (float[N] x) => (float[N] output) { output = Relu(x) }"), file)
    with pytest.raises(foldproof.UsageError, match="There is 'output'"):
        explain(file, nodes=["outptu"])


def test_without_a_question_it_tells_of_size_and_shape(file: Path) -> None:
    onnx.save(
        parse("g (float[N] x) => (int64 s, int64[1] t, float[N] y) { s = Size(x) t = Shape(x) y = Relu(x) }"), file
    )
    assert {each.operator for each in explain(file).found} == {"Size", "Shape"}
    assert [each.operator for each in explain(file, operators=["Relu"]).found] == ["Relu"]


def test_the_model_on_disk_is_not_touched(file: Path) -> None:
    onnx.save(parse("g (float[N] x) => (int64 s) { s = Size(x) }"), file)
    before = file.read_bytes()
    explain(file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["model.onnx"]


def test_a_rule_is_explained_by_what_it_did_and_where_it_did_not_apply(file: Path) -> None:
    onnx.save(
        parse(
            "g (float[2] x, float[N] y, float[M] z) => (int64 s, int64 t, int64 u) { s = Size(x) t = Size(y) u = Size(z) }"
        ),
        file,
    )
    found = explain_rule(
        file, "static_size", foldproof.Options(skip_rules=["constant_folding", "known_elements", "same_elements"])
    )
    assert [entry.removed for entry in found.applied] == [("Size(x) -> s",)]
    assert found.refused == {"its element count is N": ("t",), "its element count is M": ("u",)}
    assert found.note == ""


def test_a_rule_that_was_not_tried_says_why(file: Path) -> None:
    onnx.save(parse("g (float[N] x) => (float[N] y) { y = Relu(x) }"), file)
    assert "only on request" in explain_rule(file, "inline_functions").note
    with pytest.raises(foldproof.UsageError, match="no rule"):
        explain_rule(file, "no_such_rule")


def test_what_it_suggests_for_the_sample_models_works(models: Path) -> None:
    answers = [check(path) for path in sorted(models.glob("*.onnx"))]
    assert [each.faults for each in answers] == [()] * len(answers)
    assert sum(each.applied for each in answers) >= 1
