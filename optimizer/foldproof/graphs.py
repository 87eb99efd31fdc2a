"""Small questions about nodes and graphs that several parts ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import onnx_ir as ir

if TYPE_CHECKING:
    import onnx

ANNOTATION = "quant_parameter_tensor_names"
"""The key in a value's `meta` under which onnx_ir keeps its quantization annotation."""


def bodies_of(node: ir.Node) -> Sequence[ir.Graph]:
    """The graphs that a node holds in its attributes: the branches of an If, the body of a Loop."""
    attributes = node.attributes.data  # a plain dict: this is asked of each node, many times
    if not attributes:
        return ()
    bodies: list[ir.Graph] = []
    for attribute in attributes.values():
        kind = attribute.type
        if kind is ir.AttributeType.GRAPH and not attribute.is_ref():
            bodies.append(attribute.value)
        elif kind is ir.AttributeType.GRAPHS and not attribute.is_ref():
            bodies.extend(attribute.value)
    return bodies


def inner_nodes(node: ir.Node) -> Iterator[ir.Node]:
    """The nodes in the bodies of a node, at any depth."""
    return (each for body in bodies_of(node) for each in body.all_nodes())


def has_name_among(node: ir.Node, names: Collection[str]) -> bool:
    """Whether a node, or one in its bodies at any depth, has one of some names."""
    return bool(names) and any(each.name in names for each in (node, *inner_nodes(node)))


def reads_of(node: ir.Node) -> tuple[ir.Value, ...]:
    """All values that a node reads: its inputs, and what its bodies take from the graphs around it."""
    reads = dict.fromkeys([value for value in node.inputs if value is not None])
    if node.attributes.data:
        reads.update(dict.fromkeys(captured_by(node)))
    return tuple(reads)


def captured_by(node: ir.Node) -> Iterator[ir.Value]:
    """What the bodies of a node take from the graphs around it, one after the other: who has seen enough may stop."""
    waiting = list(bodies_of(node))
    inner: set[ir.Graph] = set()
    while waiting:
        body = waiting.pop()
        inner.add(body)  # a value is read in the graph that it belongs to, or further inside
        yield from (value for value in body.outputs if home_of(value) not in inner)
        for each in body:
            yield from (value for value in each.inputs if value is not None and home_of(value) not in inner)
            waiting.extend(bodies_of(each))


def home_of(value: ir.Value) -> ir.Graph | None:
    """The graph that a value belongs to."""
    maker = value.producer()
    return value.graph if maker is None else maker.graph


def all_graphs(model: ir.Model) -> Iterator[ir.Graph]:
    """The main graph, the functions' graphs, and after each the bodies that it holds at any depth."""
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        yield graph
        yield from bodies_within(graph)


def bodies_within(graph: ir.Graph) -> Iterable[ir.Graph]:
    """The bodies of the nodes of a graph, at any depth, each before those in it."""
    found: dict[ir.Graph, None] = {}
    waiting = [_bodies_in(graph)]
    while waiting:
        body = next(waiting[-1], None)
        if body is None:
            waiting.pop()
        elif body not in found:
            found[body] = None
            waiting.append(_bodies_in(body))
    return found


def _bodies_in(graph: ir.Graph) -> Iterator[ir.Graph]:
    one, many = ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS
    for node in graph:
        for attribute in node.attributes.data.values():  # next to all nodes hold none: those are to cost nothing
            if attribute.type is one or attribute.type is many:
                yield from bodies_of(node)
                break


def paths_of(model: ir.Model) -> Iterator[tuple[str, ir.Graph]]:
    """The graphs of `all_graphs`, each with its name after those of the graphs around it: `main/body`."""

    def below(graph: ir.Graph, path: str) -> Iterator[tuple[str, ir.Graph]]:
        yield path, graph
        for node in graph:
            if node.attributes:
                for body in bodies_of(node):
                    yield from below(body, f"{path}/{graph_label(body)}")

    yield from below(model.graph, graph_label(model.graph))
    for function in model.functions.values():
        yield from below(function.graph, function.name)


def called_functions(model: ir.Model) -> set[ir.OperatorIdentifier]:
    """The model's own functions that any node calls."""
    if not model.functions:
        return set()
    return {node.op_identifier() for graph in all_graphs(model) for node in graph} & model.functions.keys()


def annotated_names(model: ir.Model) -> set[str]:
    """The initializers that quantization annotations refer to by name: they are in use, though no node reads them."""
    return {
        name
        for graph in all_graphs(model)
        for value in (*graph.inputs, *graph.initializers.values(), *(out for node in graph for out in node.outputs))
        for name in (value.meta.get(ANNOTATION) or {}).values()
    }


def operator_name(node: ir.Node) -> str:
    """`Size` for an ONNX operator, `domain::Size` for that of another domain."""
    return f"{node.domain}::{node.op_type}" if node.domain else node.op_type


def tensor_type(dtype: ir.DataType) -> str:
    """A tensor's type as operator schemas spell it: `tensor(int64)`."""
    return f"tensor({dtype.name.lower()})"


def admitted_types(schema: onnx.defs.OpSchema, formal: onnx.defs.OpSchema.FormalParameter) -> frozenset[str]:
    """The types that a schema admits for one of its inputs or outputs, as `tensor_type` spells them.

    `formal.types` says the same, but onnx 1.20 can't hand it out.
    """
    constraints = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
    return frozenset(constraints.get(formal.type_str, [formal.type_str]))


def dtype_name(dtype: ir.DataType) -> str:
    """An element type as people write it: `float32`, `int64`."""
    return {"FLOAT": "float32", "DOUBLE": "float64"}.get(dtype.name, dtype.name.lower())


def node_label(node: ir.Node) -> str | None:
    """How to name a node to a person: its name, or else that of its first output."""
    return node.name or next((output.name for output in node.outputs if output.name), None)


def graph_label(graph: ir.Graph) -> str:
    """How to name a graph to a person: its name, or else `graph`."""
    name: str | bytes = graph.name or "graph"
    return name if isinstance(name, str) else name.decode(errors="replace")  # as bytes comes what is not UTF-8


def count_operators(model: ir.Model) -> Counter[str]:
    """How many nodes of each operator there are, bodies and functions counted, `Constant` not."""
    return Counter(
        operator_name(node)
        for graph in all_graphs(model)
        for node in graph
        if node.op_type != "Constant" or node.domain
    )
