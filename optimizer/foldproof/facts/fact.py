"""What is proven of one value, for every run that the model's contract admits."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import os
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import numpy as np
import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike, TooComplexError, lower_bound, product, upper_bound
from foldproof.facts.dim_order import MAX_DIM
from foldproof.model_file.tensors import SparseTensor

Element: TypeAlias = "int | Fraction | Dim | None"
"""One element of a small tensor: exact (booleans are 0 and 1, floats are their exact value), symbolic, or unknown.

A float that no fraction expresses (NaN, the infinities, -0.0) is unknown.
"""

_Number = TypeVar("_Number", bound="int | Fraction | Dim")

MAX_ELEMENTS = 1024
"""Tensors with more elements are never tracked element by element: shape data is small."""

MAX_FLOATS = 64
"""The same for floats, which take part in shape arithmetic one by one."""


MAX_SPLAT = 1 << 16
"""Tensors of more elements are weights, which are not read to see whether all their elements are one number."""


class Basis(enum.Flag):
    """What a fact rests on."""

    NOTHING = 0
    CONTRACT = enum.auto()
    """The declared type and dims of a graph input."""
    INITIALIZER = enum.auto()
    """The stored tensor of an initializer or of a Constant node."""
    INFERENCE = enum.auto()
    """The specification of an operator, applied to the facts of its inputs."""
    CLAIM = enum.auto()
    """The declaration of a value that an unknown operator makes: nothing can be inferred there."""

    def __str__(self) -> str:
        words = {
            Basis.CONTRACT: "input contract",
            Basis.INITIALIZER: "initializer",
            Basis.INFERENCE: "inference",
            Basis.CLAIM: "claim",
        }
        return " and ".join(word for flag, word in words.items() if flag in self) or "nothing"


class Kind(enum.Enum):
    """The kind of thing that a value is."""

    TENSOR = "tensor"
    SEQUENCE = "sequence"
    OPTIONAL = "optional"


@dataclasses.dataclass(frozen=True)
class Fact:
    """What is proven of a value. A field that is None is not known.

    Attributes:
        dtype: The element type of a tensor.
        shape: The dims of a tensor, each an integer or a `Dim`.
        known_elements: The elements in row-major order; see `elements`, which also looks into `constant`.
        constant: The tensor that the value is in each run. It is not read before it is needed.
        known_fill: The number that each element is, however many there are; see `fill`, which also looks at `elements`.
        kind: Tensor, sequence or optional.
        item: What holds for each item of a sequence, or for the content of an optional.
        items: What holds for each item of a sequence of known length; for an optional, one or none if it is empty.
        basis: What all this rests on.
    """

    dtype: ir.DataType | None = None
    shape: tuple[DimLike, ...] | None = None
    known_elements: tuple[Element, ...] | None = None
    constant: ir.TensorProtocol | None = None
    kind: Kind = Kind.TENSOR
    item: Fact | None = None
    items: tuple[Fact, ...] | None = None
    basis: Basis = Basis.NOTHING
    known_fill: Element = None

    @property
    def rank(self) -> int | None:
        """The number of dims."""
        return None if self.shape is None else len(self.shape)

    @functools.cached_property
    def element_count(self) -> DimLike | None:
        """The product of the dims: 1 for a scalar, 0 where any dim is 0; None too where it is too complex."""
        try:
            return None if self.shape is None else product(self.shape)
        except TooComplexError:
            return None

    @functools.cached_property
    def elements(self) -> tuple[Element, ...] | None:
        """The elements of a small tensor in row-major order; None where not even their number is known."""
        if self.known_elements is None and self.constant is not None:
            return elements_of(self.constant)
        return self.known_elements

    @functools.cached_property
    def ints(self) -> tuple[int, ...] | None:
        """The elements where each is a known integer (or a boolean, as 0 or 1)."""
        elements = self.elements
        if elements is None:
            return None
        ints = tuple(e for e in elements if isinstance(e, int))
        return ints if len(ints) == len(elements) else None

    @functools.cached_property
    def dims(self) -> tuple[DimLike, ...] | None:
        """The elements where each is a known integer or a `Dim`, as a target shape has them."""
        elements = self.elements
        if elements is None:
            return None
        dims = tuple(e for e in elements if isinstance(e, (int, Dim)))
        return dims if len(dims) == len(elements) else None

    @functools.cached_property
    def fill(self) -> Element:
        """The number that each element of a tensor is, of whatever size; None where they differ or are not known."""
        if self.known_fill is not None:
            return self.known_fill
        elements = self.elements
        return elements[0] if elements and all(element == elements[0] for element in elements) else None

    @functools.cached_property
    def splat(self) -> np.generic | None:
        """The one number that each element of a stored tensor is, bit for bit but for NaN, which is none.

        None for a tensor of more than `MAX_SPLAT` elements, which is not read.
        """
        tensor = self.constant
        if tensor is None or tensor.size > MAX_SPLAT or not tensor.size or tensor.dtype in _NO_EXACT_VALUES:
            return None
        try:
            numbers = tensor.numpy().reshape(-1)
        except (OSError, ValueError):  # its external data file is missing, or may not be read
            return None
        first: np.generic = numbers[0]
        if numbers.size == 1:
            return first if first == first else None
        is_alike = bool((numbers == first).all()) and (
            bool(first != 0) or numbers.dtype.kind in "iub" or bool((np.signbit(numbers) == np.signbit(first)).all())
        )
        return first if is_alike else None

    @functools.cached_property
    def range(self) -> tuple[int | None, int | None]:
        """The least and the greatest integer that any element may be, as far as that is proven; None is unbounded.

        Known where the elements or the fill are, and by the type of booleans and unsigned integers.
        """
        elements = self.elements if self.fill is None else (self.fill,)
        bounds = [(lower_bound(e), upper_bound(e)) for e in elements or () if isinstance(e, (int, Dim))]
        if elements and len(bounds) == len(elements):
            lows = [low for low, _ in bounds if low is not None]
            highs = [high for _, high in bounds if high is not None]
            complete = len(lows) == len(bounds), len(highs) == len(bounds)
            return min(lows) if complete[0] else None, max(highs) if complete[1] else None
        if self.dtype is ir.DataType.BOOL:
            return 0, 1
        return (0 if self.dtype is not None and self.dtype.name.startswith("UINT") else None), None

    def settled(self, dtype: ir.DataType | None, basis: Basis) -> Fact:
        """The same fact with its type and what it rests on: `dataclasses.replace`, which is slow, at each node."""
        fact = object.__new__(Fact)
        fact.__dict__.update(self.__dict__, dtype=dtype, basis=basis)
        return fact

    @property
    def is_static(self) -> bool:
        """Whether each dim is a known integer."""
        return self.shape is not None and all(isinstance(dim, int) for dim in self.shape)


UNKNOWN = Fact()
"""Nothing is known. Also the fact of an input that is left out."""


def tensor_fact(
    dtype: ir.DataType | None = None,
    shape: Iterable[DimLike] | None = None,
    elements: Sequence[Element] | None = None,
) -> Fact:
    """The fact of a tensor as a transfer function states it.

    Args:
        dtype: None leaves it to the type constraints of the operator's schema.
        shape: The dims.
        elements: The elements in row-major order. More than `MAX_ELEMENTS` are dropped, and so are elements none of
            which is known.
    """
    known = None
    if (
        elements is not None
        and len(elements) <= MAX_ELEMENTS
        and (not elements or any(e is not None for e in elements))
    ):
        known = tuple(elements)
    return Fact(dtype=dtype, shape=None if shape is None else tuple(shape), known_elements=known)


def elements_of(tensor: ir.TensorProtocol) -> tuple[Element, ...] | None:
    """The elements of a small stored tensor; None for a large one, a type without exact values, or a missing file."""
    limit = MAX_ELEMENTS if tensor.dtype.is_integer() or tensor.dtype is ir.DataType.BOOL else MAX_FLOATS
    if tensor.size > limit or tensor.dtype in _NO_EXACT_VALUES:
        return None
    try:
        array = tensor.numpy()
    except (OSError, ValueError):  # its external data file is missing, or may not be read: the dims are still good
        return None
    numbers = array.reshape(-1).tolist()
    if array.dtype.kind in "iu":
        return tuple(numbers)
    return tuple(int(x) for x in numbers) if array.dtype.kind == "b" else tuple(exact(x) for x in numbers)


_NO_EXACT_VALUES = frozenset({ir.DataType.STRING, ir.DataType.COMPLEX64, ir.DataType.COMPLEX128, ir.DataType.UNDEFINED})


def exact(x: float) -> Element:
    """The exact value of a Python (or numpy) number, None where a fraction can't express it."""
    if isinstance(x, (bool, int, np.integer, np.bool_)):
        return int(x)
    number = float(x)
    if not np.isfinite(number) or (number == 0 and np.signbit(number)):
        return None
    return int(number) if number.is_integer() else Fraction(number)


def constant_fact(tensor: ir.TensorProtocol) -> Fact:
    """The fact of a stored tensor. Of one that can't be read only the type and the dims are known.

    That is one whose data file is not there, or a sparse one that would be too large.
    """
    if isinstance(tensor, ir.ExternalTensor):
        is_there = os.path.exists(tensor.path)  # noqa: PTH110  much faster
    else:
        is_there = not (isinstance(tensor, SparseTensor) and tensor.is_too_large)
    return Fact(
        dtype=tensor.dtype,
        shape=tuple(int(dim) for dim in tensor.shape.numpy()),
        constant=tensor if is_there else None,
        basis=Basis.INITIALIZER,
    )


def agree(a: Fact, b: Fact) -> Fact:
    """What both facts say: the join, for a value that is one or the other (the branches of an If)."""
    if a == b:
        return a
    if a.kind is not b.kind:
        return UNKNOWN
    shape = None
    if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape) and a.shape == b.shape:
        shape = a.shape
    elements = None
    if shape is not None and a.elements is not None and b.elements is not None:
        elements = tuple(x if x == y else None for x, y in zip(a.elements, b.elements, strict=True))
    return Fact(
        dtype=a.dtype if a.dtype == b.dtype else None,
        shape=shape,
        known_elements=elements if elements is None or any(e is not None for e in elements) or not elements else None,
        kind=a.kind,
        item=agree(a.item, b.item) if a.item is not None and b.item is not None else None,
        basis=a.basis | b.basis,
        known_fill=a.known_fill if a.known_fill == b.known_fill else None,
    )


def meet(a: Fact, b: Fact) -> Fact:
    """All that either fact says of one value; where both speak, the more precise one, `a` on a tie.

    Where they contradict each other on the rank, as in an invalid model, it is `a` alone: or the elements of one would
    stand beside the dims of the other.
    """
    if a is b or (a.rank is not None and b.rank is not None and a.rank != b.rank):
        return a
    met = dataclasses.replace(
        a,
        dtype=a.dtype if a.dtype is not None else b.dtype,
        shape=a.shape if b.shape is None else b.shape if a.shape is None else _meet_dims(a.shape, b.shape),
        known_elements=_meet_elements(a.known_elements, b.known_elements),
        known_fill=a.known_fill if a.known_fill is not None else b.known_fill,
        constant=a.constant if a.constant is not None else b.constant,
        item=a.item if a.item is not None else b.item,
        items=a.items if a.items is not None else b.items,
        basis=a.basis | b.basis,
    )
    return a if met == a else met  # the same object, which keeps what it has worked out


def is_more(new: Fact, old: Fact) -> bool:
    """Whether a fact says more of a value than another one that is true of it too, whatever they rest on."""
    return new is not old and dataclasses.replace(new, basis=old.basis) != old


def _meet_elements(a: tuple[Element, ...] | None, b: tuple[Element, ...] | None) -> tuple[Element, ...] | None:
    if a is b or a is None or b is None or len(a) != len(b):
        return b if a is None else a
    return tuple(x if y is None else y if x is None else _clearer(x, y) for x, y in zip(a, b, strict=True))


def _meet_dims(a: tuple[DimLike, ...], b: tuple[DimLike, ...]) -> tuple[DimLike, ...]:
    if a is b or len(a) != len(b):
        return a
    return tuple(_clearer(x, y) for x, y in zip(a, b, strict=True))


def _clearer(x: _Number, y: _Number) -> _Number:
    """The one of two expressions of the same number that tells more, `x` only where they are the same."""
    return x if x is y or not isinstance(x, Dim) else y if not isinstance(y, Dim) else min(x, y, key=_vagueness)


def _vagueness(dim: int | Fraction | Dim) -> tuple[int, int, str, list[int]]:
    """How little an expression tells. The order is total, so that whoever chooses between two chooses alike.

    A number tells most, then what the contract's symbols make up, the shorter the better, then older symbols.
    """
    if not isinstance(dim, Dim):
        return 0, 0, "", []
    text, scopes = str(dim), sorted(symbol.scope for symbol in dim.symbols)
    return 1 + sum(scope > 0 for scope in scopes), len(text), text, scopes


def exact_array(numbers: Sequence[int | Fraction], dtype: ir.DataType) -> np.ndarray[Any, Any]:
    """Proven elements as a 1-D array of a type that holds each of them."""
    if dtype.is_integer():  # not by way of floats, which numpy makes of integers above and below 2**63
        is_large = any(number >= 2**63 for number in numbers)
        return np.array([int(number) for number in numbers], np.uint64 if is_large else np.int64).astype(dtype.numpy())
    return np.array([float(number) for number in numbers], np.float64).astype(dtype.numpy())


def numbers_of(fact: Fact) -> list[int | Fraction] | None:
    """The elements of a tensor of which each is a known number; None for any other value.

    The facts of an invalid model may contradict each other: there must be as many elements as the dims say, each one
    that the type can hold. And numpy has no array with a dim of 2**62, not even beside one of 0.
    """
    elements = fact.elements
    if elements is None or fact.kind is not Kind.TENSOR or fact.dtype is None or not fact.is_static:
        return None
    dims = [dim for dim in fact.shape or () if isinstance(dim, int)]
    if math.prod(dims) != len(elements) or max(dims, default=0) > MAX_DIM:
        return None
    least, most = (0, 2**64 - 1) if fact.dtype is ir.DataType.UINT64 else (-(2**63), 2**63 - 1)
    if not fact.dtype.is_integer():
        least, most = -(2**1023), 2**1023
    numbers = [element for element in elements if isinstance(element, (int, Fraction)) and least <= element <= most]
    return numbers if len(numbers) == len(elements) else None


def tensor_of(fact: Fact) -> ir.TensorProtocol | None:
    """The tensor that a value is in each run, where each of its elements is a known number."""
    numbers, dtype = numbers_of(fact), fact.dtype
    if numbers is None or dtype is None:
        return None
    shape = [dim for dim in fact.shape or () if isinstance(dim, int)]
    return ir.Tensor(exact_array(numbers, dtype).reshape(shape), dtype=dtype)
