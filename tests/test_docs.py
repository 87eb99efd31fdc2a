"""The pages of the documentation are right: each block of shell, Python or configuration on them is run.

A page that needs a setting of its own is run by a test of its own, see `ELSEWHERE`.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
import pytest
import yaml
from click.testing import CliRunner

import foldproof
from foldproof.cli import main
from foldproof.configuration import toml
from foldproof.facts import Fact, NodeView, tensor_fact
from foldproof.rewriting import Constant, Outcome, Reason, expression_rule, rule
from tests.helpers import parse

ROOT = Path(__file__).parent.parent
PROJECT = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ELSEWHERE = {
    "docs/checking-rules.md": "tests/checking/test_check_rule.py",
    "docs/ci.md": "tests/test_ci_files.py",
    "docs/configuration.md": "tests/test_ci_files.py",
    "docs/integrations.md": "tests/integrations/test_documentation.py",
    "docs/migrating.md": "tests/compat/test_compat.py",
    "docs/writing-rules.md": "tests/rewriting/test_writing_rules.py",
}
"""The pages that other tests run."""

TOOLS = {"mkdocs", "mypy", "nox", "pytest", "ruff"}
"""What the pages for developers call besides the project itself. That these run is not for a test to find out."""


class Block(NamedTuple):
    """A block of a page."""

    language: str
    text: str


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [Block(*each) for each in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def pages() -> list[str]:
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(str(each.relative_to(ROOT).as_posix()) for each in found)


def executable(page: str) -> list[Block]:
    return [each for each in blocks(page) if each.language in RUNNERS]


def large(folder: Path) -> None:
    weights = np.arange(1200, dtype=np.float32).reshape(3, 400)
    model = parse("g (float[N,3] x) => (float[N,400] y) { i = Identity(x) y = MatMul(i, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    (folder / "large").mkdir()
    onnx.save(model, folder / "large" / "model.onnx", save_as_external_data=True, location="weights.bin")


def exported(folder: Path) -> None:
    for name in ("exports/a.onnx", "in.onnx", "other.onnx"):
        (folder / name).parent.mkdir(exist_ok=True)
        onnx.save(parse("g (float[batch,3] x) => (float[batch,3] y) { i = Identity(x) y = Relu(i) }"), folder / name)


MODELS: dict[str, Callable[[Path], None]] = {
    "README.md": exported,
    "docs/batch.md": exported,
    "docs/how-to/large-models.md": large,
}
"""The models that a page speaks of, besides the samples."""


def run_shell(text: str, scope: dict[str, Any]) -> None:
    for line in text.splitlines():
        for part in line.split("&&"):
            run_command(shlex.split(part, comments=True))


def run_command(words: list[str]) -> str:
    """Runs a command of ours. Of others, all that can be said without the network is looked at."""
    if not words:
        return ""
    name, *arguments = words
    name = name.removeprefix(".venv/bin/")
    elsewhere = arguments[0] == "check-rule" or any("://" in each for each in arguments)
    if name == "foldproof" and elsewhere:  # what takes long has tests of its own, and nothing is asked of the network
        main.commands[arguments[0]].make_context(arguments[0], arguments[1:])
        return ""
    if name == "foldproof":
        result = CliRunner().invoke(main, arguments, env={"COLUMNS": "80"})
        assert result.exit_code == 0 or words[1] == "diff", f"{shlex.join(words)}: {result.output}"
        return result.output
    if name.startswith("python"):
        _, module, *rest = arguments
        assert importlib.util.find_spec(module) is not None, module
        sources = (path for path in ROOT.glob(f"{module.replace('.', '/')}*") for path in [path, *path.rglob("*.py")])
        code = "".join(path.read_text(encoding="utf-8") for path in sources if path.suffix == ".py")
        assert all(f'"{each}"' in code for each in rest if each.startswith("--")), rest
        return ""
    if name == "pip":
        extras = [extra for each in arguments for extra in re.findall(r"\[(.*)\]", each)]
        assert set(",".join(extras).split(",")) <= {"", *PROJECT["project"]["optional-dependencies"]}, extras
        return ""
    assert name in TOOLS, name
    return ""


def run_console(text: str, scope: dict[str, Any]) -> None:
    """Runs each command of a session, and compares what it prints; `...` stands for anything."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        printed = run_command(shlex.split(command))
        given, wanted = ("\n".join(line.rstrip() for line in each.splitlines()) for each in (printed, expected))
        checker = doctest.OutputChecker()
        assert checker.check_output(wanted, given, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), printed


def run_python(text: str, scope: dict[str, Any]) -> None:
    exec(text, scope)


def write_configuration(text: str, scope: dict[str, Any]) -> None:
    Path("foldproof.toml").write_text(text, encoding="utf-8")


RUNNERS: dict[str, Callable[[str, dict[str, Any]], None]] = {
    "console": run_console,
    "python": run_python,
    "sh": run_shell,
    "toml": write_configuration,
}


def no_registration(*arguments: object, **options: object) -> Callable[[Any], Any]:
    """In the place of a decorator that would add the example to what there is."""
    return lambda function: function


@pytest.mark.parametrize("page", [each for each in pages() if executable(each) and each not in ELSEWHERE])
def test_all_of_a_page_runs(page: str, tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    shutil.copy(models / "mean_pooling.onnx", tmp_path / "models")
    MODELS.get(page, lambda folder: None)(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in [each for each in os.environ if each.startswith(("FOLDPROOF_", "GITHUB_"))]:
        monkeypatch.delenv(name)
    # What an excerpt of a module has got from the top of it.
    scope: dict[str, Any] = {"Constant": Constant, "Fact": Fact, "NodeView": NodeView, "Outcome": Outcome}
    scope |= {"Reason": Reason, "expression_rule": expression_rule, "rule": rule, "tensor_fact": tensor_fact}
    scope |= {"infers": no_registration, "kernel": no_registration, "np": np, "ir": ir, "Facts": Any}
    scope["model"] = onnx.load("models/mean_pooling.onnx")
    for block in executable(page):
        RUNNERS[block.language](block.text, scope)


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_a_page_that_is_run_elsewhere_is(page: str, test: str) -> None:
    assert executable(page)
    assert f'"{Path(page).name}"' in (ROOT / test).read_text(encoding="utf-8")


def test_a_session_that_prints_something_else_is_found() -> None:
    run_console("$ foldproof --version\nfoldproof, version ...\n", {})
    with pytest.raises(AssertionError):
        run_console("$ foldproof --version\nanother\n", {})


def test_links_between_files_lead_somewhere() -> None:
    """Those of the site are checked when it is built; these are the ones that a person follows in the repository."""
    made = ("docs/reference/", "docs/benchmarks/", "docs/project/")
    for page in pages():
        text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" not in link:
                target = os.path.normpath(Path(page).parent / link).replace(os.sep, "/")
                assert (ROOT / target).exists() or target.startswith(made), f"{page}: {link}"


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == foldproof.__version__
    assert citation["license"] == PROJECT["project"]["license"].split(" AND ")[0]
    assert foldproof.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
