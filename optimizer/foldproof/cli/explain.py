"""`foldproof explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from foldproof.cli.shared import EXISTING, ModelCommand, check_json, dims, json_option, rules_from_option, write_json
from foldproof.errors import UsageError


@click.command(cls=ModelCommand)
@click.argument("model", metavar="MODEL.onnx", type=EXISTING)
@click.option(
    "--node", "nodes", metavar="NAME", multiple=True,
    help="A node, by its name or that of an output; or an input or initializer. Repeatable.",
)  # fmt: skip
@click.option("--op", "operators", metavar="OP", multiple=True, help="All nodes of an operator. [default: Size, Shape]")
@click.option("--rule", metavar="NAME", help="Where this rule applies, and where it does not and why.")
@rules_from_option
@click.option(
    "--set-dim", metavar="NAME=N", multiple=True, callback=dims, help="Explain it with this dim bound. Repeatable."
)
@click.option("-O", "level", type=click.IntRange(1, 3), default=2, show_default=True, help="The optimization level.")
@click.option("--exact", is_flag=True, help="With only those rules that keep each bit of the outputs.")
@click.option("--all", "everything", is_flag=True, help="Tell all of each node, and all steps.")
@json_option("it")
def explain(
    model: Path, nodes: Sequence[str], operators: Sequence[str], rule: str | None, rules_from: Sequence[str],
    set_dim: Mapping[str, int], level: int, exact: bool, everything: bool, json_file: Path | None,
) -> None:  # fmt: skip
    r"""Explains what is known of nodes and why, what `optimize` does with them, and what would fold them.

    Nothing is written. The model is optimized in memory, without verification. What it suggests, it has tried so.

    Of a model that was optimized with `--provenance`, it also tells what each node was made of, and what became of the
    nodes of the original.

    \b
    Examples:
      foldproof explain model.onnx                 all Size and Shape nodes
      foldproof explain model.onnx --node /Gather_3
      foldproof explain model.onnx --op Resize
      foldproof explain model.onnx --rule matmul_add
    """
    from foldproof.explaining import explain as explained
    from foldproof.explaining import explain_rule
    from foldproof.options import Options
    from foldproof.reporting import explanation_text

    if rule is not None and (nodes or operators):
        raise UsageError("--rule is asked for with --node or --op", hint="Ask for one of them at a time")
    check_json(json_file, [model])
    options = Options(rules_from=rules_from, set_dim=set_dim, level=level, exact=exact, verify=False)
    if rule is not None:
        of_rule = explain_rule(model, rule, options)
        write_json(of_rule.to_dict(), json_file)
        if json_file != Path("-"):
            explanation_text.show_rule(of_rule, everything=everything)
        return
    found = explained(model, options, nodes=nodes, operators=operators)
    write_json(found.to_dict(), json_file)
    if json_file != Path("-"):
        explanation_text.show(found, everything=everything)
