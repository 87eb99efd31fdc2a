"""Reference kernels of the operators that look at nothing but a tensor's shape.

They never read elements: `numpy.broadcast_to` of a single element is a fine stand-in for an array of any
shape.
"""

from __future__ import annotations

import numpy as np

from .registry import kernel


@kernel("Size", since=1)
def size(data: np.ndarray) -> np.ndarray:
    """Total number of elements.

    Args:
        data: A tensor of any shape and type. A packed type (int4) counts elements, not bytes.

    Returns:
        An int64 scalar.
    """
    return np.array(data.size, np.int64)


@kernel("Shape", since=1)
def shape_1(data: np.ndarray) -> np.ndarray:
    """The dims.

    Args:
        data: A tensor of any shape and type.

    Returns:
        int64, 1-D, one element for each axis.
    """
    return np.array(data.shape, np.int64)


@kernel("Shape", since=15)
def shape(data: np.ndarray, *, start: int = 0, end: int | None = None) -> np.ndarray:
    """The dims from axis `start` up to, not including, axis `end`.

    Both count from the last axis where negative, and are then clamped to `[0, rank]`; where `start` is not
    below `end`, the result is empty. (The ONNX reference evaluator is wrong for `end` below `-rank`.)

    Args:
        data: A tensor of any shape and type.
        start: The first axis.
        end: The axis after the last one; None stands for the rank.

    Returns:
        int64, 1-D.
    """
    rank = len(data.shape)
    first = _clamp(start, rank)
    last = rank if end is None else _clamp(end, rank)
    return np.array(data.shape[first:last], np.int64)


def _clamp(axis: int, rank: int) -> int:
    return max(0, min(rank, axis + rank if axis < 0 else axis))


CROSS_CHECKED = frozenset({"Size", "Shape"})
"""Operators whose nodes a run accounts for one by one; of those left, kernel and runtime must agree."""
