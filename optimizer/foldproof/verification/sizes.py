"""How many bytes tensors have where the symbolic dims of the inputs are taken to have a size."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from foldproof.facts import Dim, DimLike, Facts, Kind


class Sizes:
    """What is known of the sizes of a model's values.

    Args:
        facts: What is proven of it.
        dim: What each symbolic dim of the inputs is taken to be.
        string: The bytes of a string; None where they may be any number.
    """

    def __init__(self, facts: Facts, dim: int, *, string: int | None = None) -> None:
        self._facts = facts
        self._dim = dim
        self._string = string

    def number(self, count: DimLike | None) -> int | None:
        """A dim, or an expression over dims; None where it hangs on more than the dims of the inputs."""
        if isinstance(count, Dim) and all(symbol.scope == 0 for symbol in count.symbols):
            try:
                return count.evaluate(dict.fromkeys(count.symbols, self._dim))
            except ZeroDivisionError:
                return None
        return count if isinstance(count, int) else None

    def bytes_of(self, value: ir.Value) -> int | None:
        """The bytes of a tensor; None where they are not known."""
        fact = self._facts.of(value)
        count = self.number(fact.element_count)
        if count is None or fact.kind is not Kind.TENSOR or not fact.dtype:
            return None
        if fact.dtype is ir.DataType.STRING:
            return None if self._string is None else count * self._string
        return count * fact.dtype.bitwidth // 8

    def shape_of(self, value: ir.Value | None) -> list[int] | None:
        """The dims of a tensor; None where one of them is not known."""
        shape = None if value is None else self._facts.of(value).shape
        dims = [self.number(dim) for dim in shape or ()]
        return None if shape is None or None in dims else [dim for dim in dims if dim is not None]

    def shapes_of(self, values: Sequence[ir.Value | None]) -> list[list[int] | None]:
        """The same of several."""
        return [self.shape_of(value) for value in values]

    def item_bytes(self, value: ir.Value | None) -> int:
        """The bytes of an element; those of the widest type where the type is not known."""
        dtype = None if value is None else self._facts.of(value).dtype
        return 8 if dtype is None else max(dtype.bitwidth // 8, 1)
