"""Who wants to know what a rewrite does to the graph."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from foldproof.rewriting.ledger import Entry


class Listener:
    """Is told of each change of the graph, in the order in which they are made. By itself it does nothing."""

    def begins(self, nodes: Sequence[ir.Node]) -> None:
        """A rewrite is about to take these nodes away, or an initializer where there are none.

        It may still turn out that it can't be done: then nothing else is told of it, and another one begins.
        """

    def created(self, node: ir.Node) -> None:
        """A new node stands in its graph, or one that stood in a body stands in the graph around it."""

    def replaced(self, output: ir.Value, value: ir.Value) -> None:
        """What reads an output is about to read another value."""

    def forwarded(self, value: ir.Value, other: ir.Value) -> None:
        """What reads an initializer is about to read another one."""

    def written(self, entry: Entry) -> None:
        """A rewrite is done and in the ledger: what came before, since `begins`, was part of it."""

    def removed(self, node: ir.Node, inputs: Sequence[ir.Value]) -> None:
        """A node is out of its graph; it read these inputs."""
