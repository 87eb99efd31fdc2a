"""Numbers for nodes and values of two models: equal where they are computed in the same way from the same inputs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import onnx_ir as ir

from foldproof.diffing.contents import Contents, attribute_key, constant_of, is_constant_node
from foldproof.graphs import bodies_of


class Numbering:
    """Numbers nodes and values of both models. No names go in but those of operators and attributes.

    Args:
        contents: The keys of constants.

    Attributes:
        nodes: The number of each node.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._numbers: dict[Hashable, int] = {}
        self._values: dict[ir.Value, int] = {}
        self._attributes: dict[ir.Node, Mapping[str, Hashable]] = {}
        self.nodes: dict[ir.Node, int] = {}

    def number(self, graph: ir.Graph, inputs: Sequence[Hashable], depth: int = 0) -> int:
        """Numbers all of a graph.

        Args:
            graph: The graph; what it reads of graphs around it is numbered already.
            inputs: A key for each of its inputs.
            depth: How many graphs are around it.

        Returns:
            The number of the graph itself.
        """
        for key, value in zip(inputs, graph.inputs, strict=True):
            self._values[value] = self._of(("input", key))
        for node in graph:
            bodies = tuple(
                self.number(body, [(depth + 1, k) for k in range(len(body.inputs))], depth + 1)
                for body in bodies_of(node)
            )
            attributes = tuple(sorted(self.attributes(node).items()))
            read = tuple(None if value is None else self.of(value) for value in node.inputs)
            number = self._of((*operator_key(node), attributes, bodies, read, len(node.outputs)))
            self.nodes[node] = number
            for index, output in enumerate(node.outputs):
                self._values[output] = self._of(("output", number, index))
            if is_constant_node(node):
                self._values.pop(node.outputs[0])
        made = tuple(sorted(self.nodes[node] for node in graph))
        return self._of(("graph", len(graph.inputs), tuple(self.of(value) for value in graph.outputs), made))

    def of(self, value: ir.Value) -> int:
        """The number of a value."""
        if value not in self._values:
            tensor = constant_of(value)
            key: Hashable = ("other", id(value)) if tensor is None else ("constant", self._contents.key(tensor))
            self._values[value] = self._of(key)
        return self._values[value]

    def attributes(self, node: ir.Node) -> Mapping[str, Hashable]:
        """The keys of a node's attributes, by their names; of a body only that there is one."""
        if node not in self._attributes:
            self._attributes[node] = {
                name: attribute_key(attribute, self._contents) if not _holds_graphs(attribute) else ("body",)
                for name, attribute in node.attributes.items()
            }
        return self._attributes[node]

    def _of(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def operator_key(node: ir.Node) -> tuple[str, str, str]:
    """What a node calls."""
    return node.domain, node.op_type, node.overload


def _holds_graphs(attribute: ir.Attr) -> bool:
    return not attribute.is_ref() and attribute.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
