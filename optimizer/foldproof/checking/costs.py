"""Measures what rules declare to lower, read off a model."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from foldproof.graphs import bodies_of
from foldproof.rewriting import Cost

WRITTEN_OUT = 1000
"""A body is never copied more often."""


def costs(model: ir.Model, *, dead: bool = False) -> dict[Cost, int]:
    """The costs of a model, but for `Cost.FORM`: which form of an operator is a cheap one, its rules alone know.

    Args:
        model: The model.
        dead: Count what nothing reads too.
    """
    return _Measure(model, dead).costs


def computing_nodes(model: ir.Model, *, dead: bool = False) -> list[ir.Node]:
    """The nodes that a model's outputs need, or all if `dead`, but for those that compute nothing."""
    return _Measure(model, dead).counted


class _Measure:
    def __init__(self, model: ir.Model, dead: bool) -> None:
        self._model = model
        self._dead = dead
        self._trees: dict[ir.Node, int] = {}
        self._depths: dict[ir.Graph, int] = {}
        self._live: dict[ir.Node, int] = {}
        roots = [model.graph, *(function.graph for function in model.functions.values())]
        expression = 0
        for root in roots:
            self._measure_depth(root, 0)
            self._mark(root)
        for node in self._live:
            self._trees[node] = -1  # to be computed
        for root in roots:
            expression += sum(self._tree(output) for output in root.outputs)
            for node in root.all_nodes() if dead else ():
                expression += sum(self._tree(output) for output in node.outputs if not output.uses())
        self.counted = counted = [node for node in self._live if _counts(node)]
        stored = sum(2 if _counts(node) else 1 for root in roots for node in root.all_nodes())
        initializers = sum(len(graph.initializers) for root in roots for graph in (root, *root.subgraphs()))
        self.costs = {
            Cost.CALLS: sum(self._calls(node) for node in counted),
            Cost.CONTROL: sum(map(_control, counted)),
            Cost.NODES: 2 * len(counted) + sum(map(_is_identity, self._live)),
            Cost.NESTING: sum(self._live[node] for node in counted),
            Cost.EXPRESSION: expression,
            Cost.OPERANDS: sum(
                sum(map(_weight, node.inputs)) + 2 * sum(bool(output.name) for output in node.outputs)
                for node in counted
            ),
            Cost.STORED: stored + initializers,
        }

    def _calls(self, node: ir.Node) -> bool:
        return node.op_identifier() in self._model.functions

    def _measure_depth(self, graph: ir.Graph, depth: int) -> None:
        self._depths[graph] = depth
        for node in graph:
            for body in bodies_of(node):
                self._measure_depth(body, depth + 1)

    def _mark(self, graph: ir.Graph) -> None:
        """Notes the nodes that a graph's outputs need, and those of unknown operators, with the depth of their body."""
        waiting = [value.producer() for value in graph.outputs]
        waiting += [node for node in graph if self._dead or (node.domain and not self._calls(node))]
        while waiting:
            node = waiting.pop()
            if node is None or node in self._live:
                continue
            assert isinstance(node.graph, ir.Graph)
            self._live[node] = self._depths[node.graph]
            waiting += [value.producer() for value in node.inputs if value is not None]
            for body in bodies_of(node):
                self._mark(body)

    def _tree(self, value: ir.Value | None) -> int:
        """The number of operators of a value, written out as an expression in which nothing is shared."""
        maker = None if value is None else value.producer()
        if maker is None:
            return 0
        if self._trees.get(maker, -1) < 0:
            bodies: Iterable[ir.Graph] = bodies_of(maker)
            inner = sum(self._tree(output) for body in bodies for output in body.outputs)
            self._trees[maker] = int(_counts(maker)) + inner + sum(map(self._tree, maker.inputs))
        return self._trees[maker]


def _control(node: ir.Node) -> int:
    """1 for a node that holds bodies, and many times as much for each node around such a one."""
    bodies = list(bodies_of(node))
    return 1 + WRITTEN_OUT * sum(_control(each) for body in bodies for each in body) if bodies else 0


def _counts(node: ir.Node) -> bool:
    """Whether a node computes something."""
    return (bool(node.domain) or node.op_type != "Constant") and not _is_identity(node)


def _is_identity(node: ir.Node) -> bool:
    return node.op_type == "Identity" and not node.domain


def _weight(value: ir.Value | None) -> int:
    if value is None:
        return 0
    maker = value.producer()
    return 1 if value.is_initializer() or (maker is not None and maker.op_type == "Constant") else 2
