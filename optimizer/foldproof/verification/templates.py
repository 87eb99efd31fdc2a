"""Bindings of the symbolic dims to try, in the order in which they are likely to be admitted.

Nothing here knows what a model is for; the shapes of what people export do the rest: the first axis is mostly a
batch, a cache's length and a sequence's add up to a mask's, images come in multiples of 8 to 64, and waveforms are
long.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from .goals import Goal
from .hints import Hints
from .signature import Input

Template = tuple[int, dict[str, int]]
"""How unlikely a binding is (0: the first to try), and the binding."""

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
_EQUAL = (2, 3, 4, 8, 16, 32, 48, 64)
_STEPS = (8, 32, 64)
_LONG = (128, 256, 512, 1024, 4096, 16384)


def rank_choices(inputs: tuple[Input, ...]) -> list[tuple[int, dict[str, int]]]:
    """The ranks to try for the inputs that declare none, each with how unlikely it is."""
    unranked = [each.name for each in inputs if each.is_unranked]
    if not unranked:
        return [(0, {})]
    return [(cost, dict.fromkeys(unranked, rank)) for cost, rank in enumerate((2, 1, 3, 4, 0, 5))]


def templates(
    inputs: tuple[Input, ...],
    goal: Goal,
    ranks: Mapping[str, int],
    hints: Hints,
    known: Mapping[str, int] | None = None,
) -> Iterator[Template]:
    """The bindings for a goal.

    Args:
        inputs: The model's inputs.
        goal: What is wanted.
        ranks: The ranks of inputs that declare none.
        hints: What the graph does with its inputs.
        known: A binding that was admitted.
    """
    leading, rest = _keys(inputs, ranks)
    keys = leading + rest
    if not keys:
        yield 0, {}
        return
    fixed = {key: hint.dims[key] for hint in hints.values() for key in keys if key in hint.dims}
    fixed.update((key, size) for key, size in goal.pinned.items() if key in keys)
    if goal.size == "large":
        found = _large(leading, rest, known or {})
    elif goal.size == "equal":
        found = ((cost, dict.fromkeys(keys, number)) for cost, number in enumerate(_EQUAL[1:]))
    else:
        found = _small(leading, rest, goal.size == "ones")
    for cost, dims in found:
        yield cost, {**dims, **fixed}


def _small(leading: Sequence[str], rest: Sequence[str], ones: bool) -> Iterator[Template]:
    keys = [*leading, *rest]
    base = dict.fromkeys(keys, 1 if ones else 2)
    yield 0, base if ones else dict(zip(keys, itertools.cycle(_PRIMES), strict=False))
    apart = {key: 1 if ones else number for key, number in zip(rest, itertools.cycle(_PRIMES[1:]), strict=False)}
    yield 1, {**base, **apart}
    for sums in _sums(apart):
        yield 2, {**base, **sums}
    for cost, number in enumerate(_EQUAL):
        if not ones:
            yield 3 + cost, dict.fromkeys(keys, number)
        yield 3 + cost, {**base, **dict.fromkeys(rest, number)}
    for step in _STEPS:
        yield 6, {**base, **{key: step * (index + 1) for index, key in enumerate(rest)}}
        yield 7, {**base, **dict.fromkeys(rest[-1:], step)}
    for cost, number in enumerate(_LONG):
        for key in rest or leading:
            yield 6 + cost, {**base, key: number}
        yield 7 + cost, {**base, **dict.fromkeys(rest, number)}


def _large(leading: Sequence[str], rest: Sequence[str], known: Mapping[str, int]) -> Iterator[Template]:
    """Larger sizes than the known ones: multiples of 32, as images need them."""
    base = dict.fromkeys([*leading, *rest], 3)
    apart = {key: 32 * (-(-known.get(key, 1) // 8) + index + 1) for index, key in enumerate(rest)}
    yield 0, {**base, **apart}
    for sums in _sums(apart):
        yield 1, {**base, **sums}
    yield 2, {**base, **dict.fromkeys(rest, max(apart.values(), default=3))}
    yield 3, {key: apart.get(key, known.get(key, 3)) for key in base}


def _sums(apart: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Each dim once as the sum of two others."""
    for target in apart:
        for one, other in itertools.combinations([key for key in apart if key != target], 2):
            yield {**apart, target: apart[one] + apart[other]}


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
