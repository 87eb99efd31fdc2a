"""The command: argument parsing and nothing else. A command imports what it needs when it runs: --help is instant."""

from __future__ import annotations

from typing import Any

import click

from foldproof import __version__
from foldproof.cli.batch import batch
from foldproof.cli.bisect import bisect
from foldproof.cli.check import check
from foldproof.cli.check_rule import check_rule
from foldproof.cli.config import config
from foldproof.cli.diff import diff
from foldproof.cli.explain import explain
from foldproof.cli.gate import gate
from foldproof.cli.new_rule_pack import new_rule_pack
from foldproof.cli.optimize import optimize
from foldproof.cli.rules import rules
from foldproof.cli.shared import EXIT_STATUS, unwrapped
from foldproof.cli.signals import ending_by_signal
from foldproof.cli.verify import verify
from foldproof.errors import FoldproofError
from foldproof.reporting.visible import visible


class _Group(click.Group):
    """Turns each error into one clear line and its exit status."""

    def __init__(self, name: str | None = None, **options: Any) -> None:
        super().__init__(name, **{**options, "help": unwrapped(options.get("help"))})

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with ending_by_signal():
                return super().invoke(ctx)
        except FoldproofError as error:
            click.echo(f"foldproof: error: {visible(error)}", err=True)
            ctx.exit(error.exit_status)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:  # noqa: BLE001  a fault of ours: told in one line, and never as a difference found
            text = f"{type(error).__name__}: {error}"
            click.echo(f"foldproof: error: an internal fault, {visible(text)}. Please report it.", err=True)
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
      foldproof batch models/ -o optimized/            many models, each in a process of its own
      foldproof verify model.onnx other.onnx           compares any two models
      foldproof diff model.onnx model.opt.onnx         what differs, by structure
      foldproof explain model.onnx                     why nodes stay, and what would fold them
      foldproof rules                                  lists the rewrites
      foldproof check-rule my_pack.rules               tries rules at many small models
      foldproof new-rule-pack acme-rules               writes a package for rules of your own

    \b
    Shell completion (bash; zsh and fish alike):
      eval "$(_FOLDPROOF_COMPLETE=bash_source foldproof)"
    """


for command in (optimize, batch, verify, diff, explain, check, bisect, check_rule, rules, config, gate, new_rule_pack):
    main.add_command(command)
