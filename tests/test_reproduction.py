from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from click.testing import CliRunner

import foldproof
from foldproof.cli import main
from foldproof.rewriting import Forward, Outcome, Reason, Replace, Rule, rule
from foldproof.rewriting.packs import installed
from tests.helpers import operators, parse
from tests.test_rollback import no_relu, rough_relu


@rule("Transpose", exact=True, benefit=90)
def any_transposes_cancel(node: ir.Node, facts: foldproof.facts.Facts) -> Outcome:
    """Transpose(Transpose(x)) = x, which is wrong where the second does not undo the first."""
    inner = None if node.inputs[0] is None else node.inputs[0].producer()
    if inner is None or inner.op_type != "Transpose" or facts.of(inner.inputs[0]).rank != 3:
        return Reason("it is no Transpose of a Transpose")
    return Forward(inner.inputs[0])


@rule("Add", exact=True, benefit=90)
def other_branch(node: ir.Node, facts: foldproof.facts.Facts) -> Outcome:
    """Add(x, y) = Sub(x, y), which is wrong."""
    return Replace(lambda op: op.Sub(*node.inputs))


LONG = (
    "g (float[N,3,3] x, float[N] w) => (float[N,3,3] z) { a = Exp(x) b = Tanh(a) t = Transpose <perm = [0, 2, 1]> (b)"
    " u = Transpose <perm = [1, 0, 2]> (t) v = Transpose <perm = [1, 0, 2]> (u) c = Sigmoid(v) z = Neg(c) }"
)


def kinds(path: Path) -> set[str]:
    """The operators of a model, but the Identity that gives an output its name."""
    return set(operators(onnx.load(path))) - {"Identity"}


def reproduce(rules: list[Rule], model: onnx.ModelProto, folder: Path, **options: object) -> dict[str, object]:
    """Optimizes with wrong rules; what `repro.json` says, after `foldproof verify` has seen the difference too."""
    optimizer = foldproof.Optimizer(foldproof.Options(save_repro=folder, **options), rules=[*rules, *installed()])
    result = optimizer.run(model)
    assert result.report.taken_back
    assert {path.name for path in folder.iterdir()} >= {"before.onnx", "after.onnx", "repro.json", "test_data_set_0"}
    described = json.loads((folder / "repro.json").read_text())
    exact = ["--exact"] if described["class"] == "exact" else []
    arguments = ["verify", str(folder / "before.onnx"), str(folder / "after.onnx"), "--feeds", str(folder), *exact]
    shown = CliRunner().invoke(main, arguments)
    assert shown.exit_code == 1, shown.output
    return described


def test_the_smallest_models_hold_the_rewrite_alone(tmp_path: Path) -> None:
    model = parse("g (float[N,3] x) => (float[N,3] z) { a = Exp(x) b = Tanh(x) c = Add(a, b) z = Relu(c) }")
    described = reproduce([other_branch], model, tmp_path / "repro")
    assert (described["rule"], described["place"]) == ("other_branch", "c")
    assert kinds(tmp_path / "repro" / "before.onnx") == {"Add"}
    assert kinds(tmp_path / "repro" / "after.onnx") == {"Sub"}


def test_as_much_of_the_graph_is_taken_in_as_the_rewrite_needs(tmp_path: Path) -> None:
    described = reproduce(
        [any_transposes_cancel], parse(LONG), tmp_path / "repro", skip_rules=["transpose_of_transpose"]
    )
    assert described["rule"] == "any_transposes_cancel"
    assert kinds(tmp_path / "repro" / "before.onnx") == {"Transpose"}


def test_a_tolerant_rewrite_is_reproduced(tmp_path: Path) -> None:
    model = parse("g (float[2,3] x) => (float[2,3] z) { a = Exp(x) b = Relu(a) z = Neg(b) }")
    described = reproduce([rough_relu], model, tmp_path / "repro")
    assert (described["rule"], described["class"]) == ("rough_relu", "tolerant")
    assert kinds(tmp_path / "repro" / "before.onnx") == {"Relu"}


def test_large_weights_are_reproduced(tmp_path: Path) -> None:
    model = parse("g (float[N,64] x) => (float[N,64] z) { m = MatMul(x, w) c = Add(m, k) z = Tanh(c) }")
    weights = {"w": np.ones((64, 64), np.float32), "k": np.arange(64, dtype=np.float32)}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(each, name) for name, each in weights.items())
    assert reproduce([other_branch], model, tmp_path / "repro")["place"] == "c"


def test_a_rewrite_in_a_body_is_reproduced(tmp_path: Path) -> None:
    model = parse(
        "g (float[N,3] x, bool k) => (float[N,3] y) { y = If (k) <then_branch = a () => (float[N,3] t) { u = Sub(x, x)"
        " v = Relu(x) t = Add(u, v) }, else_branch = b () => (float[N,3] e) { e = Abs(x) }> }"
    )
    assert reproduce([no_relu], model, tmp_path / "repro")["rule"] == "no_relu"


def test_a_folder_with_something_in_it_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(foldproof.UsageError, match="not an empty folder"):
        foldproof.Optimizer(foldproof.Options(save_repro=tmp_path)).run(parse(LONG))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_nothing_is_written_where_nothing_differs(tmp_path: Path) -> None:
    foldproof.optimize(parse(LONG), save_repro=tmp_path / "repro")
    assert list(tmp_path.iterdir()) == []


def test_each_guilty_rewrite_has_its_folder(tmp_path: Path) -> None:
    model = parse(
        "g (float[N,3] x) => (float[N,3] y, float[N,3] z) { a = Exp(x) y = Add(a, x) b = Tanh(x) z = Add(b, x) }"
    )
    optimizer = foldproof.Optimizer(foldproof.Options(save_repro=tmp_path / "repro"), rules=[other_branch])
    assert len(optimizer.run(model).report.taken_back) == 2
    assert (tmp_path / "repro" / "repro.json").exists()
    assert (tmp_path / "repro" / "z" / "repro.json").exists()
