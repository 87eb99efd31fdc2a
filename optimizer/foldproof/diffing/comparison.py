"""Holds two models against each other."""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import onnx_ir as ir

from foldproof.diffing.contents import Contents, constant_of, is_constant_node
from foldproof.diffing.difference import Change, ConstantChange, ConstantRef, Difference, NodeChange, NodeRef
from foldproof.diffing.matching import Matching, by_name, in_place
from foldproof.diffing.numbering import Numbering
from foldproof.diffing.texts import attribute_text, constant_ref, node_ref, type_text, value_name
from foldproof.diffing.whole import changes_between, metadata_of, opsets_of, signature_changes
from foldproof.graphs import all_graphs, bodies_of, count_operators, paths_of
from foldproof.model_file import Source
from foldproof.rewriting.description import place_of


def compare(a: Source, b: Source) -> Difference:
    """The differences of two models, by structure rather than by name.

    Inputs and outputs of the models go together by their names, nodes by what they compute and then by what is around
    them, constants by their content. The work grows about linearly with the nodes. Weights are read only where both
    models have some of the same type and shape.

    Args:
        a: The first model.
        b: The second.

    Raises:
        ModelError: A data file can't be read.
    """
    return Comparison(a, b).difference


class Comparison:
    """Two models, held against each other: what `compare` gives, and the nodes and values themselves.

    Args:
        a: The first model.
        b: The second.

    Attributes:
        models: Both.
        difference: What differs.
        matching: Which node and value of the first is which of the second.
        removed: The nodes that only the first has, in the order in which the difference tells them.
        added: Those that only the second has.
        changed: Those that both have, with other attributes or inputs.
    """

    def __init__(self, a: Source, b: Source) -> None:
        self._sources = a, b
        self._a, self._b = self.models = a.model, b.model
        self._contents = Contents(a.model, b.model)
        self._numbering = Numbering(self._contents)
        self.matching = Matching(self._numbering)
        self.removed: list[ir.Node] = []
        self.added: list[ir.Node] = []
        self.changed: list[tuple[ir.Node, ir.Node]] = []
        self._paths = {graph: path for model in (self._a, self._b) for path, graph in paths_of(model)}
        self._nodes: list[NodeChange] = []
        self._exchanged: list[tuple[ir.Value, ir.Value]] = []
        self._metadata: list[Change] = []
        self._declared: list[Change] = []
        self._outputs: list[Change] = []
        self._renamed_values: dict[tuple[str, str], None] = {}
        self._renamed_nodes: dict[tuple[str, str], None] = {}
        self.difference = self._compared()

    def _compared(self) -> Difference:
        """Matches all graphs, and looks at what is matched and at what is not."""
        pairs = [pair for roots in self._roots() for pair in self._matched(*roots)]
        for a, b in pairs:
            self._look_at(a, b)
        self.removed = [node for node in _nodes(self._a) if node not in self.matching.nodes]
        self.added = [node for node in _nodes(self._b) if not self.matching.is_taken(node)]
        constants = self._constants()
        return Difference(
            a=_name(self._sources[0]),
            b=_name(self._sources[1]),
            operators_a=dict(count_operators(self._a)),
            operators_b=dict(count_operators(self._b)),
            nodes_removed=tuple(map(self._ref, self.removed)),
            nodes_added=tuple(map(self._ref, self.added)),
            nodes_changed=tuple(self._nodes),
            **constants,
            signature=tuple(signature_changes(*self._sources)),
            outputs=tuple(self._outputs),
            functions=tuple(self._functions()),
            opsets=tuple(changes_between(opsets_of(self._a), opsets_of(self._b))),
            declared=tuple(self._declared),
            metadata=(*changes_between(metadata_of(self._sources[0]), metadata_of(self._sources[1])), *self._metadata),
            renamed_values=tuple(self._renamed_values),
            renamed_nodes=tuple(self._renamed_nodes),
        )

    # Matching --------------------------------------------------------------------------------------------------------

    def _roots(self) -> Iterator[tuple[ir.Graph, ir.Graph, list[tuple[ir.Value, ir.Value]]]]:
        """The main graphs, and the functions that both models have, with the inputs that go together."""
        yield self._a.graph, self._b.graph, _together(self._a.graph.inputs, self._b.graph.inputs)
        for key, function in self._a.functions.items():
            other = self._b.functions.get(key)
            if other is not None:
                yield function.graph, other.graph, in_place(function.inputs, other.inputs)

    def _matched(
        self, a: ir.Graph, b: ir.Graph, inputs: list[tuple[ir.Value, ir.Value]]
    ) -> list[tuple[ir.Graph, ir.Graph]]:
        keys: dict[ir.Value, Hashable] = {}
        for number, (first, second) in enumerate(inputs):
            keys[first] = keys[second] = ("both", number)
        for number, value in enumerate((*a.inputs, *b.inputs)):
            keys.setdefault(value, ("one", number))
        for graph in (a, b):
            self._numbering.number(graph, [keys[value] for value in graph.inputs])
        return list(self.matching.match(a, b, inputs, self._ends(a, b)))

    def _ends(self, a: ir.Graph, b: ir.Graph) -> list[tuple[ir.Value, ir.Value]]:
        """Outputs of two graphs that are meant to be the same."""
        return by_name(a.outputs, b.outputs) if a is self._a.graph else in_place(a.outputs, b.outputs)

    # Looking at partners ---------------------------------------------------------------------------------------------

    def _look_at(self, a: ir.Graph, b: ir.Graph) -> None:
        is_main = a is self._a.graph
        for node in a:
            partner = self.matching.nodes.get(node)
            if partner is None:
                continue
            changes = [*self._attribute_changes(node, partner), *self._input_changes(node, partner)]
            if changes:
                self.changed.append((node, partner))
                self._nodes.append(NodeChange(self._ref(node), self._ref(partner), tuple(changes)))
            where = f"node {place_of(node)}"
            self._metadata.extend(_described(where, node, partner))
            if (node.name or "") != (partner.name or ""):
                self._renamed_nodes[node.name or "", partner.name or ""] = None
            for mine, theirs in zip(node.outputs, partner.outputs, strict=False):
                self._look_at_values(mine, theirs, is_contract=is_main and mine.is_graph_output())
        if not is_main:
            for mine, theirs in in_place(a.inputs, b.inputs):
                self._look_at_values(mine, theirs, is_contract=False)
        self._outputs.extend(self._output_changes(a, b))

    def _look_at_values(self, a: ir.Value, b: ir.Value, *, is_contract: bool) -> None:
        """Names and declarations of two values that go together."""
        if (a.name or "") != (b.name or ""):
            self._renamed_values[a.name or "", b.name or ""] = None
        if is_contract:
            return
        before, after = type_text(a), type_text(b)
        if before != after:
            self._declared.append(Change(value_name(a, b), before, after))
        self._metadata.extend(_described(f"value {a.name}", a, b))

    def _attribute_changes(self, a: ir.Node, b: ir.Node) -> Iterator[Change]:
        mine, theirs = self._numbering.attributes(a), self._numbering.attributes(b)
        for name in dict.fromkeys((*mine, *theirs)):
            if mine.get(name) != theirs.get(name):
                before, after = (attribute_text(node.attributes.get(name)) for node in (a, b))
                yield Change(f"attribute {name}", before, after)
        for first, second in zip(bodies_of(a), bodies_of(b), strict=False):
            if len(first.inputs) != len(second.inputs) or len(first.outputs) != len(second.outputs):
                yield Change(
                    f"body {first.name}",
                    f"{len(first.inputs)} inputs, {len(first.outputs)} outputs",
                    f"{len(second.inputs)} inputs, {len(second.outputs)} outputs",
                )

    def _input_changes(self, a: ir.Node, b: ir.Node) -> Iterator[Change]:
        for index, (mine, theirs) in enumerate(itertools.zip_longest(a.inputs, b.inputs)):
            if not self._are_same(mine, theirs):
                before, after = (None if value is None else str(value.name) for value in (mine, theirs))
                yield Change(f"input {index}", before, after)
        if len(a.outputs) != len(b.outputs):
            yield Change("outputs", str(len(a.outputs)), str(len(b.outputs)))

    def _output_changes(self, a: ir.Graph, b: ir.Graph) -> Iterator[Change]:
        """Outputs of a graph that something else makes now."""
        for mine, theirs in self._ends(a, b):
            if not self._are_same(mine, theirs):
                yield Change(f"{mine.name} of {self._paths[a]}", self._maker(mine), self._maker(theirs))

    def _maker(self, value: ir.Value) -> str:
        node = value.producer()
        return str(value.name) if node is None else self._ref(node).text

    def _are_same(self, a: ir.Value | None, b: ir.Value | None) -> bool:
        """Whether two values go together; two constants of different content in one place do, and are remembered."""
        if self.matching.correspond(a, b):
            if a is not None and b is not None and constant_of(a) is not None and a.name != b.name:
                self._renamed_values[a.name or "", b.name or ""] = None
            return True
        if a is None or b is None or constant_of(a) is None or constant_of(b) is None:
            return False
        self._exchanged.append((a, b))
        return True

    # Constants -------------------------------------------------------------------------------------------------------

    def _constants(self) -> dict[str, Any]:
        """The constants that differ, by their content: how often it is stored, and how."""
        mine, theirs = (self._constants_of(model) for model in (self._a, self._b))
        changed = dict.fromkeys(self._exchanged)
        told = {value for pair in changed for value in pair}
        found: dict[str, list[Any]] = {kind: [] for kind in ("removed", "added", "moved", "merged", "copied")}
        for key in dict.fromkeys((*mine, *theirs)):
            before = [value for value in mine.get(key, ()) if value not in told]
            after = [value for value in theirs.get(key, ()) if value not in told]
            for a, b in zip(*(sorted(values, key=_kind) for values in (before, after)), strict=False):
                if _kind(a) != _kind(b):
                    found["moved"].append(ConstantChange(self._constant_ref(a), self._constant_ref(b)))
            found["merged" if key in theirs else "removed"].extend(map(self._constant_ref, before[len(after) :]))
            found["copied" if key in mine else "added"].extend(map(self._constant_ref, after[len(before) :]))
        return {
            **{f"constants_{kind}": tuple(each) for kind, each in found.items()},
            "constants_changed": tuple(
                ConstantChange(self._constant_ref(a), self._constant_ref(b)) for a, b in changed
            ),
        }

    def _constants_of(self, model: ir.Model) -> dict[Hashable, list[ir.Value]]:
        found: dict[Hashable, list[ir.Value]] = defaultdict(list)
        for graph in all_graphs(model):
            values = [*graph.initializers.values(), *(node.outputs[0] for node in graph if is_constant_node(node))]
            for value in values:
                tensor = constant_of(value) if value.producer() is not None else value.const_value
                if tensor is not None:
                    found[self._contents.key(tensor)].append(value)
        return found

    # The rest --------------------------------------------------------------------------------------------------------

    def _functions(self) -> Iterator[Change]:
        for key in dict.fromkeys((*self._a.functions, *self._b.functions)):
            sides = [model.functions.get(key) for model in (self._a, self._b)]
            texts = [None if each is None else _function_text(each) for each in sides]
            if texts[0] != texts[1]:
                yield Change("::".join(part for part in key if part), texts[0], texts[1])

    def _ref(self, node: ir.Node) -> NodeRef:
        assert node.graph is not None
        return node_ref(node, self._paths[node.graph])

    def _constant_ref(self, value: ir.Value) -> ConstantRef:
        graph = value.graph
        return constant_ref(value, "" if graph is None else self._paths[graph])


def _nodes(model: ir.Model) -> Iterator[ir.Node]:
    """All nodes but those that are constants."""
    return (node for graph in all_graphs(model) for node in graph if not is_constant_node(node))


def _kind(value: ir.Value) -> str:
    return "initializer" if value.producer() is None else "Constant"


def _together(a: Sequence[ir.Value], b: Sequence[ir.Value]) -> list[tuple[ir.Value, ir.Value]]:
    """Values of the same name, and the rest in their order."""
    pairs = by_name(a, b)
    mine, theirs = ({pair[side] for pair in pairs} for side in (0, 1))
    return [
        *pairs,
        *zip(
            (value for value in a if value not in mine and not value.is_initializer()),
            (value for value in b if value not in theirs and not value.is_initializer()),
            strict=False,
        ),
    ]


def _described(where: str, a: ir.Node | ir.Value, b: ir.Node | ir.Value) -> Iterator[Change]:
    """Doc strings and metadata of two things that go together."""
    if not a.metadata_props and not b.metadata_props and not a.doc_string and not b.doc_string:
        return
    before, after = ({"doc string": each.doc_string or "", **each.metadata_props} for each in (a, b))
    for change in changes_between(before, after):
        yield dataclasses.replace(change, what=f"{where}: {change.what}")


def _function_text(function: ir.Function) -> str:
    inputs, outputs = len(function.inputs), len(function.outputs)
    attributes = ", ".join(sorted(function.attributes))
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in sorted(function.opset_imports.items()))
    return f"{inputs} inputs, {outputs} outputs, attributes [{attributes}], opsets [{opsets}]"


def _name(source: Source) -> str:
    return "" if source.path is None else str(source.path)
