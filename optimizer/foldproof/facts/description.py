"""Facts in a person's words."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from foldproof.facts.engine import Facts
from foldproof.graphs import graph_label


def known_shapes(values: Iterable[ir.Value | None], facts: Facts) -> tuple[str, ...]:
    """What is known of the shapes of values, and by what: `x has the shape [N, 3] by input contract`."""
    texts = []
    for value in values:
        fact = facts.of(value)
        if value is not None and fact.shape is not None:
            texts.append(f"{value.name} has the shape [{', '.join(map(str, fact.shape))}] by {fact.basis}")
    return tuple(texts)


def path_of(graph: ir.Graph, facts: Facts) -> str:
    """The name of a graph after those of the graphs around it: `main/body`."""
    names = [graph_label(graph)]
    while (owner := facts.owner(graph)) is not None and owner.graph is not None:
        graph = owner.graph
        names.append(graph_label(graph))
    return "/".join(reversed(names))
