"""Making up inputs: seeded values that suit each type, at one plan's dims and in its style."""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from .hints import NO_HINT, Hint, Hints
from .signature import Input

# A feed larger than this is not made up.
MAX_BYTES = 256 * 2**20
_WORDS = ("a", "b", "c", "monday", "Tuesday", "x y", "", "é")


class TooLarge(Exception):
    """A feed that would take more than `MAX_BYTES`."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """Everything that decides a generated feed: the same plan gives the same feed.

    Attributes:
        dims: The binding.
        style: How integers and booleans that nothing is known of are chosen, see `STYLES`.
        values: Integers that are pinned, by input.
        cap: No integer is above this.
        ranks: The ranks of inputs that declare none.
        override: Whether initializers that are inputs too get values of their own.
        seed: The seed.
    """

    dims: Mapping[str, int]
    style: str = "mixed"
    values: Mapping[str, int] = dataclasses.field(default_factory=dict)
    cap: int | None = None
    ranks: Mapping[str, int] = dataclasses.field(default_factory=dict)
    override: bool = False
    seed: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal plans."""
        return (
            tuple(sorted(self.dims.items())),
            self.style,
            tuple(sorted(self.values.items())),
            self.cap,
            tuple(sorted(self.ranks.items())),
            self.override,
            self.seed,
        )


# mixed: small and nonnegative, masks of zeros and ones that begin with one. length: the largest dim of the binding. total: the sum of all its
# dims but the smallest.
STYLES = ("mixed", "ones", "length", "zeros")


def make_feeds(inputs: tuple[Input, ...], plan: Plan, hints: Hints) -> dict[str, Any]:
    """The feed that a plan describes.

    Raises:
        TooLarge: It would be larger than `MAX_BYTES`.
        NotImplementedError: Nothing can be made up for an input's type.
    """
    feeds: dict[str, Any] = {}
    budget = MAX_BYTES
    for each in inputs:
        if each.default is not None and not plan.override:
            continue
        rng = np.random.default_rng([plan.seed, zlib.crc32(each.name.encode())])
        maker = _Maker(plan, hints.get(each.name, NO_HINT), rng, budget)
        feeds[each.name] = maker.make(each, each.name)
        budget = maker.budget
    return feeds


class _Maker:
    """Makes the value of one input."""

    def __init__(self, plan: Plan, hint: Hint, rng: np.random.Generator, budget: int) -> None:
        self.plan = plan
        self.hint = hint
        self.rng = rng
        self.budget = budget

    def make(self, each: Input, name: str) -> Any:
        if each.default is not None:
            return self._variant(numpy_helper.to_array(each.default))
        if each.kind == "sequence" and each.inner is not None:
            return [self.make(each.inner, name) for _ in range(2)]
        if each.kind == "optional" and each.inner is not None:
            return self.make(each.inner, name)
        if each.kind == "map":
            return self._map(each)
        if each.kind != "tensor":
            raise NotImplementedError(f"no value can be made up for input {name!r}")
        dtype = helper.tensor_dtype_to_np_dtype(each.element_type)
        return self.tensor(dtype, self.dims(each, name), each.element_type == onnx.TensorProto.STRING, name)

    def dims(self, each: Input, name: str) -> tuple[int, ...]:
        if each.dims is None:
            rank = self.plan.ranks.get(name, 1)
            return tuple(self.plan.dims.get(f"{name}:{axis}", 2) for axis in range(rank))
        return tuple(self.plan.dims[dim] if isinstance(dim, str) else dim for dim in each.dims)

    def tensor(self, dtype: np.dtype[Any], dims: tuple[int, ...], text: bool, name: str) -> np.ndarray:
        self.budget -= math.prod(dims) * dtype.itemsize
        if self.budget < 0:
            raise TooLarge(f"input {name!r} of shape {list(dims)}")
        if text:
            words = [_WORDS[each] for each in self.rng.integers(0, len(_WORDS), math.prod(dims))]
            return np.array(words, object).reshape(dims)
        if dtype.kind == "b":
            return self._booleans(dims)
        if dtype.kind in "iu":
            return self._integers(dims, name).astype(dtype)
        if dtype.kind == "c":
            parts = self.rng.standard_normal((2, *dims))
            return np.asarray(parts[0] + 1j * parts[1]).astype(dtype)
        if dtype.kind == "V" and "int" in dtype.name:
            return self.rng.integers(0, 2, dims).astype(dtype)
        if self.hint.whole:
            return self._integers(dims, name).astype(dtype)
        values = self.rng.standard_normal(dims)
        return np.asarray(np.abs(values) if self.hint.positive else values).astype(dtype)

    def _booleans(self, dims: tuple[int, ...]) -> np.ndarray:
        style = self.plan.style
        if style in ("ones", "zeros"):
            return np.full(dims, style == "ones")
        values = self.rng.integers(0, 2, dims).astype(bool)
        return _begin_with(values, True)

    def _integers(self, dims: tuple[int, ...], name: str) -> np.ndarray:
        if name in self.plan.values:
            return np.full(dims, self.plan.values[name], np.int64)
        low, high = self.hint.low, self.hint.high
        style = self.plan.style
        if high is not None:
            values = self.rng.integers(min(low, high - 1), high, dims)
        elif style == "length":
            values = np.full(dims, max(self.plan.dims.values(), default=1))
        elif style in ("ones", "zeros"):
            values = np.full(dims, int(style == "ones"))
        elif len(dims) > 1:
            values = _begin_with(self.rng.integers(0, 2, dims), 1)
        else:
            values = self.rng.integers(1, 4, dims)
        return np.minimum(values, self.plan.cap) if self.plan.cap is not None else values

    def _map(self, each: Input) -> dict[Any, Any]:
        dtype = helper.tensor_dtype_to_np_dtype(each.element_type)
        text = each.key_type == onnx.TensorProto.STRING
        keys: tuple[Any, ...] = _WORDS[:3] if text else (0, 1, 2)
        values = [self.tensor(dtype, (), each.element_type == onnx.TensorProto.STRING, each.name) for _ in keys]
        return dict(zip(keys, (value.item() for value in values)))

    def _variant(self, default: np.ndarray) -> np.ndarray:
        """Another value for an initializer that a caller may override: the same elements, in another order."""
        flat = default.reshape(-1)
        return self.rng.permutation(flat).reshape(default.shape)


def _begin_with(values: np.ndarray, first: Any) -> np.ndarray:
    """A mask that leaves nothing of a row is rarely meant."""
    if values.ndim and values.shape[-1]:
        values[..., 0] = first
    return values
