from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

from foldproof import UsageError
from foldproof.cli import main
from foldproof.rule_packs import write_pack
from tests.helpers import operators, parse

LIKE_SOFTSIGN = "g (float[N] x) => (float[N] y) <float k = {1}> { a = Abs(x) b = Add(k, a) y = Div(x, b) }"


def run(folder: Path, installed: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    found = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_a_new_pack_is_installed_and_changes_a_model(tmp_path: Path) -> None:
    pack, installed = tmp_path / "pack", tmp_path / "installed"
    made = CliRunner().invoke(main, ["new-rule-pack", "acme-rules-2", str(pack)])
    assert made.exit_code == 0, made.output
    assert f"written: {pack / 'src' / 'acme_rules_2' / 'softsign.py'}" in made.output
    pip = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    run(pack, installed, *pip, "--target", str(installed), str(pack))
    onnx.save(parse(LIKE_SOFTSIGN), tmp_path / "in.onnx")
    run(tmp_path, installed, "-m", "foldproof.cli", "optimize", "in.onnx")
    assert operators(onnx.load(tmp_path / "in.opt.onnx")) == {"Softsign": 1}
    (name,) = re.findall("^foldproof rules (.*)$", (pack / "README.md").read_text(), re.MULTILINE)
    assert "Softsign(x)" in run(tmp_path, installed, "-m", "foldproof.cli", "rules", name)
    assert "4 passed" in run(pack, installed, "-m", "pytest", "-p", "no:cacheprovider", "-q")
    steps = re.findall(r"- run: foldproof (.*)$", (pack / ".github/workflows/ci.yml").read_text(), re.MULTILINE)
    assert steps == ["check-rule acme_rules_2 --thorough"]
    assert run(pack, installed, "-m", "foldproof.cli", *steps[0].split()).endswith("\nok\n")


def test_the_code_of_a_pack_is_as_ruff_wants_it(tmp_path: Path) -> None:
    write_pack("a-long-name-for-rules-2", tmp_path / "pack")
    for command in (["check", "--isolated", "--select", "E,F,W,I,UP,B", "--line-length", "120"],
                    ["format", "--isolated", "--check", "--line-length", "120"]):  # fmt: skip
        run(tmp_path / "pack", tmp_path, "-m", "ruff", *command)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "notes").write_text("mine")
    with pytest.raises(UsageError, match="is not an empty folder"):
        write_pack("acme-rules", tmp_path / "pack")
    assert [path.name for path in tmp_path.rglob("*")] == ["pack", "notes"]
    with pytest.raises(UsageError, match="can't be written"):
        write_pack("acme-rules", tmp_path / "pack" / "notes" / "pack")


def test_an_empty_folder_may_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("acme-rules", "store", "here"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("store")
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["new-rule-pack", "acme-rules"]).exit_code == 0
    assert CliRunner().invoke(main, ["new-rule-pack", "acme-rules", "link"]).exit_code == 0
    monkeypatch.chdir(tmp_path / "here")
    assert CliRunner().invoke(main, ["new-rule-pack", "acme-rules", "."]).exit_code == 0
    for name in ("acme-rules", "store", "here"):
        assert (tmp_path / name / "src" / "acme_rules" / "__init__.py").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["acme-rules", "here", "link", "store"]


@pytest.mark.parametrize(
    "name", ["", "Acme", "acme_rules", "2rules", "acme--rules", "acme-", "../acme", "acme rules", "ä"]
)
def test_what_is_no_name_of_a_package_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is no name for a rule pack"):
        write_pack(name, tmp_path / "pack")


@pytest.mark.parametrize("name", ["json", "class", "foldproof", "foldproof-rules", "numpy"])
def test_a_name_that_is_taken_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="Python knows something else by the name"):
        write_pack(name, tmp_path / "pack")
    assert list(tmp_path.iterdir()) == []
