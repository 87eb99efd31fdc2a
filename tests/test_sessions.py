from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import foldproof
from foldproof.fingerprint import fingerprint
from tests.helpers import operators, parse

FOLDS = "g (float[N,3] x) => (float[N,3] y) { s = Shape(x) r = Reshape(x, s) i = Identity(r) y = Relu(i) }"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(parse(FOLDS), path)
    return path


def entries(cache: Path) -> list[Path]:
    return sorted(cache.iterdir())


def load(model: Path, cache: Path, **options: object) -> onnxruntime.InferenceSession:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return foldproof.load_session(model, cache_dir=cache, options=foldproof.Options(**options))


def test_the_session_is_of_an_optimized_model_that_does_the_same(model: Path, tmp_path: Path) -> None:
    session = load(model, tmp_path / "cache", seed=1)
    (entry,) = entries(tmp_path / "cache")
    assert operators(onnx.load(entry / "model.onnx")) == {"Relu": 1}
    x = np.array([[-1, 2, -3]], np.float32)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.maximum(x, 0))


def test_it_is_made_once_for_the_same_content(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(model, tmp_path / "cache")
    copy = model.rename(tmp_path / "elsewhere.onnx")
    monkeypatch.setattr("foldproof.sessions.Optimizer", None)  # nothing is optimized any more
    load(copy, tmp_path / "cache")
    with pytest.raises(TypeError):
        load(copy, tmp_path / "cache", seed=2)


def test_another_content_is_optimized_anew(model: Path, tmp_path: Path) -> None:
    load(model, tmp_path / "cache")
    onnx.save(parse(FOLDS.replace("Relu", "Neg")), model)
    session = load(model, tmp_path / "cache")
    assert session.run(None, {"x": np.ones((1, 3), np.float32)})[0].tolist() == [[-1, -1, -1]]
    assert len(entries(tmp_path / "cache")) == 2


def test_other_external_data_is_another_content(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    proto = parse("g (float[N,300] x) => (float[N,300] y) { i = Identity(x) y = Mul(i, w) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(300, np.float32), "w"))
    onnx.save(proto, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    load(path, tmp_path / "cache")
    (tmp_path / "w.bin").write_bytes(np.full(300, 2, np.float32).tobytes())
    session = load(path, tmp_path / "cache")
    assert session.run(None, {"x": np.ones((1, 300), np.float32)})[0].tolist() == [[2.0] * 300]


def test_a_damaged_entry_is_made_anew(model: Path, tmp_path: Path) -> None:
    load(model, tmp_path / "cache")
    (entry,) = entries(tmp_path / "cache")
    (entry / "model.onnx").write_bytes(b"broken")
    load(model, tmp_path / "cache").run(None, {"x": np.ones((1, 3), np.float32)})
    assert operators(onnx.load(entry / "model.onnx")) == {"Relu": 1}


def test_a_model_that_changes_while_it_is_read_is_not_taken_for_the_old_one(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foldproof import sessions

    make = sessions._make

    def changing(path: Path, options: foldproof.Options, entry: Path) -> None:
        make(path, options, entry)
        if "Neg" not in operators(onnx.load(path)):
            onnx.save(parse(FOLDS.replace("Relu", "Neg")), path)

    monkeypatch.setattr(sessions, "_make", changing)
    session = load(model, tmp_path / "cache")
    assert session.run(None, {"x": np.ones((1, 3), np.float32)})[0].tolist() == [[-1, -1, -1]]
    assert len(entries(tmp_path / "cache")) == 1


def test_the_persons_cache_folder_is_the_default(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    foldproof.load_session(model)
    assert len(entries(tmp_path / "home" / "foldproof" / "sessions")) == 1


def test_session_options_are_handed_on(model: Path, tmp_path: Path) -> None:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = foldproof.load_session(
        model, cache_dir=tmp_path / "cache", sess_options=settings, providers=["CPUExecutionProvider"]
    )
    assert session.get_session_options().intra_op_num_threads == 1


def test_what_can_not_be_verified_is_used_as_it_is(model: Path, tmp_path: Path) -> None:
    # Its index is outside, so that the original fails at each input.
    onnx.save(parse("g (float[3] x) => (float y) <int64 k = {5}> { i = Identity(x) y = Gather(i, k) }"), model)
    for _ in range(2):  # the second time, the cache knows it
        with pytest.warns(foldproof.OriginalUsedWarning, match=r"model.onnx is used as it is"):
            session = foldproof.load_session(model, cache_dir=tmp_path / "cache")
        assert [each.name for each in session.get_inputs()] == ["x"]
    (entry,) = entries(tmp_path / "cache")
    assert [each.name for each in entry.iterdir()] == ["entry.json"]


def test_a_cache_that_can_not_be_written_is_no_obstacle(model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(foldproof.OriginalUsedWarning):
        session = foldproof.load_session(model, cache_dir=tmp_path / "file" / "cache")
    assert session.run(None, {"x": np.ones((1, 3), np.float32)})[0].tolist() == [[1, 1, 1]]


def test_wrong_usage_is_an_error(model: Path, tmp_path: Path) -> None:
    with pytest.raises(foldproof.UsageError, match="there is no file"):
        foldproof.load_session(tmp_path / "no.onnx")
    with pytest.raises(foldproof.UsageError, match="in_place makes no sense"):
        foldproof.load_session(model, options=foldproof.Options(in_place=True))
    with pytest.raises(foldproof.UsageError, match="no graph input has the dim 'M'"):
        foldproof.load_session(model, cache_dir=tmp_path / "cache", options=foldproof.Options(set_dim={"M": 1}))
    assert entries(tmp_path / "cache") == []
    load(model, tmp_path / "cache")
    with pytest.raises(foldproof.UsageError, match="feeds"):  # also where all else is the same as before
        load(model, tmp_path / "cache", feeds=tmp_path / "feeds")


def test_what_killed_processes_left_is_taken_away(model: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    old, new, persons = cache / ".foldproof-making-old", cache / ".foldproof-making-new", cache / "making-films"
    for left in (old, new, persons):
        left.mkdir(parents=True)
        (left / "model.onnx").write_bytes(b"half")
    os.utime(old, (0, 0))
    os.utime(persons, (0, 0))
    load(model, cache)
    assert new.exists()
    assert persons.exists()
    assert not old.exists()


def test_what_was_used_longest_ago_goes_where_a_cache_becomes_too_large(model: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    made = {}
    for seed in range(4):
        known = set(entries(cache)) if seed else set()
        load(model, cache, seed=seed)
        (made[seed],) = set(entries(cache)) - known
    size = sum(file.stat().st_size for file in made[0].iterdir())
    for seed, hours in ((0, 4), (1, 3), (2, 2)):  # the last one was used right now
        at = time.time() - 3600 * hours
        os.utime(made[seed] / "entry.json", (at, at))
    persons = cache / "films"
    persons.mkdir()
    load(model, cache, seed=0)  # it is used, and none goes, as nothing is made
    foldproof.load_session(model, cache_dir=cache, cache_bytes=4 * size, options=foldproof.Options(seed=4))
    assert [made[seed].exists() for seed in range(4)] == [True, False, True, True]
    foldproof.load_session(model, cache_dir=cache, cache_bytes=0, options=foldproof.Options(seed=5))
    assert [made[seed].exists() for seed in range(4)] == [True, False, False, True]
    assert persons.exists()
    assert len(entries(cache)) == 5


@pytest.mark.parametrize("pack", [False, True], ids=["a file", "a package"])
def test_other_rules_of_a_module_are_another_content(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: bool
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "somebodys_session_rules"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "rule.py").write_text("number = 1\n")
    options = foldproof.Options(rules_from=[folder.name if pack else str(folder / "rule.py")])
    first = fingerprint(options)
    (folder / "rule.py").write_text("number = 2\n")
    assert fingerprint(options) != first
    (folder / "rule.py").write_text("number = 1\n")
    assert fingerprint(options) == first


def test_another_version_of_a_rule_pack_is_another_content(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"somebodys-pack": "1.0"}
    known = metadata.version
    monkeypatch.setattr("foldproof.fingerprint.rule_packs", lambda: set(versions))
    monkeypatch.setattr(metadata, "version", lambda name: versions.get(name) or known(name))
    first = fingerprint(foldproof.Options())
    versions["somebodys-pack"] = "1.1"
    assert fingerprint(foldproof.Options()) != first


def test_a_full_disk_is_no_obstacle(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("foldproof.model_file.staging._write_synced", full)
    with pytest.warns(foldproof.OriginalUsedWarning, match="No space left on device"):
        session = foldproof.load_session(model, cache_dir=tmp_path / "cache")
    assert session.run(None, {"x": np.ones((1, 3), np.float32)})[0].tolist() == [[1, 1, 1]]
    assert entries(tmp_path / "cache") == []


def test_without_a_home_directory_the_original_is_used(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.warns(foldproof.OriginalUsedWarning, match="cache_dir="):
        foldproof.load_session(model)


def test_processes_share_a_cache(model: Path, tmp_path: Path) -> None:
    code = f"import foldproof; foldproof.load_session({str(model)!r}, cache_dir={str(tmp_path / 'cache')!r})"
    running = [subprocess.Popen([sys.executable, "-W", "error", "-c", code]) for _ in range(2)]
    assert [each.wait(timeout=120) for each in running] == [0, 0]
    (entry,) = entries(tmp_path / "cache")
    assert operators(onnx.load(entry / "model.onnx")) == {"Relu": 1}
