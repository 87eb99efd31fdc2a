"""The command: argument parsing and nothing else. A command imports what it needs when it runs: --help is instant."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from foldproof import __version__
from foldproof.errors import FoldproofError, UnverifiedError, VerificationError

if TYPE_CHECKING:
    from foldproof.reporting.report import Report

EXIT_STATUS = """\b
Exit status:
  0  done and verified
  1  verification found a difference that no taken back rewrite explains, or any with --strict: nothing is written
  2  wrong usage
  3  the model can't be read, or is invalid
  4  nothing here can run the model: nothing is written without --allow-unverified
  5  a fault of Foldproof or of a rule pack
"""

EXISTING = click.Path(path_type=Path)


class _Group(click.Group):
    """Turns each error into one clear line and its exit status."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FoldproofError as error:
            click.echo(f"foldproof: error: {_printable(str(error))}", err=True)
            ctx.exit(error.exit_status)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:  # noqa: BLE001  a fault of ours: told in one line, and never as a difference found
            text = f"{type(error).__name__}: {error}"
            click.echo(f"foldproof: error: an internal fault, {_printable(text)}. Please report it.", err=True)
            ctx.exit(5)


@click.group(cls=_Group, epilog=EXIT_STATUS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="foldproof")
def main() -> None:
    r"""Optimizes exported ONNX models, and proves that nothing changed but the cost.

    \b
    Examples:
      foldproof optimize model.onnx                    writes model.opt.onnx beside it
      foldproof optimize model.onnx -o small.onnx
      foldproof optimize model.onnx --set-dim batch=1  more becomes static
      foldproof verify model.onnx other.onnx           compares any two models
      foldproof rules                                  lists the rewrites

    \b
    Shell completion (bash; zsh and fish alike):
      eval "$(_FOLDPROOF_COMPLETE=bash_source foldproof)"
    """


def _dims(ctx: click.Context, parameter: click.Parameter, values: Sequence[str]) -> dict[str, int]:
    sizes = {}
    for text in values:
        name, equals, size = text.rpartition("=")
        if not equals or not name or not size.isdecimal():
            raise click.BadParameter(f"{text!r} is not of the form NAME=NUMBER, such as batch=1 or x:0=1")
        if name in sizes:
            raise click.BadParameter(f"{name!r} is bound twice")
        sizes[name] = int(size)
    return sizes


def _names(ctx: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


@main.command(epilog=EXIT_STATUS)
@click.argument("model", metavar="IN.onnx", type=EXISTING)
@click.option(
    "-o", "--output", metavar="OUT.onnx", type=EXISTING, help="Where to write. [default: IN.opt.onnx beside it]"
)
@click.option("--force", is_flag=True, help="Overwrite a file that is not an earlier output. Never the input.")
@click.option("--no-verify", is_flag=True, help="Don't run the two models against each other.")
@click.option("--allow-unverified", is_flag=True, help="Write the result also where nothing here can run the model.")
@click.option(
    "--set-dim", metavar="NAME=N", multiple=True, callback=_dims,
    help="Bind a symbolic dim of the inputs, or an unnamed one as INPUT:AXIS=N. Repeatable.",
)  # fmt: skip
@click.option("--rules", metavar="NAME,...", multiple=True, help="Apply only these rules; `none` for none.")
@click.option("--skip-rules", metavar="NAME,...", multiple=True, callback=_names, help="Don't apply these rules.")
@click.option("-O", "level", type=click.IntRange(1, 3), default=2, show_default=True, help="The optimization level.")
@click.option("--exact", is_flag=True, help="Apply only rules that keep each bit of the outputs.")
@click.option(
    "--max-growth", metavar="PERCENT", type=click.FloatRange(min=0),
    help="By how much folding may let the model grow. [default: 1, or 64 KiB; with -O3 10, or 1 MiB]",
)  # fmt: skip
@click.option("--fold-quantized-weights", is_flag=True, help="Fold QuantizeLinear and DequantizeLinear of weights too.")
@click.option(
    "--keep-node", metavar="NAME", multiple=True, help="A node that no rule may take away or change. Repeatable."
)
@click.option(
    "--strict",
    is_flag=True,
    help="Write nothing where verification finds a difference, instead of taking back its cause.",
)
@click.option("--stop-after", metavar="N", type=click.IntRange(min=0), help="Do only the first N rewrites.")
@click.option(
    "--ir3-initializers-are-constants/--ir3-initializers-are-inputs", default=True, show_default=True,
    help="In a model of IR version 3, which lists all initializers as inputs, take them for weights.",
)  # fmt: skip
@click.option(
    "--feeds", metavar="DIR", type=EXISTING, help="Your own inputs (.npz, .npy), verified besides generated ones."
)
@click.option("--seed", default=0, show_default=True, help="The seed of the generated inputs.")
@click.option(
    "--json", "json_file", metavar="FILE", type=EXISTING, help="Write the report as JSON; `-` is the standard output."
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Print all operators, all nodes and each rewrite.")
def optimize(
    model: Path, output: Path | None, force: bool, no_verify: bool, rules: Sequence[str], json_file: Path | None,
    quiet: bool, verbose: bool, **options: Any,
) -> None:  # fmt: skip
    r"""Optimizes the model IN.onnx, verifies the result and writes it.

    \b
    Examples:
      foldproof optimize model.onnx
      foldproof optimize model.onnx -o small.onnx --json report.json
      foldproof optimize model.onnx --set-dim batch=1 --set-dim x:1=224
      foldproof optimize model.onnx --skip-rules static_shape --keep-node /Resize_3
    """
    from foldproof.options import Options
    from foldproof.pipeline import Optimizer

    only = None if not rules else [name for name in _names_of(rules) if name != "none"]
    optimizer = Optimizer(Options(verify=not no_verify, rules=only, **options))
    destination = output or model.parent / f"{model.name.removesuffix('.onnx')}.opt.onnx"
    _check_json(json_file, [model, destination], force)
    try:
        report = optimizer.run_file(model, destination, force=force)
    except (UnverifiedError, VerificationError) as error:
        if error.report is not None:
            _write_json(cast("Report", error.report).to_dict(), json_file)
        raise
    _hand_out(report, json_file, quiet, verbose)
    if report.verdict == "unverified":
        sys.exit(4)


def _names_of(values: Sequence[str]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _hand_out(report: Report, json_file: Path | None, quiet: bool, verbose: bool) -> None:
    _write_json(report.to_dict(), json_file)
    if not quiet and json_file != Path("-"):
        from foldproof.reporting import terminal

        terminal.show(report, verbose=verbose)


def _check_json(json_file: Path | None, models: Sequence[Path], force: bool) -> None:
    """Refuses, before anything is done, a report's file that may not be written."""
    if json_file is None or json_file == Path("-"):
        return
    from foldproof.destinations import check_destination
    from foldproof.errors import UsageError

    if json_file.absolute() in [model.absolute() for model in models]:
        raise UsageError(f"{json_file} is the model's file", hint="Name another file with --json")
    if not json_file.absolute().parent.is_dir():
        raise UsageError(f"the report can't be written: there is no folder {json_file.parent}")
    check_destination(json_file, models, force=force, option="--json")


def _write_json(content: dict[str, Any], json_file: Path | None) -> None:
    if json_file == Path("-"):
        click.echo(json.dumps(content, indent=2))
    elif json_file is not None:
        from foldproof.destinations import write_json

        write_json(content, json_file)


@main.command(epilog=EXIT_STATUS)
@click.argument("a", metavar="A.onnx", type=EXISTING)
@click.argument("b", metavar="B.onnx", type=EXISTING)
@click.option("--exact", is_flag=True, help="Compare floats bit for bit, not by tolerance.")
@click.option("--feeds", metavar="DIR", type=EXISTING, help="Your own inputs (.npz, .npy), besides the generated ones.")
@click.option("--seed", default=0, show_default=True, help="The seed of the generated inputs.")
@click.option(
    "--json", "json_file", metavar="FILE", type=EXISTING, help="Write the result as JSON; `-` is the standard output."
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Print all differences.")
def verify(
    a: Path, b: Path, exact: bool, feeds: Path | None, seed: int, json_file: Path | None, quiet: bool, verbose: bool
) -> None:
    r"""Runs the models A.onnx and B.onnx on the same inputs, at several bindings of their symbolic dims, and compares.

    \b
    Example:
      foldproof verify model.onnx model.opt.onnx
    """
    from foldproof.pipeline import verify as compare

    _check_json(json_file, [a, b], force=False)
    verification = compare(a, b, exact=exact, seed=seed, feeds=feeds)
    _write_json(verification.to_dict(), json_file)
    if not quiet and json_file != Path("-"):
        from foldproof.reporting import terminal

        terminal.show_verification(verification, verbose=verbose)
    sys.exit({"same": 0, "different": 1, "unverified": 4}[verification.status])


@main.command()
@click.argument("name", required=False)
@click.option(
    "--json", "json_file", metavar="FILE", type=EXISTING, help="Write it as JSON; `-` is the standard output."
)
def rules(name: str | None, json_file: Path | None) -> None:
    r"""Lists the rules, or says all about the rule NAME, with an example before and after.

    \b
    Examples:
      foldproof rules
      foldproof rules static_size
    """
    from foldproof.reporting import terminal
    from foldproof.reporting.rule_page import page_of, summary
    from foldproof.rewriting.packs import chosen, installed

    _check_json(json_file, [], force=False)
    known = installed()
    if name is None:
        _write_json({"rules": [summary(rule) for rule in known]}, json_file)
        if json_file != Path("-"):
            terminal.show_rules(known)
        return
    page = page_of(chosen(known, [name], ())[0], known)
    _write_json(page.to_dict(), json_file)
    if json_file != Path("-"):
        terminal.show_rule(page)


def _printable(text: str) -> str:
    """An error's text with control characters of the person's model escaped."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


if __name__ == "__main__":
    main()
