"""Arithmetic on single elements: exact numbers, symbolic integers, or unknown (None).

Each function gives the element as the specification says and the dtype stores it, or None where that is not
proven for all bindings. In a float dtype a result of -0.0 is unknown, as it is in the facts.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, isqrt, lcm, prod, trunc
from typing import TypeAlias

import onnx_ir as ir

from foldproof.facts.dim import (
    Dim,
    DimLike,
    at_least,
    exact_div,
    floor_div,
    maximum,
    minimum,
    modulo,
    product,
)
from foldproof.facts.fact import Element
from foldproof.facts.transfer._elements import (
    is_float,
    is_integer,
    magnitude,
    significand_bits,
    stored,
    symbolic,
    truth,
)

Binary: TypeAlias = "Callable[[ir.DataType | None, Element, Element], Element]"

_MAX_EXPONENT = 64
"""Powers beyond this overflow all integers but -1, 0 and 1."""

_MAX_SYMBOLIC_EXPONENT = 4
"""Shape arithmetic squares and cubes. The terms of a sum's power grow without bound."""


def add(dtype: ir.DataType | None, a: Element, b: Element) -> Element:
    """`a + b`."""
    if a is None or b is None:
        return None
    if isinstance(a, Dim) or isinstance(b, Dim):
        return None if isinstance(a, Fraction) or isinstance(b, Fraction) else symbolic(dtype, a + b)
    return stored(dtype, a + b)


def subtract(dtype: ir.DataType | None, a: Element, b: Element) -> Element:
    """`a - b`."""
    if a is None or b is None:
        return None
    if isinstance(a, Dim) or isinstance(b, Dim):
        return None if isinstance(a, Fraction) or isinstance(b, Fraction) else symbolic(dtype, a - b)
    return stored(dtype, a - b)


def multiply(dtype: ir.DataType | None, a: Element, b: Element) -> Element:
    """`a * b`."""
    if a is None or b is None:
        return None
    if isinstance(a, Dim) or isinstance(b, Dim):
        if isinstance(a, Fraction) or isinstance(b, Fraction):
            return None
        result = a * b
        # In a float type 0 * -1 is -0.0.
        if is_float(dtype) and not (at_least(a, 0) and at_least(b, 0)) and truth(result) != 1:
            return None
        return symbolic(dtype, result)
    result_number = a * b
    if is_float(dtype) and result_number == 0 and (a < 0 or b < 0):
        return None
    return stored(dtype, result_number)


def divide(dtype: ir.DataType | None, a: Element, b: Element) -> Element:
    """`a / b`, which integer types round towards zero."""
    if a is None or b is None or b == 0:
        return None
    if isinstance(a, Dim) or isinstance(b, Dim):
        if isinstance(a, Fraction) or isinstance(b, Fraction):
            return None
        return symbolic(dtype, quotient) if (quotient := _quotient(dtype, a, b)) is not None else None
    if is_float(dtype):
        return None if a == 0 and b < 0 else stored(dtype, _number(Fraction(a) / b))
    return stored(dtype, truncated_quotient(int(a), int(b)))


def _quotient(dtype: ir.DataType | None, a: DimLike, b: DimLike) -> DimLike | None:
    exact = exact_div(a, b)
    if is_float(dtype):
        return exact if at_least(b, 1) else None  # x / 0 is an infinity, 0 / -1 is -0.0: neither fails
    if exact is not None:
        return exact  # where b is 0, an integer division fails
    if at_least(b, 1):
        if at_least(a, 0):
            return floor_div(a, b)
        return -floor_div(-a, b) if at_least(0, a) else None
    if at_least(-1, b):
        if at_least(a, 0):
            return -floor_div(a, -b)
        return floor_div(-a, -b) if at_least(0, a) else None
    return None


def truncated_quotient(a: int, b: int) -> int:
    """`a / b` rounded towards zero, as C++ divides integers. `b` is not 0."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def remainder(dtype: ir.DataType | None, a: Element, b: Element) -> Element:
    """Mod with `fmod=0`: the result has the sign of the divisor. Integers only."""
    if not is_integer(dtype) or a is None or b is None or b == 0 or isinstance(a, Fraction) or isinstance(b, Fraction):
        return None
    if isinstance(a, int) and isinstance(b, int):
        return stored(dtype, a % b)
    if isinstance(b, int) or at_least(b, 1):
        return symbolic(dtype, modulo(a, b))
    return None


def truncated_remainder(dtype: ir.DataType | None, a: Element, b: Element) -> Element:
    """Mod with `fmod=1`: the result has the sign of the dividend."""
    if a is None or b is None or b == 0:
        return None
    if isinstance(a, Dim) or isinstance(b, Dim):
        return remainder(dtype, a, b) if not isinstance(a, Fraction) and at_least(a, 0) and _positive(b) else None
    result = a - b * trunc(Fraction(a) / b)
    return None if result == 0 and a < 0 and is_float(dtype) else stored(dtype, _number(Fraction(result)))


def _positive(element: Element) -> bool:
    return isinstance(element, (int, Dim)) and at_least(element, 1)


def power(dtype: ir.DataType | None, a: Element, b: Element) -> Element:
    """`a ** b` where it is exact, without any rounding."""
    if a is None or b is None or isinstance(b, Dim):
        return None
    if b == Fraction(1, 2):
        return square_root(dtype, a) if is_float(dtype) else None
    if not isinstance(b, int) or abs(b) > _MAX_EXPONENT:
        return None
    if isinstance(a, Dim):
        if not 0 <= b <= _MAX_SYMBOLIC_EXPONENT or (is_float(dtype) and b % 2 and not at_least(a, 0)):
            return None
        return symbolic(dtype, product([a] * b))
    if b < 0 and (a == 0 or not is_float(dtype)):
        return None
    number = _number(Fraction(a) ** b)
    held = stored(dtype, number)
    # Runtimes compute integer powers in double.
    return held if held == number and magnitude(number) <= 2**53 else None


def square_root(dtype: ir.DataType | None, a: Element) -> Element:
    """The square root of a known number where it is rational."""
    if not isinstance(a, (int, Fraction)) or a < 0:
        return None
    numerator, denominator = isqrt(a.numerator), isqrt(a.denominator)
    if numerator**2 != a.numerator or denominator**2 != a.denominator:
        return None
    root = _number(Fraction(numerator, denominator))
    return root if stored(dtype, root) == root else None


def smallest(dtype: ir.DataType | None, *elements: Element) -> Element:
    """The minimum."""
    return _extreme(minimum, min, dtype, elements)


def largest(dtype: ir.DataType | None, *elements: Element) -> Element:
    """The maximum."""
    return _extreme(maximum, max, dtype, elements)


def _extreme(
    symbolic_extreme: Callable[..., DimLike],
    extreme: Callable[..., int | Fraction],
    dtype: ir.DataType | None,
    elements: tuple[Element, ...],
) -> Element:
    numbers = [element for element in elements if isinstance(element, (int, Fraction))]
    dims = [element for element in elements if isinstance(element, (int, Dim))]
    if elements and len(numbers) == len(elements):
        return extreme(numbers)
    if elements and len(dims) == len(elements):
        return symbolic(dtype, symbolic_extreme(*dims))
    return None


def exact_sum(dtype: ir.DataType | None, *elements: Element) -> Element:
    """The sum of all, for a float type where no order of adding them needs any rounding."""
    total: Element = 0
    if is_float(dtype) and not _adds_exactly(dtype, elements):
        return None
    for element in elements:
        total = add(dtype, total, element)
    if is_integer(dtype) and all(isinstance(element, int) for element in elements):
        # onnxruntime does not wrap a reduction that overflows.
        return total if total == sum(element for element in elements if isinstance(element, int)) else None
    return total


def _adds_exactly(dtype: ir.DataType | None, elements: tuple[Element, ...]) -> bool:
    numbers = [Fraction(element) for element in elements if isinstance(element, (int, Fraction))]
    if len(numbers) != len(elements):
        return all(isinstance(element, (int, Dim)) for element in elements)
    unit = lcm(*(number.denominator for number in numbers))
    # Each partial sum is a multiple of 1/unit, and held if this many units are.
    return unit < 2**64 and sum(abs(number) for number in numbers) * unit <= 2 ** significand_bits(dtype)


def exact_product(dtype: ir.DataType | None, *elements: Element) -> Element:
    """The product of all, for a float type where no order of multiplying them needs any rounding."""
    result: Element = 1
    for element in elements:
        result = multiply(dtype, result, element)
    if result is None or isinstance(result, Dim):
        return result
    numbers = [Fraction(element) for element in elements if isinstance(element, (int, Fraction))]
    exact = prod(numbers, start=Fraction(1))
    if not is_float(dtype):
        return result if result == exact else None  # onnxruntime does not wrap a reduction that overflows
    if exact == 0:
        return None if any(number < 0 for number in numbers) else 0
    # A partial product has no more significant bits than the whole: denominators are powers of 2.
    return result if result == exact else None


def exact_mean(dtype: ir.DataType | None, *elements: Element) -> Element:
    """The mean of all where neither the sum nor the quotient needs any rounding."""
    total = exact_sum(dtype, *elements)
    if total is None or isinstance(total, Dim) or not elements:
        return None
    mean = _number(Fraction(total) / len(elements))
    return mean if stored(dtype, mean) == mean else None


def negate(dtype: ir.DataType | None, a: Element) -> Element:
    """`-a`."""
    if a is None or (is_float(dtype) and truth(a) != 1):
        return None  # it might become -0.0
    return symbolic(dtype, -a) if isinstance(a, Dim) else stored(dtype, -a)


def absolute(dtype: ir.DataType | None, a: Element) -> Element:
    """The absolute value."""
    if isinstance(a, Dim):
        return a if at_least(a, 0) else symbolic(dtype, maximum(a, -a))
    return None if a is None else stored(dtype, magnitude(a))


def sign(dtype: ir.DataType | None, a: Element) -> Element:
    """1, 0 or -1."""
    if isinstance(a, Dim):
        if at_least(a, 0):
            return minimum(a, 1)
        return -1 if at_least(-1, a) else None
    return None if a is None else (a > 0) - (a < 0)


def floored(dtype: ir.DataType | None, a: Element) -> Element:
    """The greatest integer that is not greater."""
    return floor(a) if isinstance(a, Fraction) else a


def ceiled(dtype: ir.DataType | None, a: Element) -> Element:
    """The least integer that is not less. What is rounded up to zero becomes -0.0."""
    if isinstance(a, Fraction):
        return ceil(a) or (None if a < 0 else 0)
    return a


def rounded(dtype: ir.DataType | None, a: Element) -> Element:
    """The nearest integer, the even one of two."""
    if isinstance(a, Fraction):
        return round(a) or (None if a < 0 else 0)
    return a


def reciprocal(dtype: ir.DataType | None, a: Element) -> Element:
    """`1 / a` where it is exact."""
    if not isinstance(a, (int, Fraction)) or a == 0:
        return None
    number = _number(1 / Fraction(a))
    return number if stored(dtype, number) == number else None


def rectified(dtype: ir.DataType | None, a: Element) -> Element:
    """Relu: the maximum of it and zero."""
    return largest(dtype, a, 0)


def _number(fraction: Fraction) -> int | Fraction:
    return int(fraction) if fraction.denominator == 1 else fraction
