"""Two models that were compared, as a story: each difference of nodes is a step from the first to the second."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

import onnx_ir as ir

from foldproof.diffing.contents import constant_of, is_constant_node
from foldproof.diffing.texts import type_text
from foldproof.graphs import all_graphs, operator_name, paths_of, reads_of
from foldproof.reporting.story import Drawn, DrawnValue, Step, Story, attributes_text, elements_text

if TYPE_CHECKING:
    from foldproof.diffing import Comparison


def story_of(comparison: Comparison) -> Story:
    """The two graphs, partners drawn alike, with a step for each node that differs.

    Constant nodes are drawn as constants. The steps are in the order in which the difference tells the nodes: those
    only in the first, those only in the second, those that changed.
    """
    return _Teller(comparison).story()


class _Teller:
    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._partners = {b: a for a, b in comparison.matching.values.items()}
        self._changed = set(comparison.changed)
        self._paths = {graph: path for model in comparison.models for path, graph in paths_of(model)}
        self._numbers: dict[ir.Value, int] = {}
        self._contents: set[int] = set()
        self._values: list[DrawnValue] = []
        self._is_second = False
        self._drawn: dict[ir.Node, Drawn] = {}

    def story(self) -> Story:
        first, second = self._comparison.models
        for graph in all_graphs(first):
            for value in graph.inputs:
                self._number(value)
        for node in _nodes(first):
            self._drawn[node] = self._alone(node)
        self._is_second = True
        nodes = {b: a for a, b in self._comparison.matching.nodes.items()}
        for node in _nodes(second):
            self._drawn[node] = self._beside(nodes[node], node) if node in nodes else self._alone(node)
        return Story(
            tuple(self._drawn[node] for node in _nodes(first)),
            tuple(self._drawn[node] for node in _nodes(second)),
            tuple(self._steps()),
            tuple(self._values),
        )

    def _steps(self) -> Iterable[Step]:
        numbers = itertools.count(1)
        for node in self._comparison.removed:
            yield Step(next(numbers), (self._drawn[node],), (), (), (), ())
        for node in self._comparison.added:
            yield Step(next(numbers), (), (self._drawn[node],), (), (), ())
        for a, b in self._comparison.changed:
            number = next(numbers)
            if a in self._drawn and b in self._drawn:
                yield Step(number, (self._drawn[a],), (self._drawn[b],), (), (), ())

    # Nodes -----------------------------------------------------------------------------------------------------------

    def _alone(self, node: ir.Node) -> Drawn:
        inputs = [self._number(value) for value in node.inputs if value is not None]
        return self._written(node, inputs, attributes_text(node), node.name or "")

    def _beside(self, a: ir.Node, b: ir.Node) -> Drawn:
        """A node of the second model as its partner, unless they differ in more than names."""
        for output in b.outputs:
            self._number(output)
        inputs = []
        for mine, theirs in itertools.zip_longest(a.inputs, b.inputs):
            if theirs is None:
                continue
            is_same = mine is not None and self._comparison.matching.correspond(mine, theirs)
            inputs.append(self._shared(mine, theirs) if is_same and mine is not None else self._number(theirs))
        if (a, b) not in self._changed:
            return self._drawn[a]
        text = attributes_text(b)
        drawn = self._written(b, inputs, text, b.name or "")
        return drawn if drawn != self._drawn[a] else self._written(b, inputs, f"{text} (other content)", b.name or "")

    def _written(self, node: ir.Node, inputs: list[int], attributes: str, name: str) -> Drawn:
        given = set(node.inputs)
        captured = [
            self._number(value)
            for value in (reads_of(node) if node.attributes else ())
            if value not in given and constant_of(value) is None
        ]
        assert node.graph is not None
        return Drawn(
            operator_name(node),
            name,
            self._paths[node.graph],
            (*inputs, *captured),
            tuple(self._number(output) for output in node.outputs if output.name),
            attributes,
        )

    # Values ----------------------------------------------------------------------------------------------------------

    def _number(self, value: ir.Value) -> int:
        """The number of a value: partners have the same."""
        partner = self._partners.get(value) if self._is_second else None
        if partner in self._numbers:
            return self._shared(partner, value)
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self._values)
            self._values.append(self._described(value))
        return number

    def _shared(self, a: ir.Value, b: ir.Value) -> int:
        """The number of a value of the first model, which may have another name in the second."""
        number = self._numbers[a]
        self._values[number].becomes(str(b.name), self._is_output(b, self._comparison.models[1]), 1)
        return number

    def _described(self, value: ir.Value) -> DrawnValue:
        tensor = constant_of(value)
        kind = "constant" if tensor is not None else "input" if value.producer() is None else "node"
        model = self._comparison.models[self._is_second]
        is_new = False
        if tensor is not None:
            content = self._comparison.matching.number_of(value)
            is_new = self._is_second and content not in self._contents
            self._contents.add(content)
        return DrawnValue(
            str(value.name), kind, type_text(value) or "", elements_text(tensor), is_new, self._is_output(value, model)
        )

    @staticmethod
    def _is_output(value: ir.Value, model: ir.Model) -> bool:
        return value.is_graph_output() and value.graph is model.graph


def _nodes(model: ir.Model) -> Iterable[ir.Node]:
    return (node for graph in all_graphs(model) for node in graph if not is_constant_node(node))
