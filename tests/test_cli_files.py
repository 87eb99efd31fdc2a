"""The command and files: streams, text forms, in place, and ends by a signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest

import foldproof
from tests.commands import DYNAMIC, command, save_dynamic
from tests.helpers import operators, parse
from tests.kill_points import OLD, save, value_of


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_dynamic(tmp_path)


class TestStreams:
    def test_from_the_standard_input_to_the_standard_output(self, model: Path) -> None:
        result = command("optimize", "-", input=model.read_bytes())
        assert result.exit_code == 0, result.stderr
        assert operators(onnx.load_model_from_string(result.stdout_bytes)) == {"Size": 1}
        assert "verified" in result.stderr
        assert files(model.parent) == ["model.onnx"]

    def test_quietly(self, model: Path) -> None:
        result = command("optimize", model, "-o", "-", "-q")
        assert (result.exit_code, result.stderr) == (0, "")
        assert operators(onnx.load_model_from_string(result.stdout_bytes)) == {"Size": 1}

    def test_from_the_standard_input_to_a_file(self, model: Path) -> None:
        out = model.with_name("out.onnx")
        assert command("optimize", "-", "-o", out, input=model.read_bytes()).exit_code == 0
        assert operators(onnx.load(out)) == {"Size": 1}

    def test_report_and_model_can_not_both_go_there(self, model: Path) -> None:
        result = command("optimize", model, "-o", "-", "--json", "-")
        assert result.exit_code == 2
        assert result.stdout_bytes == b""

    @pytest.mark.parametrize("content", [b"", b"junk"])
    def test_what_is_no_model_exits_with_3(self, content: bytes) -> None:
        result = command("optimize", "-", input=content)
        assert result.exit_code == 3
        assert "standard input" in result.stderr
        assert result.stdout_bytes == b""

    def test_external_data_exits_with_2_unless_it_goes_inside(self, tmp_path: Path) -> None:
        save(OLD, tmp_path / "in.onnx", "one")
        result = command("optimize", tmp_path / "in.onnx", "-o", "-")
        assert result.exit_code == 2
        assert result.stdout_bytes == b""
        result = command("optimize", tmp_path / "in.onnx", "-o", "-", "--external-data", "never", "--rules", "none")
        assert result.exit_code == 0, result.stderr
        (tmp_path / "out.onnx").write_bytes(result.stdout_bytes)
        assert value_of(tmp_path / "out.onnx") == OLD

    def test_the_data_of_a_stream_lies_in_the_working_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        save(OLD, tmp_path / "in.onnx", "one")
        (tmp_path / "out").mkdir()
        monkeypatch.chdir(tmp_path)
        done = subprocess.run(
            [sys.executable, "-m", "foldproof.cli", "optimize", "-", "-o", "out/out.onnx", "--rules", "none"],
            input=(tmp_path / "in.onnx").read_bytes(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert value_of(tmp_path / "out" / "out.onnx") == OLD


class TestTextForms:
    def test_the_output_has_the_form_of_the_input(self, model: Path) -> None:
        assert command("optimize", model, "-o", model.with_name("a.textproto")).exit_code == 0
        result = command("optimize", model.with_name("a.textproto"), "--set-dim", "N=2")
        assert result.exit_code == 0, result.output
        assert operators(onnx.load(model.with_name("a.opt.textproto"))) == {}
        assert command("verify", model, model.with_name("a.textproto")).exit_code == 0

    def test_with_external_data(self, tmp_path: Path) -> None:
        save(OLD, tmp_path / "in.onnx", "one")
        assert command("optimize", tmp_path / "in.onnx", "-o", tmp_path / "out.json", "--rules", "none").exit_code == 0
        assert value_of(tmp_path / "out.json") == OLD
        assert command("verify", tmp_path / "in.onnx", tmp_path / "out.json").exit_code == 0
        assert (
            command("optimize", tmp_path / "out.json", "-o", tmp_path / "back.onnx", "--rules", "none").exit_code == 0
        )
        assert value_of(tmp_path / "back.onnx") == OLD

    def test_no_certificate_is_made_of_them(self, model: Path) -> None:
        out, certificate = model.with_name("a.json"), model.with_name("c.json")
        assert command("optimize", model, "-o", out, "--certificate", certificate).exit_code == 2
        assert files(model.parent) == ["model.onnx"]


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes with a name")
def test_what_is_no_file_is_not_replaced(model: Path, tmp_path: Path) -> None:
    """A rename would put a file in the place of `/dev/null`."""
    os.mkfifo(tmp_path / "pipe")
    result = command("optimize", model, "-o", tmp_path / "pipe", "--force", "--no-verify")
    assert result.exit_code == 2
    assert "no regular file" in result.stderr
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_a_name_that_is_no_text(model: Path, tmp_path: Path) -> None:
    out = tmp_path / os.fsdecode(b"\xff.onnx")
    for _ in range(2):  # the second one knows the output of the first
        result = command("optimize", model, "-o", out, "--no-verify")
        assert result.exit_code == 0, result.output
    onnx.load_from_string(out.read_bytes())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
@pytest.mark.parametrize("options", [["-o"], ["--link-weights", "-o"], ["--in-place"]])
def test_a_folder_whose_name_is_no_text(options: list[str], tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    save(OLD, tmp_path / "text" / "model.onnx", "one")
    folder = (tmp_path / "text").rename(tmp_path / os.fsdecode(b"\xff"))
    model, out = folder / "model.onnx", folder / "out.onnx"
    result = command("optimize", model, *options, *([out] if options[-1] == "-o" else []))
    assert result.exit_code == 0, result.output
    assert "verified" in result.output


class TestLongNames:
    """A name may have 255 bytes: 255 letters of ASCII, or half as many of most other alphabets."""

    @pytest.mark.parametrize("stem", ["n" * 250, "\N{GREEK SMALL LETTER OMEGA}" * 125])
    def test_of_the_model(self, stem: str, model: Path) -> None:
        out = model.with_name(f"{stem}.onnx")
        assert command("optimize", model, "-o", out).exit_code == 0
        assert command("optimize", model, "-o", out).exit_code == 0  # which the second run knows
        model.replace(out)
        assert command("optimize", out, "--in-place").exit_code == 0
        assert operators(onnx.load(out)) == {"Size": 1}
        assert files(out.parent) == [out.name]

    def test_that_leaves_no_room_for_that_of_its_data_file(self, tmp_path: Path) -> None:
        model, out = tmp_path / "model.onnx", tmp_path / f"{'n' * 250}.onnx"
        save(OLD, model, "one")
        before = files(tmp_path)
        result = command("optimize", model, "-o", out, "--no-verify")
        assert result.exit_code == 2
        assert "data file" in result.stderr
        assert "--external-data never" in result.stderr
        assert files(tmp_path) == before
        assert command("optimize", model, "-o", out, "--no-verify", "--external-data", "never").exit_code == 0
        assert files(tmp_path) == sorted([*before, out.name])


@pytest.mark.skipif(os.name != "posix", reason="needs a shell of POSIX")
@pytest.mark.parametrize(("arguments", "closed"), [("- -o out.onnx", "<&-"), ("in.onnx -o -", ">&-")])
def test_a_stream_that_is_closed(arguments: str, closed: str, tmp_path: Path) -> None:
    save(OLD, tmp_path / "in.onnx", "inside")
    line = f"{sys.executable} -m foldproof.cli optimize {arguments} --no-verify {closed}"
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "is closed" in done.stderr
    assert files(tmp_path) == ["in.onnx"]


class TestInPlace:
    def test_the_input_is_written_over_once_all_is_verified(self, model: Path) -> None:
        result = command("optimize", model, "--in-place")
        assert result.exit_code == 0, result.output
        assert operators(onnx.load(model)) == {"Size": 1}
        assert files(model.parent) == ["model.onnx"]

    @pytest.mark.parametrize("place", ["inside", "outside"])
    def test_its_size_is_what_it_was(self, place: str, tmp_path: Path) -> None:
        model, report = tmp_path / "f" / "in.onnx", tmp_path / "r.json"
        model.parent.mkdir()
        save(OLD, model, place)
        sizes = [sum(path.stat().st_size for path in model.parent.iterdir())]
        assert command("optimize", model, "--in-place", "--no-verify", "--json", report).exit_code == 0
        sizes.append(sum(path.stat().st_size for path in model.parent.glob("in.onnx*")))  # the old data may stay
        assert sizes[0] != sizes[1]
        assert list(json.loads(report.read_text())["bytes"].values()) == sizes

    def test_it_stays_the_persons_own(self, model: Path) -> None:
        other = model.with_name("other.onnx")
        onnx.save(parse(DYNAMIC), other)
        assert command("optimize", model, "--in-place").exit_code == 0
        before = model.read_bytes()
        assert command("optimize", other, "-o", model).exit_code == 2
        assert model.read_bytes() == before

    def test_where_it_can_not_be_verified_it_stays(self, tmp_path: Path) -> None:
        model = tmp_path / "model.onnx"
        text = "g (float[2,3] x) => (float[2,3] y, int64 s) { y = acme.Thing(x) s = Size(x) }"
        onnx.save(parse(text, imports='"acme": 1'), model)
        before = model.read_bytes()
        assert command("optimize", model, "--in-place").exit_code == 4
        assert model.read_bytes() == before

    @pytest.mark.parametrize("options", [["-o", "{}/out.onnx"], ["--certificate", "{}/c.json"]])
    def test_what_makes_no_sense_with_it(self, options: list[str], model: Path) -> None:
        before = model.read_bytes()
        arguments = [option.format(model.parent) for option in options]
        assert command("optimize", model, "--in-place", *arguments).exit_code == 2
        assert model.read_bytes() == before

    def test_a_stream_has_no_place(self, model: Path) -> None:
        assert command("optimize", "-", "--in-place", input=model.read_bytes()).exit_code == 2

    def test_without_it_the_input_is_never_written(self, model: Path) -> None:
        before = model.read_bytes()
        assert command("optimize", model, "-o", model, "--force").exit_code == 2
        assert model.read_bytes() == before


WHILE_WRITING = """
import foldproof.model_file.staging as staging
real = staging._write_synced
def slow(*arguments):
    real(*arguments)
    print('begun', flush=True)
    time.sleep(30)
staging._write_synced = slow
"""
WHILE_VERIFYING = """
import os, signal
from foldproof.engines import Worker
real = Worker.run
def stuck(worker, *arguments):
    os.kill(worker._process.pid, signal.SIGSTOP)  # as in a model that never comes to its end
    print('begun', worker._process.pid, flush=True)
    return real(worker, *arguments)
Worker.run = stuck
"""


NEEDS_SIGNALS = pytest.mark.skipif(os.name != "posix", reason="signals of this kind are POSIX")


@NEEDS_SIGNALS
@pytest.mark.parametrize(("handler", "status"), [("default_int_handler", 130), ("SIG_IGN", 0)])
def test_an_end_before_anything_is_begun_is_quiet(handler: str, status: int) -> None:
    code = f"""
import os, signal, sys
signal.signal(signal.SIGINT, signal.{handler})
from foldproof.__main__ import main
class Pressed:
    def find_spec(name, *_):
        if name == "foldproof.cli.configured":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Pressed)
sys.argv = ["foldproof", "--version"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (status, "")
    assert done.stdout == ("" if status else f"foldproof, version {foldproof.__version__}\n")


@NEEDS_SIGNALS
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(("code", "options"), [(WHILE_WRITING, ["--no-verify"]), (WHILE_VERIFYING, [])])
def test_an_end_by_a_signal_leaves_nothing(
    code: str, options: list[str], number: signal.Signals, tmp_path: Path
) -> None:
    """A process that waits for its input gets the signal while it is at work."""
    save(OLD, tmp_path / "in.onnx", "one")
    (tmp_path / "temporary").mkdir()
    # Whoever runs the tests may want it to be ignored, such as nohup, and that is inherited.
    heeded = f"import signal, time\nsignal.signal({int(number)}, signal.SIG_DFL)"
    program = f"{heeded}\n{code}\nfrom foldproof.cli import main\nmain()"
    run = subprocess.Popen(
        [sys.executable, "-c", program, "optimize", str(tmp_path / "in.onnx"), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    )
    assert run.stdout is not None
    begun, *child = run.stdout.readline().split()
    assert begun == b"begun"
    assert len(files(tmp_path)) > 3  # with what is staged
    start = time.monotonic()
    run.send_signal(number)
    _, errors = run.communicate(timeout=20)
    assert time.monotonic() - start < 10
    assert run.returncode == 128 + number
    assert b"interrupted" in errors
    assert files(tmp_path) == ["in.onnx", "in.onnx.data", "temporary"]
    assert files(tmp_path / "temporary") == []
    for each in child:
        with pytest.raises(ProcessLookupError):
            os.kill(int(each), 0)
