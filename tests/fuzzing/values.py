"""A value of a random graph, and what is known of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Value:
    """A value of a graph.

    Attributes:
        name: Its name.
        dtype: Its type.
        shapes: Its shape at each binding.
        known: Its elements at each binding, where the dims alone decide on them.
        is_random: Whether some random operator has a part in it.
    """

    name: str
    dtype: np.dtype[Any]
    shapes: tuple[Shape, ...]
    known: tuple[Array, ...] | None = None
    is_random: bool = False

    @property
    def rank(self) -> int:
        return len(self.shapes[0])

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"

    @property
    def dims(self) -> list[tuple[int, ...]]:
        """Each dim, at all bindings."""
        return list(zip(*self.shapes, strict=True)) if self.rank else []

    @property
    def is_ever_empty(self) -> bool:
        return any(0 in shape for shape in self.shapes)

    def static(self, axis: int) -> int | None:
        """A dim that is the same at all bindings; None where it is not, or where there is no such axis."""
        if not -self.rank <= axis < self.rank:
            return None
        dim = self.dims[axis]
        return dim[0] if len(set(dim)) == 1 else None

    @property
    def static_shape(self) -> Shape | None:
        return self.shapes[0] if len(set(self.shapes)) == 1 else None

    def at(self, index: int) -> Array:
        """Its elements at a binding, zeros where they are not known."""
        if self.known is not None:
            return self.known[index]
        return np.broadcast_to(np.zeros((), self.dtype), self.shapes[index])
