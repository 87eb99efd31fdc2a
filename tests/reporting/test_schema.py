"""The published schema holds for reports of all kinds."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import jsonschema
import onnx
import pytest
from click.testing import CliRunner

import foldproof
from foldproof.cli import main
from foldproof.reporting.report import FORMAT, Report
from foldproof.rewriting.packs import installed
from tests.helpers import parse
from tests.test_rollback import no_relu

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RELU = "g (float[N,3] x) => (float[N,3] y, int64 s) { a = Relu(x) y = Neg(a) s = Size(x) }"


def errors(content: object) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(content)]


def plain(report: Report) -> dict[str, object]:
    """The report as a program reads it: JSON proper, without NaN."""
    return json.loads(json.dumps(report.to_dict(), allow_nan=False))


def test_it_is_a_schema_of_this_format() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["format"]["const"] == FORMAT


def test_a_verified_report(models: Path) -> None:
    report = foldproof.Optimizer(foldproof.Options(measure=True)).run(models / "mean_pooling.onnx").report
    content = plain(report)
    assert content["verdict"] == "verified"
    assert content["measured"] is not None
    assert errors(content) == []


def test_a_report_with_bodies_and_wrong_declarations(models: Path) -> None:
    report = foldproof.Optimizer(foldproof.Options()).run(models / "branches_and_loop.onnx").report
    assert errors(plain(report)) == []
    model = parse("g (float[N,3] x) => (float[N,3] y) { a = Relu(x) y = Neg(a) }")
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [2, 3]))
    content = plain(foldproof.Optimizer(foldproof.Options(verify=False)).run(model).report)
    assert content["contradictions"]
    assert content["verification"] is None
    assert errors(content) == []


def test_a_report_with_a_rewrite_taken_back() -> None:
    report = foldproof.Optimizer(foldproof.Options(), rules=[no_relu, *installed()]).run(parse(RELU)).report
    content = plain(report)
    assert content["taken_back"]
    assert errors(content) == []


def test_a_report_of_a_difference() -> None:
    optimizer = foldproof.Optimizer(foldproof.Options(strict=True), rules=[no_relu, *installed()])
    with pytest.raises(foldproof.VerificationError) as caught:
        optimizer.run(parse(RELU))
    assert isinstance(caught.value.report, Report)
    content = plain(caught.value.report)
    assert content["verdict"] == "different"
    assert errors(content) == []


def test_a_report_of_what_nothing_can_run() -> None:
    model = parse("g (float[2,3] x) => (float[2,3] y, int64 s) { y = acme.What(x) s = Size(x) }", imports='"acme": 1')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", foldproof.UnverifiedWarning)
        content = plain(foldproof.Optimizer(foldproof.Options()).run(model).report)
    assert content["verdict"] == "unverified"
    assert errors(content) == []


def test_what_the_command_writes(models: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    arguments = ["optimize", models / "static_mean.onnx", "-o", tmp_path / "out.onnx", "--json", target, "-q"]
    assert CliRunner().invoke(main, [str(each) for each in arguments]).exit_code == 0
    content = json.loads(target.read_text(encoding="utf-8"))
    assert content["output"] == str(tmp_path / "out.onnx")
    assert errors(content) == []


def test_the_schema_refuses_what_is_no_report(models: Path) -> None:
    content = plain(foldproof.Optimizer(foldproof.Options(verify=False)).run(models / "static_mean.onnx").report)
    for name in content:
        assert errors({key: value for key, value in content.items() if key != name})
    assert errors({**content, "more": 1})
    assert errors({**content, "verdict": "fine"})
    assert errors({**content, "format": FORMAT + 1})
