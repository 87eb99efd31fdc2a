"""The forms in which services of continuous integration read what the gate found."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from foldproof.cli import main
from foldproof.configuration import Place
from foldproof.gating.outcome import Gated, Outcome
from foldproof.reporting.gate.annotations import annotation_lines
from foldproof.reporting.gate.junit import junit
from foldproof.reporting.gate.sarif import sarif

# The schema of the standard, as it is published.
SCHEMA = json.loads(Path(__file__).with_name("sarif-2.1.0.schema.json").read_text(encoding="utf-8"))
NAME = "<a&b>, 50% \x1b:\n"


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Gated]:
    monkeypatch.chdir(tmp_path)
    configuration = Place(Path("foldproof.toml"), 7)
    first = Path("models") / "a b.onnx"
    return [
        Gated(
            first,
            (
                Outcome("nodes", "failed", "it has 3 nodes", configuration),
                Outcome("bytes", "passed", "it is small", configuration),
                Outcome("optimized", "failed", f"would change {NAME}", Place(first), (NAME, "s"), "Run it"),
            ),
            1.5,
        ),
        Gated(
            Path("/else/where.onnx"), (Outcome("readable", "error", "no model", Place(Path("/else/where.onnx"))),), 0.5
        ),
        Gated(Path("c.onnx"), (Outcome("optimized", "passed", "it is optimized", Place(Path("c.onnx"))),), 0.0),
    ]


def test_sarif_is_as_its_schema_says(found: list[Gated]) -> None:
    log = json.loads(json.dumps(sarif(found)))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    (run,) = log["runs"]
    nodes, optimized, readable = run["results"]
    assert [each["ruleId"] for each in run["results"]] == ["nodes", "optimized", "readable"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert nodes["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "foldproof.toml"},
        "region": {"startLine": 7},
    }
    assert optimized["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "models/a%20b.onnx"
    assert [each["name"] for each in optimized["locations"][0]["logicalLocations"]] == [NAME, "s"]
    assert readable["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///else/where.onnx"
    assert "models/a b.onnx: it has 3 nodes" in nodes["message"]["text"]


def test_the_schema_refuses_what_is_none(found: list[Gated]) -> None:
    log = sarif(found)
    del log["runs"][0]["results"][0]["message"]
    assert not jsonschema.Draft4Validator(SCHEMA).is_valid(log)


def test_junit_has_a_test_for_each_check(found: list[Gated]) -> None:
    root = ET.fromstring(junit(found))
    (suite,) = root
    for element in (root, suite):
        assert (element.get("tests"), element.get("failures"), element.get("errors")) == ("5", "2", "1")
        assert element.get("time") == "2.000"
    cases = [(each.get("classname"), each.get("name"), [inner.tag for inner in each]) for each in suite]
    assert cases == [
        ("models/a b.onnx", "nodes", ["failure"]),
        ("models/a b.onnx", "bytes", ["system-out"]),
        ("models/a b.onnx", "optimized", ["failure"]),
        ("/else/where.onnx", "readable", ["error"]),
        ("c.onnx", "optimized", ["system-out"]),
    ]
    failure = suite[0][0]
    assert failure.get("message") == "it has 3 nodes"
    assert "at foldproof.toml:7" in str(failure.text)
    assert "node s" in str(suite[2][0].text)


def test_annotations_are_single_lines(found: list[Gated]) -> None:
    lines = list(annotation_lines(found))
    assert lines[0].startswith("::error file=foldproof.toml,line=7,title=foldproof%3A nodes::models/a b.onnx: it has 3")
    assert lines[1].startswith("::error file=models/a b.onnx,title=foldproof%3A optimized::")
    assert "50%25" in lines[1]
    assert "\\x1b:\\n" in lines[1]
    assert len(lines) == 3
    assert not any("\n" in line for line in lines)


def test_the_command_writes_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.onnx").write_bytes(b"junk")
    arguments = ["gate", "broken.onnx", "--junit", "a.xml", "--sarif", "a.sarif", "--json", "a.json", "-q"]
    result = CliRunner().invoke(main, arguments, env={"GITHUB_ACTIONS": "true"})
    assert result.exit_code == 3, result.output
    assert result.output.startswith("::error file=broken.onnx,")
    assert ET.parse("a.xml").getroot().get("errors") == "1"
    jsonschema.Draft4Validator(SCHEMA).validate(json.loads(Path("a.sarif").read_text()))
    assert json.loads(Path("a.json").read_text())["passed"] is False
    again = CliRunner().invoke(main, [*arguments, "--no-annotations"], env={"GITHUB_ACTIONS": "true"})
    assert (again.exit_code, again.output) == (3, "")  # its own earlier results are replaced
