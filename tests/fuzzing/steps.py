"""The steps by which a random graph grows: each puts one operator in, or a few in a typical neighbourhood."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tests.fuzzing.graph import Graph
from tests.fuzzing.values import Value


@dataclasses.dataclass(frozen=True)
class Step:
    """A step.

    Attributes:
        add: Puts nodes in that start from a value.
        family: The module that it is of.
        weight: How often it is taken, beside the others of its family.
        accepts: Which values it starts from.
    """

    add: Callable[[Graph, Value], object]
    family: str
    weight: float
    accepts: Callable[[Value], bool]


STEPS: list[Step] = []
"""All steps, filled when the families are imported."""


def is_float(x: Value) -> bool:
    return x.is_float


def anything(x: Value) -> bool:
    return True


def integers(x: Value) -> bool:
    return x.dtype.kind == "i" and x.dtype.itemsize >= 4


def numbers(x: Value) -> bool:
    return x.is_float or integers(x)


def step(
    accepts: Callable[[Value], bool] = is_float, weight: float = 1.0
) -> Callable[[Callable[[Graph, Value], object]], Callable[[Graph, Value], object]]:
    """Registers a step."""

    def register(add: Callable[[Graph, Value], object]) -> Callable[[Graph, Value], object]:
        STEPS.append(Step(add, add.__module__.rpartition(".")[2], weight, accepts))
        return add

    return register
