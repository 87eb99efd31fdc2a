"""`foldproof check`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from foldproof.cli.shared import EXISTING, EXIT_STATUS, ModelCommand, check_json, json_option, quiet_option, write_json


@click.command(cls=ModelCommand, epilog=EXIT_STATUS)
@click.argument("certificate", metavar="CERTIFICATE.json", type=EXISTING)
@click.argument("input", metavar="IN.onnx", type=EXISTING)
@click.argument("output", metavar="OUT.onnx", type=EXISTING)
@click.option("--feeds", metavar="DIR", type=EXISTING, help="Your own inputs, where the certificate names some.")
@json_option("the result")
@quiet_option
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

    check_json(json_file, [certificate, input, output])
    found = checked(certificate, input, output, feeds=feeds)
    write_json(found.to_dict(), json_file)
    if not quiet and json_file != Path("-"):
        from foldproof.reporting.check_summary import show

        show(found)
    sys.exit(0 if found.holds else 1)
