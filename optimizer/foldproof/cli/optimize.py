"""`foldproof optimize`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from foldproof.cli.shared import (
    EXISTING,
    EXIT_STATUS,
    Command,
    check_json,
    dims,
    how_to_verify,
    json_option,
    only_rules,
    quiet_option,
    which_rules,
    write_json,
)
from foldproof.errors import UnverifiedError, VerificationError

if TYPE_CHECKING:
    from foldproof.reporting.report import Report


@click.command(cls=Command, epilog=EXIT_STATUS)
@click.argument("model", metavar="IN.onnx", type=EXISTING)
@click.option(
    "-o", "--output", metavar="OUT.onnx", type=EXISTING, help="Where to write. [default: IN.opt.onnx beside it]"
)
@click.option("--force", is_flag=True, help="Overwrite a file that is not an earlier output. Never the input.")
@click.option("--no-verify", is_flag=True, help="Don't run the two models against each other.")
@click.option("--allow-unverified", is_flag=True, help="Write the result also where nothing here can run the model.")
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
@json_option("the report")
@quiet_option
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

    progress = ProgressLine(quiet=quiet)
    optimizer = Optimizer(Options(verify=not no_verify, rules=only_rules(rules), **options), progress=progress)
    destination = output or model.parent / f"{model.name.removesuffix('.onnx')}.opt.onnx"
    check_json(json_file, [model, destination], force)
    try:
        with progress:
            report = optimizer.run_file(model, destination, force=force)
    except (UnverifiedError, VerificationError) as error:
        if error.report is not None:
            write_json(cast("Report", error.report).to_dict(), json_file)
        raise
    write_json(report.to_dict(), json_file)
    if not quiet and json_file != Path("-"):
        from foldproof.reporting import terminal

        terminal.show(report, verbose=verbose)
    if report.verdict == "unverified":
        sys.exit(4)
