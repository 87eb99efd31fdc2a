"""Small questions about nodes and graphs that several parts ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import onnx_ir as ir


def bodies_of(node: ir.Node) -> Iterator[ir.Graph]:
    """The graphs that a node holds in its attributes: the branches of an If, the body of a Loop."""
    for attribute in node.attributes.values():
        if attribute.is_ref():
            continue
        if attribute.type is ir.AttributeType.GRAPH:
            yield attribute.value
        elif attribute.type is ir.AttributeType.GRAPHS:
            yield from attribute.value


def all_graphs(model: ir.Model) -> Iterator[ir.Graph]:
    """The main graph, the functions' graphs, and after each the bodies that it holds at any depth."""
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        yield graph
        yield from graph.subgraphs()


def annotated_names(model: ir.Model) -> set[str]:
    """The initializers that quantization annotations refer to by name: they are in use, though no node reads them."""
    return {
        name
        for graph in all_graphs(model)
        for value in (*graph.inputs, *graph.initializers.values(), *(out for node in graph for out in node.outputs))
        for name in value.meta.get("quant_parameter_tensor_names", {}).values()
    }


def operator_name(node: ir.Node) -> str:
    """`Size` for an ONNX operator, `domain::Size` for that of another domain."""
    return f"{node.domain}::{node.op_type}" if node.domain else node.op_type


def tensor_type(dtype: ir.DataType) -> str:
    """A tensor's type as operator schemas spell it: `tensor(int64)`."""
    return f"tensor({dtype.name.lower()})"


def node_label(node: ir.Node) -> str | None:
    """How to name a node to a person: its name, or else that of its first output."""
    return node.name or next((output.name for output in node.outputs if output.name), None)


def count_operators(model: ir.Model) -> Counter[str]:
    """How many nodes of each operator there are, bodies and functions counted, `Constant` not."""
    return Counter(
        operator_name(node)
        for graph in (model.graph, *(function.graph for function in model.functions.values()))
        for node in graph.all_nodes()
        if node.op_type != "Constant" or node.domain
    )
