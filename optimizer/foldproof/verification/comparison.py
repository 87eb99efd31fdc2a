"""Comparing what two models hand out: structure, dtypes, shapes and values.

Integers, booleans and strings are compared exactly, but for integers that hang on floats which are nearly equal, see
`margins.py`. Floats are compared bit for bit where only exact rules fired: NaN equals NaN, whatever its payload, and
-0.0 differs from 0.0. Otherwise `a` and `b` may differ by `rtol * |a| + rtol / 10 * scale`, where `scale` is the
largest finite magnitude around (see `magnitude_around`), at least one smallest normal number; NaN and infinities must
still be the same. `rtol` is by the dtype, see `RTOL`. An output that is beyond it may still lie within the original's
own noise, see `noise.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .results import Difference, DifferenceKind

# About a thousand roundings of float32, and a few of the narrower types.
RTOL = {
    np.dtype(np.float64): 1e-7,
    np.dtype(np.complex128): 1e-7,
    np.dtype(np.float32): 1e-4,
    np.dtype(np.complex64): 1e-4,
    np.dtype(np.float16): 5e-3,
    np.dtype(ml_dtypes.bfloat16): 4e-2,
}
_HALF_RTOL = RTOL[np.dtype(np.float16)]
_RTOL_OTHER = 0.25  # 8 bits and fewer
_PIECE = 2**22  # bytes that are compared at once
_ENOUGH = 2  # elements of a slice of which the largest tells the scale
_LEAST = 1e-3  # the least scale of a slice, relative to that of the whole output


@dataclasses.dataclass
class Errors:
    """The largest differences seen so far: absolute, relative, and in units in the last place of the original."""

    absolute: float = 0.0
    relative: float = 0.0
    ulps: float = 0.0


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How to compare.

    Attributes:
        exact: Floats bit for bit; else by tolerance.
        values: Whether values are compared at all; else dtypes and shapes only.
        shapes: Whether shapes are compared; else dtypes only.
        half: Whether wider floats may be made of float16: then its tolerance holds for them.
        slack: What floats may differ by besides, where they are compared by tolerance.
        undecided: Which elements of integers may differ, where floats are compared by tolerance; see `margins.py`.
        unreal: Whether anything may stand where the original gives infinity or NaN, where floats are compared by
            tolerance: real arithmetic, in which both sides are equal, has neither.
    """

    exact: bool = True
    values: bool = True
    shapes: bool = True
    half: bool = False
    slack: np.ndarray | float = 0.0
    undecided: np.ndarray | None = None
    unreal: bool = False

    def differences(self, name: str, original: Any, optimized: Any, errors: Errors) -> Iterator[Difference]:
        """What differs in one output.

        Args:
            name: The output's name.
            original: What the original handed out: an array, a list, a dictionary or None.
            optimized: What the optimized model handed out.
            errors: Takes the largest float differences.
        """
        if isinstance(original, dict) and isinstance(optimized, dict):
            yield from self._mappings(name, original, optimized, errors)
        elif isinstance(original, (list, tuple)) and isinstance(optimized, (list, tuple)):
            yield from self._sequences(name, original, optimized, errors)
        elif (before := _kind_of(original)) != (after := _kind_of(optimized)):
            yield _difference(name, "dtype", f"{before} became {after}", before, after)
        elif original is not None:
            yield from self._arrays(name, np.asarray(original), np.asarray(optimized), errors)

    def _mappings(self, name: str, a: dict[Any, Any], b: dict[Any, Any], errors: Errors) -> Iterator[Difference]:
        if set(a) != set(b):
            keys = sorted(map(str, a)), sorted(map(str, b))
            yield _difference(name, "value" if len(a) == len(b) else "shape", "the keys differ", *keys)
            return
        for key in a:
            yield from self.differences(f"{name}[{key!r}]", a[key], b[key], errors)

    def _sequences(self, name: str, a: Sequence[Any], b: Sequence[Any], errors: Errors) -> Iterator[Difference]:
        if len(a) != len(b):
            if self.shapes:
                detail = f"a sequence of {len(a)} became one of {len(b)}"
                yield _difference(name, "shape", detail, len(a), len(b))
            return
        for index, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from self.differences(f"{name}[{index}]", one, other, errors)

    def _arrays(self, name: str, a: np.ndarray, b: np.ndarray, errors: Errors) -> Iterator[Difference]:
        if _is_text(a) and _is_text(b):
            a, b = a.astype(object), b.astype(object)
        if a.dtype != b.dtype:
            yield _difference(name, "dtype", f"{a.dtype} became {b.dtype}", str(a.dtype), str(b.dtype))
        elif a.shape != b.shape:
            before, after = list(a.shape), list(b.shape)
            if self.shapes:
                yield _difference(name, "shape", f"{before} became {after}", before, after)
        elif self.values:
            yield from self._values(name, a, b, errors)

    def _values(self, name: str, a: np.ndarray, b: np.ndarray, errors: Errors) -> Iterator[Difference]:
        if not _is_text(a) and _is_identical(a, b):
            return
        is_float = _is_float(a.dtype)
        if is_float and self.exact:
            wrong = ~_same_bits(a, b)
        elif is_float:
            wrong = ~_close(a, b, _HALF_RTOL if self.half else 0.0, self.slack)
            if self.unreal:
                wrong &= np.isfinite(a)
        else:
            wrong = np.asarray(a != b, bool)
            if self.undecided is not None and self.undecided.shape == wrong.shape:
                wrong &= ~self.undecided
        differ = bool(wrong.any())
        if not differ and (self.exact or not is_float):
            return
        largest = _measure(a, b, errors) if not _is_text(a) and a.dtype.kind != "b" else None
        if not differ:
            return
        index = tuple(int(each) for each in np.argwhere(wrong)[0])
        one, other = _scalar(a[index]), _scalar(b[index])
        count = int(wrong.sum())
        detail = f"{count} of {a.size} elements differ, first at {list(index)}: {one!r} became {other!r}"
        yield Difference(name, "value", detail, index=index, original=one, optimized=other, max_error=largest)


def _difference(name: str, kind: DifferenceKind, detail: str, original: Any, optimized: Any) -> Difference:
    return Difference(name, kind, detail, original=original, optimized=optimized)


def _kind_of(value: Any) -> str:
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, (list, tuple)):
        return "a sequence"
    return "nothing" if value is None else "a tensor"


def _is_text(array: np.ndarray) -> bool:
    return array.dtype.kind in "OSU"


def _is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype rounds: floats and complex numbers; those of `ml_dtypes` are void to numpy."""
    return dtype.kind in "fc" or (dtype.kind == "V" and "float" in dtype.name)


def _is_identical(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays hold the same bits. It takes hardly any memory, however large they are."""
    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        return False
    one, other = (each.reshape(-1).view(np.uint8) for each in (a, b))
    starts = range(0, one.size, _PIECE)
    return all(np.array_equal(one[start : start + _PIECE], other[start : start + _PIECE]) for start in starts)


def _same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "c":
        return np.asarray(_same_bits(a.real, b.real) & _same_bits(a.imag, b.imag))
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[a.dtype.itemsize]
    same = np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(bits)
    # ascontiguousarray makes a scalar 1-D.
    return np.asarray(np.asarray(same).reshape(a.shape) | (np.isnan(a) & np.isnan(b)))


def _close(a: np.ndarray, b: np.ndarray, least: float = 0.0, slack: np.ndarray | float = 0.0) -> np.ndarray:
    if a.dtype.kind == "c":
        return np.asarray(_close(a.real, b.real, least, slack) & _close(a.imag, b.imag, least, slack))
    rtol = max(RTOL.get(a.dtype, _RTOL_OTHER), least)
    x, y = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(x) & np.isfinite(y)
    scale = np.maximum(magnitude_around(x), float(np.finfo(np.float32).tiny))
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(x - y) <= rtol * np.abs(x) + rtol / 10 * scale + slack
    return np.asarray(np.where(finite, near, (x == y) | (np.isnan(x) & np.isnan(y))))


def magnitude_around(array: np.ndarray) -> np.ndarray:
    """For each element the largest finite magnitude around it.

    That is the least of the largest of the whole array and of each slice that the element lies in, if the slice has
    enough elements and is not all 0: one channel may be far larger than another, and says nothing of it.

    Args:
        array: Floats of any shape.

    Returns:
        Of a shape that broadcasts to that of `array`.
    """
    size = np.where(np.isfinite(array), np.abs(array), 0.0)
    whole = np.max(size, initial=0.0, keepdims=True)
    around = whole
    for axis in range(array.ndim):
        others = tuple(k for k in range(array.ndim) if k != axis)
        if array.shape[axis] > 1 and array.size >= _ENOUGH * array.shape[axis]:
            largest = np.max(size, axis=others, initial=0.0, keepdims=True)
            around = np.minimum(around, np.where(largest > 0, largest, whole))
    return np.asarray(np.maximum(around, _LEAST * whole))


def _measure(a: np.ndarray, b: np.ndarray, errors: Errors) -> float:
    """Take note of the largest differences; the largest absolute one of this output."""
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    finite = np.isfinite(x) & np.isfinite(y)
    if not finite.any():
        return 0.0
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        gap = np.abs(np.where(finite, x - y, 0))
        largest = float(gap.max())
        if largest:
            errors.absolute = max(errors.absolute, largest)
            relative = gap / np.where(np.abs(x) > 0, np.abs(x), 1)
            errors.relative = max(errors.relative, float(np.where(finite, relative, 0).max()))
            if a.dtype.kind == "f" and a.dtype.isbuiltin:
                units = gap / np.spacing(np.abs(np.where(finite, a, 1)).astype(a.dtype)).astype(np.float64)
                errors.ulps = max(errors.ulps, float(np.where(finite, units, 0).max()))
    return largest


def _scalar(value: Any) -> Any:
    """A Python value that prints well."""
    if isinstance(value, np.generic) and value.dtype.kind in "fiub":
        return value.item()
    if isinstance(value, np.generic) and value.dtype.kind == "V":
        return float(value)
    return value if isinstance(value, (str, int, float, bool)) else str(value)
