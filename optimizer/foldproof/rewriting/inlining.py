"""Takes the nodes of a body or of a function out of it, to be put where it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import onnx_ir as ir

from foldproof.graphs import bodies_of
from foldproof.rewriting.constants import rename
from foldproof.rewriting.rule import Reason

Store: TypeAlias = "Callable[[ir.TensorProtocol, str], ir.Value | Reason]"
"""Stores a constant under a name, and gives the value that holds it."""


class Unpacked(NamedTuple):
    """What was in a body.

    Attributes:
        outputs: The values that it handed out.
        nodes: Its nodes.
        readers: Those that read inputs of the body before, also in bodies of these nodes.
    """

    outputs: list[ir.Value | None]
    nodes: list[ir.Node]
    readers: list[ir.Node]


def unpack(
    body: ir.Graph, inputs: Sequence[ir.Value | None], derive: Callable[[str], str], store: Store
) -> Unpacked | Reason:
    """Takes all nodes out of a body. They read what is given in the place of the body's inputs.

    Args:
        body: The body. It is empty afterwards.
        inputs: What each of its inputs is; None for one that is left out. Those at the end may be missing.
        derive: Gives each value its name from the one that it has.
        store: Where the body's initializers go.

    Returns:
        What came out; or the reason why it can't be done, where the body is unchanged.
    """
    bound: dict[ir.Value, ir.Value | None] = dict.fromkeys(body.inputs)
    bound.update(zip(body.inputs, inputs, strict=False))
    for name, value in body.initializers.items():
        if value in bound:
            return Reason("its body has the input {}, which is an initializer too", name)
        if value.const_value is None:
            return Reason("its body has an initializer {} without a value", name)
        stored = store(value.const_value, name)
        if isinstance(stored, Reason):
            return stored
        bound[value] = stored
    outputs = [bound.get(output, output) for output in body.outputs]
    body.outputs.clear()
    body.initializers.clear()
    readers = []
    for value, other in bound.items():
        for use in tuple(value.uses()):
            use.node.replace_input_with(use.idx, other)
            readers.append(use.node)
    nodes = list(body)
    for node in nodes:
        body.remove(node)
        for output in node.outputs:
            if output.name:
                output.name = derive(output.name)
    return Unpacked(outputs, nodes, readers)


def copy_of(graph: ir.Graph, fresh: Callable[[str], str], attributes: Mapping[str, ir.Attr] | None) -> ir.Graph:
    """A copy of a body or of a function's graph. What stands in the bodies of its nodes has names of its own.

    Args:
        graph: The graph.
        fresh: Gives a name that nothing has, made from a stem.
        attributes: For a function's graph, the attributes of the call: what refers to one gets it, or is left out.
    """
    copy = graph.clone(allow_outer_scope_values=True)
    for inner in copy.subgraphs():
        own = [*inner.inputs, *inner.initializers.values(), *(output for node in inner for output in node.outputs)]
        for value in dict.fromkeys(own):
            if value.name:
                rename(value, fresh(value.name))
    if attributes is not None:
        for node in copy.all_nodes():
            for name, attribute in list(_references(node)):
                given = attributes.get(str(attribute.ref_attr_name))
                if given is None:
                    del node.attributes[name]
                else:
                    node.attributes[name] = _renamed(given, name)
    return copy


def _references(node: ir.Node) -> Iterator[tuple[str, ir.Attr]]:
    return ((name, attribute) for name, attribute in node.attributes.items() if attribute.is_ref())


def _renamed(attribute: ir.Attr, name: str) -> ir.Attr:
    if attribute.is_ref():
        return ir.RefAttr(name, str(attribute.ref_attr_name), attribute.type)
    return ir.Attr(name, attribute.type, attribute.value)


def values_of(nodes: Iterable[ir.Node]) -> Iterator[ir.Value]:
    """The values that are defined by some nodes, or in their bodies at any depth, each once."""
    for node in nodes:
        yield from node.outputs
        for body in bodies_of(node):
            yield from dict.fromkeys((*body.inputs, *body.initializers.values()))
            yield from values_of(body)


def holds_graphs(attributes: Mapping[str, ir.Attr]) -> bool:
    """Whether an attribute of a call is a graph: it would have to be copied for each reference."""
    return any(attribute.type in _GRAPHS for attribute in attributes.values())


_GRAPHS = frozenset({ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS})
