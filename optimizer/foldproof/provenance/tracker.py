"""Follows each node through all rewrites of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import onnx_ir as ir

from foldproof.graphs import all_graphs, operator_name, paths_of
from foldproof.provenance.record import Gone, Origin, Record
from foldproof.rewriting import Entry, Listener
from foldproof.rewriting.description import place_of
from foldproof.rewriting.provenance import orphans


class _Present(NamedTuple):
    """What is in the model in the end."""

    graphs: set[ir.Graph]
    nodes: set[ir.Node]


class Tracker(Listener):
    """Knows of each node and constant what it was made of, and of each node that went what became of it.

    What an earlier run told of the same model is taken up: the original is the model that was first optimized.

    Args:
        model: The model, before it is rewritten.

    Raises:
        ModelError: The model tells of an earlier run, and that can't be read.
    """

    def __init__(self, model: ir.Model) -> None:
        self._model = model
        earlier = Record.read(model) or Record()
        self._originals: dict[ir.Node, Gone] = {}
        self._made: dict[ir.Node, Origin] = {}
        self._values: dict[str, ir.Value] = {}
        for path, graph in paths_of(model):
            for value in (*graph.inputs, *graph.initializers.values()):
                self._values.setdefault(str(value.name), value)
            for node in graph:
                name = place_of(node)
                self._originals[node] = Gone(name, node.name or "", operator_name(node), path)
                self._values.update((str(output.name), output) for output in node.outputs if output.name)
                if node in earlier.nodes:
                    self._made[node] = earlier.nodes[node]
        self._constants = {
            self._values[name]: origin for name, origin in earlier.constants.items() if name in self._values
        }
        self._earlier = earlier.gone
        self._outputs = {node: tuple(node.outputs) for node in self._originals}
        self._successors: dict[ir.Value, ir.Value] = {}
        self._rules: dict[ir.Node, dict[str, None]] = {}
        self._readers: dict[ir.Value, tuple[ir.Value, ...]] = {}
        self.begins(())

    def begins(self, nodes: Sequence[ir.Node]) -> None:
        """What follows belongs to a new rewrite."""
        self._begun = list(nodes)
        self._results = [output for node in nodes for output in node.outputs]
        self._read: list[ir.Value] = []
        self._created: list[ir.Node] = []
        self._removed: list[ir.Node] = []
        self._replaced: list[tuple[ir.Value, ir.Value]] = []

    def created(self, node: ir.Node) -> None:
        """A node that was there before, such as one of a body, stays what it is."""
        if node not in self._originals and node not in self._made:
            self._created.append(node)

    def replaced(self, output: ir.Value, value: ir.Value) -> None:
        """Another value has the place of an output."""
        if value is not output:
            self._replaced.append((output, value))

    def forwarded(self, value: ir.Value, other: ir.Value) -> None:
        """Another initializer has the place of one."""
        self._replaced.append((value, other))

    def removed(self, node: ir.Node, inputs: Sequence[ir.Value]) -> None:
        """What only this node read goes with it."""
        self._removed.append(node)
        self._read.extend(inputs)

    def written(self, entry: Entry) -> None:
        """The rewrite is done: works out what was made of what."""
        dead = orphans(self._read)
        unread = [value for value in self._read if not value.uses() and not value.is_graph_output()]
        gone = dict.fromkeys((*self._begun, *self._removed))
        sources = [self._origin(node) for node in (*gone, *dead)]
        origin = Origin.of([*sources, *(each for value in unread for each in self._told(value))], entry.rule)
        for node in self._created:
            self._made[node] = origin
        for output, value in self._replaced:
            self._successors[output] = value
            maker = value.producer()
            if maker is not None and maker in self._originals:
                if place_of(maker) != self._originals[maker].output:  # it has taken the name of a graph's output
                    self._made[maker] = Origin.of([self._origin(maker)], entry.rule)
            elif value.is_initializer():
                self._constants[value] = Origin.of([*self._told(value), origin], entry.rule)
            elif maker is not None and maker not in self._made:  # a Constant node
                self._made[maker] = origin
        for node in (*gone, *dead):
            self._rules.setdefault(node, {})[entry.rule] = None
        lost = [output for node in (*gone, *dead) if node not in self._begun for output in node.outputs]
        for value in (*unread, *lost):
            self._readers.setdefault(value, tuple(self._results))

    def record(self) -> Record:
        """The provenance of the model as it is now."""
        graphs = set(all_graphs(self._model))
        present = _Present(graphs, {node for graph in graphs for node in graph})
        gone = [self._gone(node, each, present) for node, each in self._originals.items() if node not in present.nodes]
        nodes = {node: origin for node, origin in self._made.items() if node in present.nodes}
        constants = {
            str(value.name): origin for value, origin in self._constants.items() if self._is_there(value, present)
        }
        return Record(nodes, constants, (*self._still_gone(present), *gone))

    def _origin(self, node: ir.Node) -> Origin:
        """What a node was made of: an original one, of itself."""
        made = self._made.get(node)
        if made is not None:
            return made
        original = self._originals.get(node)
        return Origin(() if original is None else (original.output,), ())

    def _told(self, value: ir.Value) -> Iterator[Origin]:
        if value in self._constants:
            yield self._constants[value]

    def _gone(self, node: ir.Node, original: Gone, present: _Present) -> Gone:
        now = tuple(self._now(output, present) for output in self._outputs[node])
        into = () if any(now) else self._names(self._outputs[node], present)
        return dataclasses.replace(original, rules=self._rules_along(node), now=now if any(now) else (), into=into)

    def _rules_along(self, node: ir.Node) -> tuple[str, ...]:
        """The rules by which a node went, and then what had its place."""
        rules = dict(self._rules.get(node, {}))
        for output in self._outputs[node]:
            while (value := self._successors.get(output)) is not None:
                maker = value.producer()
                if maker is not None and maker not in self._originals:
                    rules.update(self._rules.get(maker, {}))
                output = value
        return tuple(rules)

    def _now(self, value: ir.Value, present: _Present) -> str:
        """The name of what is read in the place of a value, empty where nothing is there any more."""
        value = self._last(value)
        return str(value.name) if self._is_there(value, present) else ""

    def _last(self, value: ir.Value) -> ir.Value:
        """What was read in the place of a value at last."""
        while value in self._successors:
            value = self._successors[value]
        return value

    def _names(self, values: Iterable[ir.Value], present: _Present) -> tuple[str, ...]:
        """What values became; where that is gone too, what read it became, and so on."""
        found: dict[str, None] = {}
        queue = list(values)
        seen = set(queue)
        for value in queue:  # it grows meanwhile
            name = self._now(value, present)
            if name:
                found[name] = None
                continue
            more = [each for each in self._readers.get(self._last(value), ()) if each not in seen]
            seen.update(more)
            queue.extend(more)
        return tuple(found)

    def _is_there(self, value: ir.Value, present: _Present) -> bool:
        maker = value.producer()
        if maker is not None:
            return maker in present.nodes
        return value.graph in present.graphs and (value.is_initializer() or value.is_graph_input())

    def _still_gone(self, present: _Present) -> Iterator[Gone]:
        """What earlier runs took away, with what is in its place now."""
        for gone in self._earlier:
            now = tuple(self._later(name, present) for name in gone.now)
            into = gone.into
            if any(gone.now) and not any(now):
                into = gone.now
            found: dict[str, None] = {}
            for name in into if not any(now) else ():
                if name in self._values:
                    found.update(dict.fromkeys(self._names([self._values[name]], present)))
            yield dataclasses.replace(gone, now=now if any(now) else (), into=tuple(found))

    def _later(self, name: str, present: _Present) -> str:
        return self._now(self._values[name], present) if name in self._values else ""
