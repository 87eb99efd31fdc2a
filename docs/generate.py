"""Writes the pages of the site that are made from the code. mkdocs-gen-files runs it; nothing of it is kept.

Made are the reference of commands and API, the catalogue of rules, the comparison with the peers, and the project's own
files.
"""

from __future__ import annotations

import html
import importlib
import inspect
import itertools
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import mkdocs_gen_files

from foldproof.cli import main
from foldproof.engines import Worker
from foldproof.reporting.rule_page import LOWERS, RulePage, page_of
from foldproof.rewriting import Rule
from foldproof.rewriting.packs import installed
from foldproof.rewriting.rule import LAST_OPSET

ROOT = Path(__file__).parent.parent
MODULES = {
    "foldproof": "",
    "foldproof.compat": "Functions with the parameters of onnxsim's and onnxslim's, see [migrating](../migrating.md).",
    "foldproof.integrations.optimum": "See [integrations](../integrations.md).",
    "foldproof.rewriting": "What rules are made of, see [writing rules](../writing-rules.md).",
    "foldproof.facts": "What rules may ask, see [writing rules](../writing-rules.md).",
    "foldproof.kernels": "Reference kernels, see [architecture](../architecture.md#adding-something).",
}
"""The modules that others may use, with a line on each."""

NO_RESULTS = """# Foldproof and its peers, side by side

There are no results in this checkout. [Benchmarks](README.md) tells how to make them: the page is written by
`python -m benchmarks`.
"""


def write(path: str, text: str) -> None:
    """Writes a page of the site, or a part of it that is no page."""
    with mkdocs_gen_files.open(path, "w") as file:
        file.write(text)


def commands() -> None:
    """The commands, which mkdocs-click renders from click. Their examples become blocks of code first."""
    for command in [main, *main.commands.values()]:
        command.help = as_markdown(command.help or "")
    write(
        "reference/commands.md",
        "# Commands\n\n::: mkdocs-click\n    :module: foldproof.cli\n    :command: main\n    :prog_name: foldproof\n"
        "    :depth: 1\n",
    )


def as_markdown(text: str) -> str:
    r"""A help text of click whose paragraphs after `\b` are a title and lines that stay as they are."""
    paragraphs = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = paragraph.splitlines()
        if lines and lines[0].strip() == "\b":
            title, *rest = (line.strip() for line in lines[1:])
            paragraphs += [title, "\n".join(["```text", *rest, "```"])]
        else:
            paragraphs.append(paragraph)
    return "\n\n".join(paragraphs)


def python() -> None:
    """The public API, which mkdocstrings renders from docstrings."""
    parts = ["# Python"]
    for name, text in MODULES.items():
        module = importlib.import_module(name)
        parts += [f"## {name}", text]
        parts += [f"::: {name}.{each}\n    options:\n      heading_level: 3" for each in names_of(module)]
    write("reference/python.md", "\n\n".join(part for part in parts if part) + "\n")


def names_of(module: object) -> Sequence[str]:
    """The public names of a module: those that it lists, or else the functions and classes that it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed, key=str.lower)
    own = vars(module).items()
    return [
        name for name, each in own if not name.startswith("_") and getattr(each, "__module__", "") == module.__name__
    ]


def catalogue() -> None:
    """The rules: a page for each family, and one that lists them all."""
    rules = installed()
    with Worker() as worker, worker.lent():
        pages = [page_of(rule, rules) for rule in rules]
    index = [
        "# Rules",
        f"The {len(rules)} rules of Foldproof. *Exact* ones keep each bit of the outputs; *tolerant* ones are equal in "
        "real arithmetic, where floats may round differently. The level is the least `-O` at which a rule is applied.",
    ]
    for family, members in itertools.groupby(pages, lambda page: page.rule.family):
        group = list(members)
        write(
            f"reference/rules/{family}.md", "\n\n".join([f"# {family}", *map("\n\n".join, map(section, group))]) + "\n"
        )
        index += [f"## [{family}]({family}.md)", "\n".join(table(group))]
    write("reference/rules/index.md", "\n\n".join(index) + "\n")


def table(pages: Sequence[RulePage]) -> Iterator[str]:
    """The rules of a family, each in a line."""
    yield "| rule | class | level | equation |"
    yield "| --- | --- | --- | --- |"
    for page in pages:
        rule = page.rule
        link = f"[{rule.name}]({rule.family}.md#{rule.name})"
        yield f"| {link} | {kind(rule)} | {rule.level} | {plain(rule.equation)} |"


def section(page: RulePage) -> Iterator[str]:
    """All about a rule."""
    rule = page.rule
    yield f"## {rule.name} {{ #{rule.name} }}"
    yield f"**{plain(rule.equation)}**"
    if rule.explanation:
        yield plain(rule.explanation)
    places = ", ".join(f"`{name}`" for name in rule.op_types).replace("`*`", "each operator")
    facts = [
        kind(rule),
        f"`-O{rule.level}` and higher",
        f"tried at {places}",
        opsets(rule),
        f"lowers {LOWERS[rule.lowers]}",
    ]
    yield " · ".join(each for each in facts if each)
    if page.before:
        yield f"Before:\n\n```text\n{page.before}\n```"
        yield f"After:\n\n```text\n{page.after}\n```"


def kind(rule: Rule) -> str:
    """The class of a rule."""
    return "exact" if rule.exact else "tolerant"


def opsets(rule: Rule) -> str:
    """In which opsets a rule is tried; empty where it is in all."""
    if rule.until == LAST_OPSET:
        return f"from opset {rule.since} on" if rule.since > 1 else ""
    return f"opsets {rule.since} to {rule.until}"


def plain(text: str) -> str:
    """A text in which Markdown finds nothing but code."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\\*_{}\[\]|])", r"\\\1", html.escape(part, quote=False)) for part in parts[::2]]
    return "`".join(parts)


def benchmarks() -> None:
    """The comparison with the peers, as the benchmarks wrote it."""
    source = ROOT / "benchmarks"
    write("benchmarks/README.md", (source / "README.md").read_text(encoding="utf-8"))
    results = source / "RESULTS.md"
    write("benchmarks/RESULTS.md", results.read_text(encoding="utf-8") if results.is_file() else NO_RESULTS)
    for picture in sorted((source / "results").glob("*.svg")):
        with mkdocs_gen_files.open(f"benchmarks/results/{picture.name}", "wb") as file, picture.open("rb") as given:
            shutil.copyfileobj(given, file)


def project() -> None:
    """The project's own files, whose links to the documentation are those of the site."""
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"):
        write(f"project/{name}", (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](../"))


for make in (commands, python, catalogue, benchmarks, project):
    make()
