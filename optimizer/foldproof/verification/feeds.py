"""Making up inputs: seeded values that suit each type, at one plan's dims and in its style."""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .hints import NO_HINT, Hint, Hints
from .signature import Input
from .specials import Special, sprinkle

# A feed is not made up if its elements take more than this while they are drawn: as doubles, whatever they become.
MAX_BYTES = 512 * 2**20
_WORDS = ("a", "b", "c", "monday", "Tuesday", "x y", "", "é")

Style = Literal["mixed", "ones", "length", "zeros", "positive", "flat"]
"""How values are chosen of which nothing is known.

- `mixed`: floats around zero; integers small and nonnegative, masks of zeros and ones that begin with one.
- `ones`, `zeros`: all integers and booleans are that.
- `flat`: all numbers are one, floats too.
- `length`: all integers are the largest dim of the binding.
- `positive`: as `mixed`, with floats from zero to one, as probabilities are.
"""
Override = Literal["no", "floats", "all"]
"""Which of the initializers that are inputs too get values of their own."""


class TooLarge(Exception):
    """A feed that would take more than `MAX_BYTES`."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """Everything that decides a generated feed: the same plan gives the same feed.

    Attributes:
        dims: The binding.
        style: How values are chosen of which nothing is known.
        values: Integers that are pinned, by input.
        cap: No integer is above this.
        ranks: The ranks of inputs that declare none.
        override: Which initializers that are inputs too get values of their own.
        absent: Whether optional inputs hold nothing.
        seed: The seed.
        special: Which special numbers are among the values of which nothing is known.
    """

    dims: Mapping[str, int]
    style: Style = "mixed"
    values: Mapping[str, int] = dataclasses.field(default_factory=dict)
    cap: int | None = None
    ranks: Mapping[str, int] = dataclasses.field(default_factory=dict)
    override: Override = "no"
    absent: bool = False
    seed: int = 0
    special: Special = "no"

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal plans."""
        pairs = (tuple(sorted(each.items())) for each in (self.dims, self.values, self.ranks))
        return (*pairs, self.style, self.cap, self.override, self.absent, self.seed, self.special)


def make_feeds(inputs: tuple[Input, ...], plan: Plan, hints: Hints) -> dict[str, Any]:
    """The feed that a plan describes.

    Raises:
        TooLarge: It would take more than `MAX_BYTES`, or than can be allocated.
        NotImplementedError: Nothing can be made up for an input's type.
    """
    feeds: dict[str, Any] = {}
    budget = MAX_BYTES
    for each in inputs:
        if each.default is not None and not _is_overridden(each.default, plan.override):
            continue
        rng = np.random.default_rng([plan.seed, zlib.crc32(each.name.encode())])
        maker = _Maker(plan, hints.get(each.name, NO_HINT), rng, budget)
        try:
            feeds[each.name] = maker.make(each, each.name)
        except MemoryError as error:  # numpy makes floats up as doubles first
            raise TooLarge(f"there is not enough memory to make up input {each.name!r}") from error
        budget = maker.budget
    return feeds


def _is_overridden(default: onnx.TensorProto, override: Override) -> bool:
    if default.data_location == onnx.TensorProto.EXTERNAL:
        return False
    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16)
    return override == "all" or (override == "floats" and default.data_type in floats)


class _Maker:
    """Makes the value of one input."""

    def __init__(self, plan: Plan, hint: Hint, rng: np.random.Generator, budget: int) -> None:
        self.plan = plan
        self.hint = hint
        self.rng = rng
        self.budget = budget

    def make(self, each: Input, name: str) -> Any:
        if each.default is not None:
            return self.variant(numpy_helper.to_array(each.default))
        if each.kind == "sequence" and each.inner is not None:
            return [self.make(each.inner, name) for _ in range(2)]
        if each.kind == "optional" and each.inner is not None:
            return None if self.plan.absent else self.make(each.inner, name)
        if each.kind == "map":
            return self.map(each)
        if each.kind != "tensor":
            raise NotImplementedError(f"no value can be made up for input {name!r}")
        return self.tensor(each.element_type, self.dims(each, name), name)

    def dims(self, each: Input, name: str) -> tuple[int, ...]:
        if each.dims is None:
            rank = self.plan.ranks.get(name, 1)
            return tuple(self.plan.dims.get(f"{name}:{axis}", 2) for axis in range(rank))
        return tuple(self.plan.dims[dim] if isinstance(dim, str) else dim for dim in each.dims)

    def tensor(self, element_type: int, dims: tuple[int, ...], name: str) -> np.ndarray:
        try:
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(element_type))
        except KeyError:
            text = f"no value of the type {element_type} can be made up for input {name!r}"
            raise NotImplementedError(text) from None
        self.budget -= math.prod(dims) * max(dtype.itemsize, np.dtype(np.float64).itemsize)
        if self.budget < 0:
            raise TooLarge(f"input {name!r} of shape {list(dims)} is too large to be made up")
        if element_type == onnx.TensorProto.STRING:
            words = [_WORDS[each] for each in self.rng.integers(0, len(_WORDS), math.prod(dims))]
            return np.array(words, object).reshape(dims)
        if dtype.kind == "b":
            return self.booleans(dims)
        if dtype.kind in "iu":
            return self.sprinkled(self.integers(dims, name).astype(dtype), name)
        if dtype.kind == "c":
            parts = self.rng.standard_normal((2, *dims))
            return np.asarray(parts[0] + 1j * parts[1]).astype(dtype)
        if dtype.kind == "V" and "int" in dtype.name:  # int4, int2 and the like, by ml_dtypes
            return self.rng.integers(0, 2, dims).astype(dtype)
        if self.hint.whole:
            return self.integers(dims, name).astype(dtype)
        return self.sprinkled(self.floats(dims).astype(dtype), name)

    def sprinkled(self, values: np.ndarray, name: str) -> np.ndarray:
        """The values with special numbers among them, if these are wanted and nothing is known of the integers."""
        counts = values.dtype.kind in "iu" and (values.ndim < 2 or self.hint.high is not None)
        if counts or name in self.plan.values or self.plan.special == "no":
            return values
        return sprinkle(values, self.plan.special, self.rng)

    def floats(self, dims: tuple[int, ...]) -> np.ndarray:
        if self.plan.style == "positive":
            return np.asarray(self.rng.random(dims))
        if self.plan.style == "flat":
            return np.ones(dims)
        values = np.asarray(self.rng.standard_normal(dims))
        if self.hint.positive:
            return np.abs(values)
        # Too few values have one sign by chance, and then `Abs` and `Identity` look alike.
        flat = values.reshape(-1)
        if flat.size == 1:
            flat[:] = np.abs(flat) * (-1) ** (self.plan.seed % 2)
        elif flat.size and (flat > 0).all() | (flat < 0).all():
            flat[-1] *= -1
        return flat.reshape(dims)

    def booleans(self, dims: tuple[int, ...]) -> np.ndarray:
        style = self.plan.style
        if style in ("ones", "flat", "zeros"):
            return np.full(dims, style != "zeros")
        return _begin_with(np.asarray(self.rng.integers(0, 2, dims), bool), True)

    def integers(self, dims: tuple[int, ...], name: str) -> np.ndarray:
        if name in self.plan.values:
            return np.full(dims, self.plan.values[name], np.int64)
        low, high = self.hint.low, self.hint.high
        style = self.plan.style
        if high is not None:
            values = np.asarray(self.rng.integers(min(low, high - 1), high, dims))
        elif style == "length":
            values = np.full(dims, max(self.plan.dims.values(), default=1))
        elif style in ("ones", "flat", "zeros"):
            values = np.full(dims, int(style != "zeros"))
        elif len(dims) > 1:
            values = _begin_with(np.asarray(self.rng.integers(0, 2, dims)), 1)
        else:
            values = np.asarray(self.rng.integers(1, 4, dims))
        return np.minimum(values, self.plan.cap) if self.plan.cap is not None else values

    def map(self, each: Input) -> dict[Any, Any]:
        keys: tuple[Any, ...] = _WORDS[:3] if each.key_type == onnx.TensorProto.STRING else (0, 1, 2)
        return {key: self.tensor(each.element_type, (), each.name).item() for key in keys}

    def variant(self, default: np.ndarray) -> np.ndarray:
        """Another value for an initializer that a caller may override: its elements in another order.

        Floats are made a little larger as well, and a single integer is made one more, so that it is another
        value also where all elements are the same.
        """
        values = self.rng.permutation(default.reshape(-1)).reshape(default.shape)
        if values.dtype.kind == "f":
            return np.asarray(values * 1.25, values.dtype)
        if values.dtype.kind in "iu" and values.size == 1:
            return np.asarray(values + 1, values.dtype)
        return values


def _begin_with(values: np.ndarray, first: Any) -> np.ndarray:
    """A mask that leaves nothing of a row is rarely meant."""
    if values.ndim and values.shape[-1]:
        values[..., 0] = first
    return values
