"""Who wants to know what a rewrite does to the graph."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir


class Listener:
    """Is told of each change of the graph, in the order in which they are made. By itself it does nothing."""

    def created(self, node: ir.Node) -> None:
        """A new node stands in its graph, or one that stood in a body stands in the graph around it."""

    def replaced(self, output: ir.Value, value: ir.Value) -> None:
        """What reads an output is about to read another value."""

    def removed(self, node: ir.Node, inputs: Sequence[ir.Value]) -> None:
        """A node is out of its graph; it read these inputs."""
