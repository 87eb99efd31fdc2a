"""The feeds at which the original runs, found once and kept for all that it is compared with."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from foldproof.engines import Engine, EngineError

from .admission import Admitted, Feed

# What the original hands out is kept up to so many bytes in all; of the rest it is asked again.
_KEPT = 256 * 2**20


@dataclasses.dataclass(frozen=True)
class Trial:
    """A feed at which the original runs.

    Attributes:
        number: Its number, from 0.
        feed: The feed.
        outputs: What the original hands out, by name.
    """

    number: int
    feed: Feed
    outputs: dict[str, Any]


class Trials:
    """Finds trials one by one, and gives the same ones each time.

    Args:
        original: The original, loaded.
        found: Where new ones come from.
    """

    def __init__(self, original: Engine, found: Iterator[Admitted]) -> None:
        self._original = original
        self._found = found
        self._feeds: list[Feed] = []
        self._kept: dict[int, dict[str, Any]] = {}
        self._left = _KEPT

    def again(self, seconds: float, only: Collection[int] | None = None) -> Iterator[Trial]:
        """All of them from the first, or those of some numbers; left out are those at which the original fails now.

        Args:
            seconds: The time limit for the original, where it has to be asked again.
            only: The numbers.
        """
        for number in itertools.count() if only is None else range(max(only, default=-1) + 1):
            if number == len(self._feeds):
                new = next(self._found, None)
                if new is None:
                    return
                self._feeds.append(new.feed)
                outputs = dict(zip(self._original.outputs, new.outputs, strict=True))
                self._keep(number, outputs)
            elif only is not None and number not in only:
                continue
            elif number in self._kept:
                outputs = self._kept[number]
            else:
                try:
                    values = self._original.run(self._feeds[number].values, seconds)
                except EngineError:
                    continue
                outputs = dict(zip(self._original.outputs, values, strict=True))
            if only is None or number in only:
                yield Trial(number, self._feeds[number], outputs)

    def _keep(self, number: int, outputs: dict[str, Any]) -> None:
        size = sum(_bytes_of(each) for each in outputs.values())
        if size <= self._left:
            self._left -= size
            self._kept[number] = outputs


def _bytes_of(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(map(_bytes_of, value.values()))
    return sum(map(_bytes_of, value)) if isinstance(value, (list, tuple)) else 64
