"""Whether values are read, told in a time that does not grow with how many nodes read them."""

from __future__ import annotations

import onnx_ir as ir

MANY = 8
"""Of a value with more readers, one is remembered."""


class Readers:
    """Finds a reader of a value. The IR lists all of them at each question, where one is enough."""

    def __init__(self) -> None:
        self._remembered: dict[ir.Value, tuple[ir.Node, int]] = {}

    def any_of(self, value: ir.Value) -> ir.Node | None:
        """One of the nodes that read a value, None where there is none."""
        remembered = self._remembered.get(value)
        if remembered is not None:
            node, index = remembered
            if index < len(node.inputs) and node.inputs[index] is value:  # it still reads it
                return node
        uses = value.uses()
        for node, index in uses:
            if len(uses) > MANY:
                self._remembered[value] = node, index
            return node
        return None
