"""Operators that make a tensor of a shape that their inputs hold as data, or that count elements."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, prod

import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike, ceil_div, floor_div, maximum
from foldproof.facts.fact import MAX_ELEMENTS, Element, Fact, elements_of, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer import _arithmetic as arithmetic
from foldproof.facts.transfer._broadcast import static_count, static_sizes
from foldproof.facts.transfer._elements import fits, is_integer, magnitude, mapped, significand_bits, truth
from foldproof.facts.transfer._moves import is_small, scalar
from foldproof.facts.transfer.casts import dtype_attribute


def shape_from_data(node: NodeView, data: Fact, output: int = 0) -> tuple[DimLike, ...] | None:
    """The dims that a 1-D tensor holds, fresh where an element is unknown; None where their number is."""
    elements = data.elements
    if elements is not None:
        return tuple(
            element if isinstance(element, (int, Dim)) else node.fresh(axis, output)
            for axis, element in enumerate(elements)
        )
    if data.shape is not None and len(data.shape) == 1 and isinstance(data.shape[0], int):
        return node.fresh_shape(data.shape[0], output)
    return None


def length_from_data(node: NodeView, data: Fact, axis: int = 0) -> DimLike:
    """The dim that a scalar holds, a fresh one where it is unknown."""
    element = scalar(data)
    return element if isinstance(element, (int, Dim)) else node.fresh(axis)


@infers("ConstantOfShape")
def constant_of_shape(node: NodeView) -> Fact | None:
    """ConstantOfShape-9..25: one value everywhere, by default the float 0."""
    shape = shape_from_data(node, node.input(0))
    if shape is not None and any(isinstance(dim, int) and dim < 0 for dim in shape):
        return None
    dtype, value = _fill(node)
    count = static_count(shape)
    elements = [value] * count if count is not None and count <= MAX_ELEMENTS else None
    return tensor_fact(dtype, shape, elements)


def _fill(node: NodeView) -> tuple[ir.DataType | None, Element]:
    """The type and the value of what a ConstantOfShape is filled with."""
    tensor = node.attribute("value")
    if tensor is None:
        return ir.DataType.FLOAT, 0
    elements = elements_of(tensor)
    return tensor.dtype, elements[0] if elements else None


@infers("Range")
def range_(node: NodeView) -> Fact:
    """Range-11..27: max(ceil((limit - start) / delta), 0) numbers."""
    dtype = node.input(0).dtype
    start, limit, delta = (scalar(node.input(k)) for k in range(3))
    length = _range_length(dtype, start, limit, delta)
    if length is None:
        return tensor_fact(dtype, (node.fresh(0),))
    elements = None
    if isinstance(length, int) and length <= MAX_ELEMENTS:
        steps = [arithmetic.multiply(dtype, k, delta) if k else 0 for k in range(length)]
        elements = [arithmetic.add(dtype, start, step) for step in steps]
        if not is_integer(dtype) and not _counts_exactly(dtype, start, delta, length):
            elements = [None] * length
    return tensor_fact(dtype, (length,), elements)


def _range_length(dtype: ir.DataType | None, start: Element, limit: Element, delta: Element) -> DimLike | None:
    if start is None or limit is None or delta is None or isinstance(delta, Dim) or delta == 0:
        return None
    if isinstance(start, Dim) or isinstance(limit, Dim):
        if isinstance(start, Fraction) or isinstance(limit, Fraction) or not isinstance(delta, int):
            return None
        if not fits(dtype, limit - start):
            return None
        return maximum(ceil_div(limit - start, delta) if delta > 0 else ceil_div(start - limit, -delta), 0)
    exact = (Fraction(limit) - start) / Fraction(delta)
    if is_integer(dtype):
        return max(ceil(exact), 0)
    # Runtimes divide in the type itself or in double: claimed only where no rounding can move the ceiling.
    lengths = {ceil(exact * (1 + slack)) for slack in (Fraction(-1, 2**7), Fraction(0), Fraction(1, 2**7))}
    spread = arithmetic.subtract(dtype, limit, start)
    ratio = arithmetic.divide(dtype, spread, delta)
    if len(lengths) == 1 or (spread == limit - start and ratio == exact):
        return max(ceil(exact), 0)
    return None


def _counts_exactly(dtype: ir.DataType | None, start: Element, delta: Element, length: int) -> bool:
    """Whether neither `start + k*delta` nor adding delta again and again rounds anything."""
    if not isinstance(start, (int, Fraction)) or not isinstance(delta, (int, Fraction)):
        return isinstance(start, (int, Dim)) and isinstance(delta, (int, Dim))
    unit = max(Fraction(start).denominator, Fraction(delta).denominator)  # both are powers of 2
    return bool((magnitude(start) + length * magnitude(delta)) * unit <= 2 ** significand_bits(dtype))


@infers("EyeLike")
def eye_like(node: NodeView) -> Fact:
    """EyeLike-9..22: ones on the k-th diagonal of a matrix of the input's shape."""
    data = node.input(0)
    dtype = dtype_attribute(node, "dtype", data.dtype)
    shape = data.shape
    elements = None
    if shape is not None and len(shape) == 2 and is_small(shape):
        rows, columns, k = shape[0], shape[1], node.attribute("k", 0)
        if isinstance(rows, int) and isinstance(columns, int):
            elements = [int(column - row == k) for row in range(rows) for column in range(columns)]
    return tensor_fact(dtype, shape, elements)


@infers("OneHot")
def one_hot(node: NodeView) -> Fact | None:
    """OneHot-9..28: one more axis, as long as `depth` says, for the position of the one."""
    indices = node.input(0).shape
    dtype = node.input(2).dtype
    if indices is None:
        return tensor_fact(dtype)
    rank = len(indices) + 1
    axis = node.attribute("axis", -1)
    if not -rank <= axis < rank:
        return None
    axis %= rank
    return tensor_fact(dtype, (*indices[:axis], length_from_data(node, node.input(1), axis), *indices[axis:]))


@infers("NonZero")
def non_zero(node: NodeView) -> Fact:
    """NonZero-9..13: a row of indices for each axis; of a scalar, runtimes disagree on the number of rows."""
    data = node.input(0)
    if not data.shape:
        count = data.ints
        return tensor_fact(ir.DataType.INT64, (node.fresh(0), node.fresh(1) if count is None else int(count[0] != 0)))
    rank, size = len(data.shape), static_count(data.shape)
    decided = mapped(data, truth)
    if decided is None or size is None or len(decided) != size or None in decided:
        return tensor_fact(ir.DataType.INT64, (rank, _count_of_filled(node) or node.fresh(1)))
    found = [position for position, one in enumerate(decided) if one]
    sizes = static_sizes(data.shape)
    strides = [prod(sizes[axis + 1 :]) for axis in range(rank)]
    elements = [position // stride % size for stride, size in zip(strides, sizes, strict=True) for position in found]
    return tensor_fact(ir.DataType.INT64, (rank, len(found)), elements)


def _count_of_filled(node: NodeView) -> DimLike | None:
    """The number of elements where the input is made of one nonzero value, as exporters write `arange`."""
    value = node.node.inputs[0]
    producer = None if value is None else value.producer()
    if producer is None or producer.domain or producer.op_type != "ConstantOfShape":
        return None
    fill = _fill(NodeView(producer, node.facts))[1]
    return node.input(0).element_count if isinstance(fill, (int, Fraction)) and fill != 0 else None


@infers("HannWindow", "HammingWindow", "BlackmanWindow")
def window(node: NodeView) -> Fact:
    """HannWindow, HammingWindow, BlackmanWindow 17: as many samples as the input says."""
    return tensor_fact(
        dtype_attribute(node, "output_datatype", ir.DataType.FLOAT), (length_from_data(node, node.input(0)),)
    )


@infers("MelWeightMatrix")
def mel_weight_matrix(node: NodeView) -> Fact:
    """MelWeightMatrix-17: a row for each bin of the one-sided spectrum, a column for each mel bin."""
    dft_length = scalar(node.input(1))
    rows = floor_div(dft_length, 2) + 1 if isinstance(dft_length, (int, Dim)) else node.fresh(0)
    columns = length_from_data(node, node.input(0), 1)
    return tensor_fact(dtype_attribute(node, "output_datatype", ir.DataType.FLOAT), (rows, columns))
