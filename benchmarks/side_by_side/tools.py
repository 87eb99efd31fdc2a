"""The optimizers that can be run, and whether they are installed."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import pathlib
import subprocess
import sys

ADAPTERS = pathlib.Path(__file__).parent / "adapters"
OURS = "foldproof"

# What the interpreter that a tool is to run in has of its distributions.
_VERSIONS = """
import importlib.metadata, json, platform, sys
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
print(json.dumps([platform.python_version(), {name: version(name) for name in sys.argv[1:]}]))
"""


class UnknownTool(Exception):
    """There is no such tool."""


@dataclasses.dataclass(frozen=True)
class Tool:
    """An optimizer and where it runs.

    Attributes:
        name: What it is called here.
        adapter: The file that calls it; see `adapters`.
        python: The interpreter.
        rounds: How often it runs on each model.
        python_version: The version of the interpreter.
        versions: What is installed of what it needs; None for what is missing.
    """

    name: str
    adapter: pathlib.Path
    python: str
    rounds: int
    python_version: str
    versions: dict[str, str | None]

    @property
    def missing(self) -> list[str]:
        """What it needs and is not installed."""
        return [name for name, version in self.versions.items() if version is None]


def built_in() -> list[str]:
    """The names of the tools that have an adapter here, Foldproof first."""
    names = {path.stem for path in ADAPTERS.glob("*.py")} - {"__init__", OURS}
    return [OURS, *sorted(names, key=lambda name: (name not in ("onnxsim", "onnxslim"), name))]


def find_tool(text: str, rounds: int, peers_python: str) -> Tool:
    """A tool by what the command line says of it.

    Args:
        text: Its name, or the path of an adapter; `:N` at its end says how often it runs.
        rounds: How often it runs if the text doesn't say it.
        peers_python: The interpreter of all tools but Foldproof.

    Raises:
        UnknownTool: No adapter has this name or path, or it can't be loaded.
    """
    name, _, number = text.partition(":")
    adapter = pathlib.Path(name) if name.endswith(".py") else ADAPTERS / f"{name}.py"
    if not adapter.is_file() or adapter.stem == "__init__" or not (number or "1").isdecimal():
        raise UnknownTool(f"no tool {text}: there are {', '.join(built_in())}, and paths of adapters (.py)")
    spec = importlib.util.spec_from_file_location("adapter", adapter)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    python = sys.executable if adapter.stem == OURS else peers_python
    command = [python, "-c", _VERSIONS, *module.DISTRIBUTIONS]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnknownTool(f"{python} can't be run as Python: {error}") from error
    version, versions = json.loads(found.stdout)
    return Tool(adapter.stem, adapter.resolve(), python, max(int(number or rounds), 1), version, versions)
