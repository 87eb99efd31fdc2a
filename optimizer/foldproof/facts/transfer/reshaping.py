"""Reshape, Flatten, Squeeze, Unsqueeze and Transpose: the same elements under other dims."""

from __future__ import annotations

from collections.abc import Sequence

from foldproof.facts.dim import Dim, DimLike, at_least, differ, exact_div, minimum, product
from foldproof.facts.fact import Element, Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._moves import (
    axes_in,
    axis_in,
    is_given,
    natural,
    parameter,
    pick,
    positions,
    quotient,
)


@infers("Reshape")
def reshape(node: NodeView) -> Fact:
    """Reshape-1..25: the target's dims; 0 copies the input's dim (without `allowzero`), -1 is what is left."""
    data = node.input(0)
    target = parameter(node, "shape", 1)
    if target is None:
        return tensor_fact(data.dtype)
    dims = reshaped(data.shape, target, zero_copies=not node.attribute("allowzero", 0))
    shape = [node.fresh(axis) if dim is None else dim for axis, dim in enumerate(dims)]
    return tensor_fact(data.dtype, shape, data.elements)


def reshaped(
    shape: Sequence[DimLike] | None, target: Sequence[Element], *, zero_copies: bool = True
) -> list[DimLike | None]:
    """The dims that a Reshape gives.

    Args:
        shape: The dims of the input, None where not even their number is known.
        target: The elements of the target shape.
        zero_copies: Whether a 0 in the target stands for the input's dim of the same axis.

    Returns:
        A dim for each element of the target, None where it is not proven.
    """
    if any(isinstance(wanted, int) and wanted < -1 for wanted in target):
        return [None] * len(target)  # no run gets past it, though the ONNX reference takes each negative number for -1
    dims = [_proven(wanted, axis, shape, zero_copies) for axis, wanted in enumerate(target)]
    open_axes = [axis for axis, dim in enumerate(dims) if dim is None]
    if shape is None or not open_axes:
        return dims
    count = product(shape)
    others = product(dim for dim in dims if dim is not None)
    # With -1, the node fails where the other dims have a 0; but with `allowzero`, which the specification calls invalid
    # then, onnxruntime leaves the zeros out of the division. Otherwise the open dim could be anything then.
    if len(open_axes) == 1 and ((target[open_axes[0]] == -1 and zero_copies) or at_least(others, 1)):
        dims[open_axes[0]] = quotient(count, others)
        return dims
    if not zero_copies:
        share = quotient(count, others)
        if len(open_axes) == 1 and target[open_axes[0]] == -1 and _zeros_cancel(shape, dims, share):
            dims[open_axes[0]] = share
        return dims
    zeros: list[DimLike] = []  # targets that may be 0 and then are no more what comes out
    for axis in open_axes:
        wanted = target[axis]
        if isinstance(wanted, Dim) and at_least(wanted, 0) and axis < len(shape):
            dims[axis] = wanted + _where_zero(shape[axis], wanted) * (1 - minimum(wanted, 1))
            zeros.append(wanted)
    rest = [axis for axis in open_axes if dims[axis] is None]
    if len(rest) == 1 and target[rest[0]] == -1:
        share = exact_div(count, product([others, *zeros]))
        # Where one of them is 0, so is the count, and what is left of it for this dim.
        dims[rest[0]] = None if share is None else product([share, *(minimum(zero, 1) for zero in zeros)])
    return dims


def _zeros_cancel(shape: Sequence[DimLike], dims: Sequence[DimLike | None], share: DimLike | None) -> bool:
    """Whether a -1 gives the same share also where dims are 0 and onnxruntime leaves the zeros out of the division.

    It does where the dims that may be 0 are the same before and after: those of `[b, s, 384]` and `[b, s, -1, 32]`.
    """
    before = sorted((dim for dim in shape if not isinstance(dim, int)), key=str)
    after = sorted((dim for dim in dims if isinstance(dim, Dim)), key=str)
    return isinstance(share, int) and share > 0 and 0 not in shape and 0 not in dims and before == after


def _proven(wanted: Element, axis: int, shape: Sequence[DimLike] | None, zero_copies: bool) -> DimLike | None:
    """The dim that comes of one target by itself; None where that depends on the others, or is not known.

    A symbol may be 0: then the input's dim is what comes out, if zero copies.
    """
    if not isinstance(wanted, (int, Dim)):
        return None
    # Beyond the input's rank, a 0 that copies fails.
    given = None if shape is None else shape[axis] if axis < len(shape) else 0
    if isinstance(wanted, int):
        return given if wanted == 0 and zero_copies else natural(wanted)
    if wanted is given or at_least(wanted, 1):
        return wanted
    if not at_least(wanted, 0):
        return None
    if not zero_copies or (given is not None and _where_zero(given, wanted) == 0):
        return wanted
    return None


def _where_zero(given: DimLike, wanted: Dim) -> DimLike:
    """What a dim is where a target is 0, as far as that is known: else the dim as it is."""
    if exact_div(given, wanted) is not None:
        return 0
    symbol = next(iter(wanted.symbols))
    if isinstance(given, Dim) and wanted == Dim.symbol(*symbol):
        try:
            return given.substitute({symbol: 0})
        except ZeroDivisionError:  # where the target is 0, another node has failed
            return 0
    return given


@infers("Flatten")
def flatten(node: NodeView) -> Fact | None:
    """Flatten-1..25: the dims before the axis, multiplied, and those from it on."""
    data = node.input(0)
    if data.shape is None:
        return tensor_fact(data.dtype, node.fresh_shape(2))
    axis = node.attribute("axis", 1)
    rank = len(data.shape)
    if not -rank <= axis <= rank:
        return None
    axis = axis + rank if axis < 0 else axis
    return tensor_fact(data.dtype, (product(data.shape[:axis]), product(data.shape[axis:])), data.elements)


@infers("Squeeze")
def squeeze(node: NodeView) -> Fact | None:
    """Squeeze-1..25: without the named dims, which must be 1; without `axes`, without each dim that is 1."""
    data = node.input(0)
    axes = parameter(node, "axes", 1)
    if data.shape is None:
        return tensor_fact(data.dtype)
    if is_given(node, "axes", 1) and axes != ():
        if axes is None:
            return tensor_fact(data.dtype)
        rank = len(data.shape)
        named = [axis_in(axis, rank) for axis in axes]
        if None in named:
            # Which axis is unknown; naming one twice is no error, so that more than one may be fewer.
            shape_of_one = node.fresh_shape(rank - 1) if len(axes) == 1 and rank else None
            return tensor_fact(data.dtype, shape_of_one, data.elements)
        shape = [dim for axis, dim in enumerate(data.shape) if axis not in named]
    elif all(differ(dim, 1) for dim in data.shape):
        shape = list(data.shape)
    elif axes is None and all(dim == 1 or differ(dim, 1) for dim in data.shape):
        shape = [dim for dim in data.shape if dim != 1]
    else:  # a symbol may be 1; and an empty list of axes is read as none of them, or as none given
        return tensor_fact(data.dtype)
    return tensor_fact(data.dtype, shape, data.elements)


@infers("Unsqueeze")
def unsqueeze(node: NodeView) -> Fact | None:
    """Unsqueeze-1..25: a dim of 1 at each of the axes of the output."""
    data = node.input(0)
    axes = parameter(node, "axes", 1)
    if data.shape is None or axes is None:
        return tensor_fact(data.dtype)
    rank = len(data.shape) + len(axes)
    if None in axes:
        return tensor_fact(data.dtype, node.fresh_shape(rank), data.elements)
    places = axes_in(axes, rank)
    if places is None:
        return None
    dims = iter(data.shape)
    shape = [1 if axis in places else next(dims) for axis in range(rank)]
    return tensor_fact(data.dtype, shape, data.elements)


@infers("Transpose")
def transpose(node: NodeView) -> Fact | None:
    """Transpose-1..25: the dims in the order of `perm`, backwards without it."""
    data = node.input(0)
    perm = node.attribute("perm")
    if data.shape is None:
        return tensor_fact(data.dtype, None if perm is None else node.fresh_shape(len(perm)))
    rank = len(data.shape)
    order = list(range(rank))[::-1] if perm is None else axes_in(perm, rank)
    if order is None or len(order) != rank:
        return None
    grid = positions(data)
    elements = None if grid is None else pick(data.elements or (), grid.transpose(order))
    return tensor_fact(data.dtype, [data.shape[axis] for axis in order], elements)
