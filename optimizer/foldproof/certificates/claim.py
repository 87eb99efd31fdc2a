"""What a claim is: one rewrite as two small models that must give the same, and what is known of their inputs."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from typing import Literal, TypeAlias

import onnx

Number: TypeAlias = "int | float | str | None"
"""An element: a number, an expression over symbols (see `expressions`), or None where nothing is known."""


@dataclasses.dataclass(frozen=True)
class Known:
    """What is known of a value that both sides read: it holds for every run of the model.

    Attributes:
        name: The input's name in both sides.
        element_type: The `TensorProto.DataType` of the tensor, or of each item of a sequence.
        dims: Each an integer or an expression; None where not even their number is known.
        elements: The elements in row-major order, of a small tensor; None where nothing is known of them.
        fill: What each element is, of a tensor of whatever size.
        low: No integer is less; None is unbounded.
        high: No integer is greater.
        sequence: Whether it is a sequence, and the rest is known of each of its items.
        length: How many items that has; None where that is not known.
    """

    name: str
    element_type: int
    dims: tuple[int | str, ...] | None
    elements: tuple[Number, ...] | None = None
    fill: Number = None
    low: int | None = None
    high: int | None = None
    sequence: bool = False
    length: int | None = None

    @property
    def expressions(self) -> Iterator[str]:
        """All expressions that it has."""
        for each in (*(self.dims or ()), *(self.elements or ()), self.fill):
            if isinstance(each, str):
                yield each


@dataclasses.dataclass(frozen=True)
class Stored:
    """A constant that is too large to be written into a claim: it is taken from one of the two models' files.

    Attributes:
        name: The input's name in both sides.
        file: Which model holds it.
        source: The name of the initializer, or of the output of the Constant node, that holds it.
        element_type: Its `TensorProto.DataType`.
        dims: Its dims.
        sha256: The digest of its elements, as `raw_data` of a tensor has them.
    """

    name: str
    file: Literal["input", "output"]
    source: str
    element_type: int
    dims: tuple[int, ...]
    sha256: str


@dataclasses.dataclass(frozen=True)
class Claim:
    """One rewrite, restated.

    Attributes:
        before: A serialized model that computes what the rewrite replaces. Its inputs are `boundary`, then `stored`.
        after: The same, computed as the rewrite does it. Inputs and outputs are those of `before`.
        boundary: What both sides read.
        stored: The large constants that they read.
    """

    before: bytes
    after: bytes
    boundary: tuple[Known, ...]
    stored: tuple[Stored, ...] = ()

    @property
    def expressions(self) -> Iterator[str]:
        """All expressions over symbols in what is known of the boundary."""
        for each in self.boundary:
            yield from each.expressions


def model_of(side: bytes, stored: dict[str, onnx.TensorProto]) -> onnx.ModelProto:
    """A side of a claim as a model that can be run.

    Args:
        side: The serialized model.
        stored: The large constants by the names of the inputs that they are: they become initializers.

    Raises:
        google.protobuf.message.DecodeError: It is no model.
    """
    model = onnx.ModelProto()
    model.ParseFromString(side)
    inputs = [each for each in model.graph.input if each.name not in stored]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    for name, tensor in stored.items():
        held = model.graph.initializer.add()
        held.CopyFrom(tensor)
        held.name = name
    return model


def digest(data: bytes | memoryview) -> str:
    """The sha256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
