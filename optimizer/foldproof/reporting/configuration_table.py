"""Which options are in force, for a person."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foldproof.configuration.place import shown
from foldproof.reporting.visible import visible

if TYPE_CHECKING:
    from foldproof.configuration import ConfigurationFile, InForce


def show(command: str, options: Sequence[InForce], file: ConfigurationFile | None) -> None:
    """Prints the options of a command, those first that are not by default.

    Args:
        command: The command's name.
        options: Its options.
        file: The file that holds.
    """
    click.echo(f"file: {'none' if file is None else visible(shown(file.path))}")
    click.echo(f"options of {command}:")
    rows = [(each.key, _text(each.value), each.source) for each in options]
    rows.sort(key=lambda row: row[2] == "default")
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for key, value, source in rows:
        click.echo(visible(f"  {key:<{widths[0]}}  {value:<{widths[1]}}  {source}"))
    for section in () if file is None else file.sections:
        click.echo(visible(f"models {', '.join(section.patterns)} ({section.place}):"))
        for setting in section.settings:
            click.echo(visible(f"  {setting.key} = {_text(setting.value)}"))


def _text(value: Any) -> str:
    """A value as the file has it, so that a person may copy it."""
    if value is None or value == () or value == {}:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_text(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Path):
        return shown(value)
    return f'"{value}"' if isinstance(value, str) else str(value)
