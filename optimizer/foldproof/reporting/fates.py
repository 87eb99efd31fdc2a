"""What became of each node that a reference kernel can compute: folded, evaluated at run time, or left, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.facts.description import known_shapes, path_of
from foldproof.graphs import all_graphs, operator_name
from foldproof.kernels import CROSS_CHECKED
from foldproof.reporting.report import Fate, Outcome
from foldproof.rewriting import Entry, Reason

if TYPE_CHECKING:
    from foldproof.verification import Evaluation


class Watch:
    """Remembers the nodes that kernels compute before a run, to tell their fate after it.

    Args:
        model: The model, before it is rewritten.
        facts: Its facts.
    """

    def __init__(self, model: ir.Model, facts: Facts) -> None:
        self._facts = facts
        self._nodes = [
            (node, str(node.outputs[0].name), "" if node.graph is None else path_of(node.graph, facts))
            for graph in all_graphs(model)
            for node in graph
            if not node.domain and node.op_type in CROSS_CHECKED and node.outputs
        ]
        self._inputs = {node: tuple(node.inputs) for node, *_ in self._nodes}
        self._unread = {
            node for node, *_ in self._nodes if not any(v.uses() or v.is_graph_output() for v in node.outputs)
        }

    def fates(
        self,
        entries: Mapping[ir.Node, Entry],
        reasons: Mapping[ir.Node, Mapping[str, Reason]],
        evaluations: Sequence[Evaluation] = (),
    ) -> tuple[Fate, ...]:
        """The fate of each watched node.

        Args:
            entries: For each node that was taken away, the ledger's entry of it.
            reasons: For each node that is left, why no rule applied.
            evaluations: What verification computed of those that are left.
        """
        fates = [self._fate(*watched, entries, reasons, evaluations) for watched in self._nodes]
        told = {(fate.node, fate.operator) for fate in fates if fate.outcome == "evaluated"}
        return (*fates, *_of_new_nodes([e for e in evaluations if e.executed and (e.output, e.op_type) not in told]))

    def _fate(
        self,
        node: ir.Node,
        name: str,
        graph: str,
        entries: Mapping[ir.Node, Entry],
        reasons: Mapping[ir.Node, Mapping[str, Reason]],
        evaluations: Sequence[Evaluation],
    ) -> Fate:
        operator = operator_name(node)
        entry = entries.get(node)
        if entry is not None:
            value = self._value(node)
            because = "; ".join(known_shapes(self._inputs[node], self._facts))
            if node in self._unread:
                return Fate(name, operator, graph, "removed", "nothing reads it")
            if value is not None:  # into a constant of its own, or with all that reads it
                return Fate(name, operator, graph, "folded", because, value)
            outcome: Outcome = "replaced" if entry.added else "removed"
            return Fate(name, operator, graph, outcome, because if entry.added else "nothing reads it any more")
        if node.graph is None:
            return Fate(name, operator, graph, "removed", "the body that held it is gone")
        why = next((str(reason) for reason in reasons.get(node, {}).values()), "no rule was tried at it")
        mine = [e for e in evaluations if e.output == name and e.op_type == node.op_type and e.executed]
        values = tuple((e.binding, e.got) for e in mine)
        return Fate(name, operator, graph, "evaluated" if mine else "left", why, values=values)

    def _value(self, node: ir.Node) -> object:
        """The constant that a node became, as numbers."""
        fact = self._facts.of(node.outputs[0])
        if fact.ints is None:
            return None
        return fact.ints[0] if fact.rank == 0 else list(fact.ints)


def _of_new_nodes(evaluations: Sequence[Evaluation]) -> Iterator[Fate]:
    """The nodes that rules put in, such as a `Size` of an earlier value: they are evaluated like those that stay."""
    values: dict[tuple[str, str, str], list[tuple[Mapping[str, int], object]]] = {}
    for each in evaluations:
        values.setdefault((each.output, each.op_type, each.place), []).append((each.binding, each.got))
    for (output, op_type, place), found in values.items():
        yield Fate(output, op_type, place, "evaluated", "a rule put it in the place of another", values=tuple(found))
