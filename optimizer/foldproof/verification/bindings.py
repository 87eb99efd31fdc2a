"""The search for a binding that the original admits.

A binding is tried on the original first: where that fails, the contract does not admit it, and the next is tried.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Iterable, Iterator

from .feeds import Plan, Style
from .goals import Goal
from .hints import Hints
from .repairs import repairs
from .signature import Input, keys_of
from .templates import rank_choices, templates

_STYLES: tuple[Style, ...] = ("mixed", "positive", "ones", "length", "zeros", "flat")
# What each style after the first costs: as much as a binding that is rather unlikely.
_STYLE_COST = 6


class Search:
    """The plans for one goal, best first; it learns from what happens to each.

    Args:
        inputs: The model's inputs.
        goal: What is wanted.
        hints: What the graph does with its inputs.
        known: A plan that was admitted for an earlier goal, to start from.
    """

    def __init__(self, inputs: tuple[Input, ...], goal: Goal, hints: Hints, known: Plan | None = None) -> None:
        self._inputs = inputs
        self._pinned = goal.pinned
        self._equal: list[str] = []
        if goal.size == "equal":
            fixed = {*goal.pinned, *(key for hint in hints.values() for key in hint.dims)}
            self._equal = [key for key in keys_of(inputs) if key not in fixed]
        self._queue: list[tuple[int, int, Plan]] = []
        self._costs: dict[tuple[object, ...], int] = {}
        self._order = itertools.count()
        self._goal = goal
        self._hints = hints
        self._is_complete = False
        if known is not None:
            self._start_from(known, goal, {name for name, hint in hints.items() if hint.values})

    def __iter__(self) -> Iterator[Plan]:
        while True:
            # Mostly the first plan will do: all the others are made when it doesn't.
            if not self._is_complete and (not self._queue or self._queue[0][0] > 0):
                self._complete()
            if not self._queue:
                return
            yield heapq.heappop(self._queue)[2]

    def _complete(self) -> None:
        """Puts all plans in the queue that don't start from one that was admitted."""
        self._is_complete = True
        goal = self._goal
        for rank_cost, ranks in rank_choices(self._inputs):
            for cost, dims in templates(self._inputs, goal, ranks, self._hints):
                for step, style in enumerate(_STYLES):
                    plan = Plan(
                        dims, style, goal.values, None, ranks, goal.override, goal.absent, goal.seed, goal.special
                    )
                    self._push(rank_cost + cost + _STYLE_COST * step, plan)
                    if goal.override == "all":
                        self._push(rank_cost + cost + 1, dataclasses.replace(plan, override="floats"))

    def failed(self, plan: Plan, message: str) -> None:
        """Take note that the original fails at `plan`, and of what its message suggests."""
        cost = self._costs[plan.key]
        for extra, other in repairs(plan, message, self._inputs):
            self._push(cost + 1 + extra, other)

    def admitted(self, plan: Plan, stale: Iterable[str], meaningful: bool) -> None:
        """Take note that the original runs at `plan`, which is not yet all that was wanted.

        Args:
            plan: The plan.
            stale: The dims whose sizes other bindings had already.
            meaningful: Whether the outputs have finite numbers.
        """
        if not meaningful:
            self._push(0, dataclasses.replace(plan, style="positive"))
            self._push(0, dataclasses.replace(plan, style="ones"))
        for key in stale:
            size = plan.dims[key]
            for cost, other in enumerate((2 * size, size + 1, 3 * size, size + 32)):
                self._push(cost, dataclasses.replace(plan, dims={**plan.dims, key: other}))

    def _start_from(self, known: Plan, goal: Goal, compared: set[str]) -> None:
        """The pins, style and cap of a plan that was admitted, at this goal's most likely dims.

        Inputs that the graph compares with constants are pinned by the goal alone.
        """
        values = {name: value for name, value in known.values.items() if name not in compared}
        plan = dataclasses.replace(
            known,
            values={**values, **goal.values},
            override=goal.override,
            absent=goal.absent,
            seed=goal.seed,
            special=goal.special,
        )
        if not goal.fresh and goal.size == "apart":
            self._push(0, dataclasses.replace(plan, dims={**known.dims, **goal.pinned}))
        for cost, dims in templates(self._inputs, goal, known.ranks, {}, known.dims):
            if cost <= 2:
                self._push(cost, dataclasses.replace(plan, dims=dims))

    def _push(self, cost: int, plan: Plan) -> None:
        if any(plan.dims.get(key, size) != size for key, size in self._pinned.items()):
            return  # what a message suggested, but a person or the goal wants another size
        if len({plan.dims[key] for key in self._equal if key in plan.dims}) > 1:
            return
        if plan.key not in self._costs:
            self._costs[plan.key] = cost
            heapq.heappush(self._queue, (cost, next(self._order), plan))
