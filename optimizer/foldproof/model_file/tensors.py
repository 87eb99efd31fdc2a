"""Tensors that remember the protobuf message that they came from, so that they go out as they came in."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir as ir

from foldproof.errors import ModelError

MAX_DENSE = 256 << 20
"""A sparse tensor that would take more bytes than this is not made dense."""

_KEPT_UP_TO = 1024
"""The elements of a tensor of at most so many bytes are kept once they were read: rules read scalars many times."""


class ProtoTensor(ir.serde.TensorProtoTensor):
    """A tensor in a `TensorProto` of someone else: renaming the tensor leaves the message alone.

    What the message says is read once: it must not change.
    """

    __slots__ = ("_array", "_dtype", "_local_name", "_shape", "_size", "origin")

    def __init__(self, origin: onnx.TensorProto) -> None:
        super().__init__(origin)
        self.origin = origin
        self._local_name = origin.name
        self._dtype: ir.DataType | None = None
        self._shape: ir.Shape | None = None
        self._size: int | None = None
        self._array: npt.NDArray[Any] | None = None

    @property
    def dtype(self) -> ir.DataType:  # type: ignore[override]  # the protocol's attribute is a property of all tensors
        """The element type."""
        if self._dtype is None:
            self._dtype = ir.DataType(self.origin.data_type)
        return self._dtype

    @property
    def shape(self) -> ir.Shape:  # type: ignore[override]
        """The dims."""
        if self._shape is None:
            self._shape = ir.Shape(self.origin.dims, frozen=True)
        return self._shape

    @property
    def size(self) -> int:
        """The number of elements."""
        if self._size is None:
            self._size = math.prod(self.origin.dims)
        return self._size

    def numpy(self) -> npt.NDArray[Any]:
        """The elements; an array that can't be written to where it is kept.

        Raises:
            ValueError: The type is undefined, or the elements do not fit the dims.
        """
        if self._array is not None:
            return self._array
        array: npt.NDArray[Any] = super().numpy()
        if array.nbytes <= _KEPT_UP_TO:
            array.flags.writeable = False
            self._array = array
        return array

    @property
    def name(self) -> str:
        """The name of the tensor, `""` where it has none."""
        return self._local_name

    @name.setter
    def name(self, value: str | None) -> None:
        self._local_name = value or ""

    @property
    def raw(self) -> onnx.TensorProto:
        """The message, or a copy that bears the new name where the tensor was renamed."""
        if self._local_name == self.origin.name:
            return self.origin
        copy = onnx.TensorProto()
        copy.CopyFrom(self.origin)
        copy.name = self._local_name
        return copy


class SparseTensor(ir.LazyTensor):
    """A tensor that is stored as its nonzero elements, and dense only where its elements are asked for.

    Args:
        origin: The ONNX form: `values` (1-D), `indices` (int64; linear `[nnz]`, or coordinates `[nnz, rank]`)
            and `dims`.

    Raises (where its elements are asked for):
        ModelError: The indices don't fit the dims, their count differs from that of the values, or it would take more
            than `MAX_DENSE` bytes.
    """

    __slots__ = ("origin",)

    def __init__(self, origin: onnx.SparseTensorProto) -> None:
        super().__init__(
            functools.partial(_densified, origin),
            dtype=ir.DataType(origin.values.data_type),
            shape=ir.Shape(origin.dims, frozen=True),
            name=origin.values.name or None,
        )
        self.origin = origin

    def __repr__(self) -> str:
        return f"{self._repr_base()}(name={self.name!r})"

    @property
    def nbytes(self) -> int:
        """The bytes of the elements, were it dense; of strings those that are stored, as others are empty."""
        if self.dtype is ir.DataType.STRING:
            return sum(map(len, self.origin.values.string_data))
        return super().nbytes

    @property
    def is_too_large(self) -> bool:
        """Whether it may not be made dense."""
        return _is_too_large(self.origin)


def is_writable(attribute: ir.Attr) -> bool:
    """Whether onnx_ir can write an attribute: it knows no sparse tensors but as dense ones, which may be too large."""
    if attribute.type in (ir.AttributeType.SPARSE_TENSOR, ir.AttributeType.SPARSE_TENSORS):
        return attribute.is_ref()
    return not (isinstance(attribute.value, SparseTensor) and attribute.value.is_too_large)


def _densified(origin: onnx.SparseTensorProto) -> ir.TensorProtocol:
    """The dense tensor: elements that are not stored are 0, and strings empty."""
    if _is_too_large(origin):
        raise _invalid(origin, f"the dims {list(origin.dims)}, of which no dense tensor is made")
    values, indices = _elements(origin.values), _elements(origin.indices)
    dims = tuple(origin.dims)
    if values.ndim != 1 or indices.ndim not in (1, 2) or len(indices) != len(values):
        raise _invalid(origin, f"{list(indices.shape)} indices for {list(values.shape)} values")
    if indices.ndim == 2 and indices.shape[1] != len(dims):
        raise _invalid(origin, f"indices of {indices.shape[1]} coordinates for {len(dims)} dims")
    coordinates = tuple(indices.T) if indices.ndim == 2 else (indices,)
    limits = dims if indices.ndim == 2 else (math.prod(dims),)
    for axis, limit in zip(coordinates, limits, strict=True):
        if axis.size and (axis.min() < 0 or axis.max() >= limit):
            raise _invalid(origin, "an index outside its dims")
    is_text = origin.values.data_type == onnx.TensorProto.STRING
    dense = np.full(limits, b"", object) if is_text else np.zeros(limits, dtype=values.dtype)
    dense[coordinates] = values
    if is_text:
        return ir.StringTensor(dense.reshape(dims), name=origin.values.name)
    return ir.Tensor(dense.reshape(dims), dtype=ir.DataType(origin.values.data_type), name=origin.values.name)


def _is_too_large(origin: onnx.SparseTensorProto) -> bool:
    dtype = ir.DataType(origin.values.data_type)
    bits = 64 if dtype is ir.DataType.STRING else dtype.bitwidth
    return bool(math.prod(origin.dims) * bits > 8 * MAX_DENSE)


def _invalid(origin: onnx.SparseTensorProto, what: str) -> ModelError:
    return ModelError(f"the sparse tensor {origin.values.name!r} has {what}", hint="Export the model again")


def _elements(proto: onnx.TensorProto) -> npt.NDArray[Any]:
    return np.asarray(ir.serde.deserialize_tensor(proto).numpy())


def is_stored_as(tensor: ir.TensorProtocol, proto: onnx.TensorProto) -> bool:
    """Whether the tensor is what `proto` holds, without reading weights.

    A dense tensor says so itself. String and external tensors of onnx_ir don't, and are compared by what they
    say.
    """
    if isinstance(tensor, ProtoTensor):
        return tensor.origin is proto
    if list(tensor.shape.numpy()) != list(proto.dims) or tensor.dtype.value != proto.data_type:
        return False
    if isinstance(tensor, ir.ExternalTensor):
        if proto.data_location != onnx.TensorProto.EXTERNAL:
            return False
        entries = {entry.key: entry.value for entry in proto.external_data}
        stated = (entries.get("location", ""), int(entries.get("offset", 0)), int(entries.get("length", 0)))
        return (str(tensor.location), tensor.offset or 0, tensor.length or 0) == stated
    return isinstance(tensor, ir.StringTensor) and list(tensor.string_data()) == list(proto.string_data)
