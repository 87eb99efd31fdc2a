"""`foldproof batch` on this machine, from the command to the files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest
from click.testing import CliRunner, Result

from foldproof.batch.outcome import FORMAT
from foldproof.cli import main
from tests.batch.models import RULES, contents, model, optimized, save, save_with_data
from tests.helpers import operators

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "batch.schema.json").read_text(encoding="utf-8"))


def batch(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["batch", *map(str, arguments)])


def report(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    errors = [f"{e.json_path}: {e.message}" for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(content)]
    assert errors == []
    return content


def statuses(content: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["status"] for each in content["models"]}


def until(holds: Callable[[], object], seconds: float = 200.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.usefixtures("at_once")
class TestResults:
    def test_they_are_those_of_single_runs_and_are_done_once(self, tmp_path: Path) -> None:
        save(tmp_path / "in", "a.onnx", "deep/b.onnx")
        save_with_data(tmp_path / "in" / "deep" / "c.onnx")
        arguments = (tmp_path / "in", "-o", tmp_path / "out", "--json", tmp_path / "batch.json")
        result = batch(*arguments)
        assert result.exit_code == 0, result.output
        names = ["a.onnx", "deep/b.onnx", "deep/c.onnx"]
        assert contents(tmp_path / "out") == optimized(tmp_path / "in", names, tmp_path / "scratch")
        assert "deep/c.onnx.data" in contents(tmp_path / "out")
        first = report(tmp_path / "batch.json")
        assert [each["name"] for each in first["models"]] == names
        assert first["counts"] == {"models": 3, "kept": 0, "by_status": {"done": 3}}
        assert first["models"][0]["nodes"] == {"before": 2, "after": 1}

        # What became of it later is done again, and nothing else: another model, a damaged result, other data.
        save(tmp_path / "in", "a.onnx", operator="Abs")
        (tmp_path / "out" / "deep" / "b.onnx").unlink()
        assert batch(*arguments).exit_code == 0
        assert [each["kept"] for each in report(tmp_path / "batch.json")["models"]] == [False, False, True]
        assert operators(onnx.load(tmp_path / "out" / "a.onnx")) == {"Abs": 1}
        (tmp_path / "in" / "deep" / "weights" / "w.bin").write_bytes(twos := b"\0\0\0\x40" * 3)
        assert batch(*arguments).exit_code == 0
        assert [each["kept"] for each in report(tmp_path / "batch.json")["models"]] == [True, True, False]
        weights = {each.name: each.raw_data for each in onnx.load(tmp_path / "out/deep/c.onnx").graph.initializer}
        assert weights["w"] == twos

    def test_other_options_are_other_work(self, tmp_path: Path) -> None:
        save(tmp_path, "a.onnx")
        (tmp_path / "foldproof.toml").write_text('[[model]]\npath = "a.onnx"\nset_dim = {N = 2}\n')
        arguments = (tmp_path / "a.onnx", "-o", tmp_path / "out", "--config", tmp_path / "foldproof.toml")
        assert "done" in batch(*arguments).output
        dims = onnx.load(tmp_path / "out" / "a.onnx").graph.input[0].type.tensor_type.shape.dim
        assert dims[0].dim_value == 2, "what the configuration says of this model"
        assert "1/1" not in batch(*arguments, "--workers", 1).output, "it is done"
        assert "1/1  done" in batch(*arguments, "--rules", "none").output
        assert operators(onnx.load(tmp_path / "out" / "a.onnx")) == {"Relu": 1, "Size": 1}
        assert "1/1  done" in batch(*arguments, "--rules", "none", "--certificates", "--reports").output
        assert sorted(contents(tmp_path / "out")) == ["a.onnx", "a.onnx.certificate.json", "a.onnx.html"]
        checked = [tmp_path / "out" / "a.onnx.certificate.json", tmp_path / "a.onnx", tmp_path / "out" / "a.onnx"]
        assert CliRunner().invoke(main, ["check", *map(str, checked)]).exit_code == 0

    def test_a_file_of_the_persons_is_not_overwritten(self, tmp_path: Path) -> None:
        save(tmp_path / "in", "a.onnx")
        save(tmp_path / "out", "a.onnx", operator="Abs")
        before = contents(tmp_path / "out")
        result = batch(tmp_path / "in", "-o", tmp_path / "out")
        assert result.exit_code == 2
        assert "refused" in result.output
        assert "--force" in result.output
        assert contents(tmp_path / "out") == before
        assert batch(tmp_path / "in", "-o", tmp_path / "out", "--force").exit_code == 0

    def test_what_another_machine_has_written_is_ours(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        save(tmp_path / "in", "a.onnx")
        assert batch(tmp_path / "in", "-o", tmp_path / "out").exit_code == 0
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another cache"))
        result = batch(tmp_path / "in", "-o", tmp_path / "out", "--rules", "none")
        assert result.exit_code == 0, result.output
        assert operators(onnx.load(tmp_path / "out" / "a.onnx")) == {"Relu": 1, "Size": 1}


class TestIsolation:
    def test_one_that_kills_its_process_or_is_invalid_spoils_no_other(self, tmp_path: Path) -> None:
        save(tmp_path / "in", "good.onnx")
        save(tmp_path / "in", "killing.onnx", operator="Softsign")
        (tmp_path / "in" / "junk.onnx").write_bytes(b"junk")
        json_file = tmp_path / "batch.json"
        arguments = ("--workers", 2, "--rules-from", RULES, "--json", json_file)
        result = batch(tmp_path / "in", "-o", tmp_path / "out", *arguments)
        assert result.exit_code == 5, result.output
        content = report(json_file)
        assert statuses(content) == {"good.onnx": "done", "junk.onnx": "invalid", "killing.onnx": "died"}
        assert "SIGKILL" in content["models"][2]["error"]
        assert list(contents(tmp_path / "out")) == ["good.onnx"], "no temporary file is left"

    @pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it looks for processes in /proc")
    def test_a_batch_that_is_killed_goes_on_where_it_was(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        gate = tmp_path / "gate"
        monkeypatch.setenv("FOLDPROOF_TEST_FILE", str(gate))
        save(tmp_path / "in", "b.onnx", "c.onnx", "d.onnx", operator="Softplus")
        large = model("a")  # the largest comes first
        large.doc_string = "large " * 1000
        onnx.save(large, tmp_path / "in" / "a.onnx")
        command = [sys.executable, "-m", "foldproof.cli", "batch", tmp_path / "in", "-o", tmp_path / "out"]
        arguments = ["--workers", "2", "--rules-from", RULES, "--json", tmp_path / "batch.json"]
        first = subprocess.Popen([*command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: (tmp_path / "out" / ".foldproof-batch" / "a.onnx.json").exists())
        until(lambda: len(list(tmp_path.glob("gate.*"))) == 2)
        children = [int(path.suffix[1:]) for path in tmp_path.glob("gate.*")]
        os.kill(first.pid, signal.SIGKILL)
        os.kill(children[0], signal.SIGKILL)
        first.wait()
        until(lambda: not any(map(is_alive, children)))  # the other one ends by itself

        gate.touch()
        assert subprocess.run([*command, *arguments], check=False, capture_output=True).returncode == 0
        kept = {each["name"]: each["kept"] for each in report(tmp_path / "batch.json")["models"]}
        assert kept == {"a.onnx": True, "b.onnx": False, "c.onnx": False, "d.onnx": False}
        names = ["a.onnx", "b.onnx", "c.onnx", "d.onnx"]
        assert contents(tmp_path / "out") == optimized(tmp_path / "in", names, tmp_path / "scratch")

    @pytest.mark.skipif(not hasattr(os, "killpg"), reason="it sends a signal")
    def test_an_interrupted_batch_leaves_no_process_and_says_how_to_go_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FOLDPROOF_TEST_FILE", str(tmp_path / "gate"))
        save(tmp_path / "in", "a.onnx", operator="Softplus")
        command = [sys.executable, "-m", "foldproof.cli", "batch", tmp_path / "in", "-o", tmp_path / "out"]
        command = [*command, "--rules-from", RULES]
        # Whoever runs the tests in the background has it ignored, which is inherited.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        finally:
            signal.signal(signal.SIGINT, before)
        until(lambda: list(tmp_path.glob("gate.*")))
        running.send_signal(signal.SIGINT)
        _, words = running.communicate(timeout=100)
        assert running.returncode == 130
        assert "1 of 1 models are left; the same command goes on" in words
        assert "Traceback" not in words
        assert not is_alive(int(next(tmp_path.glob("gate.*")).suffix[1:]))
        assert contents(tmp_path / "out") == {}


class TestUsage:
    def test_it_is_a_schema_of_this_format(self) -> None:
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        assert SCHEMA["properties"]["format"]["const"] == FORMAT

    def test_nothing_is_begun_with_a_wrong_option(self, tmp_path: Path) -> None:
        save(tmp_path / "in", "a.onnx")
        (tmp_path / "file").touch()
        for arguments in (
            ["-o", tmp_path / "file"],
            ["-o", tmp_path / "in"],
            ["-o", tmp_path / "out", "--rules", "no_such_rule"],
            ["-o", tmp_path / "out", "--json", tmp_path / "in" / "a.onnx"],
            ["-o", tmp_path / "out", "--json", tmp_path / "out" / "a.onnx"],
        ):
            result = batch(tmp_path / "in", *arguments)
            assert result.exit_code == 2, (arguments, result.output)
        assert not (tmp_path / "out").exists()

    def test_its_own_section_has_only_its_own_options(self, tmp_path: Path) -> None:
        save(tmp_path / "in", "a.onnx")
        config = tmp_path / "foldproof.toml"
        config.write_text("[batch]\nlevel = 3\n")
        result = batch(tmp_path / "in", "-o", tmp_path / "out", "--config", config)
        assert result.exit_code == 2
        assert "level" in result.output
