"""Finding feeds at which the original runs: the bindings that the contract admits."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from foldproof.engines import Engine, EngineError, TimedOut

from .bindings import Search
from .feed_files import binding_of
from .feeds import Plan, TooLarge, make_feeds
from .goals import Goal, goals
from .hints import Hints
from .results import NotAdmitted
from .signature import Input, keys_of

# How many more plans are tried when one was admitted that is not all that was wanted.
_MORE_ATTEMPTS = 12
# The share of the time that the search for bindings may take.
_SEARCH_SHARE = 0.5
# How long a run may take for what is not required, such as large dims.
_OPTIONAL_SECONDS = 1.0
# How many refusals are listed for each goal.
_LISTED = 3


@dataclasses.dataclass(frozen=True)
class Feed:
    """Inputs for one run.

    Attributes:
        binding: The binding that they are at.
        values: The inputs by name.
        source: Where they came from.
        seed: The seed, of generated ones.
    """

    binding: dict[str, int]
    values: dict[str, Any]
    source: str
    seed: int


@dataclasses.dataclass(frozen=True)
class Admitted:
    """A feed at which the original runs, and what it hands out there."""

    feed: Feed
    outputs: list[Any]
    plan: Plan | None = None


class Admission:
    """Runs the original on feeds until all goals are met, as far as they can be.

    Args:
        original: The original, loaded.
        inputs: Its inputs.
        hints: What its graph does with them.
        seed: The seed.
        deadline: When all is over, by `time.monotonic`.

    Attributes:
        refused: Feeds at which the original failed; not all of them.
        notes: What a person should know.
    """

    def __init__(self, original: Engine, inputs: tuple[Input, ...], hints: Hints, seed: int, deadline: float) -> None:
        self._original = original
        self._inputs = inputs
        self._hints = hints
        self._seed = seed
        self._deadline = deadline
        self._bindings: list[dict[str, int]] = []
        self.refused: list[NotAdmitted] = []
        self.notes: list[str] = []

    def given(self, feeds: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[Admitted]:
        """The person's own feeds, where the original runs.

        Args:
            feeds: Each with where it came from.
        """
        for source, values in feeds:
            feed = Feed(binding_of(values, self._inputs), values, source, self._seed)
            try:
                outputs = self._original.run(values, self._left())
            except EngineError as error:
                self.refused.append(NotAdmitted(feed.binding, error.brief, source))
                self.notes.append(f"the original fails on {source}: {error.brief}")
                continue
            yield Admitted(feed, outputs)

    def generated(self) -> Iterator[Admitted]:
        """Feeds that are made up, at least one for each goal where any is admitted."""
        planned = goals(self._inputs, self._hints, self._seed)
        until = time.monotonic() + self._left() * _SEARCH_SHARE
        known: Plan | None = None
        for index, goal in enumerate(planned):
            if index and self._left() <= 0:
                self.notes.append(f"the time limit was reached before: {goal.words}")
                break
            share = time.monotonic() + max(until - time.monotonic(), 0) / (len(planned) - index)
            found = self._search(Search(self._inputs, goal, self._hints, known), goal, share)
            if not found and goal.required:
                self.notes.append(f"no feed was admitted for: {goal.words}")
            for each in found:
                known = each.plan
                self._bindings.append(each.feed.binding)
                yield each
        self._note_sizes()

    def _left(self) -> float:
        return self._deadline - time.monotonic()

    def _search(self, search: Search, goal: Goal, until: float) -> list[Admitted]:
        """The best feed for a goal of those tried within the limits; before it the first, if another."""
        found: list[Admitted] = []
        best = (-1, -1.0)
        limit = goal.attempts
        listed = len(self.refused) + _LISTED
        for attempt, plan in enumerate(search):
            if attempt >= limit or (attempt and time.monotonic() > until):
                break
            try:
                feed = self._make(plan)
                seconds = self._left() if goal.required else min(self._left(), _OPTIONAL_SECONDS)
                outputs = self._original.run(feed.values, seconds)
            except (TooLarge, NotImplementedError) as error:
                self._refuse(plan, str(error), listed)
                continue
            except TimedOut:
                if goal.required:
                    self.notes.append(f"the original was stopped at the time limit, at {dict(plan.dims)}")
                break
            except EngineError as error:
                self._refuse(plan, error.brief, listed)
                search.failed(plan, str(error))
                continue
            stale = self._stale(feed.binding) if goal.fresh else []
            meaning = _meaning(outputs)
            score = len(feed.binding) - len(stale), meaning
            if score > best:
                limit = min(limit, attempt + _MORE_ATTEMPTS) if not found else limit
                found, best = [*found[:1], Admitted(feed, outputs, plan)], score
            if not stale and meaning == 1:
                break
            search.admitted(plan, stale, meaning == 1)
        return found

    def _make(self, plan: Plan) -> Feed:
        values = make_feeds(self._inputs, plan, self._hints)
        source = "generated" if plan.override == "no" else "generated, other values of the initializers too"
        return Feed(dict(plan.dims), values, source, plan.seed)

    def _refuse(self, plan: Plan, reason: str, listed: int) -> None:
        if len(self.refused) < listed:
            self.refused.append(NotAdmitted(dict(plan.dims), reason))

    def _stale(self, binding: dict[str, int]) -> list[str]:
        """The dims whose sizes an earlier binding had."""
        return [key for key, size in binding.items() if any(each.get(key) == size for each in self._bindings)]

    def _note_sizes(self) -> None:
        keys = keys_of(self._inputs)
        fixed = [key for key in keys if len({each.get(key) for each in self._bindings}) == 1]
        if self._bindings and fixed:
            self.notes.append(f"only one size was admitted of: {', '.join(fixed)}")


def _meaning(outputs: list[Any]) -> float:
    """The share of the float outputs that have a finite element at all.

    Where all are NaN or infinite, they compare as equal whatever was computed.
    """
    floats = [each for each in outputs if isinstance(each, np.ndarray) and each.dtype.kind == "f" and each.size]
    return sum(bool(np.isfinite(each).any()) for each in floats) / len(floats) if floats else 1.0
