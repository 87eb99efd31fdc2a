"""What runs that were killed have left beside a destination: it goes, and what only has such a name stays."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest

from foldproof.model_file.leftovers import sweep, temporary_name
from tests.kill_points import OLD, save

TOKEN = "deadbeef"


@pytest.fixture
def destination(tmp_path) -> Path:
    """A model to which a run was killed, which left data and nothing that refers to it."""
    path = tmp_path / "o.onnx"
    save(OLD, path, "inside")
    (tmp_path / f"o.onnx.{TOKEN}.data").write_bytes(bytes(64))
    (tmp_path / temporary_name(path, TOKEN)).write_bytes(b"")
    return path


@pytest.mark.parametrize("letter", ["n", "\N{GREEK SMALL LETTER OMEGA}", "\N{GRINNING FACE}"])
def test_a_temporary_name_of_a_long_name_fits_and_is_found(letter, tmp_path):
    count = (255 - len(".onnx")) // len(letter.encode())
    path = tmp_path / f"{letter * count}.onnx"
    save(OLD, path, "inside")
    for suffix in ("onnx", "text"):
        (tmp_path / temporary_name(path, TOKEN, suffix)).write_bytes(b"")
    sweep(path)
    assert names(path) == [path.name]


def names(destination: Path) -> list[str]:
    return sorted(path.name for path in destination.parent.iterdir())


def test_what_a_dead_run_left_goes(destination):
    sweep(destination)
    assert names(destination) == ["o.onnx"]


def test_data_that_the_model_there_refers_to_stays(destination):
    save(OLD, destination, "one")
    data = destination.parent / f"o.onnx.{TOKEN}.data"
    (used,) = (path for path in destination.parent.iterdir() if path.suffix == ".data" and path != data)
    proto = onnx.load(destination, load_external_data=False)
    proto.graph.initializer[0].external_data[0].value = data.name
    destination.write_bytes(proto.SerializeToString())
    sweep(destination)
    assert data.name in names(destination)
    assert used.name in names(destination)


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes with a name")
@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_only_regular_files_are_looked_at(kind, destination):
    others = [
        temporary_name(destination, "0" * 8),
        temporary_name(destination, "1" * 8, "text"),
        f"o.onnx.{'0' * 8}.data",
    ]
    for name in others:
        path = destination.parent / name
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to("/dev/zero")
    sweep(destination)
    assert names(destination) == sorted([*others, "o.onnx"])
