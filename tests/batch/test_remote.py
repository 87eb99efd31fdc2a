"""Models and results that are not on this machine. `local://` is fsspec's own way to a folder, as any other store's."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

from foldproof.batch.folders import Folder
from foldproof.batch.selection import select
from foldproof.batch.task import Task, perform
from foldproof.cli import main
from foldproof.errors import UsageError
from foldproof.options import Options
from tests.batch.models import contents, optimized, save, save_with_data

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: foldproof[remote] has it")


@pytest.fixture
def memory() -> Iterator[str]:
    """A folder in fsspec's memory, which is that of this process."""
    system = fsspec.filesystem("memory")
    yield "memory://bucket"
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def put(path: Path, url: str) -> None:
    fsspec.filesystem("memory").put_file(str(path), url.removeprefix("memory:/"))


def task(source: str, name: str, target: str, **more: bool) -> Task:
    return Task(source, name, target, Options(), "fingerprint", **more)


class TestTasks:
    def test_data_comes_and_goes_with_the_model(self, tmp_path: Path, memory: str) -> None:
        save_with_data(tmp_path / "in" / "deep" / "m.onnx")
        put(tmp_path / "in" / "deep" / "m.onnx", f"{memory}/in/deep/m.onnx")
        put(tmp_path / "in" / "deep" / "weights" / "w.bin", f"{memory}/in/deep/weights/w.bin")
        assert [each.name for each in select([f"{memory}/in"], Folder.of(f"{memory}/out"))] == ["deep/m.onnx"]
        outcome = perform(task(f"{memory}/in", "deep/m.onnx", f"{memory}/out"))
        assert (outcome.status, outcome.output) == ("done", f"{memory}/out/deep/m.onnx")
        fsspec.filesystem("memory").get("/bucket/out", str(tmp_path / "got"), recursive=True)
        expected = optimized(tmp_path / "in", ["deep/m.onnx"], tmp_path / "scratch")
        assert contents(tmp_path / "got") == expected

    def test_a_model_fetches_nothing_from_outside_its_folder(self, tmp_path: Path, memory: str) -> None:
        save_with_data(tmp_path / "m.onnx")
        proto = onnx.load(tmp_path / "m.onnx", load_external_data=False)
        proto.graph.initializer[0].external_data[0].value = "../secret"
        (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
        put(tmp_path / "m.onnx", f"{memory}/in/m.onnx")
        put(tmp_path / "weights" / "w.bin", f"{memory}/secret")
        outcome = perform(task(f"{memory}/in", "m.onnx", f"{memory}/out"))
        assert outcome.status == "invalid"
        assert "outside the model's folder" in str(outcome.error)
        assert not fsspec.filesystem("memory").exists("/bucket/out/m.onnx")

    def test_missing_data_and_a_missing_model_are_told(self, tmp_path: Path, memory: str) -> None:
        save_with_data(tmp_path / "m.onnx")
        put(tmp_path / "m.onnx", f"{memory}/in/m.onnx")
        outcome = perform(task(f"{memory}/in", "m.onnx", f"{memory}/out"))
        assert outcome.status == "invalid"
        assert "w.bin" in str(outcome.error)
        assert perform(task(f"{memory}/in", "none.onnx", f"{memory}/out")).status == "invalid"

    def test_a_result_of_somebody_else_stays(self, tmp_path: Path, memory: str) -> None:
        save(tmp_path, "m.onnx")
        put(tmp_path / "m.onnx", f"{memory}/in/m.onnx")
        put(tmp_path / "m.onnx", f"{memory}/out/m.onnx")
        outcome = perform(task(f"{memory}/in", "m.onnx", f"{memory}/out"))
        assert (outcome.status, outcome.output) == ("refused", None)
        assert fsspec.filesystem("memory").cat_file("/bucket/out/m.onnx") == (tmp_path / "m.onnx").read_bytes()
        assert perform(task(f"{memory}/in", "m.onnx", f"{memory}/out", force=True)).status == "done"


@pytest.mark.usefixtures("at_once")
class TestCommand:
    def test_results_in_a_store_are_done_once(self, tmp_path: Path) -> None:
        save(tmp_path / "in", "a.onnx", "deep/b.onnx")
        command = ["batch", f"local://{tmp_path}/in", "-o", f"local://{tmp_path}/out", "--workers", "2", "--json", "-"]
        first = CliRunner().invoke(main, command)
        assert first.exit_code == 0, first.output
        names = ["a.onnx", "deep/b.onnx"]
        assert contents(tmp_path / "out") == optimized(tmp_path / "in", names, tmp_path / "scratch")
        (tmp_path / "out" / "a.onnx").unlink()
        second = json.loads(CliRunner().invoke(main, command).stdout)
        assert [each["kept"] for each in second["models"]] == [False, True]

    def test_models_on_a_server(self, tmp_path: Path) -> None:
        pytest.importorskip("aiohttp", reason="aiohttp is not installed: foldproof[remote] has it")
        save(tmp_path / "in", "a.onnx")
        handler = functools.partial(_Quiet, directory=str(tmp_path / "in"))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}"
            result = CliRunner().invoke(main, ["batch", f"{url}/a.onnx", f"{url}/b.onnx", "-o", str(tmp_path / "out")])
            server.shutdown()
        assert result.exit_code == 3, result.output
        assert "done        a.onnx" in result.output
        assert f"there is no {url}/b.onnx" in result.output
        assert contents(tmp_path / "out") == optimized(tmp_path / "in", ["a.onnx"], tmp_path / "scratch")

    def test_a_place_that_nothing_can_read_is_told(self, tmp_path: Path) -> None:
        result = CliRunner().invoke(main, ["batch", "nosuch://bucket/models", "-o", str(tmp_path / "out")])
        assert result.exit_code == 2
        assert "nosuch://bucket/models can't be reached" in result.stderr

    def test_weights_are_linked_only_on_this_machine(self, tmp_path: Path) -> None:
        save(tmp_path / "in", "a.onnx")
        command = ["batch", f"local://{tmp_path}/in", "-o", str(tmp_path / "out"), "--link-weights"]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 2
        assert "--link-weights" in result.stderr


def test_without_fsspec_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(UsageError, match=r"foldproof\[remote\]"):
        Folder.of("s3://bucket")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass
