"""Whether what is random in the original is still random: a draw that is lost, or made twice of one, shows by that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from .comparison import Comparison, Errors

_RUNS = 16
"""So often a model is run: what is random by the toss of a coin is hardly ever the same so many times."""

Outputs = Mapping[str, Any]


def settled(
    names: Collection[str], original: Callable[[], Outputs], optimized: Callable[[], Outputs]
) -> dict[str, tuple[Any, Any]]:
    """The outputs that are mostly others in each run of the original, and the same in all runs of the optimized model.

    Args:
        names: The outputs that random operators reach.
        original: Runs the original once more, on the same feed.
        optimized: Runs the optimized model once more.

    Returns:
        For each such output what the two models gave last.
    """
    constant = set(names)
    first: Outputs = optimized() if constant else {}
    last = first
    for _ in range(_RUNS - 1):
        if not constant:
            return {}
        last = optimized()
        constant -= {name for name in constant if not _is_same(first[name], last[name])}
    before = original() if constant else {}
    varied = dict.fromkeys(constant, 0)
    for _ in range(_RUNS - 1 if constant else 0):
        after = original()
        for name in constant:
            varied[name] += not _is_same(before[name], after[name])
        before = after
    return {name: (before[name], last[name]) for name in sorted(constant) if 2 * varied[name] >= _RUNS}


def _is_same(a: Any, b: Any) -> bool:
    is_empty = isinstance(a, np.ndarray) and a.size == 0
    return is_empty or not any(Comparison().differences("", a, b, Errors()))
