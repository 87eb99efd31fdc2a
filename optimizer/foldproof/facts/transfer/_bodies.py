"""What transfer functions of operators with bodies share."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir

from foldproof.facts.dim import Dim
from foldproof.facts.registry import NodeView

_MARK = -1


def locality(node: NodeView, body: ir.Graph) -> Callable[[Dim], bool]:
    """Tells dims that may differ from one run of a body to the next from those that may not.

    Symbols are numbered as they are born. So what the body captures is inferred first, then a symbol marks
    the time, and all symbols that are born later are the body's own.
    """
    inside = {body, *body.subgraphs()}
    captured = [value for inner in body.all_nodes() for value in inner.inputs]
    captured += [output for graph in inside for output in graph.outputs]
    for value in captured:
        if value is not None and value.graph not in inside:
            node.facts.of(value)
    (mark,) = node.facts.fresh(body.inputs[0], _MARK).symbols
    return lambda dim: any(symbol.scope >= mark.scope for symbol in dim.symbols)
