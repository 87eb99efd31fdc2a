"""A random program of shape arithmetic, as exporters write it and in ways that no exporter would.

It starts from float tensors with symbolic dims and grows by one operator, or one small idiom, at a time. Numbers that
become sizes are clipped, so that nothing gets large, and divisors are never 0, which a runtime needn't survive.
"""

from __future__ import annotations

import random

import onnx
from onnx import helper

from tests.facts.programs.control import Control
from tests.facts.programs.layers import Layers
from tests.facts.programs.tensors import Tensors
from tests.facts.programs.vectors import Vectors

OPSET = 21
SIZES = (0, 1, 2, 3, 5, 8)
"""What the symbols are bound to."""


class ShapeProgram(Control, Vectors, Tensors, Layers):
    """A random model.

    Args:
        rng: The source of all choices.
        length: How many steps it has.
    """

    def __init__(self, rng: random.Random, length: int) -> None:
        super().__init__(rng)
        self._dim()
        steps = self.add_scalar, self.add_scalar, self.add_vector, self.add_tensor, self.add_layer, self.add_control
        for _ in range(length):
            rng.choice(steps)()

    def model(self, count: int | None = None) -> onnx.ModelProto:
        """The model, or its first nodes alone."""
        graph = helper.make_graph(self.nodes[:count], "shapes", self.inputs, [], self.constants)
        last = graph.node[-1].output[0]
        graph.output.append(onnx.ValueInfoProto(name=last))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
