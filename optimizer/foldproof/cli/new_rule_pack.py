"""`foldproof new-rule-pack`."""

from __future__ import annotations

from pathlib import Path

import click

from foldproof.cli.shared import EXISTING, ModelCommand


@click.command("new-rule-pack", cls=ModelCommand)
@click.argument("name")
@click.argument("folder", metavar="[DIR]", type=EXISTING, required=False)
def new_rule_pack(name: str, folder: Path | None) -> None:
    r"""Writes a package for rules of your own: with one rule, its tests, and what continuous integration runs.

    NAME is the name of the package, such as acme-rules; it is written to the new folder DIR, or to one of that name.

    \b
    Examples:
      foldproof new-rule-pack acme-rules
      cd acme-rules && pip install --editable '.[dev]' && pytest
    """
    from foldproof.rule_packs import write_pack

    folder = Path(name) if folder is None else folder
    for path in write_pack(name, folder):
        click.echo(f"written: {path}")
