"""`foldproof bisect`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from foldproof.cli.shared import EXISTING, EXIT_STATUS, ModelCommand, how_to_verify, only_rules, which_rules


@click.command(cls=ModelCommand, epilog=EXIT_STATUS)
@click.argument("model", metavar="IN.onnx", type=EXISTING)
@click.option("--run", "command", metavar="COMMAND", help="Ask this command, which fails for a bad model, `{}`.")
@click.option("--save-repro", metavar="DIR", type=EXISTING, help="Write the smallest models that show it there.")
@which_rules
@how_to_verify
def bisect(model: Path, command: str | None, rules: Sequence[str], **options: Any) -> None:
    r"""Finds the first rewrite of the model IN.onnx that does harm: by verification, or by your own command.

    The command gets the path of a model that is optimized by a part of the rewrites, in the place of `{}` or at its
    end. It is asked about log2(n) times for n rewrites. Nothing is written. Exits with 1 where a rewrite is found.

    \b
    Examples:
      foldproof bisect model.onnx
      foldproof bisect model.onnx --run "python accuracy.py {} --at-least 0.93"
    """
    from foldproof.culprit import bisect_file
    from foldproof.reporting import terminal

    found = bisect_file(model, command, rules=only_rules(rules), **options)
    terminal.show_guilty(found)
    sys.exit(0 if found is None else 1)
