from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import onnx
import pytest

from tests.commands import save_dynamic
from tests.helpers import operators, parse

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a shell of POSIX")

FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")


def shell(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """What a line of a shell says and how it ends; `foldproof` in it is the command."""
    line = f'set -o pipefail; foldproof() {{ "{sys.executable}" -m foldproof "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env={**os.environ, **variables}, capture_output=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("foldproof optimize model.onnx --no-verify | true", 141, ""),
        ("foldproof optimize model.onnx --no-verify --json - | true", 141, ""),
        ("foldproof optimize model.onnx --no-verify 2>&1 | true", 141, ""),
        pytest.param(
            "foldproof optimize model.onnx --no-verify > /dev/full", 2, "the standard output can't be written", marks=FULL
        ),
        pytest.param("foldproof optimize model.onnx --no-verify -v 2> /dev/full", 0, "", marks=FULL),
        ("foldproof optimize model.onnx --no-verify 2>&-", 0, ""),
        ("foldproof optimize model.onnx --no-verify >&-", 0, ""),
    ],
)  # fmt: skip
def test_a_stream_that_takes_nothing_spoils_no_model(line: str, status: int, words: str, tmp_path: Path) -> None:
    save_dynamic(tmp_path)
    done = shell(line, tmp_path)
    assert done.returncode == status, done.stderr
    errors = done.stderr.decode()
    assert words in errors
    assert len(errors.splitlines()) == bool(words)
    assert operators(onnx.load(tmp_path / "model.opt.onnx")) == {"Size": 1}


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("foldproof --help | true", 141),
        ("foldproof diff model.onnx model.onnx | true", 141),
        ("foldproof optimize model.onnx -o - --no-verify | true", 141),
        ("foldproof optimize missing.onnx 2>&1 | true", 3),
        pytest.param("foldproof optimize missing.onnx 2> /dev/full", 3, marks=FULL),
        pytest.param("foldproof diff model.onnx model.onnx --json - > /dev/full", 2, marks=FULL),
    ],
)
def test_no_status_says_what_is_not_so(line: str, status: int, tmp_path: Path) -> None:
    save_dynamic(tmp_path)
    assert shell(line, tmp_path).returncode == status


def test_what_a_stream_can_not_encode_is_escaped(tmp_path: Path) -> None:
    model = parse("g (float[2,3] x) => (int64 y) { y = Size(x) }")
    model.graph.node[0].output[0] = model.graph.output[0].name = "größe→"
    onnx.save(model, tmp_path / "m.onnx")
    for line, status, encoding in (
        ("optimize m.onnx --no-verify -v", 0, "ascii"),
        ("explain m.onnx", 0, "ascii"),
        ("diff m.onnx m.opt.onnx", 1, "latin-1"),
        ("explain m.onnx --node nö→ 2>&1", 2, "latin-1"),
    ):
        done = shell(f"foldproof {line}", tmp_path, PYTHONIOENCODING=encoding)
        assert done.returncode == status, done.stderr
        assert b"\\u2192" in done.stdout


@FULL
def test_a_report_that_can_not_be_written_says_that_the_model_is(tmp_path: Path) -> None:
    save_dynamic(tmp_path)
    limited = "ulimit -f 1; trap '' XFSZ; foldproof optimize model.onnx --no-verify"  # KiB: enough for the model
    for option in ("--json", "--report", "--certificate"):
        done = shell(f"{limited} -o {option[2:]}.onnx {option} r{option}", tmp_path)
        assert done.returncode == 2, done.stderr
        assert f"can't be written: [Errno 27] File too large. The model itself is written, to {option[2:]}.onnx" in (
            done.stderr.decode()
        )
        assert operators(onnx.load(tmp_path / f"{option[2:]}.onnx")) == {"Size": 1}
        assert {each.suffix for each in tmp_path.iterdir()} == {".onnx"}


def test_the_place_of_a_closed_stream_is_taken(tmp_path: Path) -> None:
    """What a process that we start prints must not get into a file of ours that has the number of that stream."""
    code = (
        "from foldproof.cli.streams import open_closed_streams; import json, os; open_closed_streams();"
        "file = open('file', 'w'); json.dump([file.fileno(), os.fstat(2).st_rdev], file)"
    )
    subprocess.run(["bash", "-c", f'exec "{sys.executable}" -c "{code}" <&- >&- 2>&-'], cwd=tmp_path, check=True)
    number, device = json.loads((tmp_path / "file").read_text())
    assert number > 2
    assert device == Path(os.devnull).stat().st_rdev


def test_a_stream_of_the_program_that_runs_the_command_stays() -> None:
    program = """
        import contextlib, io, sys
        from foldproof.__main__ import main
        sys.argv = ["foldproof", "--version"]
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
            main()
        assert "foldproof" in said.getvalue()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_what_the_command_starts_has_the_streams_that_were_closed() -> None:
    program = """
        import subprocess
        from foldproof.cli.streams import open_closed_streams
        open_closed_streams()
        subprocess.run(["sh", "-c", "echo said >&2"], check=True)
    """
    subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$1" 2>&-', sys.executable, textwrap.dedent(program)],
        check=True,
    )
