"""Which bindings of the symbolic dims to try, and in which order.

A binding is tried on the original first: where that fails, the contract does not admit it, and the next is tried. Nothing here knows what a
model is for; the shapes of what people export do the rest: the first axis is mostly a batch, a cache's length and a sequence's add up
to a mask's, images come in multiples of 8 to 64, and waveforms are long.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence

from .feeds import STYLES, Plan
from .hints import Hints
from .repairs import repairs
from .signature import Input, keys_of

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
_EQUAL = (2, 3, 4, 8, 16, 32, 48, 64)
_LONG = (128, 256, 512, 1024, 4096, 16384)


@dataclasses.dataclass(frozen=True)
class Goal:
    """A kind of binding that verification wants at least one of.

    Attributes:
        name: `ones`: all dims 1; `distinct`: none is 1, each its own number.
        values: Integers that inputs are pinned to, because the graph compares them with these.
        seed: The seed of the feeds.
        override: Whether initializers that are inputs too get values of their own.
    """

    name: str
    values: Mapping[str, int] = dataclasses.field(default_factory=dict)
    seed: int = 0
    override: bool = False


class Search:
    """The plans for one goal, best first; it learns from each failure.

    Args:
        inputs: The model's inputs.
        goal: What is wanted.
        hints: What the graph does with its inputs.
        known: A plan that was admitted for an earlier goal, to start from.
    """

    def __init__(self, inputs: tuple[Input, ...], goal: Goal, hints: Hints, known: Plan | None = None) -> None:
        self._inputs = inputs
        self._queue: list[tuple[int, int, Plan]] = []
        self._seen: set[tuple[object, ...]] = set()
        self._order = itertools.count()
        self._cost: dict[tuple[object, ...], int] = {}
        ranks = _rank_choices(inputs)
        for rank_cost, chosen in ranks:
            for cost, dims in _templates(inputs, goal, chosen, hints):
                for style_cost, style in enumerate(STYLES):
                    plan = Plan(dims, style, goal.values, None, chosen, goal.override, goal.seed)
                    self._push(rank_cost + cost + 6 * style_cost, plan)
        if known is not None:
            self._start_from(known, goal)

    def __iter__(self) -> Iterator[Plan]:
        while self._queue:
            yield heapq.heappop(self._queue)[2]

    def failed(self, plan: Plan, message: str) -> None:
        """Take note that the original fails at `plan`, and of what its message suggests."""
        cost = self._cost[plan.key]
        for extra, other in repairs(plan, message, self._inputs):
            self._push(cost + 1 + extra, other)

    def _start_from(self, known: Plan, goal: Goal) -> None:
        """The same pins, style and cap as in a plan that was admitted, at the most likely dims of this goal."""
        for cost, dims in _templates(self._inputs, goal, known.ranks, {}):
            if cost <= 2:
                plan = dataclasses.replace(known, dims=dims, seed=goal.seed, override=goal.override)
                self._push(cost, dataclasses.replace(plan, values={**known.values, **goal.values}))

    def _push(self, cost: int, plan: Plan) -> None:
        if plan.key in self._seen:
            return
        self._seen.add(plan.key)
        self._cost[plan.key] = cost
        heapq.heappush(self._queue, (cost, next(self._order), plan))


def goals(inputs: tuple[Input, ...], hints: Hints, seed: int) -> list[Goal]:
    """What verification wants to see admitted, in this order."""
    compared = {each.name: hints[each.name].values for each in inputs if each.name in hints and hints[each.name].values}
    first = {name: values[0] for name, values in compared.items()}
    if keys_of(inputs) or any(each.dims is None and each.kind == "tensor" for each in inputs):
        found = [Goal("ones", first, seed), Goal("distinct", first, seed + 1)]
    else:
        found = [Goal("static", first, seed), Goal("static", first, seed + 1)]
    for name, values in compared.items():
        found += [Goal(found[-1].name, {**first, name: value}, seed + 2) for value in values[1:3]]
    if any(each.default is not None for each in inputs):
        found.append(dataclasses.replace(found[1], seed=seed + 3, override=True))
    return found


def _rank_choices(inputs: tuple[Input, ...]) -> list[tuple[int, dict[str, int]]]:
    """The ranks to try for the inputs that declare none."""
    unranked = [each.name for each in inputs if each.kind == "tensor" and each.dims is None]
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
    """Bindings with how unlikely each is."""
    leading, rest = _keys(inputs, ranks)
    keys = leading + rest
    fixed = hints_for_dims(hints, keys)
    ones = goal.name == "ones"
    batch = 1 if ones else 2

    def complete(dims: dict[str, int]) -> dict[str, int]:
        return {**{key: dims.get(key, batch) for key in keys}, **fixed}

    def numbers(count: int) -> Sequence[int]:
        return [1] * count if ones else list(itertools.islice(itertools.cycle(_PRIMES), 1, count + 1))

    if not keys:
        yield 0, {}
        return
    if ones:
        yield 0, complete({})
    else:
        yield 0, complete(dict(zip(keys, itertools.cycle(_PRIMES))))
    apart = dict(zip(rest, numbers(len(rest))))
    yield 1, complete(apart)
    for target in rest:
        for one, other in itertools.combinations([key for key in rest if key != target], 2):
            yield 2, complete({**apart, target: apart[one] + apart[other]})
    for cost, number in enumerate(_EQUAL):
        if not ones:
            yield 3 + cost, dict.fromkeys(keys, number) | fixed
        yield 3 + cost, complete(dict.fromkeys(rest, number))
    for step in (8, 32, 64):
        yield 6, complete({key: step * (index + 1) for index, key in enumerate(rest)})
        yield 7, complete({key: step for key in rest[-1:]})
    for cost, number in enumerate(_LONG):
        for key in rest or leading:
            yield 6 + cost, complete({key: number})
        yield 7 + cost, complete(dict.fromkeys(rest, number))


def hints_for_dims(hints: Hints, keys: Sequence[str]) -> dict[str, int]:
    """The dims that the graph's own weights prescribe."""
    return {key: hint.dims[key] for hint in hints.values() for key in keys if key in hint.dims}
