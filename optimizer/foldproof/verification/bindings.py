"""Which bindings of the symbolic dims to try, and in which order.

A binding is tried on the original first: where that fails, the contract does not admit it, and the next is
tried. Nothing here knows what a model is for; the shapes of what people export do the rest: the first axis is
mostly a batch, a cache's length and a sequence's add up to a mask's, images come in multiples of 8 to 64, and
waveforms are long.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .feeds import Override, Plan, Style
from .hints import Hints
from .repairs import repairs
from .signature import Input, keys_of

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
_EQUAL = (2, 3, 4, 8, 16, 32, 48, 64)
_STEPS = (8, 32, 64)
_LONG = (128, 256, 512, 1024, 4096, 16384)
_STYLES: tuple[Style, ...] = ("mixed", "ones", "length", "zeros")
# What each style after the first costs: as much as a binding that is rather unlikely.
_STYLE_COST = 6


@dataclasses.dataclass(frozen=True)
class Goal:
    """A kind of feed that verification wants at least one of.

    Attributes:
        ones: Whether all dims are to be 1; else none is to be, and each is to have a number of its own.
        words: What it is, for a person.
        values: Integers that inputs are pinned to, because the graph compares them with these.
        override: Which initializers that are inputs too get values of their own.
        absent: Whether optional inputs hold nothing.
        seed: The seed of the feeds.
        fresh: Whether dims are wanted at sizes that no earlier feed had.
        attempts: How many plans to try at most.
        required: Whether a person is to know where none is admitted.
    """

    ones: bool
    words: str
    values: Mapping[str, int] = dataclasses.field(default_factory=dict)
    override: Override = "no"
    absent: bool = False
    seed: int = 0
    fresh: bool = True
    attempts: int = 160
    required: bool = True


def goals(inputs: tuple[Input, ...], hints: Hints, seed: int) -> list[Goal]:
    """What verification wants to see admitted, in this order."""
    compared = {each.name: hints[each.name].values for each in inputs if each.name in hints}
    first = {name: values[0] for name, values in compared.items() if values}
    if keys_of(inputs) or any(_is_unranked(each) for each in inputs):
        found = [Goal(True, "all dims 1", first, seed=seed)]
        found.append(Goal(False, "dims other than 1, each its own number", first, seed=seed + 1))
    else:
        found = [
            Goal(False, f"the static dims with seed {seed + more}", first, seed=seed + more)
            for more in (0, 1)
        ]
    usual = dataclasses.replace(found[1], seed=seed + 2, fresh=False, attempts=24, required=False)
    for name, values in compared.items():
        for value in values[1:3]:
            pinned = {**first, name: value}
            found.append(dataclasses.replace(usual, words=f"{name} = {value}", values=pinned, required=True))
        if values:
            others = {other: value for other, value in first.items() if other != name}
            words = f"{name} other than {' or '.join(map(str, values))}"
            found.append(dataclasses.replace(usual, words=words, values=others))
    if any(each.default is not None for each in inputs):
        words = "other values of the initializers that are inputs"
        found.append(dataclasses.replace(usual, words=words, override="all", required=True))
    if any(each.kind == "optional" for each in inputs):
        found.append(dataclasses.replace(usual, words="optional inputs that hold nothing", absent=True))
    return found


class Search:
    """The plans for one goal, best first; it learns from what happens to each.

    Args:
        inputs: The model's inputs.
        goal: What is wanted.
        hints: What the graph does with its inputs.
        known: A plan that was admitted for an earlier goal, to start from.
    """

    def __init__(
        self, inputs: tuple[Input, ...], goal: Goal, hints: Hints, known: Plan | None = None
    ) -> None:
        self._inputs = inputs
        self._queue: list[tuple[int, int, Plan]] = []
        self._costs: dict[tuple[object, ...], int] = {}
        self._order = itertools.count()
        if known is not None:
            self._start_from(known, goal, {name for name, hint in hints.items() if hint.values})
        for rank_cost, ranks in _rank_choices(inputs):
            for cost, dims in _templates(inputs, goal, ranks, hints):
                for step, style in enumerate(_STYLES):
                    plan = Plan(dims, style, goal.values, None, ranks, goal.override, goal.absent, goal.seed)
                    self._push(rank_cost + cost + _STYLE_COST * step, plan)
                    if goal.override == "all":
                        self._push(rank_cost + cost + 1, dataclasses.replace(plan, override="floats"))

    def __iter__(self) -> Iterator[Plan]:
        while self._queue:
            yield heapq.heappop(self._queue)[2]

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
        )
        if not goal.fresh:
            self._push(0, plan)
        for cost, dims in _templates(self._inputs, goal, known.ranks, {}):
            if cost <= 2:
                self._push(cost, dataclasses.replace(plan, dims=dims))

    def _push(self, cost: int, plan: Plan) -> None:
        if plan.key not in self._costs:
            self._costs[plan.key] = cost
            heapq.heappush(self._queue, (cost, next(self._order), plan))


def _is_unranked(each: Input) -> bool:
    return each.kind == "tensor" and each.dims is None


def _rank_choices(inputs: tuple[Input, ...]) -> list[tuple[int, dict[str, int]]]:
    """The ranks to try for the inputs that declare none, each with how unlikely it is."""
    unranked = [each.name for each in inputs if _is_unranked(each)]
    if not unranked:
        return [(0, {})]
    return [(cost, dict.fromkeys(unranked, rank)) for cost, rank in enumerate((2, 1, 3, 4, 0, 5))]


def _keys(inputs: tuple[Input, ...], ranks: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """The dims that are first axes of something, and all others."""
    leading: dict[str, None] = {}
    others: dict[str, None] = {}
    for each in inputs:
        holder = each
        while holder.inner is not None:
            holder = holder.inner
        dims = holder.dims
        if dims is None:
            dims = tuple(f"{each.name}:{axis}" for axis in range(ranks.get(each.name, 0)))
        for axis, dim in enumerate(dims):
            if isinstance(dim, str):
                (leading if axis == 0 else others)[dim] = None
    return list(leading), [key for key in others if key not in leading]


def _templates(
    inputs: tuple[Input, ...], goal: Goal, ranks: Mapping[str, int], hints: Hints
) -> Iterator[tuple[int, dict[str, int]]]:
    """Bindings, each with how unlikely it is."""
    leading, rest = _keys(inputs, ranks)
    keys = leading + rest
    if not keys:
        yield 0, {}
        return
    fixed = _prescribed(hints, keys)
    batch = 1 if goal.ones else 2

    def complete(dims: Mapping[str, int]) -> dict[str, int]:
        return {**dict.fromkeys(keys, batch), **dims, **fixed}

    primes = itertools.cycle(_PRIMES)
    yield 0, complete({} if goal.ones else {key: next(primes) for key in keys})
    apart = {key: 1 if goal.ones else _PRIMES[1:][index % 14] for index, key in enumerate(rest)}
    yield 1, complete(apart)
    for target in rest:
        for one, other in itertools.combinations([key for key in rest if key != target], 2):
            yield 2, complete({**apart, target: apart[one] + apart[other]})
    for cost, number in enumerate(_EQUAL):
        if not goal.ones:
            yield 3 + cost, complete(dict.fromkeys(keys, number))
        yield 3 + cost, complete(dict.fromkeys(rest, number))
    for step in _STEPS:
        yield 6, complete({key: step * (index + 1) for index, key in enumerate(rest)})
        yield 7, complete(dict.fromkeys(rest[-1:], step))
    for cost, number in enumerate(_LONG):
        for key in rest or leading:
            yield 6 + cost, complete({key: number})
        yield 7 + cost, complete(dict.fromkeys(rest, number))


def _prescribed(hints: Hints, keys: Sequence[str]) -> dict[str, int]:
    """The dims that the graph's own weights prescribe."""
    return {key: hint.dims[key] for hint in hints.values() for key in keys if key in hint.dims}
