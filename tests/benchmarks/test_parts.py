"""Corpora, processes, verdicts and figures, each by itself."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from benchmarks.scaling import MODELS
from benchmarks.side_by_side import figures
from benchmarks.side_by_side.judge_process import difference
from benchmarks.side_by_side.models import corpus, describe
from benchmarks.side_by_side.processes import run
from tests.helpers import needs_recent_onnxruntime, parse


def test_a_manifest_says_what_is_fed(tmp_path: pathlib.Path) -> None:
    onnx.save(parse("g (float[N] x) => (float[N] y) { y = Neg(x) }"), tmp_path / "m.onnx")
    hints = {
        "floats": {"dtype": "float32", "shape": [1000], "low": 2.0, "high": 3.0},
        "usual": {"dtype": "float64", "shape": [1000]},
        "integers": {"dtype": "int64", "shape": [1000], "low": 3, "high": 6},
        "booleans": {"dtype": "bool", "shape": [1000]},
        "whole": {"dtype": "float32", "shape": [1000], "high": 3, "whole": True},
        "scalar": {"dtype": "int64", "shape": [], "value": 16000.0},
        "filled": {"dtype": "int64", "shape": [2, 3], "value": 1.0},
        "words": {"dtype": "str", "shape": [2, 1], "value": ["a", "b"]},
    }
    records = [{"name": "m", "path": "m.onnx", "input_shapes": [hints, hints], "random_ops": True}]
    (tmp_path / "manifest.json").write_text(json.dumps({"models": records}))
    (model,) = corpus(tmp_path)
    first, second = model.feeds
    assert model.random
    assert {name: (str(value.dtype), value.shape) for name, value in first.items()} == {
        name: ("object" if hint["dtype"] == "str" else hint["dtype"], tuple(hint["shape"]))
        for name, hint in hints.items()
    }
    assert 2 <= first["floats"].min() < first["floats"].max() < 3
    assert -1 <= first["usual"].min() < 0 < first["usual"].max() < 1
    assert set(first["integers"]) == {3, 4, 5}
    assert set(first["booleans"]) == {False, True}
    assert set(first["whole"]) == {0, 1, 2}
    assert first["scalar"] == 16000
    assert first["filled"].tolist() == [[1, 1, 1], [1, 1, 1]]
    assert first["words"].tolist() == [["a"], ["b"]]
    assert not np.array_equal(first["floats"], second["floats"])


def test_a_folder_without_a_manifest_is_a_corpus(tmp_path: pathlib.Path) -> None:
    (tmp_path / "in").mkdir()
    onnx.save(parse("g (float[N, 3] x) => (float[N, 3] y) { y = Neg(x) }"), tmp_path / "in" / "m.onnx")
    (model,) = corpus(tmp_path)
    assert model.name == "in/m"
    assert [feed["x"].shape[1] for feed in model.feeds] == [3, 3]
    assert model.feeds[0]["x"].shape != model.feeds[1]["x"].shape


def test_a_model_is_described_whole(tmp_path: pathlib.Path) -> None:
    body = """g (float[N] x, bool c) => (float[N] y) <float[1] w = {1}> {
        k = Constant<value_float=1.0>()
        y = If(c) <then_branch = t () => (float[N] a) { b = Neg(x)  a = Abs(b) },
                   else_branch = e () => (float[N] d) { d = my.ops.F(x) }> }"""
    onnx.save(parse(body, imports='"my.ops": 1'), tmp_path / "m.onnx")
    found = describe(tmp_path / "m.onnx")
    assert (found.nodes, found.constants, found.foreign, found.external) == (4, 1, ("my.ops",), False)
    assert [name for name, _ in found.signature] == ["x", "c", "y"]
    assert found.size == (tmp_path / "m.onnx").stat().st_size


# An older onnxruntime takes minutes for bodies in bodies.
SLOW = {"nested_bodies": needs_recent_onnxruntime}


@pytest.mark.parametrize("family", [pytest.param(each, marks=SLOW.get(each, ())) for each in MODELS])
def test_scaling_models_run_and_have_the_size_that_was_asked_for(family: str) -> None:
    model = MODELS[family](300)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    shape = [each if isinstance(each, int) else 3 for each in session.get_inputs()[0].shape]
    (output,) = session.run(None, {"x": np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)})
    assert np.isfinite(output).all()

    def count(nodes: Any) -> int:
        return sum(1 + sum(count(a.g.node) for a in node.attribute if a.HasField("g")) for node in nodes)

    assert 240 <= count(model.graph.node) <= 360


def test_the_memory_of_children_is_added() -> None:
    hold = "import time; held = bytearray(60 << 20); held[::4096] = held[::4096]; time.sleep(0.3)"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}])"
    alone, both = (run([sys.executable, "-c", program], 60) for program in (hold, f"{child}\n{hold}"))
    assert alone.status == both.status == 0
    assert 60 < alone.peak_mib < 110
    assert 60 < both.peak_mib - alone.peak_mib < 110


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (np.float32([1, 2]), np.float32([1, 2.5]), 0.25),
        (np.float32([100, 0]), np.float32([100, 1]), 0.01),
        (np.float32([np.nan, np.inf]), np.float32([np.nan, np.inf]), 0.0),
        (np.float32([1]), np.float32([np.nan]), "NaN or infinity"),
        (np.float32([1]), np.float64([1]), "became"),
        (np.zeros((2, 1)), np.zeros((1, 2)), "became"),
        (np.int64([1]), np.int64([2]), "differ"),
        (np.array(["a"], object), np.array(["b"], object), "differ"),
        ([np.int64([1])], [np.int64([1]), np.int64([1])], "1 elements became 2"),
        ([{"a": 1.0}], [{"a": 1.5}], 0.5),
        ([{"a": 1.0}], [{"b": 1.0}], "differ"),
        (None, np.int64([1]), "came or went"),
        (None, None, 0.0),
        (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), 0.0),
    ],
)
def test_differences(a: Any, b: Any, expected: float | str) -> None:
    found = difference(a, b, random=False)
    assert expected in found if isinstance(expected, str) else found == pytest.approx(expected)


def test_of_random_outputs_only_the_form_is_compared() -> None:
    assert difference(np.float32([1]), np.float32([5]), random=True) == 0.0
    assert isinstance(difference(np.float32([1]), np.float32([5, 6]), random=True), str)


def made_up(**walls: list[list[float]]) -> dict[str, Any]:
    """Results of whole processes: of each tool a list of rounds for each model; none where it was wrong."""
    runs = [
        {
            tool: {"status": "right" if rounds[k] else "wrong", "wall": rounds[k] or [0.001]}
            for tool, rounds in walls.items()
        }
        for k in range(len(next(iter(walls.values()))))
    ]
    models = {f"m{k}": {"family": None, "original": {"nodes": 10}, "runs": each} for k, each in enumerate(runs)}
    return {"tools": {tool: {"missing": []} for tool in walls}, "models": models}


def test_ratios_are_of_medians_and_only_right_results_count() -> None:
    results = made_up(foldproof=[[1, 9, 2], [3, 3], [5]], onnxsim=[[8, 4, 0], [6], []], onnxslim=[[2], [1], [10]])
    assert figures.ratios(results, "whole process", "foldproof", "onnxsim") == {"m0": 0.5, "m1": 0.5}
    assert figures.ratios_to_the_faster(results, "whole process") == {"m0": 1.0, "m1": 3.0, "m2": 0.5}


def test_growth_is_counted_from_the_smallest_model() -> None:
    sizes = {100: (1.0, 60.0), 1000: (20.0, 69.0), 10_000: (200.0, 258.0)}
    models = {
        f"chain {nodes}": {
            "family": "chain",
            "original": {"nodes": nodes},
            "runs": {"foldproof": {"status": "right", "seconds": [seconds], "peak_mib": [memory]}},
        }
        for nodes, (seconds, memory) in sizes.items()
    }
    results = {"tools": {"foldproof": {"missing": []}}, "models": models}
    time = figures.growth(results, "chain", "foldproof", "in process")
    assert time == pytest.approx({100: 0.01, 1000: 0.02, 10_000: 0.02})
    memory = figures.growth(results, "chain", "foldproof", "peak memory")
    assert memory == pytest.approx({1000: 0.01, 10_000: 0.02})


def test_the_geometric_mean() -> None:
    assert figures.geometric_mean([0.5, 8]) == pytest.approx(2)
    assert figures.geometric_mean([]) is None


@pytest.mark.parametrize(
    ("points", "seconds"),
    [
        ([], 0),
        ([(100, 3.0)], 30),
        ([(100, 2.0), (100, 3.0)], 30),
        ([(10, 5.0), (100, 6.0)], 60),  # slower growth than the nodes' is that of what doesn't grow
        ([(10, 1.0), (100, 31.622776601683793)], 1000),
        ([(10, 1.0), (100, 100.0)], 10_000),
        ([(10, 1.0), (100, 5000.0)], 500_000),  # what is steeper is a threshold, and not taken to go on
    ],
)
def test_expected_seconds(points: list[tuple[int, float]], seconds: float) -> None:
    assert figures.expected_seconds(points, 1000) == pytest.approx(seconds)
