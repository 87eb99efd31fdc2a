"""What is written beside a model is written over none of the files of the run."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest

import foldproof
from tests.commands import command, save_dynamic
from tests.helpers import parse

WEIGHTS = np.arange(4096, dtype=np.float32)
REPORTS = ("--json", "--certificate", "--report")


def save_with_data(folder: Path) -> Path:
    """Writes a model `m.onnx` whose weights lie in `m.onnx.data`."""
    folder.mkdir(exist_ok=True)
    model = parse("g (float[N,4096] x) => (float[N,4096] y) { a = Identity(x) y = Add(a, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(WEIGHTS, "w"))
    path = folder / "m.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="m.onnx.data", size_threshold=0)
    return path


def assert_refused(*arguments: object) -> None:
    result = command(*arguments)
    assert result.exit_code == 2, result.output
    assert "is a file of the same run" in result.stderr or "is an input, which is never overwritten" in result.stderr


@pytest.mark.parametrize("option", REPORTS)
@pytest.mark.parametrize("name", ["o.onnx.data", "o.onnx.1.data", "o.onnx.1f2e3d4c.data", "sub/../o.onnx", "link"])
def test_none_over_the_output_or_its_weights(option: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "o.onnx")  # which is not there yet
    model = save_with_data(tmp_path / "in")
    assert_refused(
        "optimize", model, "-o", tmp_path / "o.onnx", "--external-data", "always", "--no-verify", option,
        tmp_path / name, "--force",
    )  # fmt: skip
    assert not (tmp_path / "o.onnx").exists()


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(REPORTS, 2)))
def test_no_two_in_one_file(first: str, second: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    model = save_dynamic(tmp_path)
    other = tmp_path / "sub" / ".." / "one"
    assert_refused("optimize", model, "--no-verify", first, tmp_path / "one", second, other)
    assert not model.with_name("model.opt.onnx").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        *(["optimize", "{}", "-o", "{}.out", "--no-verify", "--force", option] for option in REPORTS),
        *(["gate", "{}", "--force", option] for option in ("--json", "--junit", "--sarif")),
        *(["diff", "{}", "{}", option] for option in ("--json", "--report")),
        ["verify", "{}", "{}", "--json"],
        ["explain", "{}", "--json"],
        ["batch", "{}", "-o", "{}.results", "--force", "--json"],
    ],
    ids=lambda arguments: f"{arguments[0]} {arguments[-1]}",
)
@pytest.mark.parametrize("way", ["as it is", "through a linked folder", "of a linked model"])
def test_none_over_the_weights_of_the_input(arguments: list[str], way: str, tmp_path: Path) -> None:
    """Not even where an earlier run wrote them, so that it takes no `--force`."""
    folder = tmp_path / "f"
    original = save_with_data(tmp_path / "original")
    folder.mkdir()
    foldproof.optimize_file(original, folder / "m.onnx", verify=False)
    model, data = folder / "m.onnx", folder / "m.onnx.data"
    if way == "through a linked folder":
        (tmp_path / "other").symlink_to(folder)
        data = tmp_path / "other" / data.name
    elif way == "of a linked model":
        (tmp_path / "other").mkdir()
        model = tmp_path / "other" / "linked.onnx"
        model.symlink_to(folder / "m.onnx")
    assert_refused(*(each.format(model) for each in arguments), data)
    assert data.read_bytes() == WEIGHTS.tobytes()


def test_weights_that_are_a_link_are_weights(tmp_path: Path) -> None:
    model = save_with_data(tmp_path / "f")
    data = model.with_name("m.onnx.data")
    data.rename(model.with_name("blob"))
    data.symlink_to("blob")
    assert_refused("explain", model, "--json", data)
    assert_refused("optimize", model, "--report", data, "--force")
    assert data.is_symlink()


def test_a_model_in_memory_has_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = save_with_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = model.read_bytes()
    for given in (model, onnx.load(model, load_external_data=False)):
        for place in (model, model.with_name("m.onnx.data")):
            with pytest.raises(foldproof.UsageError, match="same run|never overwritten|not an earlier output"):
                foldproof.optimize(given, report=place, verify=False)
    assert model.read_bytes() == before


def test_a_gate_keeps_the_certificates_that_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = save_dynamic(tmp_path)
    assert command("optimize", model, "-o", "o.onnx", "--certificate", "c.json").exit_code == 0
    before = Path("c.json").read_bytes()
    Path("foldproof.toml").write_text('[[model]]\npath = "o.onnx"\noriginal = "model.onnx"\ncertificate = "c.json"\n')
    assert_refused("gate", "--json", "c.json")
    assert Path("c.json").read_bytes() == before


def test_results_of_a_batch_are_kept(tmp_path: Path) -> None:
    save_dynamic(tmp_path)
    for name in ("model.onnx", "model.onnx.data", "model.onnx.html", "model.onnx.certificate.json"):
        (tmp_path / "out").mkdir(exist_ok=True)
        assert_refused("batch", tmp_path / "model.onnx", "-o", tmp_path / "out", "--json", tmp_path / "out" / name)


def test_other_names_are_free(tmp_path: Path) -> None:
    model = save_with_data(tmp_path)
    for _ in range(2):  # the second time they are there, and ours
        for name in ("o.onnx.json", "r.onnx.data"):
            result = command("optimize", model, "-o", tmp_path / "o.onnx", "--no-verify", "--json", tmp_path / name)
            assert result.exit_code == 0, result.output
