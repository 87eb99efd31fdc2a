"""Does a part of the rewritten model still say what the original said?"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import onnx
import onnx_ir as ir

from foldproof.model_file.tensors import SparseTensor, is_stored_as
from foldproof.model_file.views import is_constant, readable_type

SPARSE_VALUE = "sparse_value"
"""The attribute of a `Constant` that holds a sparse tensor; in the rewritable model it is its `value`."""

Stays: TypeAlias = Callable[[ir.TensorProtocol], bool]

_Kind = ir.AttributeType
_Part = TypeVar("_Part")


def names_of(values: Iterable[ir.Value | None]) -> list[str | None]:
    """The names of a node's inputs or outputs; an omitted one is `""`, one that never got a name is None."""
    return [value.name if value is not None else "" for value in values]


def node_key(outputs: Iterable[str | None], node: ir.Node | onnx.NodeProto) -> Hashable:
    """What a node is known by: its first output, or else what it is."""
    for name in outputs:
        if name:
            return name
    inputs = names_of(node.inputs) if isinstance(node, ir.Node) else node.input
    return (node.op_type, node.name or "", *inputs)


def by_turns(parts: Iterable[_Part], key: Callable[[_Part], Hashable]) -> Callable[[Hashable], _Part | None]:
    """A lookup that gives the parts of one key one by one, in their order, and then None.

    Few have the same key: nodes whose outputs have no names, and an output that is listed twice.
    """
    waiting: dict[Hashable, list[_Part]] = {}
    for part in parts:
        waiting.setdefault(key(part), []).append(part)
    for same in waiting.values():
        same.reverse()

    def next_of(wanted: Hashable) -> _Part | None:
        same = waiting.get(wanted)
        return same.pop() if same else None

    return next_of


def is_same_node(node: ir.Node, outputs: list[str | None], original: onnx.NodeProto, stays: Stays) -> bool:
    """Whether `original` may stand for the node, subgraphs excepted: a node with subgraphs is never the same.

    Args:
        node: The node now.
        outputs: The names of its outputs.
        original: The node that it may be.
        stays: Whether a tensor is written where it was; a node with one that isn't is not the same.
    """
    domain = original.domain
    if (
        node.op_type != original.op_type
        or node.domain != ("" if domain == "ai.onnx" else domain)
        or (node.name or "") != original.name
        or names_of(node.inputs) != original.input
        or outputs != original.output
        or (node.doc_string or "") != original.doc_string
        or node.overload != original.overload
        or len(node.metadata_props) != len(original.metadata_props)
    ):
        return False
    if node.metadata_props and {entry.key: entry.value for entry in original.metadata_props} != node.metadata_props:
        return False
    attributes = node.attributes
    if len(attributes) != len(original.attribute):
        return False
    for attribute, proto in zip(attributes.values(), original.attribute, strict=True):
        if not is_same_attribute(attribute, proto, stays):
            return False
    return True


def outer_name(node: ir.Node, attribute: ir.Attr) -> str:
    """The name that an attribute has outside: that of a sparse constant's differs."""
    is_sparse = is_constant(node) and isinstance(attribute.value, SparseTensor)
    return SPARSE_VALUE if is_sparse else attribute.name


def is_same_attribute(attribute: ir.Attr, original: onnx.AttributeProto, stays: Stays) -> bool:
    """Whether `original` may stand for the attribute. One that holds a graph is never the same."""
    kind, value = attribute.type, attribute.value
    if isinstance(value, SparseTensor):
        return value.origin is original.sparse_tensor
    if attribute.name != original.name or (attribute.doc_string or "") != original.doc_string:
        return False
    if attribute.ref_attr_name is not None or value is None:
        return (attribute.ref_attr_name or "") == original.ref_attr_name and (
            kind.value == original.type or kind is _Kind.UNDEFINED
        )
    if kind.value != original.type or original.ref_attr_name:
        return False
    same = _SAME.get(kind)
    if same is not None:
        return same(value, original)
    if kind is _Kind.SPARSE_TENSORS:
        return [tensor.origin for tensor in value] == list(original.sparse_tensors)
    if kind is _Kind.TENSOR:
        return _is_same_tensor(value, original.t, stays)
    if kind is _Kind.TENSORS:
        return len(value) == len(original.tensors) and all(
            _is_same_tensor(tensor, proto, stays) for tensor, proto in zip(value, original.tensors, strict=True)
        )
    return False


def _is_same_float(value: float, other: float) -> bool:
    return (value == other and math.copysign(1, value) == math.copysign(1, other)) or (
        math.isnan(value) and math.isnan(other)
    )


def _is_same_string(value: str | bytes, other: bytes) -> bool:
    return (value if isinstance(value, bytes) else value.encode()) == other


def _is_same_type(value: ir.TypeAndShape, proto: onnx.TypeProto) -> bool:
    readable: Any = readable_type(proto)
    return (
        value.type == ir.serde.deserialize_type_proto_for_type(readable)
        and value.shape == ir.serde.deserialize_type_proto_for_shape(readable)
    )  # fmt: skip


def _is_same_tensor(tensor: ir.TensorProtocol, proto: onnx.TensorProto, stays: Stays) -> bool:
    return is_stored_as(tensor, proto) and stays(tensor)


def _are_all(same: Any, values: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(values) == len(others) and all(map(same, values, others))


_SAME: dict[ir.AttributeType, Callable[[Any, onnx.AttributeProto], bool]] = {
    _Kind.INT: lambda value, proto: value == proto.i,
    _Kind.INTS: lambda value, proto: list(value) == proto.ints,
    _Kind.FLOAT: lambda value, proto: _is_same_float(value, proto.f),
    _Kind.FLOATS: lambda value, proto: _are_all(_is_same_float, value, proto.floats),
    _Kind.STRING: lambda value, proto: _is_same_string(value, proto.s),
    _Kind.STRINGS: lambda value, proto: _are_all(_is_same_string, value, proto.strings),
    _Kind.TYPE_PROTO: lambda value, proto: _is_same_type(value, proto.tp),
    _Kind.TYPE_PROTOS: lambda value, proto: _are_all(_is_same_type, value, proto.type_protos),
}
