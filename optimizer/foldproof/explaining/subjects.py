"""What a person asks about: nodes, by their own names, the names of their outputs or their operators, and values."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence

import onnx_ir as ir

from foldproof.errors import UsageError
from foldproof.folding.candidates import read_outputs
from foldproof.graphs import operator_name, paths_of
from foldproof.provenance import Gone, Record


@dataclasses.dataclass(frozen=True, eq=False)
class Subject:
    """A node, or a value that no node makes.

    Attributes:
        value: The value, the first output of the node.
        node: The node.
        number: The node's number in the order of `all_graphs`; -1 for a value.
        graph: The name of the graph, after those of the graphs around it.
    """

    value: ir.Value
    node: ir.Node | None
    number: int
    graph: str

    @property
    def results(self) -> Sequence[ir.Value]:
        """What has to be constant so that the node can go."""
        if self.node is None:
            return [self.value]
        return read_outputs(self.node) or [self.value]


class Directory:
    """The nodes and values of a model.

    Args:
        model: The model.
    """

    def __init__(self, model: ir.Model) -> None:
        self.subjects: list[Subject] = []
        self._values: dict[str, list[Subject]] = {}
        number = 0
        for path, graph in paths_of(model):
            for node in graph:
                if node.outputs:
                    self.subjects.append(Subject(node.outputs[0], node, number, path))
                number += 1
            for value in dict.fromkeys([*graph.inputs, *graph.initializers.values()]):
                self._values.setdefault(str(value.name), []).append(Subject(value, None, -1, path))
        self._by_name: dict[str, list[Subject]] = {}
        for subject in self.subjects:
            assert subject.node is not None
            for name in dict.fromkeys([subject.node.name, *(output.name for output in subject.node.outputs)]):
                if name:
                    self._by_name.setdefault(name, []).append(subject)

    def named(self, name: str, record: Record | None) -> tuple[list[Subject], list[Gone]]:
        """What has a name, in the model and in what it was made of.

        Raises:
            UsageError: Nothing has it.
        """
        found = self._by_name.get(name, []) or self._values.get(name, [])
        gone = [] if record is None else record.whereabouts(name)
        if not found and not gone:
            names = [*self._by_name, *self._values, *(each.output for each in (record.gone if record else ()))]
            near = difflib.get_close_matches(name, names, n=3)
            hint = f"There is {', '.join(map(repr, near))}" if near else "Name a node or one of its outputs"
            if record is None:
                hint += ". Nodes that are gone are known in what `foldproof optimize --provenance` wrote"
            raise UsageError(f"the model has no node and no value {name!r}", hint=hint)
        return found, gone

    def of_operator(self, operator: str) -> list[Subject]:
        """The nodes of an operator, `Size` or `domain::Name`."""
        return [each for each in self.subjects if each.node is not None and operator_name(each.node) == operator]
