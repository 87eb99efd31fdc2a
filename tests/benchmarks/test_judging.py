"""Verdicts where the runtime itself dies, or takes too long: it is played by a module of the tests."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from benchmarks.side_by_side.judging import Request, judge

RUNTIME = """
import os, time, types
import numpy as np
GraphOptimizationLevel = types.SimpleNamespace(ORT_ENABLE_ALL=1, ORT_DISABLE_ALL=0)
class SessionOptions: pass
class InferenceSession:
    def __init__(self, path, options, providers):
        self.name = os.path.basename(path)
    def get_inputs(self):
        return [types.SimpleNamespace(name="x")]
    get_outputs = get_inputs
    def get_overridable_initializers(self):
        return []
    def run(self, names, feed):
        if "aborts" in self.name:
            os.abort()
        if "hangs" in self.name:
            time.sleep(1000)
        if "raises" in self.name:
            raise RuntimeError("no such shape")
        gain = 1e6 if "chaotic" in self.name else 1e3 if "sensitive" in self.name else 1
        return [(feed["x"] - 1) * np.float32(gain) + np.float32("adds" in self.name) * np.float32(0.005)]
"""


def verdicts(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, original: str, *results: str, timeout: float = 60
) -> list[str]:
    """The status of the original and of each result; each does what its name says."""
    (folder / "onnxruntime.py").write_text(RUNTIME)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    paths = [folder / name for name in results]
    first, others = judge(Request(folder / original, paths, [{"x": np.float32([1])}], False, 0), timeout)
    return [str(verdict["status"]) for verdict in (first, *others)]


def test_a_crash_takes_no_other_verdict_with_it(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdicts(tmp_path, monkeypatch, "runs", "runs", "aborts", "adds", "aborts", "raises", "runs")
    assert found == ["right", "right", "broken", "wrong", "broken", "broken", "right"]


def test_the_time_for_judging_has_a_limit(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdicts(tmp_path, monkeypatch, "runs", "hangs", timeout=5) == ["right", "unjudged"]


@pytest.mark.parametrize("original", ["raises", "aborts"])
def test_where_the_original_does_not_run_nothing_is_said_of_the_results(
    original: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verdicts(tmp_path, monkeypatch, original, "runs", "adds") == ["unrun", "unrun", "unrun"]


def test_floats_may_be_off_by_as_much_as_the_original_makes_of_roundings(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 0.005 is added. The inputs are moved by 1e-6: that makes 1e-3 of it, and 1.
    assert verdicts(tmp_path, monkeypatch, "runs", "runs", "adds") == ["right", "right", "wrong"]
    assert verdicts(tmp_path, monkeypatch, "sensitive", "sensitive_adds") == ["right", "right"]
    assert verdicts(tmp_path, monkeypatch, "chaotic", "chaotic", "chaotic_adds") == ["right", "right", "unjudged"]
