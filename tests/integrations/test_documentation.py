"""The documentation's examples run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import onnx
import pytest

import foldproof
from tests.helpers import operators, parse

DOCS = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text(encoding="utf-8")
MODEL = "g (float[batch,3] x) => (float[batch,3] y) { s = Shape(x) r = Reshape(x, s) i = Identity(r) y = Relu(i) }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse(MODEL), "in.onnx")
    return tmp_path


def run(title: str, **scope: Any) -> dict[str, Any]:
    section = DOCS.split(f"## {title}\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    found = {"foldproof": foldproof, **scope}
    exec(code, found)
    return found


def test_the_exporter(folder: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: .ci/integrations has it")
    run("torch's exporter", torch=torch, module=torch.nn.Linear(4, 3).eval())
    assert operators(onnx.load("model.onnx"))["Gemm"] == 1


def test_a_folder(folder: Path) -> None:
    Path("exported").mkdir()
    Path("in.onnx").rename("exported/model.onnx")
    assert list(run("Folders of optimum and transformers")["reports"]) == ["model.onnx"]
    assert operators(onnx.load("optimized/model.onnx")) == {"Relu": 1}


def test_olive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLIVE_DISABLE_TELEMETRY", "1")
    pytest.importorskip("olive", reason="olive-ai is not installed: .ci/integrations has it")
    run("Olive")
    (made,) = Path("out").rglob("*.onnx")
    assert operators(onnx.load(made)) == {"Relu": 1}


def test_a_session(folder: Path) -> None:
    assert [each.name for each in run("A session of onnxruntime")["session"].get_inputs()] == ["x"]
