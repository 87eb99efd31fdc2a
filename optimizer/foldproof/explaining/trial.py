"""Optimizes a model in memory, unverified, to see what becomes of each node."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import onnx_ir as ir

from foldproof.attempts import Attempts
from foldproof.graphs import all_graphs, operator_name
from foldproof.model_file import Source
from foldproof.optimization import Plan
from foldproof.options import Options
from foldproof.rewriting import Entry, Reason, Rule

_MARK = "foldproof.number"
"""The key of metadata by which a node is known again: rewrites hand it on, to copies too."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """What became of the nodes of a model, each known by its number in the order of `all_graphs`.

    Attributes:
        entries: The rewrites by which nodes went.
        reasons: Why rules did not apply, of the nodes that are left.
        left: The operators of the nodes that are there and were made of a node, or are that node.
        ledger: All rewrites.
    """

    entries: Mapping[int, Entry]
    reasons: Mapping[int, Mapping[str, Reason]]
    left: Mapping[int, frozenset[str]]
    ledger: Sequence[Entry]


def try_out(load: Callable[[], Source], options: Options, rules: Sequence[Rule]) -> Trial:
    """Optimizes a model and looks at what became of its nodes.

    Args:
        load: Gives the model anew.
        options: What to do.
        rules: The rules to apply.

    Raises:
        UsageError: A dim that the options bind is none of the model's.
        RuleError: A rule failed.
    """
    nodes: list[ir.Node] = []

    def marked() -> Source:
        source = load()
        nodes.extend(node for graph in all_graphs(source.model) for node in graph)
        for number, node in enumerate(nodes):
            node.metadata_props[_MARK] = str(number)
        return source

    with Attempts(options, marked) as attempts, attempts.rewritten(Plan(tuple(rules))) as run:
        left: dict[int, set[str]] = {}
        for graph in all_graphs(run.source.model):
            for node in graph:
                if _MARK in node.metadata_props:
                    left.setdefault(int(node.metadata_props[_MARK]), set()).add(operator_name(node))
        rewriter = run.rewriter
        return Trial(
            {k: rewriter.entries[node] for k, node in enumerate(nodes) if node in rewriter.entries},
            {k: dict(rewriter.reasons[node]) for k, node in enumerate(nodes) if node in rewriter.reasons},
            {k: frozenset(operators) for k, operators in left.items()},
            tuple(rewriter.ledger.entries),
        )
