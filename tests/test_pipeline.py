from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

import foldproof
from foldproof.rewriting import Constant, Forward, Replace, Rule, rule
from tests.helpers import initializers, operators, parse

SIZES = "g (float[2,3] x, float[N,3] y) => (int64 s, int64 t, float[N,3] z) { s = Size(x) t = Size(y) z = Relu(y) }"


def bytes_of(model: onnx.ModelProto) -> bytes:
    return model.SerializeToString(deterministic=True)


def run(model: onnx.ModelProto, **inputs: np.ndarray) -> list[np.ndarray]:
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)


def test_a_proto_gives_a_new_proto_and_is_not_changed() -> None:
    model = parse(SIZES)
    before = bytes_of(model)
    optimized = foldproof.optimize(model)
    assert isinstance(optimized, onnx.ModelProto)
    assert bytes_of(model) == before
    assert operators(optimized) == {"Size": 1, "Relu": 1}
    s, t, z = run(optimized, x=np.zeros((2, 3), np.float32), y=-np.ones((4, 3), np.float32))
    assert (s, t) == (6, 12)
    assert not z.any()


def test_an_ir_model_gives_a_new_ir_model_and_is_not_changed() -> None:
    model = ir.from_proto(parse(SIZES))
    before = bytes_of(ir.to_proto(model))
    optimized = foldproof.optimize(model)
    assert isinstance(optimized, ir.Model)
    assert optimized is not model
    assert bytes_of(ir.to_proto(model)) == before
    assert operators(ir.to_proto(optimized)) == {"Size": 1, "Relu": 1}
    onnx.checker.check_model(ir.to_proto(optimized), full_check=True)


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_gives_an_ir_model(kind: type, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(parse(SIZES), path)
    optimized = foldproof.optimize(kind(path))
    assert isinstance(optimized, ir.Model)
    assert operators(ir.to_proto(optimized)) == {"Size": 1, "Relu": 1}


def test_anything_else_is_refused() -> None:
    with pytest.raises(foldproof.UsageError, match="dict is no model"):
        foldproof.optimize({})


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(foldproof.UsageError, match="no option 'verfy'"):
        foldproof.optimize(parse(SIZES), verfy=False)


def test_the_result_has_the_report() -> None:
    result = foldproof.Optimizer(foldproof.Options()).run(parse(SIZES))
    assert result.report.verdict == "verified"
    assert result.report.nodes_before == {"Size": 2, "Relu": 1}
    assert result.report.nodes_after == {"Size": 1, "Relu": 1}
    assert [(fate.node, fate.outcome, fate.value) for fate in result.report.fates] == [
        ("s", "folded", 6),
        ("t", "evaluated", None),
    ]
    left = result.report.fates[1]
    assert left.why == "its element count is 3*N"
    assert {value for _, value in left.values} == {3 * binding["N"] for binding, _ in left.values}
    assert len({binding["N"] for binding, _ in left.values}) >= 2


def test_set_dim_makes_more_static_and_shows_in_the_signature() -> None:
    optimized = foldproof.optimize(parse(SIZES), set_dim={"N": 4})
    assert initializers(optimized) == {"s": 6, "t": 12}
    assert [d.dim_value for d in optimized.graph.input[1].type.tensor_type.shape.dim] == [4, 3]
    assert [d.dim_value for d in optimized.graph.output[2].type.tensor_type.shape.dim] == [4, 3]


def test_set_dim_binds_an_unnamed_dim_by_input_and_axis() -> None:
    model = parse("g (float[2,3] x) => (int64 s) { s = Size(x) }")
    model.graph.input[0].type.tensor_type.shape.dim[0].Clear()
    assert operators(foldproof.optimize(model)) == {"Size": 1}
    assert initializers(foldproof.optimize(model, set_dim={"x:0": 5})) == {"s": 15}


def test_set_dim_of_a_dim_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(foldproof.UsageError, match="no graph input has the dim 'M'.*There are: N"):
        foldproof.optimize(parse(SIZES), set_dim={"M": 4})


def test_rules_can_be_chosen() -> None:
    assert operators(foldproof.optimize(parse(SIZES), rules=[]))["Size"] == 2
    assert operators(foldproof.optimize(parse(SIZES), rules=["static_size"]))["Size"] == 1
    assert operators(foldproof.optimize(parse(SIZES), skip_rules=["static_size", "known_elements"]))["Size"] == 2
    with pytest.raises(foldproof.UsageError, match="no rule 'static_sise'.*Did you mean 'static_size'"):
        foldproof.optimize(parse(SIZES), rules=["static_sise"])


def test_a_kept_node_is_not_touched() -> None:
    model = parse(SIZES)
    model.graph.node[0].name = "mine"
    assert operators(foldproof.optimize(model, keep_node=["mine"]))["Size"] == 2


def test_a_model_without_anything_to_do_comes_out_equal() -> None:
    model = parse("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    model.metadata_props.add(key="z", value="1")
    model.metadata_props.add(key="a", value="2")
    assert foldproof.optimize(model) == model


@rule("Relu", exact=True)
def wrong(node: ir.Node, facts: foldproof.facts.Facts) -> Forward:
    """Relu(x) = x, which is wrong."""
    return Forward(node.inputs[0])


@rule("Relu", exact=True)
def broken(node: ir.Node, facts: foldproof.facts.Facts) -> Constant:
    """Relu(x) = 1/0, which is a fault."""
    return Constant(np.float32(1 / 0))


@rule("Relu", exact=True)
def endless(node: ir.Node, facts: foldproof.facts.Facts) -> object:
    """Relu(x) = Relu(x), for ever."""
    return Replace(lambda op: op.Relu(node.inputs[0]))


def by(*rules: Rule, **options: object) -> foldproof.Optimizer:
    return foldproof.Optimizer(foldproof.Options(**options), rules=rules)


def test_a_wrong_rule_is_found_and_nothing_is_returned() -> None:
    with pytest.raises(foldproof.VerificationError, match="differs from the original: z") as caught:
        by(wrong, strict=True).run(parse("g (float[N] x) => (float[N] z) { a = Relu(x) z = Neg(a) }"))
    assert caught.value.exit_status == 1
    assert caught.value.verification.differences


def test_a_rule_that_fails_is_named_with_its_node() -> None:
    with pytest.raises(
        foldproof.RuleError, match=r"node 'z' \(Relu\): the rule 'broken' failed with ZeroDivisionError"
    ):
        by(broken).run(parse("g (float[N] x) => (float[N] z) { z = Relu(x) }"))


def test_rules_that_go_on_for_ever_are_stopped() -> None:
    with pytest.raises(foldproof.RuleError, match="go on for ever.*'endless'"):
        by(endless).run(parse("g (float[N] x) => (float[N] z) { z = Relu(x) }"))


UNKNOWN = "g (float[2,3] x) => (float[2,3] y, int64 s) { y = acme.Thing(x) s = Size(x) }"


def test_a_model_that_nothing_can_run_is_returned_with_a_warning() -> None:
    with pytest.warns(foldproof.UnverifiedWarning, match="not verified"):
        optimized = foldproof.optimize(parse(UNKNOWN, imports='"acme": 1'))
    assert operators(optimized) == {"acme::Thing": 1}
    assert initializers(optimized) == {"s": 6}


@rule("Size", exact=False, benefit=50)
def tolerant_size(node: ir.Node, facts: foldproof.facts.Facts) -> Constant:
    """Size(x) = 7, roughly."""
    return Constant(np.int64(7))


def test_only_exact_rules_are_applied_to_a_model_that_nothing_can_run() -> None:
    from foldproof.rewriting.packs import installed

    with pytest.warns(foldproof.UnverifiedWarning):
        result = by(tolerant_size, *installed()).run(parse(UNKNOWN, imports='"acme": 1'))
    assert initializers(result.model) == {"s": 6}


def test_an_invalid_model_that_nothing_can_run_is_refused() -> None:
    with pytest.raises(foldproof.ModelError, match="invalid"):
        foldproof.optimize(parse("g (float[2] x, float[3] y) => (int64 s) { s = Size(x, y) }"))


def test_without_verification_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foldproof.verification.Verifier", lambda *_, **__: pytest.fail("a model was run"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = foldproof.Optimizer(foldproof.Options(verify=False)).run(parse(SIZES))
    assert result.report.verdict == "not asked"


def test_a_type_that_the_runtime_lacks_is_verified_by_the_reference() -> None:
    result = foldproof.Optimizer().run(parse("g (bfloat16[2,3] x) => (int64 s) { s = Size(x) }"))
    assert result.report.verdict == "verified"
    assert initializers(result.model) == {"s": 6}


def test_ir_version_3_keeps_its_version_and_lists_a_new_initializer_as_an_input() -> None:
    # Constant of opset 8 holds no int64, and this version of the IR demands the listing.
    model = parse("g (float[2,3] x) => (int64 s) { s = Size(x) }", opset=8, ir_version=3)
    optimized = foldproof.optimize(model)
    assert optimized.ir_version == 3
    assert initializers(optimized) == {"s": 6}
    assert [value.name for value in optimized.graph.input] == ["x", "s"]
    onnx.checker.check_model(optimized, full_check=True)


def test_ir_version_3_gets_a_constant_node_where_one_can_hold_the_value() -> None:
    model = parse("g (float[2,3] x) => (int64 s) { s = Size(x) }", opset=9, ir_version=3)
    optimized = foldproof.optimize(model)
    assert [node.op_type for node in optimized.graph.node] == ["Constant"]
    assert optimized.graph.input == model.graph.input
    onnx.checker.check_model(optimized, full_check=True)


def test_optimize_file_writes_and_reports(tmp_path: Path) -> None:
    source, destination = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(parse(SIZES), source)
    before = source.read_bytes()
    report = foldproof.optimize_file(source, destination)
    assert source.read_bytes() == before
    assert operators(onnx.load(destination))["Size"] == 1
    assert (report.input, report.output) == (str(source), str(destination))
    assert (report.bytes_before, report.bytes_after) == (source.stat().st_size, destination.stat().st_size)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.onnx", "out.onnx"]


def test_verify_compares_any_two_models(tmp_path: Path) -> None:
    relu = parse("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    path = tmp_path / "relu.onnx"
    onnx.save(relu, path)
    assert foldproof.verify(relu, path).status == "same"
    other = parse("g (float[N] x) => (float[N] y) { y = Abs(x) }")
    assert foldproof.verify(relu, other).status == "different"
    assert foldproof.verify(ir.from_proto(relu), relu).status == "same"


def trained(read: str, bound: str) -> onnx.ModelProto:
    """A model with two weights, of which a sum could be folded, and an algorithm that reads and binds these values."""
    model = parse(
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}>"
        "{ s = Add (w, v) h = Identity (x) y = Mul (h, s) }"
    )
    info = model.training_info.add()
    info.algorithm.name = "step"
    info.algorithm.node.add(op_type="Neg", input=[read], output=["new"])
    info.algorithm.output.add(name="new")
    if bound:
        info.update_binding.add(key=bound, value="new")
    return model


@pytest.mark.parametrize(("read", "bound"), [("w", ""), ("h", ""), ("x", "w")])
def test_what_training_goes_on_from_is_not_rewritten(read, bound):
    """A weight that is trained is no constant, and the training information would name what is gone."""
    result = foldproof.Optimizer(foldproof.Options(verify=False)).run(trained(read, bound))
    assert result.model == trained(read, bound)
    (warning,) = result.report.warnings
    assert warning == f"nothing was rewritten: the training information refers to {bound or read!r} in the graph"


def test_training_that_reads_inputs_alone_keeps_nothing():
    result = foldproof.Optimizer(foldproof.Options(verify=False)).run(trained("x", ""))
    assert operators(result.model) == {"Mul": 1}
    assert result.model.training_info == trained("x", "").training_info
