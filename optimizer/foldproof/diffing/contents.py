"""What constants and attributes hold, as keys that are equal where the contents are."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import onnx
import onnx_ir as ir

from foldproof.errors import ModelError
from foldproof.graphs import all_graphs
from foldproof.large_tensors import let_go
from foldproof.model_file import SparseTensor

_Type: TypeAlias = tuple[ir.DataType, tuple[int, ...]]


class Contents:
    """Keys of tensors. Their elements are read only where both models have some of one type and shape.

    Args:
        a: The first model.
        b: The second.
    """

    def __init__(self, a: ir.Model, b: ir.Model) -> None:
        self._common = _types(a) & _types(b)
        self._keys: dict[int, tuple[ir.TensorProtocol, Hashable]] = {}
        self._files: dict[tuple[str, int, int], bytes] = {}

    def key(self, tensor: ir.TensorProtocol) -> Hashable:
        """The key of a tensor: equal for those of the same type, shape and elements.

        Raises:
            ModelError: Its data file can't be read.
        """
        known = self._keys.get(id(tensor))
        if known is None:
            type_ = _type(tensor)
            key = (type_, self._digest(tensor) if type_ in self._common else id(tensor))
            known = self._keys[id(tensor)] = (tensor, key)  # with the tensor, so that its id stays its own
        return known[1]

    def _digest(self, tensor: ir.TensorProtocol) -> bytes:
        if not isinstance(tensor, ir.ExternalTensor):
            return _digest_of(tensor)
        place = (str(Path(tensor.path).resolve()), tensor.offset or 0, tensor.length or tensor.nbytes)
        if place not in self._files:
            try:
                with let_go(tensor):
                    self._files[place] = _digest_of(tensor)
            except (OSError, ValueError) as error:
                raise ModelError(
                    f"the tensor {tensor.name!r} can't be read from {tensor.path}: {error}",
                    hint="Put the data file beside the model",
                ) from error
        return self._files[place]


class _Sink:
    """A file to write to, of which only the digest stays."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._hash.update(view)
        return len(view)

    def digest(self) -> bytes:
        return self._hash.digest()


def _digest_of(tensor: ir.TensorProtocol) -> bytes:
    sink = _Sink()
    if isinstance(tensor, SparseTensor):
        proto = onnx.SparseTensorProto()
        proto.CopyFrom(tensor.origin)
        proto.values.ClearField("name")
        proto.indices.ClearField("name")
        sink.write(proto.SerializeToString(deterministic=True))
    elif tensor.dtype is ir.DataType.STRING:
        for each in tensor.numpy().reshape(-1).tolist():
            data = each if isinstance(each, bytes) else str(each).encode()
            sink.write(struct.pack("<q", len(data)) + data)
    elif isinstance(tensor, (ir.ExternalTensor, ir.Tensor)):
        tensor.tofile(sink)  # piece by piece
    else:
        sink.write(tensor.tobytes())
    return sink.digest()


def constant_of(value: ir.Value) -> ir.TensorProtocol | None:
    """The tensor that an initializer or a Constant node holds; None for a default that the caller may override."""
    node = value.producer()
    if node is not None:
        if not is_constant_node(node):
            return None
        tensor: ir.TensorProtocol | None = ir.convenience.get_const_tensor(value)
        return tensor
    return value.const_value if value.is_initializer() and not value.is_graph_input() else None


def is_constant_node(node: ir.Node) -> bool:
    """Whether a node is a Constant with a tensor of its own."""
    return (
        node.op_type == "Constant"
        and not node.domain
        and len(node.outputs) == 1
        and len(node.attributes) == 1
        and not any(attribute.is_ref() for attribute in node.attributes.values())
    )


def attribute_key(attribute: ir.Attr, contents: Contents) -> Hashable:
    """The key of an attribute that holds no graph."""
    if attribute.is_ref():
        return ("ref", attribute.type, attribute.ref_attr_name)
    value = attribute.value
    kind = attribute.type
    if kind in (ir.AttributeType.TENSOR, ir.AttributeType.SPARSE_TENSOR):
        return kind, contents.key(value)
    if kind in (ir.AttributeType.TENSORS, ir.AttributeType.SPARSE_TENSORS):
        return kind, tuple(map(contents.key, value))
    if kind is ir.AttributeType.FLOAT:
        return kind, struct.pack("<d", value)
    if kind is ir.AttributeType.FLOATS:
        return kind, struct.pack(f"<{len(value)}d", *value)
    if kind in (ir.AttributeType.TYPE_PROTO, ir.AttributeType.TYPE_PROTOS):
        return kind, repr(value)
    return kind, tuple(value) if isinstance(value, (list, tuple)) else value


def _type(tensor: ir.TensorProtocol) -> _Type:
    return tensor.dtype, tuple(int(dim) for dim in tensor.shape.numpy())


def _types(model: ir.Model) -> set[_Type]:
    return {_type(tensor) for graph in all_graphs(model) for tensor in _tensors(graph)}


def _tensors(graph: ir.Graph) -> Iterable[ir.TensorProtocol]:
    for value in graph.initializers.values():
        if value.const_value is not None:
            yield value.const_value
    for node in graph:
        if is_constant_node(node) and (tensor := ir.convenience.get_const_tensor(node.outputs[0])) is not None:
            yield tensor
        for attribute in node.attributes.values():
            if attribute.is_ref():
                continue
            if attribute.type in (ir.AttributeType.TENSOR, ir.AttributeType.SPARSE_TENSOR):
                yield attribute.value
            elif attribute.type in (ir.AttributeType.TENSORS, ir.AttributeType.SPARSE_TENSORS):
                yield from attribute.value
