"""What facts say of the values that a claim begins with, in the claim's own terms."""

from __future__ import annotations

from fractions import Fraction

import onnx

from foldproof.certificates.claim import Known, Number, Stored
from foldproof.certificates.tensors import NotRestated
from foldproof.facts.dim import Dim, DimLike, Symbol
from foldproof.facts.fact import UNKNOWN, Element, Fact, Kind


class Symbols:
    """Names for the symbols of a claim: those of the model's contract keep theirs, others are numbered."""

    def __init__(self) -> None:
        self._names: dict[Symbol, str] = {}

    def text(self, dim: DimLike) -> int | str:
        """A dim as a claim writes it."""
        if isinstance(dim, int):
            return dim
        for symbol in sorted(dim.symbols, key=lambda each: (each.name, each.scope)):
            if symbol not in self._names:
                keeps = symbol.scope == 0 and symbol.name.isascii() and symbol.name.isidentifier()
                # With an underscore in front no name of a contract is one of these.
                fresh = f"_{len(self._names)}"
                self._names[symbol] = symbol.name if keeps and symbol.name not in _TAKEN else fresh
        renamed = dim.substitute({symbol: Dim.symbol(self._names[symbol]) for symbol in dim.symbols})
        return renamed if isinstance(renamed, int) else str(renamed)


_TAKEN = frozenset({"min", "max", "None", "True", "False", "and", "or", "not", "in", "is", "if", "else", "lambda"})


def known(name: str, fact: Fact, symbols: Symbols) -> Known:
    """What is known of a boundary value, in a claim's terms.

    Raises:
        NotRestated: Nothing could stand for such a value.
    """
    is_sequence = fact.kind is Kind.SEQUENCE
    if fact.kind is Kind.OPTIONAL:
        raise NotRestated("it reads an optional")
    one = fact
    if is_sequence:
        one = fact.item or UNKNOWN
        if fact.items and len(set(fact.items)) == 1:
            one = fact.items[0]
        elif fact.items:
            raise NotRestated("it reads a sequence of items that are not alike")
    if one.dtype is None:
        raise NotRestated("the type of a value that it reads is not known")
    constant = one.constant is not None  # a large one, of which only the type and the dims count here
    elements = None if constant else one.elements
    low, high = one.range if one.dtype.is_integer() and not constant else (None, None)
    fill = None if elements is not None or constant else one.fill
    return Known(
        name=name,
        element_type=int(one.dtype),
        dims=None if one.shape is None else tuple(map(symbols.text, one.shape)),
        elements=None if elements is None else tuple(_number(each, symbols) for each in elements),
        fill=_number(fill, symbols),
        low=low,
        high=high,
        sequence=is_sequence,
        length=len(fact.items) if is_sequence and fact.items is not None else None,
    )


def _number(element: Element, symbols: Symbols) -> Number:
    if isinstance(element, Fraction):
        return float(element)
    return None if element is None else symbols.text(element)


def declared(known: Known) -> onnx.ValueInfoProto:
    """The input of a side that a boundary value is."""
    dims = None if known.dims is None else [each if isinstance(each, int) else None for each in known.dims]
    made = onnx.helper.make_tensor_type_proto(known.element_type, dims)
    if known.sequence:
        made = onnx.helper.make_sequence_type_proto(made)
    return onnx.helper.make_value_info(known.name, made)


def declared_constant(stored: Stored) -> onnx.ValueInfoProto:
    """The input of a side that a large constant is."""
    return onnx.helper.make_tensor_value_info(stored.name, stored.element_type, stored.dims)
