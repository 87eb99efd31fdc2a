"""`foldproof config`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foldproof.cli.configured import ConfiguredCommand, configuration, unknown_variables
from foldproof.cli.shared import Command, check_json, json_option, write_json
from foldproof.errors import UsageError

if TYPE_CHECKING:
    from foldproof.configuration import InForce


@click.command(cls=Command, context_settings={"allow_interspersed_args": False})
@click.argument("words", metavar="[COMMAND [ARGUMENT]...]", nargs=-1, type=click.UNPROCESSED)
@json_option("it")
@click.pass_context
def config(ctx: click.Context, words: Sequence[str], json_file: Path | None) -> None:
    r"""Shows which options are in force for COMMAND (optimize), and where each value is from.

    The arguments are those that you would give the command. Nothing is done with them.

    \b
    Examples:
      foldproof config
      foldproof config optimize model.onnx -O3   with what the file says of model.onnx
      foldproof config verify --json -
    """
    from foldproof.reporting import configuration_table

    name, *arguments = words or ["optimize"]
    root = ctx.find_root().command
    command = root.commands.get(name) if isinstance(root, click.Group) else None
    if not isinstance(command, ConfiguredCommand):
        raise UsageError(f"there is no command {name!r} with options", hint="`foldproof --help` lists them")
    check_json(json_file, [])
    found = command.in_force(click.Context(command, parent=ctx.parent, info_name=name), arguments)
    file = configuration(ctx)
    for variable in unknown_variables(ctx):
        click.echo(f"foldproof: warning: {variable} is the environment variable of no option", err=True)
    write_json(_to_dict(name, found, None if file is None else file.path), json_file)
    if json_file != Path("-"):
        configuration_table.show(name, found, file)


def _to_dict(name: str, found: Sequence[InForce], file: Path | None) -> dict[str, Any]:
    options = {each.key: {"value": _plain(each.value), "source": each.source} for each in found}
    return {"file": None if file is None else str(file), "command": name, "options": options}


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
