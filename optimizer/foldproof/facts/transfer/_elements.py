"""What a dtype makes of a number: rounding, wrapping, and which symbolic elements it holds exactly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike, differ, lower_bound, upper_bound
from foldproof.facts.fact import Element, Fact, exact

Number: TypeAlias = "int | Fraction"

INTEGER_RANGES: dict[ir.DataType, tuple[int, int]] = {
    ir.DataType.BOOL: (0, 1),
    ir.DataType.INT2: (-2, 1),
    ir.DataType.INT4: (-8, 7),
    ir.DataType.INT8: (-(2**7), 2**7 - 1),
    ir.DataType.INT16: (-(2**15), 2**15 - 1),
    ir.DataType.INT32: (-(2**31), 2**31 - 1),
    ir.DataType.INT64: (-(2**63), 2**63 - 1),
    ir.DataType.UINT2: (0, 3),
    ir.DataType.UINT4: (0, 15),
    ir.DataType.UINT8: (0, 2**8 - 1),
    ir.DataType.UINT16: (0, 2**16 - 1),
    ir.DataType.UINT32: (0, 2**32 - 1),
    ir.DataType.UINT64: (0, 2**64 - 1),
}
"""The least and the greatest value of each integer type."""

_WRAPPING = frozenset(
    {
        ir.DataType.INT8,
        ir.DataType.INT16,
        ir.DataType.INT32,
        ir.DataType.UINT8,
        ir.DataType.UINT16,
        ir.DataType.UINT32,
    }
)
"""Types whose arithmetic is claimed to wrap. An overflow of 64 bits is a mistake, of which nothing is."""

_WIDE_FLOATS: dict[ir.DataType, int] = {ir.DataType.DOUBLE: 53, ir.DataType.FLOAT: 24}
"""Bits of the significand of the types in which runtimes really compute."""

_NARROW_FLOATS: dict[ir.DataType, int] = {ir.DataType.FLOAT16: 11, ir.DataType.BFLOAT16: 8}
"""Runtimes may keep an intermediate result of these in float, so only what needs no rounding is claimed."""

_MODEST = 2**40
"""A symbolic result with a coefficient beyond this would overflow at quite ordinary dims."""


def is_integer(dtype: ir.DataType | None) -> bool:
    """Whether a dtype is an integer type or bool."""
    return dtype in INTEGER_RANGES


def is_float(dtype: ir.DataType | None) -> bool:
    """Whether a dtype is a float type whose elements are tracked."""
    return dtype in _WIDE_FLOATS or dtype in _NARROW_FLOATS


def significand_bits(dtype: ir.DataType | None) -> int:
    """Integers of up to this many bits are exact in a float type; 0 for other types."""
    if dtype is None:
        return 0
    return _WIDE_FLOATS.get(dtype) or _NARROW_FLOATS.get(dtype) or 0


def fits(dtype: ir.DataType | None, element: Element) -> bool:
    """Whether a dtype holds an element exactly, for all bindings of its symbols.

    A symbolic element stands for a product of dims or the like: int64 and double hold each that a machine can
    have. The narrower types hold those whose bounds prove it.
    """
    if element is None or dtype is None:
        return False
    if isinstance(element, Dim):
        return _holds_dim(dtype, element)
    return bool(stored(dtype, element) == element)


def _holds_dim(dtype: ir.DataType, dim: Dim) -> bool:
    if dtype is ir.DataType.INT64 or dtype is ir.DataType.DOUBLE:
        return True
    low = lower_bound(dim)
    if low is None:
        return False
    if dtype is ir.DataType.UINT64:
        return low >= 0
    high = upper_bound(dim)
    if high is None:
        return False
    if dtype in INTEGER_RANGES:
        least, greatest = INTEGER_RANGES[dtype]
        return least <= low and high <= greatest
    limit: int = 2 ** significand_bits(dtype)
    return -limit < low and high < limit


def stored(dtype: ir.DataType | None, number: Number) -> Element:
    """The exact result of one operation as a dtype stores it: rounded to nearest even, or wrapped.

    Args:
        dtype: The type of the result. None gives None.
        number: The exact result. For a float type, that of one operation on elements of the same type.

    Returns:
        None where nothing is claimed: 64 bits overflow, an infinity, -0.0, a type that is not tracked.
    """
    if dtype is None:
        return None
    if dtype in INTEGER_RANGES:
        return _wrapped(dtype, number)
    if dtype in _WIDE_FLOATS:
        if isinstance(number, int) and abs(number) > 2**53 and dtype is ir.DataType.FLOAT:
            return None  # it would be rounded twice
        try:
            rounded = float(number)
        except OverflowError:
            return None
        if dtype is ir.DataType.FLOAT:
            # No harm in rounding twice: 53 bits are enough for the result of any one operation on 24 bits.
            with np.errstate(over="ignore", under="ignore"):
                rounded = float(np.float32(rounded))
        return exact(rounded)
    if dtype in _NARROW_FLOATS:
        if magnitude(number) >= 2**64:
            return None
        with np.errstate(over="ignore", under="ignore"):
            held = exact(dtype.numpy().type(float(number)))
        return held if held == number else None
    return None


def magnitude(number: Number) -> Number:
    """The absolute value, with a type that says what it is."""
    return number if number >= 0 else -number


def _wrapped(dtype: ir.DataType, number: Number) -> Element:
    if not isinstance(number, int):
        return None
    least, greatest = INTEGER_RANGES[dtype]
    if least <= number <= greatest:
        return number
    if dtype not in _WRAPPING:
        return None
    return (number - least) % (greatest - least + 1) + least


def cast_element(element: Element, source: ir.DataType | None, target: ir.DataType) -> Element:
    """An element after a Cast, None where the specification leaves the result open or it is not known."""
    if element is None or source is None:
        return None
    if isinstance(element, Dim):
        if target is ir.DataType.BOOL:
            return truth(element)
        return element if fits(target, element) else None
    if target is ir.DataType.BOOL:
        return int(element != 0)
    if target in INTEGER_RANGES:
        least, greatest = INTEGER_RANGES[target]
        if is_integer(source):
            number = int(element)
            # Higher bits are discarded; runtimes disagree on what that means below a byte.
            if target not in _WRAPPING and target not in (ir.DataType.INT64, ir.DataType.UINT64):
                return number if least <= number <= greatest else None
            return (number - least) % (greatest - least + 1) + least
        number = int(element)  # towards zero, as C++ does
        return number if least <= number <= greatest else None
    return stored(target, element)


def mapped(fact: Fact, compute: Callable[[Element], Element]) -> list[Element] | None:
    """What an operator of one tensor makes of each of its elements; None where not even their number is known."""
    elements = fact.elements
    return None if elements is None else [compute(element) for element in elements]


def truth(element: Element) -> Element:
    """1 where an element is proven not to be 0, 0 where it is 0, else None."""
    if element is None:
        return None
    if isinstance(element, Dim):
        return 1 if differ(element, 0) else None
    return int(element != 0)


def symbolic(dtype: ir.DataType | None, result: DimLike) -> Element:
    """A symbolic result where the dtype holds it."""
    if isinstance(result, Dim) and any(abs(coefficient) > _MODEST for _, coefficient in result.terms):
        return None
    return result if fits(dtype, result) else None
