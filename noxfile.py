"""The tests on each Python, with the lowest and the newest versions of what Foldproof needs: `nox`, `nox -s lowest`.

A Python that is not here is left out. The lowest versions are those of pyproject.toml: there is no second list.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
EXTRAS = ("onnxruntime", "remote")
"""What is needed to run, besides the dependencies."""

OLD_TOOLS = ["check-jsonschema<0.34"]
"""What the tests use, in versions that go with the lowest click."""

nox.options.sessions = ["newest", "lowest", "oldest_syntax"]
nox.options.error_on_missing_interpreters = False


@nox.session(python=PYTHONS)
def newest(session: nox.Session) -> None:
    """The tests with the newest versions that this Python has."""
    session.install("--upgrade", "--upgrade-strategy", "eager", "--editable", ".[onnxruntime,dev]")
    tests(session)


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """The tests with the lowest versions that pyproject.toml admits, on the oldest Python, which has them all."""
    constraints = Path(session.create_tmp()) / "lowest.txt"
    project = nox.project.load_toml("pyproject.toml")["project"]
    constraints.write_text("\n".join([*lowest_versions(project), *OLD_TOOLS]), encoding="utf-8")
    session.install("--editable", ".[onnxruntime,dev]", "--constraint", str(constraints))
    tests(session)


@nox.session(python=PYTHONS[-1])
def oldest_syntax(session: nox.Session) -> None:
    """What the code needs of Python, told by its syntax and by what it takes of the standard library."""
    session.install("vermin>=1.6,<2")
    folders = ("optimizer", "rules", "benchmarks", "tests")
    session.run("vermin", "--quiet", "--no-tips", f"-t={PYTHONS[0]}-", "--violations", "--eval-annotations", *folders)


@nox.session(python=PYTHONS[1])
def docs(session: nox.Session) -> None:
    """The site, in the folder `site`."""
    session.install("--editable", ".[onnxruntime,docs]")
    session.run("mkdocs", "build", "--strict")


def tests(session: nox.Session) -> None:
    """The tests, or those that are named after `--`."""
    session.run("pytest", *(session.posargs or ["-n", "auto"]))


def lowest_versions(project: dict[str, Any]) -> list[str]:
    """A constraint `name==version` for the lower bound of each requirement."""
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *(each for extra in EXTRAS for each in extras[extra])]
    found = (re.match(r"([\w-]+)(?:\[\w+\])?>=([\w.]+)", each) for each in requirements)
    return [f"{each[1]}=={each[2]}" for each in found if each is not None]
