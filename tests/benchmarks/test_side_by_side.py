"""The command, run over one small model by tools that are right, wrong, broken, missing, and that crash."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import jsonschema
import onnx
import pytest

from benchmarks.side_by_side import plots
from benchmarks.side_by_side.command import main
from benchmarks.side_by_side.measuring import Limits, measure
from benchmarks.side_by_side.models import Model
from benchmarks.side_by_side.tools import find_tool
from tests.helpers import parse

ROOT = pathlib.Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "benchmarks" / "results.schema.json").read_text())

# Exact for floats: adding the element count of a weight, which is 6. The Size and the Identity can go.
MODEL = """g (float[N] x) => (float[N] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}>
    { s = Size(w)  f = Cast<to=1>(s)  z = Add(x, f)  i = Identity(z)  y = Relu(i) }"""
ADAPTER = """
DISTRIBUTIONS = ({needs})
def prepare(source, target, external):
    import os, sys, time, onnx
    def run():
        model = onnx.load(source)
        {work}
        onnx.save(model, target)
    return run
"""
HANGING = """
DISTRIBUTIONS = ()
def prepare(source, target, external):
    import subprocess, sys, time
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    with open({path!r}, "w") as file:
        file.write(str(child.pid))
    return lambda: time.sleep(1000)
"""
ADAPTERS = {
    "wrong": "model.graph.node[-1].op_type = 'Neg'",
    "broken": "model.graph.node[-1].op_type = 'NoSuchOperator'",
    "renaming": "model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = 'M'",
    "raising": "raise ValueError('no such luck')",
    "aborting": "os.abort()",
    "missing": "",
}


def adapter(folder: pathlib.Path, name: str, work: str) -> str:
    needs = "'a-distribution-that-does-not-exist'," if name == "missing" else "'onnx',"
    path = folder / f"{name}.py"
    path.write_text(ADAPTER.format(needs=needs, work=work or "pass"))
    return str(path)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The arguments of the command; what it writes to is the last."""
    folder = tmp_path_factory.mktemp("benchmark")
    (folder / "corpus").mkdir()
    onnx.save(parse(MODEL), folder / "corpus" / "small.onnx")
    feeds = [{"x": {"dtype": "float32", "shape": [5], "low": -9.0, "high": 2.0}}]
    record = {"name": "small", "path": "small.onnx", "input_shapes": feeds}
    (folder / "corpus" / "manifest.json").write_text(json.dumps({"models": [record]}))
    tools = ["foldproof", "ort_basic", *(adapter(folder, name, work) for name, work in ADAPTERS.items())]
    arguments = ["--corpus", str(folder / "corpus"), "--tools", ",".join(tools), "--rounds", "1", "--timing", "0.01"]
    return [*arguments, "--out", str(folder / "out")]


@pytest.fixture(scope="module")
def out(command: list[str]) -> pathlib.Path:
    """The folder that the command has written to."""
    assert main(command) == 0
    return pathlib.Path(command[-1])


@pytest.fixture(scope="module")
def results(out: pathlib.Path) -> dict[str, Any]:
    return json.loads((out / "results" / "results.json").read_text())


def test_the_results_have_the_documented_form(results: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(results, SCHEMA)


def test_right_results_are_told_with_all_figures(results: dict[str, Any]) -> None:
    model = results["models"]["small"]
    assert model["original"]["nodes"] == 5
    for tool in ("foldproof", "ort_basic"):
        run = model["runs"][tool]
        assert (run["status"], run["signature_kept"], run["foreign"]) == ("right", True, [])
        assert run["nodes"] == 2  # Add and Relu
        assert run["wall"][0] > run["seconds"][0] > 0
        assert run["cpu"][0] > 0
        assert run["peak_mib"][0] > 10  # no interpreter takes less
        assert run["load_seconds"] > 0
        assert run["latency_seconds"] > 0


@pytest.mark.parametrize(
    ("tool", "status", "reason"),
    [
        ("wrong", "wrong", "of the output's scale"),
        ("broken", "broken", "NoSuchOperator"),
        ("raising", "crash", "ValueError: no such luck"),
        ("aborting", "crash", "SIGABRT"),
    ],
)
def test_faults_are_told(results: dict[str, Any], tool: str, status: str, reason: str) -> None:
    run = results["models"]["small"]["runs"][tool]
    assert run["status"] == status
    assert reason in run["reason"]


def test_a_changed_signature_is_told(results: dict[str, Any]) -> None:
    run = results["models"]["small"]["runs"]["renaming"]
    assert (run["status"], run["signature_kept"]) == ("right", False)


def test_a_missing_tool_is_told_and_not_run(results: dict[str, Any], out: pathlib.Path) -> None:
    assert results["tools"]["missing"]["missing"] == ["a-distribution-that-does-not-exist"]
    assert "missing" not in results["models"]["small"]["runs"]
    assert "missing: not run" in (out / "RESULTS.md").read_text()


def test_the_report_has_each_tool_and_both_kinds_of_the_plot(out: pathlib.Path) -> None:
    text = (out / "RESULTS.md").read_text()
    for tool in ("foldproof", "ort_basic", "wrong", "broken", "raising", "aborting"):
        assert f"| {tool} |" in text
    assert "| small | 5 | 2 | 2 | wrong | broken | 5 s | crash | crash |" in text
    assert "(results/ratios.svg)" in text
    assert (out / "results" / "ratios.svg").read_text().startswith("<?xml")
    assert (out / "results" / "ratios.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_there_is_not_run_again(
    command: list[str],
    results: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plots, "draw", lambda results, folder: [])  # they are there, and take seconds
    assert main([*command, "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["models"] == results["models"]
    assert main([*command, "--resume", "--tools", "foldproof"]) == 2
    assert "was made with other tools" in capsys.readouterr().err


def test_a_hanging_tool_is_stopped_with_all_that_it_started(tmp_path: pathlib.Path) -> None:
    onnx.save(parse(MODEL), tmp_path / "small.onnx")
    (tmp_path / "hanging.py").write_text(HANGING.format(path=str(tmp_path / "child")))
    tool = find_tool(str(tmp_path / "hanging.py"), 2, sys.executable)
    model = Model("small", tmp_path / "small.onnx", ())
    said: list[str] = []
    entry = measure(model, [tool], 0, Limits(run=2, timing=0), {}, said.append)
    assert entry["runs"]["hanging"]["status"] == "timeout"
    assert entry["runs"]["hanging"]["wall"] == []
    assert "stopped after 2 s" in said[0]
    stat = pathlib.Path("/proc", (tmp_path / "child").read_text(), "stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tools", "no_such_tool"], "no tool no_such_tool: there are foldproof, onnxsim, onnxslim"),
        (["--corpus", "{empty}"], "holds no models"),
        (["--only", "no_such_model"], "has no model no_such_model"),
        (["--report", str(ROOT / "benchmarks" / "results.schema.json")], "holds no results"),
        (["--report", "{empty}/nothing.json"], "nothing.json"),
        (["--peers-python", "{empty}/python", "--tools", "onnxsim"], "can't be run as Python"),
    ],
)
def test_wrong_usage_is_told(
    arguments: list[str], message: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [each.format(empty=tmp_path) for each in arguments]
    assert main(["--tools", "foldproof", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
