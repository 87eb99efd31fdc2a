"""The nodes that are to be offered to the rules."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting.listener import Listener


class Worklist(Listener):
    """A queue in which no node stands twice. A rewrite queues what it touches: it is a listener.

    Args:
        facts: Tells whether a value is read.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._queue: deque[ir.Node] = deque()
        self._queued: set[ir.Node] = set()

    def __len__(self) -> int:
        return len(self._queue)

    def push(self, nodes: Iterable[ir.Node]) -> None:
        """Queues nodes behind those that are waiting."""
        for node in nodes:
            if node not in self._queued:
                self._queued.add(node)
                self._queue.append(node)

    def pop(self) -> ir.Node:
        """The node that has waited longest."""
        node = self._queue.popleft()
        self._queued.discard(node)
        return node

    def clear(self) -> None:
        """Forgets all that are waiting."""
        self._queue.clear()
        self._queued.clear()

    def created(self, node: ir.Node) -> None:
        """A new node is offered to the rules."""
        self.push([node])

    def replaced(self, output: ir.Value, value: ir.Value) -> None:
        """What reads the output reads something new."""
        self.push(use.node for use in output.uses())

    def removed(self, node: ir.Node, inputs: Sequence[ir.Value]) -> None:
        """What only this node read may be dead."""
        for value in inputs:
            producer = value.producer()
            if producer is not None and self._facts.any_reader(value) is None:
                self.push([producer])
