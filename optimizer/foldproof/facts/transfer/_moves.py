"""What the operators that move data have in common: parameters, axes, and the elements that they carry along.

An operator that only moves elements is run once on the positions of the elements: where each position ends up
tells where each element does, whatever it is (an integer, an expression, or unknown).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import gcd
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from foldproof.facts.dim import Dim, DimLike, at_least, exact_div, floor_div
from foldproof.facts.fact import MAX_ELEMENTS, Element, Fact
from foldproof.facts.registry import NodeView
from foldproof.facts.transfer._broadcast import static_count, static_sizes

Positions: TypeAlias = "npt.NDArray[np.int64]"


def parameter(node: NodeView, name: str, index: int) -> tuple[Element, ...] | None:
    """The elements of a 1-D parameter, which old versions have as an attribute and new ones as an input.

    Returns:
        None where not even the number of elements is known, or where neither is given (see `is_given`).
    """
    if not node.has_input(index):
        value = node.attribute(name)
        return None if value is None else tuple(value)
    fact = node.input(index)
    elements = fact.elements
    if elements is None and fact.shape is not None and len(fact.shape) == 1:
        length = fact.shape[0]
        if isinstance(length, int) and length <= MAX_ELEMENTS:
            return (None,) * length
    return elements


def is_given(node: NodeView, name: str, index: int) -> bool:
    """Whether a parameter is given, as an input or as an attribute."""
    return node.has_input(index) or node.has_attribute(name)


def scalar(fact: Fact) -> Element:
    """The one element of a scalar or of a tensor of one element."""
    elements = fact.elements
    return elements[0] if elements is not None and len(elements) == 1 else None


def axis_in(axis: Any, rank: int) -> int | None:
    """An axis counted from the front; None where it is unknown or out of range."""
    if not isinstance(axis, int) or not -rank <= axis < rank:
        return None
    return axis % rank


def axes_in(axes: Sequence[Any], rank: int) -> list[int] | None:
    """Axes counted from the front; None where one is unknown, out of range, or named twice."""
    found = [position for axis in axes if (position := axis_in(axis, rank)) is not None]
    return found if len(found) == len(axes) == len(set(found)) else None


def natural(element: Element) -> DimLike | None:
    """An element as a dim: an integer >= 0, or an expression. None where it is unknown or no dim.

    For operators that fail on a negative one.
    """
    if isinstance(element, Dim):
        return element
    return element if isinstance(element, int) and element >= 0 else None


def widened(dim: DimLike) -> DimLike | None:
    """What comes of broadcasting a dim against one that is unknown; None where the other one may be wider."""
    return dim if dim == 0 or at_least(dim, 2) else None


def quotient(a: DimLike, b: DimLike) -> DimLike | None:
    """`a / b` of an operator that fails where `b` is 0 or doesn't divide `a`; None where it can't be written."""
    if b == 0:
        return None
    exact = exact_div(a, b)
    if exact is not None:
        return exact
    factor = b if isinstance(b, int) else gcd(*(coefficient for _, coefficient in b.terms))
    rest = exact_div(a, floor_div(b, factor))  # what is left may be 0 only where the operator fails
    if rest is not None:
        return floor_div(rest, factor)
    return floor_div(a, b) if at_least(b, 1) else None


_MAX_RANK = 64
"""An array of numpy has no more dims."""


def static_shape(shape: Sequence[DimLike] | None) -> tuple[int, ...] | None:
    """The dims of a tensor if each is a known integer, and numpy can have as many of them."""
    if shape is None or len(shape) > _MAX_RANK:
        return None
    dims = tuple(dim for dim in shape if isinstance(dim, int))
    return dims if len(dims) == len(shape) else None


def is_small(shape: Sequence[DimLike]) -> bool:
    """Whether the elements of a result are worth tracking: asked before an array of that size is made.

    An empty one may be too large as well: what is indexed along a dim of 2**32 takes as many indices.
    """
    dims = tuple(shape)
    count = static_count(dims)
    return count is not None and count <= MAX_ELEMENTS and all(0 <= dim <= MAX_ELEMENTS for dim in static_sizes(dims))


def positions(fact: Fact, offset: int = 0) -> Positions | None:
    """The positions of the elements of a small tensor, in its shape; None where its elements are not tracked.

    Args:
        fact: The tensor.
        offset: The position of its first element, to tell the elements of several tensors apart.
    """
    elements, shape = fact.elements, static_shape(fact.shape)
    if elements is None or shape is None or len(elements) != math.prod(shape) or not is_small(shape):
        return None
    return np.arange(offset, offset + len(elements), dtype=np.int64).reshape(shape)


def pick(elements: Sequence[Element], where: Positions) -> list[Element]:
    """The elements at some positions; a negative position stands for an element that is not known."""
    return [None if k < 0 else elements[k] for k in where.reshape(-1).tolist()]


def join(facts: Sequence[Fact]) -> tuple[list[Positions], list[Element]] | None:
    """The positions of the elements of several small tensors in one common list, and that list.

    Returns:
        None where a tensor is too large or not static, or where no element of any is known. The positions of a
        tensor of which no element is known are negative.
    """
    grids: list[Positions] = []
    pool: list[Element] = []
    for fact in facts:
        count = static_count(fact.shape)
        if count is None or count > MAX_ELEMENTS:
            return None
        grid = positions(fact, len(pool))
        if grid is None:
            grids.append(np.full(static_shape(fact.shape) or (), -1, np.int64))
        else:
            grids.append(grid)
            pool.extend(fact.elements or ())
    return (grids, pool) if pool else None
