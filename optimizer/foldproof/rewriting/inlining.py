"""Moves what a body holds into the graph around it."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting.constants import Constants
from foldproof.rewriting.names import Names
from foldproof.rewriting.rule import Reason


def inline(
    body: ir.Graph, node: ir.Node, root: ir.Graph, facts: Facts, names: Names, constants: Constants
) -> tuple[list[ir.Value], list[ir.Node]] | Reason:
    """Moves the nodes and initializers of a body without inputs in front of the node that holds it.

    Values keep their names where nothing else has them.

    Args:
        body: The body. It is empty afterwards.
        node: The node that holds it.
        root: The main graph or function in which the node stands.
        facts: What is proven.
        names: The names that are taken.
        constants: Where initializers go.

    Returns:
        The values that the body handed out, and the nodes that were moved; or the reason why it can't be done.
    """
    graph = node.graph
    assert graph is not None
    moved = list(body)
    outputs = list(body.outputs)
    for name, value in list(body.initializers.items()):
        tensor = value.const_value
        if tensor is None:
            return Reason("its body has an initializer {} without a value", name)
        stored = constants.store(tensor, name, root, replaces=True)
        if isinstance(stored, Reason):
            return stored
        outputs = [stored if output is value else output for output in outputs]
        del body.initializers[name]
        while value.is_graph_output():
            body.outputs.remove(value)
        value.replace_all_uses_with(stored)
    body.outputs.clear()
    for each in moved:
        body.remove(each)
        for value in each.outputs:
            if value.name:
                value.name = names.derive(value.name)
    graph.insert_before(node, moved)
    for each in moved:
        facts.order.place(each, node)
    return outputs, moved
