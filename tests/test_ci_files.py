"""The files by which others run the gate say what the command really takes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest
import yaml
from check_jsonschema import builtin_schemas
from click.testing import CliRunner

from foldproof.cli import main
from foldproof.configuration import toml
from tests.helpers import parse

ROOT = Path(__file__).parent.parent
PROJECT = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CI = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def read(text: str) -> Any:
    return yaml.load(text, yaml.BaseLoader)  # `on` is no boolean there


def hook() -> Any:
    (found,) = read((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return found


def is_valid(content: object, schema: str) -> None:
    jsonschema.validate(content, builtin_schemas.get_builtin_schema(schema))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    (tmp_path / "models").mkdir()
    onnx.save(parse("g (float[N,3] x) => (float[N,3] y) { y = Relu(x) }"), "models/good.opt.onnx")
    onnx.save(parse("g (float[2,3] x) => (int64 s) { s = Size(x) }"), "models/bad.onnx")
    return tmp_path


def test_the_hook_runs_the_gate_on_the_files_that_it_is_for(repository: Path) -> None:
    command = [*shlex.split(hook()["entry"]), *hook()["args"]]
    assert command[0] in PROJECT["project"]["scripts"]
    for name, status in (("models/good.opt.onnx", 0), ("models/bad.onnx", 1)):
        assert re.search(hook()["files"], name)
        assert CliRunner().invoke(main, [*command[1:], name]).exit_code == status
    assert not re.search(hook()["files"], "models/good.onnx.json")
    assert hook()["additional_dependencies"] == PROJECT["project"]["optional-dependencies"]["onnxruntime"]


def test_the_action_runs_the_gate(repository: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    is_valid(action, "vendor.github-actions")
    _, install, check = action["runs"]["steps"]
    (extra,) = re.findall(r"GITHUB_ACTION_PATH\}\[(\S+)\]", install["run"])
    assert extra in PROJECT["project"]["optional-dependencies"]
    binaries = repository / "temporary" / "foldproof" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "foldproof").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m foldproof.cli "$@"\n')
    (binaries / "foldproof").chmod(0o755)
    inputs = {name: each["default"] for name, each in action["inputs"].items()}

    def run(**given: str) -> int:
        values = {**inputs, **given}
        names = {name: re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text)[1] for name, text in check["env"].items()}
        environment = {name: values[each] for name, each in names.items()}
        environment = {**os.environ, "RUNNER_TEMP": str(repository / "temporary"), **environment}
        script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", check["run"]]
        return subprocess.run(script, env=environment, check=False, timeout=120).returncode

    assert run() == 2  # neither models nor a configuration
    assert run(models="**/*.opt.onnx", arguments="--skip latency -q") == 0
    assert Path(inputs["junit"]).is_file()
    assert Path(inputs["sarif"]).is_file()


def test_the_snippets_of_the_documentation(repository: Path) -> None:
    workflow, gitlab, hooks = map(read, blocks(CI, "yaml"))
    is_valid(workflow, "vendor.github-workflows")
    is_valid(gitlab, "vendor.gitlab-ci")
    action = read((ROOT / "action.yml").read_text(encoding="utf-8"))
    _, step, upload = workflow["jobs"]["gate"]["steps"]
    assert set(step["with"]) <= set(action["inputs"])
    assert upload["with"]["sarif_file"] == action["inputs"]["sarif"]["default"]
    *_, script = gitlab["foldproof"]["script"]
    words = ["models/good.opt.onnx" if "*" in word else word for word in shlex.split(script)]
    assert CliRunner().invoke(main, words[1:]).exit_code == 0
    assert Path(gitlab["foldproof"]["artifacts"]["reports"]["junit"]).is_file()
    ((used,),) = (each["hooks"] for each in hooks["repos"])
    assert used["id"] == hook()["id"]
    assert re.search(used["files"], "models/good.opt.onnx")


@pytest.mark.parametrize("text", [*blocks(CI, "toml"), *blocks(CONFIGURATION, "toml")])
def test_the_documented_configurations_are_ones(repository: Path, text: str) -> None:
    Path("foldproof.toml").write_text(text)
    result = CliRunner().invoke(main, ["config", "gate", "models/good.opt.onnx"])
    assert result.exit_code == 0, result.output
    assert CliRunner().invoke(main, ["gate", "models/bad.onnx", "--skip", "optimized"]).exit_code in (0, 1)


def test_the_documented_commands_run(repository: Path, models: Path) -> None:
    shutil.copy(models / "mean_pooling.onnx", "models")
    for line in "\n".join(blocks(CONFIGURATION, "sh")).splitlines():
        result = CliRunner().invoke(main, shlex.split(line)[1:])
        assert result.exit_code == 0, result.output


def test_the_container_takes_along_all_that_the_package_needs() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = [word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for word in line.split()]
    for name in copied:
        assert list(ROOT.glob(name)) or name == "LICENSE*", name
    needed = ["pyproject.toml", PROJECT["project"]["readme"], PROJECT["tool"]["hatch"]["version"]["path"]]
    needed += PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    for path in needed:
        assert any(path == name or path.startswith(f"{name}/") for name in copied), path
    (extra,) = re.findall(r"\.whl\)\[(\S+)\]", text)
    assert extra in PROJECT["project"]["optional-dependencies"]
    (entry,) = re.findall(r'^ENTRYPOINT \["(.*)"\]$', text, re.MULTILINE)
    assert entry in PROJECT["project"]["scripts"]
    for command in re.findall(r"docker run .* foldproof (.*)", text + CI):
        assert shlex.split(command)[0] in main.commands
