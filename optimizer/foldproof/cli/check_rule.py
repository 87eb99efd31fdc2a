"""`foldproof check-rule`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from foldproof.cli.shared import ModelCommand, check_json, json_option, write_json


@click.command("check-rule", cls=ModelCommand)
@click.argument("names", metavar="RULE|MODULE...", nargs=-1, required=True)
@click.option("--thorough", is_flag=True, help="Try all variations, and run the ONNX reference too.")
@click.option("--seed", default=0, show_default=True, help="The seed of what is chosen, and of the inputs.")
@json_option("the result")
@click.pass_context
def check_rule(ctx: click.Context, names: Sequence[str], thorough: bool, seed: int, json_file: Path | None) -> None:
    r"""Try rules at many variations of their examples, and run each model before and after.

    RULE is the name of an installed rule, MODULE that of a module of rules, such as my_pack.rules, which may stand in
    the working directory, or the path of a .py file.

    \b
    Exit status:
      0  no fault was found
      1  a rule is faulty
      2  there is no such rule or module
    """
    from foldproof.checking import check, text
    from foldproof.checking.selection import rules_of
    from foldproof.engines import Worker
    from foldproof.rewriting.packs import installed

    check_json(json_file, [])
    known = installed()
    rules = [rule for name in names for rule in rules_of(name, known)]
    effort = check.THOROUGH if thorough else check.Effort()
    quiet = json_file == Path("-")
    checks = []
    with Worker() as worker:
        for rule in rules:
            checks.append(check.check_rule(rule, known, effort, seed=seed, worker=worker))
            if not quiet:
                click.echo(text.line_of(checks[-1]))
                for finding in checks[-1].findings:
                    click.echo("\n".join(text.lines_of(finding)))
    write_json({"rules": [each.to_dict() for each in checks]}, json_file)
    if not quiet:
        click.echo(text.summary_of(checks))
    ctx.exit(int(any(each.findings for each in checks)))
