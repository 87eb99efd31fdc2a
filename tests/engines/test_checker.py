"""onnx's checker in a process of its own, and that no child process imports what lies in the working folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from foldproof.engines.checker import checker_complaint
from tests.helpers import parse

GRAPH = "g (float[N] x) => (float[N] y) { y = Foo (x) }"


def test_it_tells_what_is_wrong() -> None:
    assert "Foo" in (checker_complaint(parse(GRAPH)) or "")


def test_it_says_nothing_of_a_valid_model() -> None:
    assert checker_complaint(parse(GRAPH.replace("Foo", "Abs"))) is None


@pytest.mark.parametrize("operator", ["Foo", "Abs"])
def test_no_child_imports_what_lies_in_the_working_folder(tmp_path: Path, operator: str) -> None:
    """The folder that somebody is in when they optimize a model may be a stranger's."""
    onnx.save(parse(GRAPH.replace("Foo", operator)), tmp_path / "model.onnx")
    for name in ("onnx", "numpy", "onnxruntime", "ml_dtypes", "json", "foldproof"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r})\n")
    script = Path(sys.executable).with_name("foldproof")
    subprocess.run([script, "optimize", "model.onnx", "-o", "out.onnx"], cwd=tmp_path, check=False, capture_output=True)
    assert not (tmp_path / "imported").exists()
