"""The README says what the command really does."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

import foldproof
from foldproof.cli import main
from tests.helpers import parse

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_sample_output_is_the_real_one(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    shutil.copy(models / "mean_pooling.onnx", tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(main, ["optimize", "models/mean_pooling.onnx"])
    assert result.exit_code == 0, result.output

    def stable(text: str) -> list[str]:
        # The time, the runtime's version and the last bits of its floats are others elsewhere.
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return [line for line in lines if not line.startswith(("seconds:", "verified:", "seq=", "file size:"))]

    assert stable(blocks("text")[0]) == stable(result.output)


def test_the_sample_explanation_is_the_real_one(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    shutil.copy(models / "mean_pooling.onnx", tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["explain", "models/mean_pooling.onnx", "--node", "tmp"])
    assert result.output in blocks("text")


def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    model = parse("g (float[batch,3] x) => (int64 s, float[batch,3] y) { s = Size(x) y = Relu(x) }")
    onnx.save(model, "in.onnx")
    onnx.save(model, "other.onnx")
    scope: dict[str, object] = {"model": model}
    exec(blocks("python")[0], scope)
    assert isinstance(scope["optimized"], onnx.ModelProto)
    assert isinstance(scope["report"], foldproof.Report)
    assert scope["verification"].status == "same"
    assert "before" in capsys.readouterr().out


def test_each_option_that_is_named_exists() -> None:
    text = "".join(CliRunner().invoke(main, [command, "--help"]).output for command in main.commands)
    for option in set(re.findall(r"--[a-z][a-z0-9-]+", README.split("## From Python")[0])) - {
        "--quiet",
        "--editable",
        "--help",
    }:
        assert option in text, option


def test_the_exit_statuses_are_those_of_the_errors() -> None:
    documented = {int(number) for number in re.findall(r"^\| (\d) \|", README, re.MULTILINE)}
    errors = [
        foldproof.VerificationError,
        foldproof.UsageError,
        foldproof.ModelError,
        foldproof.UnverifiedError,
        foldproof.RuleError,
    ]
    assert documented == {0, *(error.exit_status for error in errors)}
