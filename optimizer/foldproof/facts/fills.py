"""Tensors of which each element is one and the same number, of whatever size: known without a single element stored.

Exporters write weights as `ConstantOfShape`, and masks as an `Expand` of a scalar. Rules look through them by
`Fact.fill`.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from foldproof.facts.fact import Element, Fact, Kind, elements_of
from foldproof.facts.registry import NodeView, transfer_of
from foldproof.facts.transfer._elements import cast_element

_MOVES = frozenset(
    {
        "Compress", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Reshape",
        "ReverseSequence", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
    }
)  # fmt: skip
"""Operators each of whose outputs is made of elements of the first input alone."""

_JOINS = frozenset({"Concat"})
"""Operators whose output is made of elements of all inputs."""

_ELEMENTWISE = frozenset(
    {
        "Abs", "Neg", "Reciprocal", "Relu", "Round", "Sign", "Sqrt", "Not", "BitwiseNot",
        "Add", "Sub", "Mul", "Div", "Pow", "Mod", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift",
        "And", "Or", "Xor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual",
        "Max", "Min", "Sum", "Mean", "Where",
    }
)  # fmt: skip
"""Operators that give one element from one of each input. Their transfer functions are asked about scalars."""

_CASTS = frozenset({"Cast", "CastLike"})

_CARRIERS = frozenset({"ConstantOfShape"}) | _MOVES | _JOINS | _ELEMENTWISE | _CASTS


def filled(view: NodeView, fact: Fact) -> Fact:
    """The fact of a node's output, with its fill where the inputs' fills prove one."""
    op_type = view.op_type
    if op_type not in _CARRIERS or view.node.domain or fact.kind is not Kind.TENSOR or fact.known_fill is not None:
        return fact
    fill: Element = None
    if op_type == "ConstantOfShape":
        fill = _of_constant(view)
    elif op_type in _MOVES:
        fill = view.input(0).known_fill
    elif op_type in _JOINS or op_type in _ELEMENTWISE or op_type in _CASTS:
        fills = _fills_of(view)
        if fills is not None:
            fill = _computed(view, fact, fills)
    return dataclasses.replace(fact, known_fill=fill) if isinstance(fill, (int, Fraction)) else fact


def _of_constant(view: NodeView) -> Element:
    """What a ConstantOfShape is filled with: by default the float 0."""
    tensor = view.attribute("value")
    elements = (0,) if tensor is None else elements_of(tensor)
    return elements[0] if elements else None


def _fills_of(view: NodeView) -> list[Element] | None:
    """The fill of each input; None unless all have one, and one of them is more than a few stored elements."""
    inputs = [view.input(k) for k in range(len(view.node.inputs)) if view.has_input(k)]
    if all(fact.known_fill is None for fact in inputs):
        return None
    fills = [fact.fill for fact in inputs]
    return None if None in fills else fills


def _computed(view: NodeView, fact: Fact, fills: list[Element]) -> Element:
    if view.op_type in _JOINS:
        return fills[0] if all(fill == fills[0] for fill in fills) else None
    if view.op_type in _CASTS:
        return None if fact.dtype is None else cast_element(fills[0], view.input(0).dtype, fact.dtype)
    transfer = transfer_of(view.node)
    scalar = None if transfer is None else transfer(_OfScalars(view, fills))
    elements = scalar.elements if isinstance(scalar, Fact) else None
    return elements[0] if elements is not None and len(elements) == 1 else None


class _OfScalars(NodeView):
    """A node as if each input were a scalar with the input's fill."""

    __slots__ = ("_fills",)

    def __init__(self, view: NodeView, fills: list[Element]) -> None:
        super().__init__(view.node, view.facts)
        self._fills = fills

    @property
    def inputs(self) -> list[Fact]:
        return [self.input(index) for index in range(len(self._fills))]

    def input(self, index: int) -> Fact:
        if index >= len(self._fills):
            return super().input(index)
        dtype = super().input(index).dtype
        return Fact(dtype=dtype, shape=(), known_elements=(self._fills[index],))
