from __future__ import annotations

import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from foldproof import UnverifiedWarning, UsageError, VerificationError
from foldproof.cli import main
from foldproof.compat import onnxsim, onnxslim, rule_names, simplify, slim
from foldproof.options import Options
from foldproof.rewriting.packs import installed
from tests.helpers import operators, parse

SHAPES = "g (float[batch,3] x) => (float[batch,3] y, int64[2] s) { s = Shape(x) r = Reshape(x, s) y = Relu(r) }"
DOCS = (Path(__file__).parents[2] / "docs" / "migrating.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_simplify_gives_a_new_model_and_whether_it_is_verified() -> None:
    model = parse(SHAPES)
    simplified, ok = simplify(model, check_n=3)
    assert ok is True
    assert operators(simplified) == {"Relu": 1, "Shape": 1}
    assert operators(model) == {"Relu": 1, "Reshape": 1, "Shape": 1}


def test_both_read_files_and_slim_writes_one(tmp_path: Path) -> None:
    weights = np.arange(300, dtype=np.float32)
    model = parse("g (float[N,300] x) => (float[N,300] y) { i = Identity(x) y = Mul(i, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, tmp_path / "in.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    for made in (simplify(tmp_path / "in.onnx")[0], slim(str(tmp_path / "in.onnx"))):
        assert operators(made) == {"Mul": 1}
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(made.graph.initializer[0]), weights)
    assert slim(tmp_path / "in.onnx", tmp_path / "a.onnx") is None
    assert slim(onnx.load(tmp_path / "in.onnx"), tmp_path / "b.onnx", save_as_external_data=True) is None
    for name in ("a", "b"):
        np.testing.assert_array_equal(
            onnx.numpy_helper.to_array(onnx.load(tmp_path / f"{name}.onnx").graph.initializer[0]), weights
        )
    assert (tmp_path / "b.onnx.data").exists()


@pytest.mark.parametrize("shapes", [{"x": [2, 3]}, {"x": [2, -1]}, {None: (2, 3)}, [2, 3]])
def test_shapes_bind_the_dims_that_they_stand_for(shapes: Any) -> None:
    for model in (
        simplify(parse(SHAPES), overwrite_input_shapes=shapes)[0],
        simplify(parse(SHAPES), input_shapes=shapes)[0],
    ):
        assert operators(model) == {"Relu": 1}
        assert [dim.dim_value for dim in model.graph.output[0].type.tensor_type.shape.dim] == [2, 3]


def test_slim_takes_shapes_as_text_or_by_name() -> None:
    for shapes in (["x:2,3"], {"x": [2, 3]}, ["2,3"]):
        assert operators(slim(parse(SHAPES), input_shapes=shapes)) == {"Relu": 1}
    unnamed = parse(SHAPES.replace("batch", "?").replace("float[?,3] y", "float[M,3] y"))
    assert operators(slim(unnamed, input_shapes=["x:2,3"])) == {"Relu": 1}


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ({"z": [1, 3]}, "there is no input 'z'. There are: x"),
        ({"x": [1]}, "has not 1 dims"),
        ({"x": [1, 4]}, "axis 1 of the input 'x' is 3, and can't be 4"),
    ],
)
def test_shapes_that_the_model_does_not_admit_are_refused(shapes: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        simplify(parse(SHAPES), overwrite_input_shapes=shapes)
    with pytest.raises(UsageError, match="is no shape"):
        slim(parse(SHAPES), input_shapes=["x:1,a"])


def test_a_dim_has_one_size() -> None:
    model = parse("g (float[N] x, float[N] z) => (float[N] y) { y = Add(x, z) }")
    with pytest.raises(UsageError, match="the dim 'N' can't be both 1 and 2"):
        simplify(model, test_input_shapes={"x": [1], "z": [2]})
    with pytest.raises(UsageError, match="the model has 2 inputs"):
        simplify(model, test_input_shapes=[1])


def test_a_persons_inputs_and_sizes_are_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Options] = []
    from foldproof.pipeline import Optimizer

    def noting(options: Options) -> Optimizer:
        seen.append(options)
        assert options.feeds is not None
        assert [path.name for path in options.feeds.iterdir()] == ["given.npz"]
        np.testing.assert_array_equal(np.load(options.feeds / "given.npz")["x"], data)
        return Optimizer(options)

    data = np.ones((5, 3), np.float32)
    np.save(tmp_path / "data.npy", data)
    monkeypatch.setattr(onnxsim, "Optimizer", noting)
    monkeypatch.setattr(onnxslim, "Optimizer", noting)
    assert simplify(parse(SHAPES), input_data={"x": data}, test_input_shapes={"x": [5, 3]})[1] is True
    slim(parse(SHAPES), model_check=True, model_check_inputs=["x:5,3", f"x:{tmp_path / 'data.npy'}"])
    assert [options.bind for options in seen] == [{"batch": (5,)}] * 2
    with pytest.raises(UsageError, match=r"no.npy can't be read"):
        slim(parse(SHAPES), model_check_inputs=["x:no.npy"])
    with pytest.raises(UsageError, match=r"'no.npy' names no input"):
        slim(parse(SHAPES), model_check_inputs=["no.npy"])


CONV = """g (float[N,1,4,4] x) => (float[N,2,2,2] y) <float[2,1,3,3] w = {1,2,3,4,5,6,7,8,9,9,8,7,6,5,4,3,2,1},
    float[2] s = {2,3}, float[2] b = {1,1}, float[2] m = {0.5,1}, float[2] v = {1,2}> {
    c = Conv(x, w) y = BatchNormalization(c, s, b, m, v) }"""


def test_batch_normalization_stays_where_it_shall() -> None:
    assert operators(simplify(parse(CONV))[0]) == {"Conv": 1}
    both = {"Conv": 1, "BatchNormalization": 1}
    assert operators(simplify(parse(CONV), skip_fuse_bn=True)[0]) == both
    assert operators(simplify(parse(CONV), perform_optimization=False)[0]) == both
    assert operators(slim(parse(CONV), skip_fusion_patterns=["FusionConvBN"])) == both
    assert operators(slim(parse(CONV), skip_optimizations=["graph_fusion"])) == both


def test_parts_can_be_left_out() -> None:
    model = parse(
        "g (float[2,3] x) => (int64 y, float[2,3] z) { a = Size(x) y = Neg(a) b = Relu(x) z = Abs(b) u = Abs(x) }"
    )
    assert operators(simplify(model)[0])["Size"] == 0
    assert operators(simplify(model, skip_constant_folding=True)[0])["Size"] == 1
    assert operators(slim(model, skip_optimizations=["constant_folding", "dead_node_elimination"])) == operators(model)
    with pytest.raises(UsageError, match="nothing called 'fusion' to leave out"):
        slim(model, skip_optimizations=["fusion"])


def test_functions_are_inlined_on_request() -> None:
    model = parse(
        "g (float[N] x) => (float[N] y) { y = my.F(x) }", imports='"my": 1',
        functions='<domain: "my", opset_import: ["": 18]> F (a) => (b) { c = Neg(a) b = Exp(c) }',
    )  # fmt: skip
    assert operators(simplify(model, inline_functions=True)[0]) == {"Neg": 1, "Exp": 1}


def test_what_can_not_be_verified_is_told() -> None:
    model = parse("g (float[3] x) => (float y) <int64 k = {5}> { i = Identity(x) y = Gather(i, k) }")
    with pytest.warns(UnverifiedWarning):
        simplified, ok = simplify(model)
    assert ok is False
    assert operators(simplified) == {"Gather": 1}


def test_a_difference_gives_the_original_back(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def __init__(self, options: Options) -> None: ...

        def run(self, model: onnx.ModelProto) -> None:
            raise VerificationError("they differ")

    monkeypatch.setattr(onnxsim, "Optimizer", Failing)
    model = parse(SHAPES)
    with pytest.warns(UnverifiedWarning, match="they differ"):
        assert simplify(model) == (model, False)


def test_parameters_without_a_counterpart_are_refused_or_warned_of() -> None:
    module = onnxsim.WITHOUT_COUNTERPART
    for function, known in ((simplify, module), (slim, onnxslim.WITHOUT_COUNTERPART)):
        function(parse(SHAPES), **{name: each.default for name, each in known.items()})  # type: ignore[operator]
        for name, each in known.items():
            if each.refused:
                with pytest.raises(UsageError, match=f"has no {name}"):
                    function(parse(SHAPES), **{name: "something"})  # type: ignore[operator]
    with pytest.warns(UserWarning, match="check_rtol changes nothing"):
        simplify(parse(SHAPES), check_rtol=0.1)
    with pytest.warns(UserWarning, match="size_threshold changes nothing"):
        slim(parse(SHAPES), size_threshold=1024)
    for function in (simplify, slim):
        with pytest.raises(TypeError, match="unexpected keyword argument 'xyz'"):
            function(parse(SHAPES), xyz=1)  # type: ignore[operator]


def test_each_rule_that_is_left_out_exists() -> None:
    known = {rule.name for rule in installed()}
    named = {*rule_names.CONSTANT_FOLDING, *rule_names.CONV_BATCH_NORMALIZATION}
    for table in (onnxslim.OPTIMIZATIONS, onnxslim.FUSION_PATTERNS):
        named |= {name for names in table.values() for name in names}
    documented = re.findall(r"--skip-rules ([a-z_,]+)", DOCS) + re.findall(r'skip_rules=\["([a-z_", ]+)"\]', DOCS)
    named |= {name for each in documented for name in re.split(r"[\", ]+", each)}
    assert named <= known


def rows(title: str) -> list[tuple[str, str]]:
    section = re.split(r"^## ", DOCS, flags=re.MULTILINE)
    (found,) = [each for each in section if each.startswith(title + "\n")]
    return [(left, right) for left, right in re.findall(r"^\| (`.*?) \| (.*) \|$", found, re.MULTILINE)]


def test_each_flag_of_ours_that_is_documented_exists() -> None:
    helps = {name: CliRunner().invoke(main, [name, "--help"]).output for name in main.commands}
    ours = [right for title in ("onnxsim's command", "onnxslim's command") for _, right in rows(title)]
    assert len(ours) > 40
    for text in ours:
        for command in re.findall(r"foldproof ([a-z-]+)", text):
            assert command in helps
        for flag in re.findall(r"(--[a-z0-9-]+|-O\d)", text):
            where = [helps[each] for each in (*re.findall(r"foldproof ([a-z-]+)", text), "optimize") if each in helps]
            assert any((flag if flag.startswith("--") else "-O ") in each for each in where), flag
    for name in re.findall(r"Options\((\w+)=", DOCS):
        assert hasattr(Options(), name), name


def test_each_parameter_is_documented() -> None:
    for title, function, module in (
        ("onnxsim's function", simplify, onnxsim),
        ("onnxslim's function", slim, onnxslim),
    ):
        documented = {name for left, _ in rows(title) for name in re.findall(r"`(\w+)", left)}
        accepted = {*inspect.signature(function).parameters, *module.WITHOUT_COUNTERPART} - {"model", "others"}
        assert documented == accepted
        for left, right in rows(title):
            for name in re.findall(r"`(\w+)", left):
                known = module.WITHOUT_COUNTERPART.get(name)
                assert right.startswith("refused") == (known is not None and known.refused), name
                assert right.startswith("warned") == (known is not None and not known.refused), name
