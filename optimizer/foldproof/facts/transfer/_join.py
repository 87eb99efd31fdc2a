"""What two facts have in common, and what of a fact may leave the body that it was proven in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeAlias

from foldproof.facts.dim import Dim, DimLike
from foldproof.facts.fact import UNKNOWN, Basis, Element, Fact, Kind

FreshDim: TypeAlias = "Callable[[int], DimLike] | None"
"""Gives the symbol for a dim of which nothing is known, by axis.

None where a dim that is not known has no symbol: it may differ from item to item of a sequence.
"""


def join(a: Fact, b: Fact, fresh: FreshDim) -> Fact:
    """What holds of a value that is one or the other, dim by dim and element by element.

    Args:
        a: What holds in one case.
        b: What holds in the other case.
        fresh: Names the dims on which the two differ.
    """
    if a.kind is not b.kind:
        return UNKNOWN
    basis = a.basis | b.basis
    dtype = a.dtype if a.dtype is b.dtype else None
    if a.kind is not Kind.TENSOR:
        return Fact(dtype=dtype, kind=a.kind, item=_joined_item(a, b), items=_joined_items(a, b), basis=basis)
    shape = _joined_shape(a, b, fresh)
    if shape is None or shape != a.shape:  # then the elements are not even the same number
        return Fact(dtype=dtype, shape=shape, basis=basis)
    if a.constant is not None and a.constant is b.constant:
        return dataclasses.replace(a, basis=basis)
    return Fact(dtype=dtype, shape=shape, known_elements=_joined_elements(a, b), basis=basis)


def _joined_shape(a: Fact, b: Fact, fresh: FreshDim) -> tuple[DimLike, ...] | None:
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return None
    if fresh is None:
        return a.shape if a.shape == b.shape else None
    pairs = zip(a.shape, b.shape, strict=True)
    return tuple(x if x == y else fresh(axis) for axis, (x, y) in enumerate(pairs))


def _joined_elements(a: Fact, b: Fact) -> tuple[Element, ...] | None:
    ours, theirs = a.elements, b.elements
    if ours is None or theirs is None or len(ours) != len(theirs):
        return None
    return _unless_unknown(tuple(x if x == y else None for x, y in zip(ours, theirs, strict=True)))


def _unless_unknown(elements: tuple[Element, ...]) -> tuple[Element, ...] | None:
    return elements if not elements or any(element is not None for element in elements) else None


def _joined_item(a: Fact, b: Fact) -> Fact | None:
    if a.items == ():  # all is true of the items of an empty sequence
        return b.item
    if b.items == ():
        return a.item
    return None if a.item is None or b.item is None else join(a.item, b.item, None)


def _joined_items(a: Fact, b: Fact) -> tuple[Fact, ...] | None:
    if a.items is None or b.items is None or len(a.items) != len(b.items):
        return None
    return tuple(join(x, y, None) for x, y in zip(a.items, b.items, strict=True))


def join_all(facts: tuple[Fact, ...]) -> Fact | None:
    """What holds of each of several values; None for none at all."""
    if not facts:
        return None
    joined = facts[0]
    for fact in facts[1:]:
        joined = join(joined, fact, None)
    return joined


def item_at(sequence: Fact, position: int | None) -> Fact:
    """What holds of one item of a sequence, or, for None, of whichever item.

    Args:
        sequence: The fact of the sequence.
        position: Counted from the front, or, if negative, from the back.
    """
    items = sequence.items
    if items is not None and position is not None and -len(items) <= position < len(items):
        return items[position]
    return UNKNOWN if sequence.item is None else sequence.item


def outside(fact: Fact, is_local: Callable[[Dim], bool], fresh: FreshDim) -> Fact:
    """What of a fact still means something outside the body that it was proven in.

    Args:
        fact: What holds of an output of the body.
        is_local: Whether a dim speaks of symbols that differ from one run of the body to the next.
        fresh: Names the dims that are local.
    """

    def local(x: Element) -> bool:
        return isinstance(x, Dim) and is_local(x)

    if fact.kind is not Kind.TENSOR:
        item = None if fact.item is None else outside(fact.item, is_local, None)
        items = None if fact.items is None else tuple(outside(inner, is_local, None) for inner in fact.items)
        return dataclasses.replace(fact, item=item, items=items)
    shape, elements = fact.shape, fact.known_elements
    if shape is not None and any(map(local, shape)):
        shape = None if fresh is None else tuple(fresh(axis) if local(dim) else dim for axis, dim in enumerate(shape))
    if elements is not None and any(map(local, elements)):
        elements = _unless_unknown(tuple(None if local(element) else element for element in elements))
    if shape is fact.shape and elements is fact.known_elements:
        return fact
    return dataclasses.replace(fact, shape=shape, known_elements=elements)


def same(a: Fact, b: Fact) -> bool:
    """Whether two facts say the same, whatever they rest on."""
    return _without_basis(a) == _without_basis(b)


def _without_basis(fact: Fact) -> Fact:
    item = None if fact.item is None else _without_basis(fact.item)
    items = None if fact.items is None else tuple(map(_without_basis, fact.items))
    return dataclasses.replace(fact, item=item, items=items, basis=Basis.NOTHING)
