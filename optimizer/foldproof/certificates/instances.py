"""Values for what a claim's sides read: at several sizes of each symbol, special numbers among them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from onnx import helper

from foldproof.certificates.claim import Claim, Known
from foldproof.certificates.expressions import ExpressionError, evaluate, symbols_of

MAX_ELEMENTS = 1 << 23
"""An instance whose values have more elements in all is not made."""

MANY_ELEMENTS = 1 << 18
"""Of larger ones only the first few are made."""

_FEW = 3
_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23)
_LARGE = (64, 96, 32, 160, 128, 48)
_RANKS = (2, 3, 1, 4, 0)
_WORDS = np.array(["a", "", "monday", "x y", "é", "B"], object)

Style = Literal["usual", "small", "special", "counts"]
"""How values are chosen of which nothing is known.

- `usual`: floats around zero, integers of both signs near it.
- `small`: floats from zero to one, integers 0 and 1, as indices are.
- `special`: -0.0, infinities, NaN, denormals, the largest numbers; the extreme integers.
- `counts`: whole numbers 1, 2 and 3, as repeats and sizes are.
"""


@dataclasses.dataclass(frozen=True)
class Instance:
    """Values for all that a claim's sides read.

    Attributes:
        binding: The size of each symbol.
        style: How the other values were chosen.
        feeds: The values by name.
    """

    binding: Mapping[str, int]
    style: Style
    feeds: Mapping[str, Any]

    def __str__(self) -> str:
        sizes = " ".join(f"{name}={size}" for name, size in self.binding.items())
        return f"{sizes or 'the static dims'}, {self.style} values"


def instances(claim: Claim, recorded: Sequence[Mapping[str, int]] = ()) -> Iterator[Instance]:
    """Instances of a claim, always the same ones.

    Args:
        claim: The claim.
        recorded: Bindings at which the whole model ran, which come first. They need not have all symbols.

    Raises:
        ExpressionError: An expression of the claim is none.
    """
    texts = set(claim.expressions)
    symbols = sorted({name for text in texts for name in symbols_of(text)})
    divided = sorted({name for text in texts if "//" in text for name in symbols_of(text)})
    styles = get_args(Style)
    made = 0
    for number, binding in enumerate(_bindings(symbols, divided, recorded)):
        for k, style in enumerate(styles):
            # All styles at the first bindings; later on the usual one and another.
            if number >= _FEW and k not in (0, 1 + number % (len(styles) - 1)):
                continue
            feeds = _feeds(claim.boundary, binding, style, made)
            if feeds is None:
                continue
            if made >= _FEW and _size(feeds.values()) > MANY_ELEMENTS:
                return
            yield Instance(binding, style, feeds)
            made += 1


def _bindings(
    symbols: Sequence[str], divided: Sequence[str], recorded: Sequence[Mapping[str, int]]
) -> Iterator[dict[str, int]]:
    """Sizes of the symbols: recorded ones, 1, 2, numbers of their own, equal and large ones, and 0.

    Of those that are divided something has to be left: they get larger sizes too.
    """
    if not symbols:
        yield {}
        return
    apart = dict(zip(symbols, itertools.cycle(_PRIMES), strict=False))
    found = [{**apart, **{name: each[name] for name in symbols if name in each}} for each in recorded]
    found = [each for each in found if each != apart]
    found += [
        dict.fromkeys(symbols, 1),
        apart,
        dict.fromkeys(symbols, 2),
        dict(zip(symbols, itertools.cycle(_PRIMES[-3::-2]), strict=False)),
        dict(zip(symbols, itertools.cycle(_LARGE), strict=False)),
        *({**dict.fromkeys(symbols, size), **dict.fromkeys(divided, 1024)} for size in ((1, 2) if divided else ())),
        dict.fromkeys(symbols, 16),
        dict.fromkeys(symbols, 0),
        *({**apart, name: 0} for name in symbols[:_FEW]),
        *({**apart, name: 1} for name in symbols[:_FEW]),
    ]
    seen: list[dict[str, int]] = []
    for each in found:
        if each not in seen:
            seen.append(each)
            yield each


def _feeds(boundary: Sequence[Known], binding: Mapping[str, int], style: Style, number: int) -> dict[str, Any] | None:
    """The values, None where this binding is not admitted: a dim would be negative, or an element can't be."""
    feeds: dict[str, Any] = {}
    room = MAX_ELEMENTS
    for index, each in enumerate(boundary):
        rng = np.random.default_rng([number, index])
        try:
            dims = _dims(each, binding, number)
            length = 1 if not each.sequence else 2 if each.length is None else each.length
            room -= math.prod(dims) * length
            if min(dims, default=0) < 0 or room < 0:
                return None
            made = [_tensor(each, dims, binding, style, rng) for _ in range(length)]
        except (ExpressionError, OverflowError):
            return None
        feeds[each.name] = made if each.sequence else made[0]
    return feeds


def _size(values: Any) -> int:
    return sum(_size(each) if isinstance(each, list) else int(each.size) for each in values)


def _dims(known: Known, binding: Mapping[str, int], number: int) -> tuple[int, ...]:
    if known.dims is None:
        return tuple(range(2, 2 + _RANKS[number % len(_RANKS)]))
    return tuple(each if isinstance(each, int) else evaluate(each, binding) for each in known.dims)


def _tensor(
    known: Known, dims: tuple[int, ...], binding: Mapping[str, int], style: Style, rng: np.random.Generator
) -> np.ndarray:
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(known.element_type))
    size = math.prod(dims)
    if known.fill is not None:
        return np.full(dims, _number(known.fill, binding)).astype(dtype)
    values = _values(known, dtype, size, style, rng)
    for place, element in enumerate(known.elements or ()):
        if element is not None and place < size:
            values[place] = _number(element, binding)
    return values.reshape(dims)


def _number(given: int | float | str, binding: Mapping[str, int]) -> int | float:
    return evaluate(given, binding) if isinstance(given, str) else given


def _values(known: Known, dtype: np.dtype[Any], size: int, style: Style, rng: np.random.Generator) -> np.ndarray:
    """Flat values of which nothing is known but the type, and the range of integers."""
    if dtype.kind == "O":
        return np.asarray(_WORDS[rng.integers(0, len(_WORDS), size)], object)
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    if dtype.kind in "iu" or (dtype.kind == "V" and "int" in dtype.name):
        return _integers(known, dtype, size, style, rng)
    if dtype.kind == "c":
        real, imaginary = (_floats(np.dtype(np.float32), size, style, rng) for _ in range(2))
        return np.asarray(real + 1j * imaginary.astype(np.complex64)).astype(dtype)
    return _floats(dtype, size, style, rng)


def _integers(known: Known, dtype: np.dtype[Any], size: int, style: Style, rng: np.random.Generator) -> np.ndarray:
    low, high = {"usual": (-3, 4), "small": (0, 2), "counts": (1, 4), "special": (-2, 3)}[style]
    values = rng.integers(low, high, size)
    if dtype.kind == "V" or dtype.name.startswith(("int4", "uint4", "int2", "uint2")):
        return np.asarray(np.abs(values) % 2).astype(dtype)
    limits = np.iinfo(dtype)
    if style == "special" and size:
        values = np.resize(np.array([limits.max, limits.min, 0, 1, -1 if limits.min else 2], dtype), size)
        values = rng.permutation(values)
    least = limits.min if known.low is None else max(known.low, limits.min)
    most = limits.max if known.high is None else min(known.high, limits.max)
    if dtype.kind == "u" and style != "special":
        values = np.abs(values)
    return np.clip(values, least, most).astype(dtype)


def _floats(dtype: np.dtype[Any], size: int, style: Style, rng: np.random.Generator) -> np.ndarray:
    if style == "small":
        return rng.random(size).astype(dtype)
    if style == "counts":
        return rng.integers(1, 4, size).astype(dtype)
    values = rng.standard_normal(size).astype(dtype)
    if style == "special" and size:
        special = np.array([-0.0, 0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 6e-8, 3e38, -3e38, 65504.0, 0.5], "f8")
        with np.errstate(over="ignore"):
            special = special.astype(dtype)
        places = rng.permutation(size)[: max(1, size * 3 // 4)]
        values[places] = np.resize(np.roll(special, -int(rng.integers(len(special)))), len(places))
    return values
