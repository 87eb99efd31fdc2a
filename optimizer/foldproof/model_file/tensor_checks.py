"""Do the tensors of a model hold what they say? Looked at before anything reads or allocates one.

A tensor in the model must have as many elements as its dims say, in the field of its type. One in a data file must
lie in that file as a whole, and the file beside the model: `external_data.py` says which files those are. What is
copied as it is, parts of sparse tensors and the training information, must not lie in a data file: the copy would name
one that it does not have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import onnx
import onnx_ir as ir

from foldproof.errors import ModelError
from foldproof.large_tensors import are_possible
from foldproof.model_file.external_data import Region, check_overlaps, region_of

_Type = ir.DataType
_FIELD_OF = {
    **dict.fromkeys((_Type.FLOAT, _Type.COMPLEX64), "float_data"),
    **dict.fromkeys((_Type.DOUBLE, _Type.COMPLEX128), "double_data"),
    **dict.fromkeys((_Type.UINT32, _Type.UINT64), "uint64_data"),
    _Type.INT64: "int64_data",
    _Type.STRING: "string_data",
}
"""The field of a type's elements; `int32_data` for all others."""

_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
_HOLDS_TENSORS = frozenset(
    {
        onnx.AttributeProto.TENSOR,
        onnx.AttributeProto.TENSORS,
        onnx.AttributeProto.SPARSE_TENSOR,
        onnx.AttributeProto.SPARSE_TENSORS,
        onnx.AttributeProto.GRAPH,
        onnx.AttributeProto.GRAPHS,
    }
)
_KNOWN = frozenset(member.value for member in _Type if member is not _Type.UNDEFINED)

MAX_BYTES = 1 << 63
"""No tensor ends behind this byte: offsets are signed numbers of 64 bits."""

_Nodes: TypeAlias = Iterable[onnx.NodeProto]


def check_tensors(proto: onnx.ModelProto, model: Path | None) -> None:
    """Checks all tensors of a model: initializers, and those in attributes.

    The lengths of raw data are compared, which copies it for a moment (0.2 s for a GB). No element is looked at but
    of floats of 6 bits, which nothing reads whose unused bits are not 0.

    Args:
        proto: The model.
        model: The file that it was read from. None: its data files lie in the working directory.

    Raises:
        ModelError: A tensor has a dim below 0, an unknown type, or another number of elements than its dims say; it
            lies outside its data file, or overlaps another one there in part; a data file is not one beside the model;
            a part of a sparse tensor or a tensor of the training information lies in a data file.
    """
    regions: list[Region] = []
    for tensor, place in _tensors(proto):
        _check(tensor, place, model, regions)
    check_overlaps(regions)


def _check(tensor: onnx.TensorProto, place: str, model: Path | None, regions: list[Region]) -> None:
    if any(dim < 0 for dim in tensor.dims):
        raise _invalid(place, f"has the dims {list(tensor.dims)}, and none may be below 0")
    if tensor.data_type not in _KNOWN:
        raise _invalid(place, f"has the unknown element type {tensor.data_type}")
    dtype = _Type(tensor.data_type)
    count = math.prod(tensor.dims)
    if not count and not are_possible(tensor.dims):
        raise _invalid(place, f"has the dims {list(tensor.dims)}, which no tensor has")
    filled = [field for field in _FIELDS if len(getattr(tensor, field))]
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        if dtype is _Type.STRING or filled or tensor.raw_data:
            raise _invalid(place, "lies in a data file, and can't be strings or have elements in the model")
        region = region_of(tensor, place, _bytes(count, dtype), model)
        if region is not None:
            regions.append(region)
        return
    if dtype is not _Type.STRING and tensor.HasField("raw_data"):
        have = len(tensor.raw_data)
        if filled:
            raise _invalid(place, f"has elements in both raw_data and {filled[0]}")
        if have != _bytes(count, dtype):
            raise _invalid(place, f"has {have} bytes, but its dims {list(tensor.dims)} take {_bytes(count, dtype)}")
        if _bits(dtype) == 6 and count % 4 and tensor.raw_data[-1] >> 6 * count % 8:
            raise _invalid(place, "has bits behind its last element that are not 0")
        return
    field = _FIELD_OF.get(dtype, "int32_data")
    if tensor.HasField("raw_data") or any(other != field for other in filled):
        wrong = filled[0] if filled else "raw_data"
        raise _invalid(place, f"has its elements in {wrong}, where {dtype.name.lower()} can't be")
    have, need = len(getattr(tensor, field)), _entries(count, dtype)
    if have != need:
        raise _invalid(place, f"has {have} entries in {field}, but its dims {list(tensor.dims)} take {need}")
    if _bits(dtype) == 6 and any(not 0 <= entry < 64 for entry in tensor.int32_data):
        raise _invalid(place, "has elements of more than 6 bits")


def _bytes(count: int, dtype: ir.DataType) -> int:
    return -(-count * _bits(dtype) // 8)


def _entries(count: int, dtype: ir.DataType) -> int:
    """How many entries of its typed field a tensor takes: a complex number has two, and what is packed one a byte."""
    if dtype in (_Type.COMPLEX64, _Type.COMPLEX128):
        return 2 * count
    return _bytes(count, dtype) if _bits(dtype) in (2, 4) else count


def _bits(dtype: ir.DataType) -> int:
    """The bits of an element, 0 of strings. Those of 6 are packed in `raw_data` alone, and then no bit may be left."""
    return 0 if dtype is _Type.STRING else dtype.bitwidth


def _invalid(place: str, reason: str) -> ModelError:
    return ModelError(f"{place} {reason}", hint="Download or export the model again")


def _tensors(proto: onnx.ModelProto) -> Iterator[tuple[onnx.TensorProto, str]]:
    """All tensors that anything may read, each with what to call it. Bodies may be nested at any depth."""
    waiting = [proto.graph]
    for function in proto.functions:
        for attribute in function.attribute_proto:
            yield from _in_attribute(attribute, f"of the function {function.name!r}", waiting)
        yield from _in_nodes(function.node, waiting)
    yield from _in_graphs(waiting)
    for training in proto.training_info:
        for tensor, place in _in_graphs([training.initialization, training.algorithm]):
            yield _inside(tensor, f"{place} in the training information")


def _in_graphs(waiting: list[onnx.GraphProto]) -> Iterator[tuple[onnx.TensorProto, str]]:
    """The tensors of some graphs, and of all that are nested in them. The list is empty afterwards."""
    while waiting:
        graph = waiting.pop()
        for tensor in graph.initializer:
            yield tensor, f"the initializer {tensor.name!r}"
        for sparse in graph.sparse_initializer:
            yield from _in_sparse(sparse, f"the sparse initializer {sparse.values.name!r}")
        yield from _in_nodes(graph.node, waiting)


def _in_nodes(nodes: _Nodes, waiting: list[onnx.GraphProto]) -> Iterator[tuple[onnx.TensorProto, str]]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type in _HOLDS_TENSORS:
                name = node.name or next(iter(node.output), node.op_type)
                yield from _in_attribute(attribute, f"of the node {name!r}", waiting)


def _in_attribute(
    attribute: onnx.AttributeProto, owner: str, waiting: list[onnx.GraphProto]
) -> Iterator[tuple[onnx.TensorProto, str]]:
    kind, place = attribute.type, f"the attribute {attribute.name!r} {owner}"
    if attribute.ref_attr_name:
        return
    if kind == onnx.AttributeProto.GRAPH:
        waiting.append(attribute.g)
    elif kind == onnx.AttributeProto.GRAPHS:
        waiting.extend(attribute.graphs)
    elif kind == onnx.AttributeProto.TENSOR:
        yield attribute.t, place
    elif kind == onnx.AttributeProto.TENSORS:
        yield from ((tensor, place) for tensor in attribute.tensors)
    elif kind == onnx.AttributeProto.SPARSE_TENSOR:
        yield from _in_sparse(attribute.sparse_tensor, place)
    elif kind == onnx.AttributeProto.SPARSE_TENSORS:
        for sparse in attribute.sparse_tensors:
            yield from _in_sparse(sparse, place)


def _in_sparse(sparse: onnx.SparseTensorProto, place: str) -> Iterator[tuple[onnx.TensorProto, str]]:
    if any(dim < 0 for dim in sparse.dims) or math.prod(sparse.dims) >= MAX_BYTES:
        raise _invalid(place, f"has the dims {list(sparse.dims)}, which no tensor has")
    if sparse.indices.data_type != onnx.TensorProto.INT64:
        raise _invalid(place, "has indices that are not int64")
    yield _inside(sparse.values, f"{place} (values)")
    yield _inside(sparse.indices, f"{place} (indices)")


def _inside(tensor: onnx.TensorProto, place: str) -> tuple[onnx.TensorProto, str]:
    """The tensor and its place, if its elements are in the model."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        hint = "Export the model with these elements in the model's own file"
        raise ModelError(f"{place} lies in a data file, which no sparse tensor or training information may", hint=hint)
    return tensor, place
