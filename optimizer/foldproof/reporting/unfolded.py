"""What did not change, and the first reason that a rule gave: nodes for which that is the same stand together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import onnx_ir as ir

from foldproof.graphs import operator_name
from foldproof.rewriting import Reason
from foldproof.rewriting.description import place_of


@dataclasses.dataclass(frozen=True)
class Unfolded:
    """Nodes of one operator that stay for one reason.

    Attributes:
        operator: The operator.
        rule: The first rule that was tried at them and did not apply.
        why: Its reason.
        nodes: The names of the nodes' first outputs.
    """

    operator: str
    rule: str
    why: str
    nodes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return {**dataclasses.asdict(self), "nodes": list(self.nodes)}


def unfolded(reasons: Mapping[ir.Node, Mapping[str, Reason]]) -> tuple[Unfolded, ...]:
    """The nodes that stay, by operator, rule and reason; what holds of most of them first."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for node, by_rule in reasons.items():
        if node.graph is None:
            continue
        for rule, reason in by_rule.items():
            groups.setdefault((operator_name(node), rule, str(reason)), []).append(place_of(node))
            break
    found = [Unfolded(*key, tuple(nodes)) for key, nodes in groups.items()]
    return tuple(sorted(found, key=lambda each: (-len(each.nodes), each.operator, each.rule, each.why)))
