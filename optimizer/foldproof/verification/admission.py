"""Finding feeds at which the original runs: the bindings that the contract admits."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from foldproof.dims import binding_text
from foldproof.engines import Died, Engine, EngineError, Killed, TimedOut

from .bindings import Search
from .clock import Clock
from .feed_files import binding_of
from .feeds import Plan, TooLarge, make_feeds
from .goals import Bindings, Goal, goals
from .hints import Hints
from .results import NotAdmitted
from .signature import Input, keys_of
from .specials import Special

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is done next, and how many of how many steps were done."""

# How many more plans are tried when one was admitted that is not all that was wanted.
_MORE_ATTEMPTS = 12
# The share of the time that the search for bindings may take.
_SEARCH_SHARE = 0.5
# How long a run may take for what is not required, such as large dims (seconds); or which part of the time limit, where
# that is more and the run is expected to take no longer.
_OPTIONAL_SECONDS = 1.0
_OPTIONAL_SHARE = 0.05
# A run is given so many times what it is expected to take.
_PATIENCE = 3.0
# How many refusals are listed for each goal.
_LISTED = 3
# After so many deaths of the process in which the original runs, nothing more is tried that may bring on another.
_DEATHS = 2


@dataclasses.dataclass(frozen=True)
class Feed:
    """Inputs for one run.

    Attributes:
        binding: The binding that they are at.
        values: The inputs by name.
        source: Where they came from.
        seed: The seed, of generated ones.
        special: The special numbers among them.
    """

    binding: dict[str, int]
    values: dict[str, Any]
    source: str
    seed: int
    special: Special = "no"


@dataclasses.dataclass(frozen=True)
class Admitted:
    """A feed at which the original runs, what it hands out there, and how long that took."""

    feed: Feed
    outputs: list[Any]
    plan: Plan | None = None
    seconds: float = 0.0


class Admission:
    """Runs the original on feeds until all goals are met, as far as they can be.

    Args:
        original: The original, loaded.
        inputs: Its inputs.
        hints: What its graph does with them.
        seed: The seed.
        clock: How much time there is.
        bindings: The sizes that a person asks for.
        progress: Is told of each goal.

    Attributes:
        refused: Feeds at which the original failed; not all of them.
        notes: What a person should know.
    """

    def __init__(
        self,
        original: Engine,
        inputs: tuple[Input, ...],
        hints: Hints,
        seed: int,
        clock: Clock,
        bindings: Bindings | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._original = original
        self._inputs = inputs
        self._hints = hints
        self._seed = seed
        self._clock = clock
        self._asked = bindings
        self._progress = progress
        self._bindings: list[dict[str, int]] = []
        self._deaths = 0
        self.refused: list[NotAdmitted] = []
        self.notes: list[str] = []

    def given(self, feeds: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[Admitted]:
        """The person's own feeds, where the original runs.

        Args:
            feeds: Each with where it came from.
        """
        for number, (source, values) in enumerate(feeds):
            self._tell(source, number, len(feeds))
            feed = Feed(binding_of(values, self._inputs), values, source, self._seed)
            try:
                outputs = self._run(values, self._clock.for_a_run)
            except EngineError as error:
                self.refused.append(NotAdmitted(feed.binding, error.brief, source))
                self.notes.append(f"the original fails on {source}: {error.brief}")
                continue
            yield Admitted(feed, outputs)

    def generated(self) -> Iterator[Admitted]:
        """Feeds that are made up, at least one for each goal where any is admitted."""
        planned = goals(self._inputs, self._hints, self._seed, self._asked)
        usual: list[Admitted] = []
        too_long: list[str] = []
        for index, goal in enumerate(planned):
            if index and self._clock.left <= 0:
                self.notes.append(f"the time limit was reached before: {goal.words}")
                break
            if goal.risky and (not usual or self._deaths >= _DEATHS):
                continue
            start = self._start(usual, goal)
            is_empty = 0 in goal.pinned.values()
            if start is not None and not goal.required and not is_empty and start.seconds > self._optional:
                too_long.append(goal.words)
                continue
            self._tell(goal.words, index, len(planned))
            until = self._clock.share(_SEARCH_SHARE / (len(planned) - index))
            found = self._search(goal, start, until)
            if not found and (goal.required or self._asked):
                self._note_refusal(goal)
            for each in found:
                if goal.size in ("ones", "apart") and goal.special == "no" and not goal.risky:
                    usual.append(each)
                self._bindings.append(each.feed.binding)
                yield each
        if too_long:
            self.notes.append(f"a run takes so long that none was made for: {'; '.join(too_long)}")
        self._note_sizes()

    def _tell(self, words: str, done: int, steps: int) -> None:
        if self._progress is not None:
            self._progress(words, done, steps)

    @property
    def _optional(self) -> float:
        """The seconds that a run may be expected to take that is not required."""
        return max(_OPTIONAL_SECONDS, _OPTIONAL_SHARE * self._clock.limit)

    def _start(self, usual: Sequence[Admitted], goal: Goal) -> Admitted | None:
        """What to start the search for a goal from: what was admitted last, or what took least where that is long."""
        if not usual:
            return None
        last = usual[-1]
        is_long = not goal.required and last.seconds > _OPTIONAL_SECONDS
        return min(usual, key=lambda each: each.seconds) if is_long else last

    def _search(self, goal: Goal, start: Admitted | None, until: float) -> list[Admitted]:
        """The best feed for a goal of those tried within the limits; before it the first, if another."""
        search = Search(self._inputs, goal, self._hints, None if start is None else start.plan)
        optional = max(_OPTIONAL_SECONDS, 0.0 if start is None else _PATIENCE * start.seconds)
        found: list[Admitted] = []
        best = (-1, -1.0)
        limit = goal.attempts
        listed = len(self.refused) + (_LISTED if goal.required else 1)
        for attempt, plan in enumerate(search):
            if attempt >= limit or (attempt and (time.monotonic() > until or self._clock.is_out_of_patience)):
                break
            try:
                feed = self._make(plan)
                most = self._clock.for_a_run if goal.required else min(self._clock.left, optional)
                began = time.monotonic()
                outputs = self._run(feed.values, most)
                seconds = time.monotonic() - began
            except (TooLarge, NotImplementedError) as error:
                self._refuse(plan, str(error), listed)
                continue
            except TimedOut:
                if goal.required:
                    self.notes.append(f"the original was stopped at the time limit, at {binding_text(plan.dims)}")
                break
            except (Died, Killed) as error:
                self._deaths += 1
                self._refuse(plan, error.brief, listed)
                self.notes.append(f"the original is not run at {binding_text(plan.dims)}: {error.brief}")
                if not goal.required:
                    break  # To start another process takes long, and most likely it would die as well.
                continue
            except EngineError as error:
                self._refuse(plan, error.brief, listed)
                search.failed(plan, str(error))
                continue
            stale = self._stale(feed.binding) if goal.fresh else []
            meaning = 1.0 if goal.risky or goal.special != "no" else _meaning(outputs)
            score = len(feed.binding) - len(stale), meaning
            if score > best:
                limit = min(limit, attempt + _MORE_ATTEMPTS) if not found else limit
                found, best = [*found[:1], Admitted(feed, outputs, plan, seconds)], score
            if not stale and meaning == 1:
                break
            search.admitted(plan, stale, meaning == 1)
        return found

    def _run(self, values: dict[str, Any], seconds: float) -> list[Any]:
        """What the original hands out."""
        began = time.monotonic()
        try:
            return self._original.run(values, seconds)
        except EngineError as error:
            self._clock.lost(time.monotonic() - began, error)
            raise

    def _make(self, plan: Plan) -> Feed:
        values = make_feeds(self._inputs, plan, self._hints)
        source = "generated"
        if plan.override != "no":
            source += ", other values of the initializers too"
        if plan.special != "no":
            source += f", {plan.special} numbers among them"
        return Feed(dict(plan.dims), values, source, plan.seed, plan.special)

    def _refuse(self, plan: Plan, reason: str, listed: int) -> None:
        if len(self.refused) < listed:
            self.refused.append(NotAdmitted(dict(plan.dims), reason))

    def _note_refusal(self, goal: Goal) -> None:
        reason = f": {self.refused[-1].error}" if self._asked and self.refused else ""
        self.notes.append(f"no feed was admitted for: {goal.words}{reason}")

    def _stale(self, binding: dict[str, int]) -> list[str]:
        """The dims whose sizes an earlier binding had."""
        return [key for key, size in binding.items() if any(each.get(key) == size for each in self._bindings)]

    def _note_sizes(self) -> None:
        keys = [key for key in keys_of(self._inputs) if key not in (self._asked or {})]
        fixed = [key for key in keys if len({each.get(key) for each in self._bindings} - {0}) == 1]
        if self._bindings and fixed:
            self.notes.append(f"only one size was admitted of: {', '.join(fixed)}")


def _meaning(outputs: list[Any]) -> float:
    """The share of the float outputs that have a finite element at all.

    Where all are NaN or infinite, they compare as equal whatever was computed.
    """
    floats = [each for each in outputs if isinstance(each, np.ndarray) and each.dtype.kind == "f" and each.size]
    return sum(bool(np.isfinite(each).any()) for each in floats) / len(floats) if floats else 1.0
