"""`foldproof verify`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from foldproof.cli.shared import (
    EXISTING,
    EXIT_STATUS,
    ModelCommand,
    check_json,
    how_to_verify,
    json_option,
    quiet_option,
    write_json,
)


@click.command(cls=ModelCommand, epilog=EXIT_STATUS)
@click.argument("a", metavar="A.onnx", type=EXISTING)
@click.argument("b", metavar="B.onnx", type=EXISTING)
@click.option("--exact", is_flag=True, help="Compare floats bit for bit, not by tolerance.")
@how_to_verify
@click.option("--provider", metavar="NAME", help="onnxruntime's execution provider, such as CUDAExecutionProvider.")
@click.option(
    "--reference", type=click.Choice(["onnx"]), help="Run both by the ONNX reference, for what onnxruntime can't run."
)
@json_option("the result")
@quiet_option
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
    from foldproof.comparing import verify as compare
    from foldproof.reporting.progress import ProgressDisplay

    check_json(json_file, [a, b])
    with ProgressDisplay(quiet=quiet) as progress:
        told = progress.under("verifying at")
        verification = compare(a, b, reference=reference is not None, progress=told, **options)
    write_json(verification.to_dict(), json_file)
    if not quiet and json_file != Path("-"):
        from foldproof.reporting import terminal

        terminal.show_verification(verification, verbose=verbose)
    sys.exit({"same": 0, "different": 1, "unverified": 4}[verification.status])
