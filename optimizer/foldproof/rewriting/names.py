"""Names for new values. A name is unique in the whole model, bodies and functions counted, so that none is shadowed."""

from __future__ import annotations

import itertools
from collections import Counter

import onnx_ir as ir

from foldproof.graphs import all_graphs


class Names:
    """The value names that a model uses.

    Args:
        model: The model. Its names are read at once: while a rewrite moves nodes, they are in no graph.
    """

    def __init__(self, model: ir.Model) -> None:
        self._taken: Counter[str] = Counter()
        for graph in all_graphs(model):
            inputs = [value.name for value in graph.inputs]
            self._taken.update(name for name in inputs if name)
            self._taken.update(name for name in graph.initializers if name not in set(inputs))
            self._taken.update(output.name for node in graph for output in node.outputs if output.name)

    def derive(self, name: str) -> str:
        """The name itself where nothing but one value has it, which the new one replaces; else one derived from it."""
        if self._taken[name] <= 1:
            self._taken[name] = 1
            return name
        return self.fresh(name)

    def fresh(self, stem: str) -> str:
        """A name that nothing has, made from a stem."""
        taken = self._taken
        if not taken[stem]:
            taken[stem] = 1
            return stem
        name = next(name for k in itertools.count(1) if not taken[name := f"{stem}_{k}"])
        taken[name] = 1
        return name
