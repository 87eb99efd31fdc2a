"""Comparisons and boolean operations on single elements: 1, 0, or None where neither is proven."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from foldproof.facts.dim import Dim, at_least, differ, equal
from foldproof.facts.fact import Element


def is_equal(a: Element, b: Element) -> Element:
    """1 where they are proven equal, 0 where they are proven to differ."""
    if a is None or b is None:
        return None
    if isinstance(a, Dim) or isinstance(b, Dim):
        if isinstance(a, Fraction) or isinstance(b, Fraction):
            return 0
        return 1 if equal(a, b) else 0 if differ(a, b) else None
    return int(a == b)


def is_less(a: Element, b: Element) -> Element:
    """1 where `a < b` is proven, 0 where `a >= b` is."""
    if a is None or b is None:
        return None
    if isinstance(a, Dim) or isinstance(b, Dim):
        low = floor(a) if isinstance(a, Fraction) else a  # an integer is beyond 2.5 where it is beyond 2
        high = ceil(b) if isinstance(b, Fraction) else b
        return 1 if at_least(high, low + 1) else 0 if at_least(low, high) else None
    return int(a < b)


def negation(a: Element) -> Element:
    """Not."""
    return None if not isinstance(a, int) else int(not a)


def conjunction(a: Element, b: Element) -> Element:
    """And: false where either is, though the other is unknown."""
    if a == 0 or b == 0:
        return 0
    return 1 if a == 1 and b == 1 else None


def disjunction(a: Element, b: Element) -> Element:
    """Or: true where either is, though the other is unknown."""
    if a == 1 or b == 1:
        return 1
    return 0 if a == 0 and b == 0 else None


def exclusive_or(a: Element, b: Element) -> Element:
    """Xor."""
    return None if a is None or b is None else int(a != b)
