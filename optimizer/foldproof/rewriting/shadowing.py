"""Names that hide others: a body's own value may have the name of one around it, while nothing near it reads that."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import TypeAlias

import onnx_ir as ir

from foldproof.graphs import bodies_of, home_of
from foldproof.rewriting.names import Names

Clash: TypeAlias = tuple[ir.Value, bool]
"""A body's own value, and whether that body itself reads another of its name from outside, or one beside it."""


def unhide(model: ir.Model, names: Names, before: Collection[Clash]) -> None:
    """Gives other names to the values in bodies that hide what is read through them.

    Rewriting follows values, and files name them: where a body has come to read a value of a graph around it, none of
    its own may have that name. ONNX lets the inputs of bodies hide values (onnx.checker, `check_graph`). Nor may one
    in the other bodies of the node: onnxruntime gives all of them by name what one reads (`Node::ImplicitInputDefs`),
    and so over an initializer of theirs. A model that came like that keeps the names, and what a runtime makes of them.

    Args:
        model: The model, whose nodes have changed. What needs no other name keeps its own.
        names: The names that are taken.
        before: What `clashes` found before they changed.
    """
    hiding = [own for own, is_reader in clashes(model) if is_reader or (own, False) not in before]
    for own in dict.fromkeys(hiding):
        own.name = names.fresh(str(own.name))


def clashes(model: ir.Model) -> list[Clash]:
    """The values in bodies that have the name of one that a body of the same node reads from the graphs around it."""
    found: list[Clash] = []
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        for node in graph:
            if node.attributes:
                _read_below(node, found)
    return found


def _read_below(node: ir.Node, found: list[Clash]) -> dict[ir.Value, None]:
    """What the bodies of a node read of the graphs around them; the clashes in them are added to `found`."""
    read = {body: _read_by(body, found) for body in bodies_of(node)}
    readers: dict[str | None, set[ir.Graph]] = defaultdict(set)
    for body, values in read.items():
        for value in values:
            readers[value.name].add(body)
    for body in read if readers else ():
        for own in _own(body):
            reading = readers.get(own.name, set())
            if body in reading:
                found.append((own, True))
            if not reading <= {body}:
                found.append((own, False))
    return dict.fromkeys(itertools.chain.from_iterable(read.values()))


def _read_by(graph: ir.Graph, found: list[Clash]) -> dict[ir.Value, None]:
    """What a graph and the bodies in it read of the graphs around it."""
    read = dict.fromkeys(graph.outputs)
    for node in graph:
        read.update(dict.fromkeys(value for value in node.inputs if value is not None))
        read.update(_read_below(node, found))
    return {value: None for value in read if home_of(value) is not graph}


def _own(graph: ir.Graph) -> Iterator[ir.Value]:
    """The values that a graph makes or is given."""
    yield from graph.inputs
    yield from graph.initializers.values()
    yield from itertools.chain.from_iterable(node.outputs for node in graph)
