from __future__ import annotations

import sys
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from foldproof.bisection import Suspicion, first_bad
from foldproof.cli import main
from foldproof.errors import UsageError
from tests.helpers import parse
from tests.test_rollback import MODEL, no_relu

# Fails for a model that has no node of an operator.
SCRIPT = "import onnx, sys; sys.exit(all(node.op_type != sys.argv[2] for node in onnx.load(sys.argv[1]).graph.node))"


@given(st.integers(1, 200), st.data())
def test_the_first_bad_prefix_is_found_in_few_steps(length: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, length))
    asked: list[int] = []

    def is_bad(prefix: int) -> bool:
        asked.append(prefix)
        return prefix >= first

    assert first_bad(length, is_bad) == first
    assert len(asked) <= length.bit_length()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(parse(MODEL), path)
    return path


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "check.py"
    path.write_text(SCRIPT)
    return f"{sys.executable} {path}"


def bisect(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["bisect", *map(str, arguments)])


def test_the_rewrite_that_differs_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from foldproof.rewriting.packs import installed

    rules = [no_relu, *installed()]
    monkeypatch.setattr("foldproof.pipeline.installed", lambda *_: rules)
    before = sorted(model.parent.iterdir())
    result = bisect(model)
    assert result.exit_code == 1, result.output
    text = result.output.replace("\n", " ")
    assert "the rule no_relu at a" in text
    assert "the output y differs at N=1" in text
    assert sorted(model.parent.iterdir()) == before


def test_a_model_without_a_guilty_rewrite_is_good(model: Path) -> None:
    result = bisect(model)
    assert (result.exit_code, result.output.strip()) == (0, "no rewrite does harm: the optimized model is good")


@pytest.mark.parametrize("place", ["{}", ""])
def test_the_persons_own_command_is_asked(model: Path, script: str, place: str) -> None:
    command = (
        f"{script} {{}} Identity"
        if place
        else f'{sys.executable} -c "{SCRIPT.replace("sys.argv[2]", repr("Identity"))}"'
    )
    result = bisect(model, "--run", command)
    assert result.exit_code == 1, result.output
    assert "the rule identity at i" in result.output


def test_a_command_that_succeeds_for_all_blames_nothing(model: Path, script: str) -> None:
    assert bisect(model, "--run", f"{script} {{}} Relu").exit_code == 0


def test_a_command_that_fails_for_the_original_too_is_no_measure(model: Path, script: str) -> None:
    result = bisect(model, "--run", f"{script} {{}} Conv")
    assert result.exit_code == 2
    assert "fails for the original too" in result.output


def test_a_command_of_the_persons_own_shows_no_difference_to_save(model: Path, script: str, tmp_path: Path) -> None:
    result = bisect(model, "--run", f"{script} {{}} Relu", "--save-repro", str(tmp_path / "repro"))
    assert result.exit_code == 2
    assert "Leave one of them out" in result.output


@pytest.mark.parametrize("command", ["", "'", "/no/such/program {}", "sh -c 'exit 127'"])
def test_what_is_no_command_is_wrong_usage(model: Path, command: str) -> None:
    assert bisect(model, "--run", command).exit_code == 2


def test_a_command_gets_the_path_of_the_model() -> None:
    written: list[Path] = []
    assert not Suspicion("test -e {}").blames(lambda path: [written.append(path), path.touch()])
    assert not written[0].exists()
    with pytest.raises(UsageError, match="no command"):
        Suspicion('"')
