"""Sequences and optionals: what holds of each item, and of those at known positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import onnx_ir as ir

from foldproof.facts.dim import DimLike
from foldproof.facts.fact import MAX_ELEMENTS, Element, Fact, Kind, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._broadcast import joined
from foldproof.facts.transfer._join import item_at, join, join_all

MAX_ITEMS = 256
"""Sequences of more items are not tracked position by position."""


def _sequence(items: Sequence[Fact] | None, item: Fact | None) -> Fact:
    """The fact of a sequence of known items; of known length no longer where it is long."""
    if items is None or len(items) > MAX_ITEMS:
        return Fact(kind=Kind.SEQUENCE, item=item)
    return Fact(kind=Kind.SEQUENCE, item=item, items=tuple(items))


def _position(node: NodeView, index: int, default: int | None) -> int | None:
    """The position that an input gives; `default` where it is left out, None where it is unknown."""
    if not node.has_input(index):
        return default
    position = node.input(index).ints
    return position[0] if position is not None and len(position) == 1 else None


@infers("SequenceConstruct")
def sequence_construct(node: NodeView) -> Fact:
    """SequenceConstruct-11: the inputs, in order."""
    items = tuple(node.inputs)
    return _sequence(items, join_all(items))


@infers("SequenceEmpty")
def sequence_empty(node: NodeView) -> Fact:
    """SequenceEmpty-11: no items, of an element type that is float32 by default."""
    return _sequence((), Fact(dtype=ir.DataType(node.attribute("dtype", ir.DataType.FLOAT.value))))


@infers("SequenceInsert")
def sequence_insert(node: NodeView) -> Fact | None:
    """SequenceInsert-11: the tensor at a position (from -n to n), at the end by default."""
    sequence, tensor = node.input(0), node.input(1)
    if sequence.kind is not Kind.SEQUENCE:
        return None
    items = sequence.items
    if items is None:
        return _sequence(None, None if sequence.item is None else join(sequence.item, tensor, None))
    position = _position(node, 2, len(items))
    if position is None:
        return _sequence(None, join_all((*items, tensor)))
    if not -len(items) <= position <= len(items):
        return None
    at = position % len(items) if position < 0 else position
    inserted = (*items[:at], tensor, *items[at:])
    return _sequence(inserted, join_all(inserted))


@infers("SequenceErase")
def sequence_erase(node: NodeView) -> Fact | None:
    """SequenceErase-11: without the item at a position (from -n to n - 1), the last one by default."""
    sequence = node.input(0)
    if sequence.kind is not Kind.SEQUENCE:
        return None
    items, position = sequence.items, _position(node, 1, -1)
    if items is None or position is None:
        return _sequence(None, sequence.item)
    if not -len(items) <= position < len(items):
        return None
    at = position % len(items)
    left = (*items[:at], *items[at + 1 :])
    return _sequence(left, join_all(left) or sequence.item)


@infers("SequenceAt")
def sequence_at(node: NodeView) -> Fact | None:
    """SequenceAt-11: the item at a position (from -n to n - 1)."""
    sequence = node.input(0)
    return item_at(sequence, _position(node, 1, None)) if sequence.kind is Kind.SEQUENCE else None


@infers("SequenceLength")
def sequence_length(node: NodeView) -> Fact:
    """SequenceLength-11: the number of items, an int64 scalar."""
    items = node.input(0).items
    return tensor_fact(ir.DataType.INT64, (), [None if items is None else len(items)])


# To and from tensors --------------------------------------------------------------------------------------


@infers("SplitToSequence")
def split_to_sequence(node: NodeView) -> Fact | None:
    """SplitToSequence-11, 24: parts of length 1, of a given length (the last one less), or as listed.

    Without `split` the parts keep the axis only if `keepdims` is 1.
    """
    fact = node.input(0)
    axis = node.attribute("axis", 0)
    if fact.shape is None or not -len(fact.shape) <= axis < len(fact.shape):
        return Fact(kind=Kind.SEQUENCE, item=Fact(dtype=fact.dtype))
    axis %= len(fact.shape)
    size = fact.shape[axis]
    if not node.has_input(1):
        inner = (1,) if node.attribute("keepdims", 1) else ()
        count = size if isinstance(size, int) and size <= MAX_ITEMS else None
        return _parts(fact, axis, None if count is None else [inner] * count, inner)
    split = node.input(1)
    lengths = split.dims
    if lengths is None or split.rank is None:
        return Fact(kind=Kind.SEQUENCE, item=Fact(dtype=fact.dtype))
    if split.rank == 1:
        return _parts(fact, axis, [(length,) for length in lengths], None)
    (length,) = lengths
    if length == 1 and not isinstance(size, int):
        return _parts(fact, axis, None, (1,))
    if not isinstance(length, int) or not isinstance(size, int) or length < 1 or size > length * MAX_ITEMS:
        return Fact(kind=Kind.SEQUENCE, item=Fact(dtype=fact.dtype))
    return _parts(fact, axis, [(min(length, size - start),) for start in range(0, size, length)], None)


def _parts(
    fact: Fact, axis: int, inner: Sequence[tuple[DimLike, ...]] | None, each: tuple[DimLike, ...] | None
) -> Fact:
    """The parts of a tensor.

    Args:
        fact: The fact of the tensor.
        axis: Where it is taken apart.
        inner: For each part, what takes the place of the axis' dim; None where their number is not known.
        each: The same for whichever part, where it is the same.
    """
    assert fact.shape is not None
    before, after = fact.shape[:axis], fact.shape[axis + 1 :]
    item = Fact(dtype=fact.dtype, shape=None if each is None else (*before, *each, *after))
    if inner is None:
        return _sequence(None, item)
    items = []
    start: int | None = 0
    for dims in inner:
        length = dims[0] if dims else 1
        part = tensor_fact(fact.dtype, (*before, *dims, *after))
        if start is not None and isinstance(length, int):
            part = dataclasses.replace(part, known_elements=_elements(fact, start, start + length))
            start += length
        else:
            start = None
        items.append(part)
    return _sequence(items, join_all(tuple(items)) or item)


def _elements(fact: Fact, start: int, stop: int) -> tuple[Element, ...] | None:
    """The elements from start to stop of a 1-D tensor."""
    if fact.rank != 1 or fact.elements is None:
        return None
    part = fact.elements[start:stop]
    return part if not part or any(element is not None for element in part) else None


@infers("ConcatFromSequence")
def concat_from_sequence(node: NodeView) -> Fact | None:
    """ConcatFromSequence-11: the items one after the other along an axis, or stacked along a new one."""
    sequence, stacks = node.input(0), bool(node.attribute("new_axis", 0))
    if sequence.kind is not Kind.SEQUENCE:
        return None
    items = sequence.items
    known = [sequence.item] if items is None else list(items)
    shapes = [fact.shape for fact in known if fact is not None and fact.shape is not None]
    dtype = None if sequence.item is None else sequence.item.dtype
    if not shapes or items == ():
        return tensor_fact(dtype)
    rank, axis = len(shapes[0]), node.attribute("axis")
    out_rank = rank + stacks
    if any(len(shape) != rank for shape in shapes) or axis is None or not -out_rank <= axis < out_rank:
        return tensor_fact(dtype)
    axis %= out_rank
    dims = joined([None if fact is None else fact.shape for fact in known]) or ()
    common = [node.fresh(k + (stacks and k >= axis)) if dim is None else dim for k, dim in enumerate(dims)]
    along: DimLike = node.fresh(axis)
    if stacks:
        if items is not None:
            along = len(items)
        return tensor_fact(dtype, (*common[:axis], along, *common[axis:]), _gathered(items, axis, rank))
    if items is not None and len(shapes) == len(items):
        along = 0
        for shape in shapes:
            along = along + shape[axis]
    return tensor_fact(dtype, (*common[:axis], along, *common[axis + 1 :]), _gathered(items, axis, rank))


def _gathered(items: tuple[Fact, ...] | None, axis: int, rank: int) -> list[Element] | None:
    """The elements of small items one after the other, which is their order along the first axis."""
    if items is None or axis != 0 or rank > 1:
        return None
    gathered: list[Element] = []
    for fact in items:
        if fact.elements is None or len(gathered) > MAX_ELEMENTS:
            return None
        gathered += fact.elements
    return gathered


# Optionals ------------------------------------------------------------------------------------------------


@infers("Optional")
def optional(node: NodeView) -> Fact:
    """Optional-15: holds the input, or nothing where there is none."""
    if not node.has_input(0):
        return Fact(kind=Kind.OPTIONAL, items=())
    content = node.input(0)
    return Fact(kind=Kind.OPTIONAL, item=content, items=(content,))


@infers("OptionalGetElement")
def optional_get_element(node: NodeView) -> Fact | None:
    """OptionalGetElement-15, 18: the content; from version 18 also a tensor or sequence, as it is."""
    fact = node.input(0)
    if fact.kind is Kind.OPTIONAL:
        return fact.item
    return fact


@infers("OptionalHasElement")
def optional_has_element(node: NodeView) -> Fact:
    """OptionalHasElement-15, 18: whether there is content.

    From version 18 also false without an input, and true for a tensor or a sequence.
    """
    fact = node.input(0)
    known: int | None = None
    if not node.has_input(0):
        known = 0
    elif fact.kind is Kind.OPTIONAL:
        known = None if fact.items is None else len(fact.items)
    elif fact.kind is Kind.SEQUENCE or fact.dtype is not None:
        known = 1
    return tensor_fact(ir.DataType.BOOL, (), [known])
