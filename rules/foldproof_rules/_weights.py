"""Constant weights, as the rules that compute new ones read and write them."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Reason
from foldproof.rewriting.builder import Builder

Array: TypeAlias = "np.ndarray[Any, Any]"

FLOATS = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16})
"""The types of weights that are recomputed: in float64, and rounded once."""

TINY = 1024
"""Weights of at most this many bytes may be stored a second time, where another node goes on reading them."""


@dataclasses.dataclass(frozen=True)
class Weights:
    """A constant float tensor.

    Attributes:
        array: Its elements as float64. All dims are 1 where it is filled: one number stands for all.
        shape: Its dims.
        dtype: Its type.
        is_filled: Whether it is not stored: `ConstantOfShape`, or what moves its elements, fills it with one number.
    """

    array: Array
    shape: tuple[int, ...]
    dtype: ir.DataType
    is_filled: bool = False

    def full(self) -> Array:
        """All elements, as a view."""
        return np.broadcast_to(self.array, self.shape)


def weights(value: ir.Value | None, facts: Facts) -> Weights | None:
    """Reads a constant; None for a value that is not proven to be the same in each run, or that has no floats."""
    fact = facts.of(value)
    if value is None or fact.dtype not in FLOATS or fact.dtype is None or not fact.is_static:
        return None
    shape = tuple(dim for dim in fact.shape or () if isinstance(dim, int))
    if fact.constant is not None:
        try:
            return Weights(fact.constant.numpy().astype(np.float64), shape, fact.dtype)
        except (OSError, ValueError):  # its external data file is missing, or may not be read
            return None
    if not _is_filled(value, facts):
        return None
    return Weights(np.full([1] * len(shape), float(fact.fill)), shape, fact.dtype, is_filled=True)  # type: ignore[arg-type]


def is_known(value: ir.Value | None, facts: Facts) -> bool:
    """Whether `weights` could read a value, without reading it."""
    if value is None:
        return False
    fact = facts.of(value)
    return fact.dtype in FLOATS and fact.is_static and (fact.constant is not None or _is_filled(value, facts))


def _is_filled(value: ir.Value, facts: Facts) -> bool:
    """Whether a value is not stored, and each of its elements is one number, as ConstantOfShape can make it."""
    fact, maker = facts.of(value), value.producer()
    if not isinstance(fact.fill, (int, Fraction)) or fact.constant is not None:
        return False
    return maker is not None and facts.opset_version(maker) >= 9 and fact.dtype is not ir.DataType.BFLOAT16


def stored(op: Builder, array: Array, like: Weights) -> ir.Value:
    """New weights in the type of the old ones; made by `ConstantOfShape` where one number stands for all, as before.

    Args:
        op: The builder of the rewrite.
        array: The new weights, checked by `loss`.
        like: Those that they replace, of the same dims where these are filled.
    """
    rounded = np.asarray(array, np.float64).astype(like.dtype.numpy())
    if like.is_filled and array.size == 1 and array.shape != like.shape:
        target = op.constant(np.array(like.shape, np.int64))
        made: ir.Value = op.ConstantOfShape(target, value=ir.Tensor(rounded.reshape(1), dtype=like.dtype))
        return made
    return op.constant(np.broadcast_to(rounded, like.shape).copy() if like.is_filled else rounded)


def loss(array: Array, like: Weights) -> Reason | None:
    """Why new weights can't be stored in the type of the old ones, or would make the file grow; None where all is well.

    Args:
        array: The new weights in float64; dims of 1 stand for all of `like`.
        like: Those that they replace.
    """
    with np.errstate(all="ignore"):
        rounded = array.astype(like.dtype.numpy()).astype(np.float64)
    if not np.isfinite(rounded).all():
        return Reason("a new weight is not finite in {}", like.dtype.name.lower())
    error = np.abs(rounded - array)
    allowed = 2.0 * _epsilon(like.dtype)
    if array.size and (error > allowed * np.maximum(np.abs(array), np.abs(array).max(initial=0.0) * allowed)).any():
        return Reason("the new weights lose precision in {}", like.dtype.name.lower())
    if like.is_filled and array.size > 1 and int(np.prod(like.shape)) * like.dtype.itemsize > TINY:
        return Reason("the new weights are no longer one number, and the file would grow")
    return None


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
    """The bias of a Gemm times its beta: zero where it is left out, None where it is not constant."""
    value, beta = input_of(gemm, 2), attribute_float(gemm, "beta", 1.0)
    if value is None:
        return np.zeros(1)
    found = weights(value, facts)
    return None if found is None or beta is None else found.full() * beta
