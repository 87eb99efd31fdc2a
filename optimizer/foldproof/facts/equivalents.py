"""Finds values that are computed twice: shape data of which each element is the same integer or expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike

if TYPE_CHECKING:
    from foldproof.facts.engine import Facts

_Key: TypeAlias = "tuple[ir.DataType, tuple[DimLike, ...], tuple[DimLike, ...]]"


class Order:
    """Tells which nodes come before which, in and across the bodies of a model.

    Args:
        owner: Gives the node that holds a graph as its body, None for the main graph or a function's.
    """

    def __init__(self, owner: Callable[[ir.Graph], ir.Node | None]) -> None:
        self._owner = owner
        self._positions: dict[ir.Node, int] = {}

    def place(self, new: ir.Node, where: ir.Node) -> None:
        """Gives a new node the position of the one that it was inserted in front of."""
        self._positions[new] = self._position(where)

    def is_ready(self, value: ir.Value, node: ir.Node) -> bool:
        """Whether a node can read a value: it is made before the node, in its graph or in one around it."""
        graph, maker = value.graph, value.producer()
        at: ir.Node | None = node
        while at is not None and at.graph is not graph:
            at = None if at.graph is None else self._owner(at.graph)
        return at is not None and (maker is None or self._position(maker) < self._position(at))

    def _position(self, node: ir.Node) -> int:
        if node not in self._positions:
            assert node.graph is not None
            for number, each in enumerate(node.graph):
                self._positions.setdefault(each, number)
        return self._positions[node]


class Equivalents:
    """The first value seen for each distinct tuple of symbolic elements.

    Args:
        facts: The facts of the model.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._first: dict[_Key, list[ir.Value]] = {}

    def earlier(self, value: ir.Value) -> ir.Value | None:
        """Another value that is proven to be always equal, and that the maker of this one could read instead."""
        key, node = self._key(value), value.producer()
        if key is None or node is None:
            return None
        seen = self._first.setdefault(key, [])
        for other in seen:
            alive = other.producer() is None or other.producer().graph is not None  # type: ignore[union-attr]
            if other is not value and alive and self._facts.order.is_ready(other, node):
                return other
        if value not in seen:
            seen.append(value)
        return None

    def _key(self, value: ir.Value) -> _Key | None:
        fact = self._facts.of(value)
        dims, shape = fact.dims, fact.shape
        if dims is None or shape is None or fact.dtype is not ir.DataType.INT64:
            return None
        return (fact.dtype, shape, dims) if any(isinstance(dim, Dim) for dim in dims) else None
