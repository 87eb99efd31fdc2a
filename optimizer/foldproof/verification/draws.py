"""Whether what is random in the original is still random: a draw that is lost, or made twice of one, shows by that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from .comparison import Comparison, Errors

_RUNS = 16
"""So often a model is run at least: what is random by the toss of a coin is hardly ever the same so many times."""
_CHANGES = 12
"""So often an output of the original has to change from run to run, for its sameness in the other to prove anything."""
_MAX_RUNS = 64
"""An original that changes now and then is run so often at most: sessions draw from seeds that follow each other, and
the first elements drawn of such seeds are much alike."""

Outputs = Mapping[str, Any]


def settled(
    names: Collection[str], original: Callable[[], Outputs], optimized: Callable[[], Outputs]
) -> dict[str, tuple[Any, Any]]:
    """The outputs that change again and again in the original, and are the same in as many runs of the optimized model.

    Args:
        names: The outputs that random operators reach.
        original: Runs the original once more, on the same feed.
        optimized: Runs the optimized model once more.

    Returns:
        For each such output what the two models gave last.
    """
    after = _Series(names, optimized)
    after.run(_RUNS, while_any=lambda: after.constant)
    if not after.constant:
        return {}
    before = _Series(after.constant, original)
    before.run(_RUNS)
    before.run(_MAX_RUNS, while_any=lambda: {name for name in before.changed if before.changes[name] < _CHANGES})
    found = {name for name in before.changed if before.changes[name] >= _CHANGES}
    after.run(before.runs, while_any=lambda: after.constant & found)
    return {name: (before.last[name], after.last[name]) for name in sorted(after.constant & found)}


class _Series:
    """Successive runs of one model on one feed.

    Attributes:
        runs: How many there were.
        changes: How often each output was another than the run before.
        last: The outputs of the last run.
    """

    def __init__(self, names: Collection[str], run: Callable[[], Outputs]) -> None:
        self._run = run
        self.runs = 0
        self.changes = dict.fromkeys(names, 0)
        self.last: Outputs = {}

    @property
    def constant(self) -> set[str]:
        """The outputs that never changed."""
        return {name for name, changes in self.changes.items() if not changes}

    @property
    def changed(self) -> set[str]:
        """The outputs that did."""
        return self.changes.keys() - self.constant

    def run(self, runs: int, while_any: Callable[[], Collection[str]] | None = None) -> None:
        """Runs the model until it ran so often, or until a set that changes on the way is empty."""
        while self.runs < runs and (while_any is None or while_any()):
            outputs = self._run()
            for name in self.changes if self.runs else ():
                self.changes[name] += not _is_same(self.last[name], outputs[name])
            self.last = outputs
            self.runs += 1


def _is_same(a: Any, b: Any) -> bool:
    is_empty = isinstance(a, np.ndarray) and a.size == 0
    return is_empty or not any(Comparison().differences("", a, b, Errors()))
