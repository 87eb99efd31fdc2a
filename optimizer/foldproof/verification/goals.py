"""What kinds of feeds verification wants to see, so that a wrong rewrite has where to show."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import onnx

from .feeds import Override
from .hints import NO_HINT, Hints
from .signature import Input, keys_of
from .specials import Special

Bindings = Mapping[str, Sequence[int]]
"""The sizes that a person asks for, by the key of the dim."""

# How many dims are made 1 while the others are not.
_ONES = 2
# How many dims are made 0 one by one.
_ZEROS = 4
_FLOATS = (
    onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16,
)  # fmt: skip
_INTEGERS = (
    onnx.TensorProto.INT8, onnx.TensorProto.INT16, onnx.TensorProto.INT32, onnx.TensorProto.INT64,
    onnx.TensorProto.UINT8, onnx.TensorProto.UINT16, onnx.TensorProto.UINT32, onnx.TensorProto.UINT64,
)  # fmt: skip
_FEW = (onnx.TensorProto.STRING, onnx.TensorProto.BOOL)
_SPECIALS: tuple[tuple[Special, str], ...] = (
    ("small", "zeros of both signs and denormal numbers, negative integers"),
    ("infinite", "infinities and NaN"),
    ("largest", "the largest numbers of each type"),
)


@dataclasses.dataclass(frozen=True)
class Goal:
    """A kind of feed that verification wants at least one of.

    Attributes:
        size: `ones`: all dims are to be 1. `apart`: none is to be, and each is to have a number of its own. `equal`:
            all are to have the same number. `large`: as `apart`, and large enough that what strides and pooling leave
            of a dim is not 1 either.
        words: What it is, for a person.
        values: Integers that inputs are pinned to, because the graph compares them with these.
        pinned: Sizes that dims must have.
        override: Which initializers that are inputs too get values of their own.
        absent: Whether optional inputs hold nothing.
        special: Which special numbers are among the values.
        seed: The seed of the feeds.
        fresh: Whether dims are wanted at sizes that no earlier feed had.
        attempts: How many plans to try at most.
        required: Whether a person is to know where none is admitted.
        risky: Whether the runtime may be expected to give up, or its process to die.
    """

    size: Literal["ones", "apart", "equal", "large"]
    words: str
    values: Mapping[str, int] = dataclasses.field(default_factory=dict)
    pinned: Mapping[str, int] = dataclasses.field(default_factory=dict)
    override: Override = "no"
    absent: bool = False
    special: Special = "no"
    seed: int = 0
    fresh: bool = True
    attempts: int = 160
    required: bool = True
    risky: bool = False


def goals(inputs: tuple[Input, ...], hints: Hints, seed: int, bindings: Bindings | None = None) -> list[Goal]:
    """What verification wants to see admitted, in this order.

    Args:
        inputs: The model's inputs.
        hints: What its graph does with them.
        seed: The seed.
        bindings: The sizes that a person asks for: all combinations of them, and no other sizes of these dims.
    """
    compared = {each.name: hints[each.name].values for each in inputs if each.name in hints}
    first = {name: values[0] for name, values in compared.items() if values}
    is_open = bool(keys_of(inputs)) or any(each.is_unranked for each in inputs)
    if bindings:
        found = [
            Goal("apart", _text(pinned), first, pinned, seed=seed + number, fresh=False)
            for number, pinned in enumerate(_combinations(bindings))
        ]
    elif is_open:
        found = [Goal("ones", "all dims 1", first, seed=seed)]
        found.append(Goal("apart", "dims other than 1, each its own number", first, seed=seed + 1))
    else:
        found = [Goal("apart", f"the static dims with seed {seed + more}", first, seed=seed + more) for more in (0, 1)]
    usual = dataclasses.replace(found[-1], seed=seed + 3, fresh=False, attempts=24, required=False)
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
    stored = _stored(inputs)
    free = [key for key in keys_of(inputs) if key not in (bindings or {}) and key not in stored]
    if len(free) > 1:
        found.append(dataclasses.replace(usual, size="equal", words="equal dims", seed=seed + 4, attempts=8))
    if any(axis and dim in free for each in inputs for axis, dim in enumerate(each.dims or ())):
        found.append(dataclasses.replace(usual, size="large", words="large dims", attempts=16))
    found += _specials(inputs, hints, usual, seed)
    found += _ones(usual, free)
    found += _zeros(inputs, hints, usual, free)
    return [dataclasses.replace(each, pinned={**stored, **each.pinned}) for each in found]


def _stored(inputs: tuple[Input, ...]) -> dict[str, int]:
    """The sizes that dims have by the initializers that are inputs: other values of these have the same shape."""
    return {
        dim: size
        for each in inputs
        if each.default is not None
        for dim, size in zip(each.dims or (), each.default.dims, strict=False)
        if isinstance(dim, str)
    }


def _combinations(bindings: Bindings) -> Iterator[dict[str, int]]:
    """Each size of each dim with each of the others."""
    for sizes in itertools.product(*bindings.values()):
        yield dict(zip(bindings, sizes, strict=True))


def _text(pinned: Mapping[str, int]) -> str:
    return " ".join(f"{name}={size}" for name, size in pinned.items())


def _specials(inputs: tuple[Input, ...], hints: Hints, usual: Goal, seed: int) -> Iterator[Goal]:
    """Feeds with special numbers, at dims that were admitted before."""
    tensors = [each for each in inputs if each.kind == "tensor" and each.default is None]
    floats = any(each.element_type in _FLOATS and not hints.get(each.name, NO_HINT).whole for each in tensors)
    integers = any(
        each.element_type in _INTEGERS
        and (each.dims is None or len(each.dims) > 1)
        and hints.get(each.name, NO_HINT).high is None
        for each in tensors
    )
    for number, (special, words) in enumerate(_SPECIALS):
        goal = dataclasses.replace(usual, seed=seed + 5 + number, attempts=2)
        if floats or (integers and special != "infinite"):
            risky = integers or special != "small"
            yield dataclasses.replace(goal, words=words, special=special, risky=risky)
        elif tensors and all(each.element_type in _FEW for each in tensors):  # these have no special ones: more of them
            yield dataclasses.replace(goal, words=f"other values, with seed {goal.seed}")


def _ones(usual: Goal, free: Sequence[str]) -> Iterator[Goal]:
    """Feeds with one dim of 1 among others that are not: what broadcasts only then shows there."""
    for key in free[:_ONES] if len(free) > 1 else ():
        yield dataclasses.replace(usual, words=f"{key} = 1", pinned={**usual.pinned, key: 1}, attempts=4)


def _zeros(inputs: tuple[Input, ...], hints: Hints, usual: Goal, free: Sequence[str]) -> Iterator[Goal]:
    """Feeds with a dim of 0: that of the batch, then each of the others."""
    prescribed = {key for hint in hints.values() for key in hint.dims}
    keys = [key for key in free if key not in prescribed]
    batch = [key for key in keys if any(each.dims and each.dims[0] == key for each in inputs)]
    # A name that is the first axis of several inputs, or a name for each of them: all at once.
    groups = [batch] if batch else []
    groups += [[key] for key in keys if key not in batch][:_ZEROS]
    for group in groups:
        zeros = dict.fromkeys(group, 0)
        pinned = {**usual.pinned, **zeros}
        yield dataclasses.replace(usual, words=_text(zeros), pinned=pinned, attempts=4, risky=True)
