"""The branches of an If."""

from __future__ import annotations

from typing import NamedTuple

import onnx_ir as ir


class Branches(NamedTuple):
    """The branches of an If."""

    then: ir.Graph
    orelse: ir.Graph


def branches_of(node: ir.Node) -> Branches | None:
    """The branches of an If; None where they are not given or don't fit the outputs."""
    given = [node.attributes.get(name) for name in ("then_branch", "else_branch")]
    graphs = [each.as_graph() for each in given if each is not None and each.type is ir.AttributeType.GRAPH]
    if len(graphs) != 2 or any(len(graph.outputs) != len(node.outputs) or graph.inputs for graph in graphs):
        return None
    return Branches(*graphs)
