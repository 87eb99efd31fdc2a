"""Names that hide others: a body's own value may have the name of one around it, while nothing inside reads that."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import onnx_ir as ir

from foldproof.graphs import bodies_of, home_of
from foldproof.rewriting.names import Names


def unhide(model: ir.Model, names: Names) -> None:
    """Gives other names to the values in bodies that hide what is read through them.

    Rewriting follows values, and files name them: where a body has come to read a value of a graph around it, none of
    its own may have that name. ONNX lets the inputs of bodies hide values (onnx.checker, `check_graph`).

    Args:
        model: The model, whose nodes have changed. What needs no other name keeps its own.
        names: The names that are taken.
    """
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        for node in graph:
            for body in bodies_of(node):
                _unhide(body, names)


def _unhide(graph: ir.Graph, names: Names) -> dict[ir.Value, None]:
    """Renames values of a graph and the bodies in it; what it reads of the graphs around it."""
    read = dict.fromkeys(value for value in graph.outputs if home_of(value) is not graph)
    for node in graph:
        read.update(dict.fromkeys(each for each in node.inputs if each is not None and home_of(each) is not graph))
        for body in bodies_of(node):
            read.update(dict.fromkeys(each for each in _unhide(body, names) if home_of(each) is not graph))
    seen = {value.name for value in read}
    for own in _own(graph) if seen else ():
        if own.name in seen:
            own.name = names.fresh(str(own.name))
    return read


def _own(graph: ir.Graph) -> Iterator[ir.Value]:
    """The values that a graph makes or is given."""
    yield from graph.inputs
    yield from list(graph.initializers.values())
    yield from itertools.chain.from_iterable(node.outputs for node in graph)
