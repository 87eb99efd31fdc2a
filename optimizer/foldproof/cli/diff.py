"""`foldproof diff`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from foldproof.cli.shared import EXISTING, ModelCommand, check_json, json_option, quiet_option, write_json

_EXIT_STATUS = """\b
Exit status:
  0  nothing differs but the names of nodes and inner values
  1  something differs
  2  wrong usage, or a file that can't be written
  3  a model can't be read, or is invalid
"""


@click.command(cls=ModelCommand, epilog=_EXIT_STATUS)
@click.argument("a", metavar="A.onnx", type=EXISTING)
@click.argument("b", metavar="B.onnx", type=EXISTING)
@click.option("--names", is_flag=True, help="Names of nodes and of inner values count as differences.")
@click.option("--all", "everything", is_flag=True, help="Print each difference.")
@click.option("--report", metavar="FILE.html", type=EXISTING, help="Write a page that shows the differences.")
@json_option("the differences")
@quiet_option
def diff(
    a: Path, b: Path, names: bool, everything: bool, report: Path | None, json_file: Path | None, quiet: bool
) -> None:
    r"""Tells what differs in two models, by structure rather than by name.

    Nodes go together by what they compute, constants by their content, inputs and outputs of the models by their names.
    Nothing is run: `foldproof verify` tells whether two models do the same.

    \b
    Examples:
      foldproof diff model.onnx model.opt.onnx
      foldproof diff old.onnx new.onnx --quiet && echo "the same model"
    """
    from foldproof import model_file
    from foldproof.destinations import check_report, write_text
    from foldproof.diffing import Comparison

    check_json(json_file, [a, b])
    if report is not None:
        check_report(report, [a, b], others=[json_file], force=False, option="--report")
    compared = Comparison(model_file.read(a), model_file.read(b))
    found = compared.difference
    write_json(found.to_dict(), json_file)
    if report is not None:
        from foldproof.reporting.html.diff_page import diff_page

        write_text(diff_page(compared), report)
    if not quiet and json_file != Path("-"):
        from foldproof.reporting import diff_text

        diff_text.show(found, everything=everything)
    sys.exit(0 if found.is_equal and not (names and found.is_renamed) else 1)
