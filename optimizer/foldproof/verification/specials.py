"""Numbers at which wrong rewrites show, and what is usual does not: put here and there among the values of a feed."""

from __future__ import annotations

from typing import Literal

import ml_dtypes
import numpy as np

Special = Literal["no", "small", "infinite", "largest"]
"""Which numbers are put among the usual ones.

- `small`: zeros of both signs, and denormal numbers; of signed integers negative ones.
- `infinite`: infinities of both signs, and NaN.
- `largest`: the largest and the least finite number of the type; the same for integers. What is equal in real
  arithmetic need not be equal there.
"""

_FLOATS = [np.dtype(each) for each in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)]
# One of so many elements is replaced; of few elements up to a half, so that all special numbers have a place.
_SHARE = 8


def sprinkle(values: np.ndarray, special: Special, rng: np.random.Generator) -> np.ndarray:
    """The values with special numbers among them.

    Args:
        values: Floats or integers, of the types of numpy or of `ml_dtypes`.
        special: Which.
        rng: Decides on the places.
    """
    numbers = _numbers(values.dtype, special)
    if values.size == 0 or numbers is None:
        return values
    count = max(values.size // _SHARE, min(len(numbers), -(-values.size // 2)))
    flat = values.reshape(-1).copy()
    places = rng.choice(values.size, count, replace=False)
    # The first one is not always the same where there is room for one alone.
    flat[places] = np.resize(np.roll(numbers, int(rng.integers(len(numbers)))), count)
    return flat.reshape(values.shape)


def _numbers(dtype: np.dtype, special: Special) -> np.ndarray | None:
    """The special numbers of a type; None where it has none of them."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if special == "largest":
            return np.array([limits.min, limits.max, 0], dtype)
        return np.array([-1, -5, 3, -2], dtype) if special == "small" and dtype.kind == "i" else None
    if dtype not in _FLOATS or special == "no":
        return None
    info = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    if special == "small":
        least = info.smallest_subnormal
        # Of any three in a row two are the zeros: where there is room for few, the others are left out.
        return np.array([-0.0, 0.0, least, -0.0, 0.0, -least, -0.0, 0.0, info.tiny], dtype)
    if special == "infinite":
        return np.array([np.inf, np.nan, -np.inf], dtype)
    return np.array([info.max, info.min], dtype)
