"""Calls of model-local functions: what they call, what they come to, and how far they are followed."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.graphs import all_graphs

MAX_CALL_DEPTH = 32
"""Calls of model-local functions nested deeper than this are not followed."""

MAX_CALL_NODES = 10_000
"""A call that comes to more nodes, with all calls in it, is not followed: each call that does costs as much again."""

MAX_FOLLOWED = 30_000
"""All calls together are followed through so many nodes, and ten times those of the model; no further."""


class Calls:
    """The calls in a model. The facts of the whole model, and those that stand in them, share one.

    Args:
        model: The model. It may be rewritten while its facts are in use.
    """

    def __init__(self, model: ir.Model) -> None:
        self._model = model
        self._nodes: dict[ir.OperatorIdentifier, int] = {}
        nodes = sum(len(graph) for graph in all_graphs(model)) if model.functions else 0
        self._left = MAX_FOLLOWED + 10 * nodes

    def function(self, node: ir.Node) -> ir.Function | None:
        """The model-local function that a node calls, None where it is an operator."""
        functions = self._model.functions
        return functions.get(node.op_identifier()) if functions else None

    def follows(self, function: ir.Function, depth: int) -> bool:
        """Whether one more call is followed; if so, it is counted.

        Args:
            function: What is called.
            depth: How many calls and assumptions it stands in.
        """
        if depth >= MAX_CALL_DEPTH or self.nodes_of(function) > MAX_CALL_NODES:
            return False
        self._left -= len(function)
        return self._left >= 0

    def nodes_of(self, function: ir.Function) -> int:
        """How many nodes a call comes to, with those of all calls in it; at most 10**9.

        It has a stack of its own: chains of calls may be long.
        """
        expanded, stack = self._nodes, [function]
        while stack:
            current = stack[-1]
            inner = [called for node in current.all_nodes() if (called := self.function(node)) is not None]
            missing = [each for each in inner if each.identifier() not in expanded]
            if missing and current.identifier() not in expanded:
                expanded[current.identifier()] = MAX_CALL_NODES  # until it is known: one in memory may recurse
                stack.extend(missing)
                continue
            stack.pop()
            total = sum(1 for _ in current.all_nodes()) + sum(expanded[each.identifier()] for each in inner)
            expanded[current.identifier()] = min(total, 10**9)
        return expanded[function.identifier()]
