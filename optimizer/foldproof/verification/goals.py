"""What kinds of feeds verification wants to see, so that a wrong rewrite has where to show."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from .feeds import Override
from .hints import Hints
from .signature import Input, keys_of


@dataclasses.dataclass(frozen=True)
class Goal:
    """A kind of feed that verification wants at least one of.

    Attributes:
        size: `ones`: all dims are to be 1. `apart`: none is to be, and each is to have a number of its own. `large`:
            as `apart`, and large enough that what strides and pooling leave of a dim is not 1 either.
        words: What it is, for a person.
        values: Integers that inputs are pinned to, because the graph compares them with these.
        override: Which initializers that are inputs too get values of their own.
        absent: Whether optional inputs hold nothing.
        seed: The seed of the feeds.
        fresh: Whether dims are wanted at sizes that no earlier feed had.
        attempts: How many plans to try at most.
        required: Whether a person is to know where none is admitted.
    """

    size: Literal["ones", "apart", "large"]
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
    if keys_of(inputs) or any(each.is_unranked for each in inputs):
        found = [Goal("ones", "all dims 1", first, seed=seed)]
        found.append(Goal("apart", "dims other than 1, each its own number", first, seed=seed + 1))
    else:
        found = [Goal("apart", f"the static dims with seed {seed + more}", first, seed=seed + more) for more in (0, 1)]
    usual = dataclasses.replace(found[1], seed=seed + 3, fresh=False, attempts=24, required=False)
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
    if any(axis and isinstance(dim, str) for each in inputs for axis, dim in enumerate(each.dims or ())):
        found.append(dataclasses.replace(usual, size="large", words="large dims", attempts=16))
    return found
