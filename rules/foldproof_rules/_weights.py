"""Constant weights, as the rules that compute new ones read and write them."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from foldproof.facts import Fact, Facts
from foldproof.large_tensors import let_go
from foldproof.rewriting import Reason
from foldproof.rewriting.builder import Builder

Array: TypeAlias = "np.ndarray[Any, Any]"

FLOATS = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16})
"""The types of weights that are recomputed: in float64, and rounded once."""

TINY = 1024
"""Weights of at most this many bytes may be stored a second time, where another node goes on reading them."""

MAX_ELEMENTS = 1 << 25
"""Weights of more elements than this are left as they are: to compute with them, all have to be held, in float64."""

_BLOCK = 1 << 18
"""How many elements are looked at at a time."""

HEADROOM = 0.75
"""New weights are at most the greatest number of their type to this power: sums of their products don't overflow where
those of the old ones, scaled afterwards, were finite."""


@dataclasses.dataclass(frozen=True)
class Weights:
    """A constant float tensor.

    Attributes:
        array: Its elements as float64. Where it is filled, a dim of 1 stands for all elements along that axis.
        shape: Its dims.
        dtype: Its type.
        is_filled: Whether it is not stored: `ConstantOfShape`, or what moves its elements, fills it with one number,
            or `Expand` with a few.
    """

    array: Array
    shape: tuple[int, ...]
    dtype: ir.DataType
    is_filled: bool = False

    def full(self) -> Array:
        """All elements, as a view."""
        return np.broadcast_to(self.array, self.shape)


def weights(value: ir.Value | None, facts: Facts) -> Weights | None:
    """Reads a constant; None for a value that is not proven to be the same in each run, has no floats, or too many."""
    fact = facts.of(value)
    if value is None or fact.dtype not in FLOATS or fact.dtype is None or not fact.is_static or _is_too_large(fact):
        return None
    shape = tuple(dim for dim in fact.shape or () if isinstance(dim, int))
    if fact.constant is not None:
        try:
            with let_go(fact.constant):
                return Weights(fact.constant.numpy().astype(np.float64), shape, fact.dtype)
        except (OSError, ValueError):  # its external data file is missing, or may not be read
            return None
    if not _is_filled(value, facts):
        return None
    if isinstance(fact.fill, (int, Fraction)):
        return Weights(np.full([1] * len(shape), float(fact.fill)), shape, fact.dtype, is_filled=True)
    expanded = _expanded(value, facts)
    inner = None if expanded is None else weights(expanded, facts)
    if inner is None:
        return None
    dims = (1,) * (len(shape) - len(inner.shape)) + inner.shape
    return Weights(inner.full().reshape(dims), shape, fact.dtype, is_filled=True)


def is_known(value: ir.Value | None, facts: Facts) -> bool:
    """Whether `weights` could read a value, without reading it."""
    if value is None:
        return False
    fact = facts.of(value)
    is_read = fact.dtype in FLOATS and fact.is_static and not _is_too_large(fact)
    return is_read and (fact.constant is not None or _is_filled(value, facts))


def _is_too_large(fact: Fact) -> bool:
    """Whether a constant is stored and can't be computed with in little memory."""
    return fact.constant is not None and fact.constant.size > MAX_ELEMENTS


def _is_filled(value: ir.Value, facts: Facts) -> bool:
    """Whether a value is not stored, and is made of one number, as by ConstantOfShape, or of few, as by Expand."""
    fact, maker = facts.of(value), value.producer()
    if fact.constant is not None or maker is None or facts.opset_version(maker) < 9:
        return False
    if fact.dtype is ir.DataType.BFLOAT16:  # ConstantOfShape lacks it at first
        return False
    return isinstance(fact.fill, (int, Fraction)) or _expanded(value, facts) is not None


def _expanded(value: ir.Value, facts: Facts) -> ir.Value | None:
    """The stored tensor that an Expand makes a value of; it has no more elements than an axis of the value."""
    maker = value.producer()
    if maker is None or maker.op_type != "Expand" or maker.domain or not facts.of(value).is_static:
        return None
    source = maker.inputs[0]
    longest = max((dim for dim in facts.of(value).shape or () if isinstance(dim, int)), default=1)
    fact = facts.of(source)
    return source if fact.constant is not None and fact.constant.size <= longest else None


def stored(op: Builder, array: Array, like: Weights) -> ir.Value:
    """New weights in the type of the old ones; made by `ConstantOfShape` or `Expand` where few numbers stand for all.

    Where the old ones are made so and are read elsewhere too, that is one more node: a rule that takes one away thereby
    lowers `Cost.EXPRESSION`, not `Cost.NODES`.

    Args:
        op: The builder of the rewrite.
        array: The new weights, checked by `loss`.
        like: Those that they replace, of the same dims where these are filled.
    """
    rounded = np.asarray(array, np.float64).astype(like.dtype.numpy())
    if not like.is_filled or array.shape == like.shape or (array.size > 1 and _bytes_of(like) <= TINY):
        return op.constant(np.broadcast_to(rounded, like.shape).copy() if like.is_filled else rounded)
    target = op.constant(np.array(like.shape, np.int64))
    made: ir.Value
    if array.size == 1:
        made = op.ConstantOfShape(target, value=ir.Tensor(rounded.reshape(1), dtype=like.dtype))
    else:
        made = op.Expand(op.constant(rounded), target)
    return made


def loss(array: Array, like: Weights) -> Reason | None:
    """Why new weights can't be stored in the type of the old ones, or would make the file grow; None where all is well.

    Args:
        array: The new weights in float64; dims of 1 stand for all of `like`.
        like: Those that they replace.
    """
    largest = max((float(np.abs(block).max(initial=0.0)) for block in _blocks(array)), default=0.0)
    allowed = 2.0 * _epsilon(like.dtype)
    is_finite, largest_rounded, is_precise = True, 0.0, True
    for block in _blocks(array):
        with np.errstate(all="ignore"):
            rounded = block.astype(like.dtype.numpy()).astype(np.float64)
            is_finite &= bool(np.isfinite(rounded).all())
            largest_rounded = max(largest_rounded, float(np.abs(rounded).max(initial=0.0)))
            error = np.abs(rounded - block)
            is_precise &= not (error > allowed * np.maximum(np.abs(block), largest * allowed)).any()
    if not is_finite:
        return Reason("a new weight is not finite in {}", like.dtype.name.lower())
    if largest_rounded > float(like.dtype.max) ** HEADROOM:
        return Reason("a new weight is so large in {} that a sum of products may overflow", like.dtype.name.lower())
    if not is_precise:
        return Reason("the new weights lose precision in {}", like.dtype.name.lower())
    if like.is_filled and array.size > max(like.shape, default=1) and _bytes_of(like) > TINY:
        return Reason("the new weights are no longer made of few numbers, and the file would grow")
    return None


def _blocks(array: Array) -> list[Array]:
    """Views of parts of an array, so that what is computed of them takes little memory."""
    if array.size <= _BLOCK:
        return [array]
    axis = int(np.argmax(array.shape))
    return np.array_split(array, min(array.shape[axis], -(-array.size // _BLOCK)), axis=axis)


def _bytes_of(like: Weights) -> int:
    return int(math.prod(like.shape) * like.dtype.itemsize)


def _epsilon(dtype: ir.DataType) -> float:
    return {ir.DataType.DOUBLE: 2.0**-52, ir.DataType.FLOAT: 2.0**-23, ir.DataType.BFLOAT16: 2.0**-7}.get(
        dtype, 2.0**-10
    )


def plain(like: Weights) -> Weights:
    """What is of the same type, and stored element by element."""
    return Weights(like.array, like.shape, like.dtype)


def again(op: Builder, node: ir.Node, *inputs: ir.Value | None, op_type: str | None = None, **changed: Any) -> ir.Value:
    """The operator of a node with one output, on other inputs, with the same attributes but those that are given.

    Args:
        op: The builder of the rewrite.
        node: The node.
        inputs: What the new node reads.
        op_type: Another operator, None for the same.
        changed: The attributes that are given.
    """
    attributes: dict[str, Any] = {**node.attributes, **changed}
    made = op.node(op_type or node.op_type, *inputs, **attributes)
    assert isinstance(made, ir.Value)
    return made


def is_private(value: ir.Value | None) -> bool:
    """Whether one node alone reads a value, once, so that nothing is left of its maker when that node goes."""
    return value is not None and not value.is_graph_output() and len(value.uses()) == 1


def shared(value: ir.Value, facts: Facts) -> Reason | None:
    """Why weights can't be replaced without growth: others read them too, and they are not tiny."""
    if is_private(value):
        return None
    fact = facts.of(value)
    if _is_filled(value, facts):
        return None
    count = fact.element_count
    if fact.dtype is not None and isinstance(count, int) and count * fact.dtype.itemsize <= TINY:
        return None
    return Reason("its weights {} are read elsewhere, and the file would grow", value.name)


def attribute_ints(node: ir.Node, name: str, default: tuple[int, ...]) -> tuple[int, ...] | None:
    """An attribute of integers; None where it refers to one of the enclosing function."""
    attribute = node.attributes.get(name)
    if attribute is None:
        return default
    return None if attribute.is_ref() else tuple(attribute.as_ints())


def attribute_int(node: ir.Node, name: str, default: int) -> int | None:
    """An integer attribute; None where it refers to one of the enclosing function."""
    attribute = node.attributes.get(name)
    if attribute is None:
        return default
    return None if attribute.is_ref() else attribute.as_int()


def attribute_float(node: ir.Node, name: str, default: float) -> float | None:
    """A number attribute; None where it refers to one of the enclosing function."""
    attribute = node.attributes.get(name)
    if attribute is None:
        return default
    return None if attribute.is_ref() else attribute.as_float()


def attribute_string(node: ir.Node, name: str, default: str) -> str | None:
    """A string attribute; None where it refers to one of the enclosing function."""
    attribute = node.attributes.get(name)
    if attribute is None:
        return default
    return None if attribute.is_ref() else attribute.as_string()


def input_of(node: ir.Node, index: int) -> ir.Value | None:
    """An input, None where it is left out."""
    return node.inputs[index] if index < len(node.inputs) else None


def single(value: ir.Value | None, facts: Facts) -> float | None:
    """The number that a constant of one element holds, whatever its rank; None for any other value."""
    if value is None or facts.of(value).element_count != 1:
        return None
    found = weights(value, facts)
    return None if found is None else float(found.array.reshape(-1)[0])


def bias_of_gemm(gemm: ir.Node, facts: Facts) -> Array | None:
    """The bias of a Gemm times its beta: zero where it is left out, None where it is not constant, or does not fit."""
    value, beta = input_of(gemm, 2), attribute_float(gemm, "beta", 1.0)
    if value is None:
        return np.zeros(1)
    found, shape = weights(value, facts), facts.shape(gemm.outputs[0])
    if found is None or beta is None or shape is None:
        return None
    bias = found.full()
    return bias * beta if bias.ndim == 0 or bias.shape[-1] in (1, shape[-1]) else None
