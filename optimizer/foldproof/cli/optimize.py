"""`foldproof optimize`."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

import click
from click.core import ParameterSource

from foldproof.cli.shared import (
    EXISTING,
    EXIT_STATUS,
    ModelCommand,
    check_json,
    dims,
    how_to_verify,
    json_option,
    only_rules,
    quiet_option,
    which_rules,
    write_json,
)
from foldproof.errors import UnverifiedError, UsageError, VerificationError

if TYPE_CHECKING:
    from foldproof.options import Options
    from foldproof.reporting.report import Report

STREAM = Path("-")
"""What stands for the standard input, and the standard output."""


@click.command(cls=ModelCommand, epilog=EXIT_STATUS)
@click.argument("model", metavar="IN.onnx", type=EXISTING)
@click.option(
    "-o", "--output", metavar="OUT.onnx", type=EXISTING,
    help="Where to write; `-` is the standard output. [default: IN.opt.onnx beside it]",
)  # fmt: skip
@click.option("--in-place", is_flag=True, help="Write over the input, once the result is verified.")
@click.option("--force", is_flag=True, help="Overwrite a file that is not an earlier output. Never the input.")
@click.option("--no-verify", is_flag=True, help="Don't run the two models against each other.")
@click.option("--allow-unverified", is_flag=True, help="Write the result also where nothing here can run the model.")
@click.option(
    "--external-data", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
    help="Where weights lie: outside the model where they did, all in a file beside it, or in it.",
)  # fmt: skip
@click.option("--link-weights", is_flag=True, help="Refer to external weights where they are, instead of copying them.")
@click.option(
    "--set-dim", metavar="NAME=N", multiple=True, callback=dims,
    help="Bind a symbolic dim of the inputs, or an unnamed one as INPUT:AXIS=N. Repeatable.",
)  # fmt: skip
@which_rules
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
@click.option(
    "--save-repro", metavar="DIR", type=EXISTING,
    help="Where verification finds a difference, write the smallest models and inputs that show it to this new folder.",
)  # fmt: skip
@click.option("--stop-after", metavar="N", type=click.IntRange(min=0), help="Do only the first N rewrites.")
@click.option(
    "--ir3-initializers-are-constants/--ir3-initializers-are-inputs", default=True, show_default=True,
    help="In a model of IR version 3, which lists all initializers as inputs, take them for weights.",
)  # fmt: skip
@how_to_verify
@click.option(
    "--certificate", metavar="FILE", type=EXISTING, help="Write a certificate, for `foldproof check`, as JSON."
)
@click.option(
    "--provenance",
    is_flag=True,
    help="Write into the metadata of the result what each node was made of, for `foldproof explain`.",
)
@click.option("--report", metavar="FILE.html", type=EXISTING, help="Write a page that shows all of the run.")
@click.option("--measure", is_flag=True, help="Measure how long both models take to load and to run in onnxruntime.")
@click.option(
    "--jobs", metavar="N", type=click.IntRange(min=1),
    help="With how many threads onnxruntime computes what is folded and verified. [default: as many as cores]",
)  # fmt: skip
@click.option("--profile", is_flag=True, help="Show where the time goes, by stage and by rule.")
@json_option("the report")
@quiet_option
@click.option("-v", "--verbose", is_flag=True, help="Print all operators, all nodes and each rewrite.")
def optimize(
    model: Path, output: Path | None, force: bool, no_verify: bool, rules: Sequence[str], json_file: Path | None,
    quiet: bool, verbose: bool, **options: Any,
) -> None:  # fmt: skip
    r"""Optimizes the model IN.onnx, verifies the result and writes it. `-` is the standard input.

    The end of a name says in which form a file is: binary, or one of onnx's text forms (.textproto, .json, .onnxtxt).

    \b
    Examples:
      foldproof optimize model.onnx
      foldproof optimize model.onnx -o small.onnx --json report.json
      foldproof optimize model.onnx --set-dim batch=1 --set-dim x:1=224
      foldproof optimize model.onnx --skip-rules static_shape --keep-node /Resize_3
      export | foldproof optimize - > small.onnx
    """
    start = time.perf_counter()
    from foldproof.destinations import after_writing
    from foldproof.options import Options
    from foldproof.pipeline import Optimizer
    from foldproof.reporting.progress import ProgressDisplay

    progress = ProgressDisplay(quiet=quiet)
    import_seconds = time.perf_counter() - start
    optimizer = Optimizer(Options(verify=not no_verify, rules=only_rules(rules), **options), progress=progress)
    if output is not None and options["in_place"]:
        raise UsageError("--in-place and -o name two outputs", hint="Leave out one of them")
    destination = model if options["in_place"] else output or beside(model)
    if STREAM == destination == json_file:
        raise UsageError("the model and the report can't both go to the standard output", hint="Name a file for one")
    others = [options["certificate"], options["report"]]
    check_json(json_file, [model], [destination], others=others, force=force)
    try:
        with progress:
            report = optimizer.run_file(
                _binary(sys.stdin, "input") if model == STREAM else model,
                _binary(sys.stdout, "output") if destination == STREAM else destination,
                force=force,
            )
    except (UnverifiedError, VerificationError) as error:
        if error.report is not None and json_file is not None:
            write_json(cast("Report", error.report).to_dict(), json_file)
        raise
    if report.profile is not None:
        report = dataclasses.replace(report, profile=report.profile.with_import(import_seconds))
    if json_file is not None:  # else it is not made: of many rewrites it is large
        with contextlib.nullcontext() if destination == STREAM else after_writing(destination):
            write_json(report.to_dict(), json_file)
    if not quiet and json_file != Path("-"):
        from foldproof.reporting import terminal

        with contextlib.redirect_stdout(sys.stderr if destination == STREAM else sys.stdout):
            terminal.show(report, verbose=verbose)
    if report.verdict == "unverified":
        sys.exit(4)


def _binary(stream: TextIO | None, name: str) -> BinaryIO:
    if stream is None:  # whoever started us closed it
        raise UsageError(f"the standard {name} is closed", hint="Name a file")
    return stream.buffer


def options_for(ctx: click.Context, model: str, *, leave_out: Collection[str] = ()) -> Options:
    """The options that `optimize` would have for a model, in another command.

    Args:
        ctx: The context of that command. What stands on its command line goes before all else.
        model: Where the model lies: what the configuration says of it holds.
        leave_out: The options that are left at their defaults.
    """
    from foldproof.options import Options

    given = optimize.make_context("optimize", ["--", model], parent=ctx.parent).params
    flags = {name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    given.update({name: ctx.params[name] for name in flags & given.keys()})
    names = {field.name for field in dataclasses.fields(Options)}.difference(leave_out)
    options = {name: value for name, value in given.items() if name in names}
    return Options(**{**options, "verify": not given["no_verify"], "rules": only_rules(given["rules"])})


def beside(model: Path) -> Path:
    """Where the result is written unless the person says where: beside the model, in its form."""
    from foldproof.model_file.formats import is_binary

    if model == STREAM:
        return STREAM
    suffix = ".onnx" if is_binary(model) else model.suffix
    return model.parent / f"{model.name.removesuffix(suffix)}.opt{suffix}"
