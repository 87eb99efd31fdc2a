"""`foldproof rules`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from foldproof.cli.shared import ModelCommand, check_json, json_option, rules_from_option, write_json


@click.command(cls=ModelCommand)
@click.argument("name", required=False)
@rules_from_option
@json_option("it")
def rules(name: str | None, rules_from: Sequence[str], json_file: Path | None) -> None:
    r"""Lists the rules, or says all about the rule NAME, with an example before and after.

    \b
    Examples:
      foldproof rules
      foldproof rules static_size
    """
    from foldproof.reporting import terminal
    from foldproof.reporting.rule_page import page_of, summary
    from foldproof.rewriting.packs import chosen, installed

    check_json(json_file, [])
    known = installed(rules_from)
    if name is None:
        write_json({"rules": [summary(rule) for rule in known]}, json_file)
        if json_file != Path("-"):
            terminal.show_rules(known)
        return
    page = page_of(chosen(known, [name], ())[0], known)
    write_json(page.to_dict(), json_file)
    if json_file != Path("-"):
        terminal.show_rule(page)
