"""`foldproof gate`."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foldproof.cli.configured import configuration, of_model
from foldproof.cli.optimize import options_for
from foldproof.cli.shared import EXISTING, ModelCommand, check_json, json_option, quiet_option, write_json
from foldproof.errors import UsageError
from foldproof.reporting.visible import visible

if TYPE_CHECKING:
    from foldproof.configuration import ConfigurationFile
    from foldproof.gating.outcome import Check, Gated

# What is about one run of `optimize`, and says nothing of whether a model is optimized.
_OF_A_RUN = frozenset({"certificate", "in_place", "measure", "profile", "provenance", "report", "save_repro"})

_EXIT_STATUS = """\b
Exit status:
  0  all models passed
  1  a check failed
  2  wrong usage, a configuration that makes no sense, or a file that can't be written
  3  a model can't be read, or is invalid
  4  onnxruntime is not installed
  5  a fault of Foldproof or of a rule pack
"""


@click.command(cls=ModelCommand, epilog=_EXIT_STATUS)
@click.argument("models", metavar="[MODEL.onnx]...", type=EXISTING, nargs=-1)
@click.option("--require-certificate", is_flag=True, help="Each model has to have a certificate that holds.")
@click.option(
    "--skip", metavar="CHECK", multiple=True,
    type=click.Choice(["optimized", "certificate", "nodes", "bytes", "latency"]),
    help="Leave out this check: optimized, certificate, nodes, bytes or latency. Repeatable.",
)  # fmt: skip
@click.option("--junit", metavar="FILE.xml", type=EXISTING, help="Write what was found in JUnit's form.")
@click.option("--sarif", metavar="FILE.sarif", type=EXISTING, help="Write it as SARIF 2.1.0.")
@click.option(
    "--annotations/--no-annotations", default=None,
    help="Print GitHub's annotations. [default: where GitHub Actions runs it]",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite files that are no earlier output. Never a model.")
@json_option("it")
@quiet_option
@click.pass_context
def gate(
    ctx: click.Context, models: Sequence[Path], require_certificate: bool, skip: Sequence[Check], junit: Path | None,
    sarif: Path | None, annotations: bool | None, force: bool, json_file: Path | None, quiet: bool,
) -> None:  # fmt: skip
    r"""Checks models in continuous integration; those that the configuration has sections for, unless you name some.

    A model fails where `foldproof optimize` would change it, where it has a certificate that does not hold, or none
    although one is required, and where it goes beyond its budget of nodes, bytes or latency. Budgets stand in
    foldproof.toml or pyproject.toml, and so do the options of `optimize`: the gate asks whether a model is optimized
    with these. Nothing is changed.

    \b
    Examples:
      foldproof gate models/*.onnx
      foldproof gate --junit gate.xml --sarif gate.sarif
      foldproof gate model.onnx --require-certificate --skip latency
    """
    from foldproof.engines import Worker, require_onnxruntime
    from foldproof.gating import demands
    from foldproof.gating.gate import Gate
    from foldproof.gating.outcome import exit_status
    from foldproof.reporting.gate.text import show, show_sum

    file = configuration(ctx)
    if file is not None:
        demands.check(file)
        models = models or _configured(file)
    if not models:
        raise UsageError("there is no model to check", hint="Name one, or write a section for it into foldproof.toml")
    named = [demands.Demands.of(file, model) for model in models]
    read = [path for model, each in zip(models, named, strict=True) for path in (model, *each.files)]
    _check_results(read, json_file, junit, sarif, force=force)
    require_onnxruntime()
    is_shown = not quiet and json_file != Path("-")
    found = []
    with contextlib.ExitStack() as stack:
        if Worker.borrowed() is None:  # one process for all that runs models
            stack.enter_context(stack.enter_context(Worker()).lent())
        for model, demanded in zip(models, named, strict=True):
            checker = Gate(of_model(ctx, "require_certificate", model), of_model(ctx, "skip", model))
            options = options_for(ctx, str(model), leave_out=_OF_A_RUN)
            found.append(checker.look_at(model, options, demanded))
            if is_shown:
                show(found[-1])
    if is_shown:
        show_sum(found)
    if annotations or (annotations is None and os.environ.get("GITHUB_ACTIONS") == "true"):
        from foldproof.reporting.gate.annotations import annotation_lines

        for line in annotation_lines(found):
            click.echo(line, err=json_file == Path("-"))
    _write_results(found, json_file, junit, sarif)
    sys.exit(exit_status(found))


def _configured(file: ConfigurationFile) -> list[Path]:
    """The models that the file has sections for."""
    found: list[Path] = []
    for section in file.sections:
        models = list(section.models())
        found += models
        if not models:
            warning = f"{section.place}: no file is there that this section is about"
            click.echo(f"foldproof: warning: {visible(warning)}", err=True)
    return list(dict.fromkeys(found))


def _check_results(
    read: Sequence[Path], json_file: Path | None, junit: Path | None, sarif: Path | None, *, force: bool
) -> None:
    """Refuses, before anything is done, files that may not be written."""
    from foldproof.destinations import check_report

    check_json(json_file, read, others=[junit, sarif], force=force)
    for path, other, option in ((junit, sarif, "--junit"), (sarif, junit, "--sarif")):
        if path is not None:
            check_report(path, read, others=[other], force=force, option=option)


def _write_results(found: Sequence[Gated], json_file: Path | None, junit: Path | None, sarif: Path | None) -> None:
    from foldproof.destinations import write_text

    passed = not any(each.failures for each in found)
    write_json({"passed": passed, "models": [each.to_dict() for each in found]}, json_file)
    if junit is not None:
        from foldproof.reporting.gate.junit import junit as document

        write_text(document(found), junit, option="--junit")
    if sarif is not None:
        from foldproof.reporting.gate.sarif import sarif as log

        write_text(json.dumps(log(found), indent=2) + "\n", sarif, option="--sarif")
