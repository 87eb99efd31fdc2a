"""The command: argument parsing and nothing else. A command imports what it needs when it runs: --help is instant."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from foldproof import __version__
from foldproof.checking.command import check_rule
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
      foldproof check-rule my_pack.rules               tries rules at many small models

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


def _bindings(ctx: click.Context, parameter: click.Parameter, values: Sequence[str]) -> dict[str, list[int]]:
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


def _how_to_verify(command: Callable[..., None]) -> Callable[..., None]:
    """The options that both `optimize` and `verify` have."""
    for option in (
        click.option("--seed", default=0, show_default=True, help="The seed of the generated inputs."),
        click.option(
            "--verify-seconds", metavar="N", type=click.FloatRange(min=0, min_open=True), default=60.0,
            show_default=True, help="The time limit of verification, from after the first run of both models.",
        ),
        click.option(
            "--bind", metavar="NAME=N,...", multiple=True, callback=_bindings,
            help="Sizes of a symbolic dim to verify at, or of an unnamed one as INPUT:AXIS=N,... Repeatable.",
        ),
        click.option(
            "--feeds", metavar="DIR", type=EXISTING,
            help="Your own inputs (.npz, .npy or ONNX test data), besides the generated ones.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


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
@click.option("--inline-functions", is_flag=True, help="Put the bodies of the model's functions where they are called.")
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
@_how_to_verify
@click.option(
    "--certificate", metavar="FILE", type=EXISTING, help="Write a certificate, for `foldproof check`, as JSON."
)
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
    from foldproof.reporting.progress import ProgressLine

    only = None if not rules else [name for name in _names_of(rules) if name != "none"]
    progress = ProgressLine(quiet=quiet)
    optimizer = Optimizer(Options(verify=not no_verify, rules=only, **options), progress=progress)
    destination = output or model.parent / f"{model.name.removesuffix('.onnx')}.opt.onnx"
    _check_json(json_file, [model, destination], force)
    try:
        with progress:
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
@_how_to_verify
@click.option("--provider", metavar="NAME", help="onnxruntime's execution provider, such as CUDAExecutionProvider.")
@click.option(
    "--reference", type=click.Choice(["onnx"]), help="Run both by the ONNX reference, for what onnxruntime can't run."
)
@click.option(
    "--json", "json_file", metavar="FILE", type=EXISTING, help="Write the result as JSON; `-` is the standard output."
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Print all differences.")
def verify(
    a: Path, b: Path, reference: str | None, json_file: Path | None, quiet: bool, verbose: bool, **options: Any
) -> None:
    r"""Runs the models A.onnx and B.onnx on the same inputs, at several bindings of their symbolic dims, and compares.

    \b
    Example:
      foldproof verify model.onnx model.opt.onnx
      foldproof verify model.onnx model.opt.onnx --bind batch=1,8 --bind seq=1,128
    """
    from foldproof.pipeline import verify as compare
    from foldproof.reporting.progress import ProgressLine

    _check_json(json_file, [a, b], force=False)
    with ProgressLine(quiet=quiet) as progress:
        verification = compare(a, b, reference=reference is not None, progress=progress, **options)
    _write_json(verification.to_dict(), json_file)
    if not quiet and json_file != Path("-"):
        from foldproof.reporting import terminal

        terminal.show_verification(verification, verbose=verbose)
    sys.exit({"same": 0, "different": 1, "unverified": 4}[verification.status])


@main.command(epilog=EXIT_STATUS)
@click.argument("certificate", metavar="CERTIFICATE.json", type=EXISTING)
@click.argument("input", metavar="IN.onnx", type=EXISTING)
@click.argument("output", metavar="OUT.onnx", type=EXISTING)
@click.option("--feeds", metavar="DIR", type=EXISTING, help="Your own inputs, where the certificate names some.")
@click.option(
    "--json", "json_file", metavar="FILE", type=EXISTING, help="Write the result as JSON; `-` is the standard output."
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def check(
    certificate: Path, input: Path, output: Path, feeds: Path | None, json_file: Path | None, quiet: bool
) -> None:
    r"""Checks a certificate: the digests of all files, each claim on instances of its own, and both models once more.

    The checker shares no code with what rewrites a model.

    \b
    Example:
      foldproof optimize model.onnx -o small.onnx --certificate small.json
      foldproof check small.json model.onnx small.onnx
    """
    from foldproof.certificates.checker import check as checked

    _check_json(json_file, [certificate, input, output], force=False)
    found = checked(certificate, input, output, feeds=feeds)
    _write_json(found.to_dict(), json_file)
    if not quiet and json_file != Path("-"):
        from foldproof.reporting.check_summary import show

        show(found)
    sys.exit(0 if found.holds else 1)


@main.command(epilog=EXIT_STATUS)
@click.argument("model", metavar="IN.onnx", type=EXISTING)
@click.option("--run", "command", metavar="COMMAND", help="Ask this command, which fails for a bad model, `{}`.")
@click.option("--rules", metavar="NAME,...", multiple=True, callback=_names, help="Apply only these rules.")
@click.option("--skip-rules", metavar="NAME,...", multiple=True, callback=_names, help="Don't apply these rules.")
@click.option("-O", "level", type=click.IntRange(1, 3), default=2, show_default=True, help="The optimization level.")
@click.option("--exact", is_flag=True, help="Apply only rules that keep each bit of the outputs.")
@click.option("--feeds", metavar="DIR", type=EXISTING, help="Your own inputs, besides the generated ones.")
@click.option("--seed", default=0, show_default=True, help="The seed of the generated inputs.")
def bisect(model: Path, command: str | None, rules: Sequence[str], **options: Any) -> None:
    r"""Finds the first rewrite of the model IN.onnx that does harm: by verification, or by your own command.

    The command gets the path of a model that is optimized by a part of the rewrites, in the place of `{}` or at its
    end. It is asked about log2(n) times for n rewrites. Nothing is written. Exits with 1 where a rewrite is found.

    
    Examples:
      foldproof bisect model.onnx
      foldproof bisect model.onnx --run "python accuracy.py {} --at-least 0.93"
    """
    from foldproof.pipeline import bisect_file
    from foldproof.reporting import terminal

    found = bisect_file(model, command, rules=rules or None, **options)
    terminal.show_guilty(found)
    sys.exit(0 if found is None else 1)


main.add_command(check_rule)


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
