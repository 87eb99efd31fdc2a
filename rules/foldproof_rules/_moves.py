"""What the rules about data movement ask of nodes, and how they build one in the form of the model's opset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Dim, DimLike, Facts
from foldproof.facts.dim import at_least
from foldproof.rewriting.builder import Builder

INT64_MAX = 2**63 - 1

TO_THE_END = 2**31 - 1
"""A bound of Slice from this on means the end of the dim, whatever its size."""

MIN_RESHAPE = 5
"""The first opset whose Reshape takes its target as an input, and moves tensors of all types."""


def maker_of(value: ir.Value | None, *op_types: str) -> ir.Node | None:
    """The node that makes a value, where it is one of some operators of `ai.onnx` and all its attributes are known."""
    node = None if value is None else value.producer()
    if node is None or node.domain or node.op_type not in op_types or has_reference(node):
        return None
    return node


def has_reference(node: ir.Node) -> bool:
    """Whether an attribute refers to one of the enclosing function, so that its value is not known."""
    return any(attribute.is_ref() for attribute in node.attributes.values())


def is_private(value: ir.Value | None, reader: ir.Node) -> bool:
    """Whether a node alone reads a value that is made in its own graph: without the node, its maker is gone too."""
    maker = None if value is None else value.producer()
    if value is None or maker is None or maker.graph is not reader.graph or value.is_graph_output():
        return False
    others = [output for output in maker.outputs if output is not value]
    return all(use.node is reader for use in value.uses()) and not any(o.uses() or o.is_graph_output() for o in others)


def attribute(node: ir.Node, name: str, default: Any = None) -> Any:
    """The value of an attribute; None for a reference to an attribute of a function."""
    found = node.attributes.get(name)
    return default if found is None else None if found.is_ref() else found.value


def input_of(node: ir.Node, index: int) -> ir.Value | None:
    """An input, None where it is left out."""
    return node.inputs[index] if index < len(node.inputs) else None


def is_given(node: ir.Node, name: str, index: int) -> bool:
    """Whether a parameter is given, as an attribute or as an input."""
    return input_of(node, index) is not None or name in node.attributes


def ints_of(node: ir.Node, facts: Facts, name: str, index: int) -> tuple[int, ...] | None:
    """A list of integers that old versions have as an attribute and new ones as an input; None where it is unknown."""
    given = input_of(node, index)
    if given is not None:
        return facts.of(given).ints
    value = attribute(node, name)
    return None if value is None else tuple(value)


def axes_in(axes: Sequence[int | None] | None, rank: int | None) -> tuple[int, ...] | None:
    """Axes counted from the front; None where one is unknown (as a reference is), out of range, or named twice."""
    known = [axis for axis in axes or () if axis is not None]
    if axes is None or len(known) < len(axes) or (rank is None and any(axis < 0 for axis in known)):
        return None
    if rank is not None and any(not -rank <= axis < rank for axis in known):
        return None
    found = tuple(axis + (rank or 0) if axis < 0 else axis for axis in known)
    return found if len(set(found)) == len(found) else None


def perm_of(node: ir.Node, facts: Facts) -> tuple[int, ...] | None:
    """The permutation of a Transpose: backwards where it is left out. None where it is not known, or can't be."""
    perm = attribute(node, "perm", ())
    rank = facts.of(node.inputs[0]).rank
    if perm is None or (rank is None and not perm):
        return None
    order = tuple(perm) if "perm" in node.attributes else tuple(reversed(range(rank or 0)))
    fits = rank is None or rank == len(order)
    return order if fits and sorted(order) == list(range(len(order))) else None


def constant_target(before: Sequence[DimLike], after: Sequence[DimLike]) -> list[int] | None:
    """A constant target that reshapes x from `before` to `after` in every run; None where there is none.

    Args:
        before: The dims of x.
        after: Dims of as many elements, in every run.

    Returns:
        Integers, 0 for a dim that is copied from x, and -1 for one free dim. -1 needs all others to be proven
        positive: by a dim that is 0 in some run, the runtime can't divide.
    """
    symbolic = [axis for axis, dim in enumerate(after) if isinstance(dim, Dim)]
    if len(symbolic) == 1 and all(isinstance(dim, Dim) or dim > 0 for dim in after):
        return [-1 if isinstance(dim, Dim) else dim for dim in after]
    target = []
    for axis, dim in enumerate(after):
        copied = axis < len(before) and before[axis] == dim
        target.append(dim if isinstance(dim, int) and dim > 0 else 0 if copied else -1)
    free = [axis for axis, wanted in enumerate(target) if wanted == -1]
    if len(free) > 1:
        return None
    return target if not free or all(at_least(dim, 1) for axis, dim in enumerate(after) if axis != free[0]) else None


def int64s(values: Sequence[int]) -> np.ndarray[Any, Any]:
    """A 1-D int64 array."""
    return np.array(values, np.int64)


def reshape(op: Builder, x: ir.Value | None, target: Sequence[int]) -> Any:
    """Reshape from opset 5 on."""
    return op.Reshape(x, op.constant(int64s(target)))


def with_axes(op: Builder, op_type: str, x: ir.Value | None, axes: Sequence[int], version: int) -> Any:
    """Squeeze or Unsqueeze, whose axes are an attribute before opset 13 and an input from there on."""
    if version < 13:
        return op.node(op_type, x, axes=tuple(axes))
    return op.node(op_type, x, op.constant(int64s(axes)))


def kept_attributes(node: ir.Node, *without: str) -> dict[str, ir.Attr]:
    """The attributes of a node for another of its operator."""
    return {name: value for name, value in node.attributes.items() if name not in without}


def size_of(value: ir.Value | None, axis: int, facts: Facts) -> DimLike | None:
    """One dim of a value, None where it is not known."""
    shape = facts.shape(value)
    return shape[axis] if shape is not None and axis < len(shape) else None
