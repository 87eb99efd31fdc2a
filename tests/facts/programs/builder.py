"""What all parts of a random program share: its nodes, its constants, and three pools of values to draw on."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import onnx
from onnx import TensorProto, helper

SYMBOLS = ("N", "M")


class Builder:
    """A graph that grows.

    Args:
        rng: The source of all choices.

    Attributes:
        scalars: Integer scalars.
        vectors: Integer vectors, each with its length.
        tensors: Float tensors, each with its rank.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.scalars: list[str] = []
        self.vectors: list[tuple[str, int]] = []
        self.tensors: list[tuple[str, int]] = []
        self.inputs = [self._input(f"x{k}") for k in range(2)]
        self.inputs.append(helper.make_tensor_value_info("k", TensorProto.INT64, []))
        self.scalars.append("k")  # of which nothing is known

    def _input(self, name: str) -> onnx.ValueInfoProto:
        rank = self.rng.randint(2, 4)
        dims = [self.rng.choice((*SYMBOLS, *SYMBOLS, 1, 2, 3)) for _ in range(rank)]
        self.tensors.append((name, rank))
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

    def node(self, op_type: str, inputs: Iterable[str], outputs: int = 1, **attributes: object) -> list[str]:
        """Adds a node and gives the names of its outputs."""
        names = [f"v{len(self.nodes)}_{k}" if k else f"v{len(self.nodes)}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, **attributes))
        return names

    def op(self, op_type: str, *inputs: str, **attributes: object) -> str:
        return self.node(op_type, inputs, **attributes)[0]

    def const(self, value: object, dtype: type = np.int64) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def clipped(self, scalar: str, low: int = 0, high: int = 4) -> str:
        """A scalar that can be a size."""
        if self.rng.random() < 0.2:
            return self.op("Clip", scalar, self.const(low), self.const(high))
        return self.op("Max", self.op("Min", scalar, self.const(high)), self.const(low))

    def as_vector(self, scalar: str) -> str:
        if self.rng.random() < 0.5:
            return self.op("Unsqueeze", scalar, self.const([0]))
        return self.op("Reshape", scalar, self.const([self.rng.choice((1, -1))]))

    def scalar(self) -> str:
        return self.rng.choice(self.scalars)

    def number(self) -> str:
        """A scalar of the program, or a small constant."""
        return self.scalar() if self.rng.random() < 0.6 else self.const(self.rng.randint(-3, 6))

    def vector(self) -> tuple[str, int]:
        if not self.vectors:
            name, rank = self.tensor()
            self.vectors.append((self.op("Shape", name), rank))
        return self.rng.choice(self.vectors)

    def tensor(self, least_rank: int = 0) -> tuple[str, int]:
        return self.rng.choice([pair for pair in self.tensors if pair[1] >= least_rank])

    def axis(self, rank: int) -> int:
        axis = self.rng.randrange(rank)
        return axis - rank if self.rng.random() < 0.3 else axis

    def shuffled(self, *values: str) -> list[str]:
        return self.rng.sample(values, len(values))
