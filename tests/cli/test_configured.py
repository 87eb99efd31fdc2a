"""Options from the file, the environment and the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner, Result

from foldproof.cli import main
from tests.helpers import operators, parse

STATIC = "g (float[2,3] x, float[N,3] y) => (int64 s, int64 t) { s = Size(x) t = Size(y) }"


def command(*arguments: object, **environment: str) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], env=environment)


def in_force(*arguments: object, **environment: str) -> dict[str, tuple[object, str]]:
    result = command("config", "--json", "-", *arguments, **environment)
    assert result.exit_code == 0, result.output
    return {key: (each["value"], each["source"]) for key, each in json.loads(result.output)["options"].items()}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse(STATIC), tmp_path / "model.onnx")
    return tmp_path


def configure(text: str, name: str = "foldproof.toml") -> None:
    Path(name).write_text(text, encoding="utf-8")


def test_what_the_file_says_is_done(project: Path) -> None:
    configure("no_verify = true\nset_dim = {N = 2}\n")
    assert command("optimize", "model.onnx").exit_code == 0
    assert operators(onnx.load("model.opt.onnx")) == {}
    assert command("optimize", "model.onnx", "-o", "b.onnx", "--no-config", "--no-verify").exit_code == 0
    assert operators(onnx.load("b.onnx")) == {"Size": 1}


def test_the_file_is_found_from_a_folder_below(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure("[tool.foldproof]\nno-verify = true\nrules = ['none']\n", "pyproject.toml")
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    assert command("optimize", "../model.onnx", "-o", "out.onnx").exit_code == 0
    assert operators(onnx.load("out.onnx")) == {"Size": 2}


def test_flag_before_environment_before_file_before_default(project: Path) -> None:
    assert in_force()["level"] == (2, "default")
    configure("\nlevel = 1\n")
    assert in_force()["level"] == (1, "foldproof.toml:2")
    assert in_force(FOLDPROOF_LEVEL="3")["level"] == (3, "FOLDPROOF_LEVEL")
    assert in_force("optimize", "-O2", FOLDPROOF_LEVEL="3")["level"] == (2, "flag")


def test_a_command_and_a_model_have_tables_of_their_own(project: Path) -> None:
    configure(
        "exact = true\nseed = 1\n[verify]\nexact = false\nseed = 2\n[optimize]\nseed = 3\n"
        "[[model]]\npath = '*.onnx'\nseed = 4\nlevel = 3\n[[model]]\npath = 'mod*.onnx'\nlevel = 1\n"
    )
    assert in_force("verify")["exact"] == (False, "foldproof.toml:4")
    assert in_force("verify", "model.onnx", "other.onnx")["seed"] == (2, "foldproof.toml:5")
    assert in_force("optimize")["seed"] == (3, "foldproof.toml:7")
    of_model = in_force("optimize", "model.onnx")
    assert of_model["seed"] == (4, "foldproof.toml:10")
    assert of_model["level"] == (1, "foldproof.toml:14")
    assert of_model["exact"] == (True, "foldproof.toml:1")
    assert in_force("optimize", "x.onnx")["level"] == (3, "foldproof.toml:11")


def test_each_kind_of_value(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(
        "keep_node = ['/a b', 'c']\nskip_rules = 'a, b'\nset_dim = {batch = 1, 'x:0' = 3}\nbind = {n = [1, 8], m = 2}\n"
        "rules_from = ['tools/mine.py', 'pack.rules', 'other.py']\nmax_growth = 3\nfeeds = 'inputs'\nexternal_data = 'never'\nir3_initializers_are_constants = false\n"
    )
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    found = {key: value for key, (value, _) in in_force().items()}
    assert found["rules_from"] == [str(project / "tools/mine.py"), "pack.rules", str(project / "other.py")]
    assert found["keep_node"] == ["/a b", "c"]
    assert found["skip_rules"] == ["a", "b"]
    assert found["set_dim"] == {"batch": 1, "x:0": 3}
    assert found["bind"] == {"n": [1, 8], "m": [2]}
    assert found["max_growth"] == 3.0
    assert Path(str(found["feeds"])) == project / "inputs"
    assert found["external_data"] == "never"
    assert found["ir3_initializers_are_constants"] is False
    assert found["certificate"] is None


def test_modules_of_rules_are_run_by_what_needs_rules_and_by_nothing_else(project: Path) -> None:
    """As the page on security says."""
    onnx.save(parse("g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }"), "m.onnx")
    needs = ("rules", "optimize m.onnx", "explain m.onnx", "bisect m.onnx", "gate m.onnx", "batch m.onnx -o out")
    others = ("config", "config optimize m.onnx", "diff m.onnx m.onnx", "verify m.onnx m.onnx", "rules --no-config")
    for number, line in enumerate((*needs, *others)):
        configure(f"rules_from = ['theirs{number}.py']")
        Path(f"theirs{number}.py").write_text(f"open('run{number}', 'w').close()")
        command(*line.split())
        assert Path(f"run{number}").exists() == (line in needs), line


def test_the_environment_reads_as_flags_do(project: Path) -> None:
    found = in_force(FOLDPROOF_SET_DIM="batch=1 seq=2", FOLDPROOF_EXACT="1", FOLDPROOF_SKIP_RULES="a,b c")
    assert found["set_dim"] == ({"batch": 1, "seq": 2}, "FOLDPROOF_SET_DIM")
    assert found["exact"] == (True, "FOLDPROOF_EXACT")
    assert found["skip_rules"] == (["a", "b", "c"], "FOLDPROOF_SKIP_RULES")
    for arguments in (["optimize", "model.onnx"], ["config"]):
        result = command(*arguments, FOLDPROOF_LEVEL="9")
        assert result.exit_code == 2
        assert "It is from the environment variable FOLDPROOF_LEVEL." in " ".join(result.output.split())


def test_another_file_may_be_named(project: Path) -> None:
    configure("level = 1\n")
    configure("level = 3\n", "other.toml")
    assert in_force("optimize", "--config", "other.toml")["level"] == (3, "other.toml:1")
    assert in_force("optimize", FOLDPROOF_CONFIG="other.toml")["level"] == (3, "other.toml:1")
    assert in_force("optimize", "--no-config", FOLDPROOF_CONFIG="other.toml")["level"] == (2, "default")
    assert command("optimize", "model.onnx", "--config", "missing.toml").exit_code == 2
    assert command("optimize", "model.onnx", "--config", "other.toml", "--no-config").exit_code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("levle = 1", "foldproof.toml:1: there is no option 'levle'. The nearest name is 'level'."),
        ("\n[optimize]\nstrikt = true", "foldproof.toml:3: there is no option 'strikt'. The nearest name is 'strict'."),
        ("[optimise]\nlevel = 1", "foldproof.toml:1: there is no option 'optimise'. The nearest name is 'optimize'."),
        ("[verify]\nmax_growth = 1", "foldproof.toml:2: there is no option 'max_growth'"),
        ("[[model]]\npath = 'a'\nbudgets = 1", "foldproof.toml:3: there is no option 'budgets'. The nearest name is 'budget'."),
        ("level = '3'", "foldproof.toml:1: 'level' is '3'. Give a whole number."),
        ("level = true", "'level' is True. Give a whole number."),
        ("level = 4", "foldproof.toml:1: 'level': 4 is not in the range"),
        ("strict = 1", "'strict' is 1. Give true or false."),
        ("max_growth = 'much'", "'max_growth' is 'much'. Give a number."),
        ("keep_node = [1]", "'keep_node' is 1. Give a string."),
        ("feeds = ['a']", "'feeds' is ['a']. Give a string."),
        ("external_data = 'perhaps'", "foldproof.toml:1: 'external_data'"),
        ('feeds = "a\\u0000"', r"foldproof.toml:1: 'feeds' is 'a\x00'. Give a string without NUL."),
        ("set_dim = ['batch']", "foldproof.toml:1: 'set_dim': 'batch' is not of the form"),
        ("set_dim = {batch = 'x'}", "foldproof.toml:1: 'set_dim' has 'x'. Give whole numbers."),
        ("output = 'model.onnx'", "'output' can't be configured"),
        ("in-place = true", "'in_place' can't be configured"),
        ("[bisect]\nforce = true", "'force' can't be configured"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_names_file_line_and_key(project: Path, text: str, words: str) -> None:
    configure(text)
    before = sorted(project.iterdir())
    for arguments in (["optimize", "model.onnx"], ["rules"]):  # also a command that has not that option
        result = command(*arguments)
        assert result.exit_code == 2, result.output
        assert words in result.output
    assert sorted(project.iterdir()) == before


def test_help_is_shown_whatever_the_file_says(project: Path) -> None:
    configure("levle = 1")
    assert command("optimize", "--help").exit_code == 0


def test_the_table_may_be_copied(project: Path) -> None:
    configure("keep_node = ['a']\nset_dim = {batch = 1}\n[[model]]\npath = 'm/*.onnx'\nbudget = {nodes = 3}\n")
    output = command("config", "optimize").output
    assert output.startswith("file: foldproof.toml\n")
    for line in (
        'keep_node +\\["a"\\] +foldproof.toml:1',
        "set_dim +{batch = 1} +foldproof.toml:2",
        "level +2 +default",
    ):
        assert re.search(line, output), output
    assert "models m/*.onnx (foldproof.toml:4):\n  budget = {nodes = 3}" in output
    assert command("config", "nonsense").exit_code == 2


def test_a_variable_of_no_option_is_told(project: Path) -> None:
    result = command("config", FOLDPROOF_LEVLE="1")
    assert result.exit_code == 0
    assert "FOLDPROOF_LEVLE is the environment variable of no option" in result.output
    assert (
        "FOLDPROOF_LEVEL " not in command("config", FOLDPROOF_LEVEL="1", FOLDPROOF_CONFIG="").output.split("options")[0]
    )


def test_a_file_that_nobody_can_read_is_told(project: Path) -> None:
    for content in (b"\xff", b"x = " + b"[" * 5000 + b"]" * 5000):
        Path("foldproof.toml").write_bytes(content)
        result = command("rules")
        assert result.exit_code == 2, result.output
        assert "foldproof.toml is no TOML" in result.output
        assert command("rules", "--no-config").exit_code == 0
