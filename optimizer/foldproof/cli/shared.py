"""What the commands share: how arguments are read, and how results are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from foldproof.cli.configured import ConfiguredCommand
from foldproof.cli.configured_values import ModuleName
from foldproof.cli.silence import silent_libraries

EXIT_STATUS = """\b
Exit status:
  0  done and verified
  1  a difference that taking back rewrites does not explain, or any with --strict
  2  wrong usage, or a file that may not be overwritten or can't be written
  3  the model can't be read, or is invalid
  4  nothing here can run the model, and --allow-unverified is not given
  5  a fault of Foldproof or of a rule pack
  141  whoever read the standard output closed it, as `head` does
No model is written but with 0, or by --allow-unverified. What comes after it may fail: with 2, where the message says
that the model is written, or with 141.
"""

EXISTING = click.Path(path_type=Path)


class Command(ConfiguredCommand):
    """A command whose docstring is a raw string."""

    def __init__(self, name: str | None = None, **options: Any) -> None:
        super().__init__(name, **{**options, "help": unwrapped(options.get("help"))})


class ModelCommand(Command):
    """A command that reads models, or rules, which both take onnx_ir."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs it, without sympy as far as it goes, and silences libraries."""
        import foldproof.lazy_sympy  # noqa: F401  before all that imports onnx_ir

        with silent_libraries():
            return super().invoke(ctx)


def unwrapped(text: str | None) -> str | None:
    r"""A raw docstring with the marks by which click leaves the lines below them as they are: `\b` is one character."""
    return None if text is None else text.replace("\\b", "\b")


def dims(ctx: click.Context, parameter: click.Parameter, values: Sequence[str]) -> dict[str, int]:
    """Reads `batch=1`."""
    sizes = {}
    for text in values:
        name, equals, size = text.rpartition("=")
        if not equals or not name or not size.isdecimal():
            raise click.BadParameter(f"{text!r} is not of the form NAME=NUMBER, such as batch=1 or x:0=1")
        if name in sizes:
            raise click.BadParameter(f"{name!r} is bound twice")
        sizes[name] = int(size)
    return sizes


def bindings(ctx: click.Context, parameter: click.Parameter, values: Sequence[str]) -> dict[str, list[int]]:
    """Reads `batch=1,8`."""
    sizes: dict[str, list[int]] = {}
    for text in values:
        name, equals, given = text.rpartition("=")
        numbers = given.split(",")
        if not equals or not name or not all(each.strip().isdecimal() for each in numbers):
            raise click.BadParameter(f"{text!r} is not of the form NAME=NUMBER,..., such as batch=1,8 or x:0=1,8")
        if name in sizes:
            raise click.BadParameter(f"{name!r} is bound twice")
        sizes[name] = [int(each) for each in numbers]
    return sizes


def names(ctx: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Reads `a,b`."""
    return _split(values)


def _split(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


def how_to_verify(command: Callable[..., None]) -> Callable[..., None]:
    """The options that both `optimize` and `verify` have."""
    for option in (
        click.option("--seed", default=0, show_default=True, help="The seed of the generated inputs."),
        click.option(
            "--verify-seconds", metavar="N", type=click.FloatRange(min=0, min_open=True), default=60.0,
            show_default=True, help="The time limit of verification, from after the first run of both models.",
        ),
        click.option(
            "--trust-model", is_flag=True,
            help="Verify without the limits of memory and time that hold for a model of which nothing is proven.",
        ),
        click.option(
            "--bind", metavar="NAME=N,...", multiple=True, callback=bindings,
            help="Sizes of a symbolic dim to verify at, or of an unnamed one as INPUT:AXIS=N,... Repeatable.",
        ),
        click.option(
            "--feeds", metavar="DIR", type=EXISTING,
            help="Your own inputs (.npz, .npy or ONNX test data), besides the generated ones.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


rules_from_option = click.option(
    "--rules-from", metavar="MODULE", multiple=True, type=ModuleName(),
    help="Use the rules of this module too, such as my_pack.rules or my_rules.py. Repeatable.",
)  # fmt: skip


def which_rules(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say which rewrites are done."""
    for option in (
        click.option("--exact", is_flag=True, help="Apply only rules that keep each bit of the outputs."),
        click.option(
            "-O", "level", type=click.IntRange(1, 3), default=2, show_default=True, help="The optimization level."
        ),
        click.option(
            "--skip-rules", metavar="NAME,...", multiple=True, callback=names, help="Don't apply these rules."
        ),
        rules_from_option,
        click.option("--rules", metavar="NAME,...", multiple=True, help="Apply only these rules; `none` for none."),
    ):
        command = option(command)
    return command


def only_rules(values: Sequence[str]) -> list[str] | None:
    """The names that `--rules` gives: None where it is not given, and none for `none`."""
    return [name for name in _split(values) if name != "none"] if values else None


def json_option(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option `--json`."""
    help_text = f"Write {what} as JSON; `-` is the standard output."
    return click.option("--json", "json_file", metavar="FILE", type=EXISTING, help=help_text)


quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")


def check_json(
    json_file: Path | None,
    read: Sequence[Path],
    written: Sequence[Path] = (),
    *,
    others: Sequence[Path | None] = (),
    force: bool = False,
) -> None:
    """Refuses, before anything is done, a report's file that may not be written: see `destinations.check_report`."""
    if json_file is None or json_file == Path("-"):
        return
    from foldproof.destinations import check_report

    check_report(json_file, read, written, others=others, force=force)


def write_json(content: dict[str, Any], json_file: Path | None) -> None:
    """Writes what `--json` asks for."""
    if json_file == Path("-"):
        click.echo(json.dumps(content, indent=2))
    elif json_file is not None:
        from foldproof import destinations

        destinations.write_json(content, json_file)
