"""What onnx_ir 1.1 is given to read: the model, seen without what it refuses or silently drops.

Only the parts that it can't read are replaced, as views: nothing is copied. What is hidden here is put back
when the model is serialized.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import onnx
import onnx_ir as ir

from foldproof.model_file.protobuf import View

_GRAPH = onnx.AttributeProto.GRAPH
_NOT_PLAIN = frozenset(
    {
        onnx.AttributeProto.GRAPH,
        onnx.AttributeProto.GRAPHS,
        onnx.AttributeProto.SPARSE_TENSOR,
        onnx.AttributeProto.SPARSE_TENSORS,
        onnx.AttributeProto.TYPE_PROTO,
        onnx.AttributeProto.TYPE_PROTOS,
        onnx.AttributeProto.STRING,
        onnx.AttributeProto.STRINGS,
    }
)
_DATA_TYPES = frozenset(member.value for member in ir.DataType)


class SparseStandIn(View):
    """A dense tensor without data in the place of a sparse one, which it carries along as `sparse`."""

    def __init__(self, sparse: onnx.SparseTensorProto) -> None:
        # Not its real type: onnx_ir would make a string tensor of it, and lose `sparse`.
        super().__init__(sparse.values, dims=sparse.dims, data_type=onnx.TensorProto.FLOAT, sparse=sparse)


class NoText(bytes):
    """A string that is not in UTF-8, as it should be: custom operators keep whatever they need in theirs.

    onnx_ir, which decodes and encodes strings, gets the bytes that are there.
    """

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> NoText:  # type: ignore[override]
        """The bytes, as they are."""
        return self

    def encode(self, encoding: str = "utf-8") -> bytes:
        """The bytes, as they are."""
        return bytes(self)


def is_constant(node: ir.Node | onnx.NodeProto) -> bool:
    """Whether a node is ONNX's `Constant`, whose sparse tensor is shown as its `value`."""
    return node.op_type == "Constant" and node.domain in ("", "ai.onnx")


def readable_model(proto: onnx.ModelProto) -> Any:
    """The model as onnx_ir can read it: `proto` itself where nothing is in the way, else a view of it."""
    replaced: dict[str, Any] = {}
    graph = _readable_graph(proto.graph)
    if graph is not proto.graph:
        replaced["graph"] = graph
    functions = [_readable_function(function) for function in proto.functions]
    if any(isinstance(function, View) for function in functions):
        replaced["functions"] = functions
    return View(proto, **replaced) if replaced else proto


def readable_type(proto: onnx.TypeProto) -> onnx.TypeProto:
    """The type, or an empty one where onnx_ir has none for it (maps, opaque types, sequences of these)."""
    return proto if _is_representable(proto) else onnx.TypeProto()


def _is_representable(proto: onnx.TypeProto, is_element: bool = False) -> bool:
    """Whether onnx_ir has the type. That of an element must be there, any other may be unset."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type" or kind == "sparse_tensor_type":
        tensor = getattr(proto, kind)
        return tensor.elem_type in _DATA_TYPES and (not is_element or tensor.HasField("elem_type"))
    if kind == "sequence_type" or kind == "optional_type":
        return _is_representable(getattr(proto, kind).elem_type, is_element=True)
    return kind is None and not is_element


def _readable_graph(graph: onnx.GraphProto) -> Any:
    replaced: dict[str, Any] = {}
    _readable_values(graph, ("input", "output", "value_info"), replaced)
    _readable_nodes(graph, replaced)
    if graph.sparse_initializer or not all(tensor.name for tensor in graph.initializer):
        # Nothing can read an initializer without a name.
        dense = [tensor for tensor in graph.initializer if tensor.name]
        sparse = [SparseStandIn(tensor) for tensor in graph.sparse_initializer if tensor.values.name]
        replaced["initializer"] = [*dense, *sparse]
    return View(graph, **replaced) if replaced else graph


def _readable_function(function: onnx.FunctionProto) -> Any:
    replaced: dict[str, Any] = {}
    _readable_values(function, ("value_info",), replaced)
    _readable_nodes(function, replaced)
    attributes = [readable_attribute(attribute) for attribute in function.attribute_proto]
    if any(isinstance(attribute, View) for attribute in attributes):
        replaced["attribute_proto"] = attributes
    return View(function, **replaced) if replaced else function


def _readable_values(owner: Any, fields: Iterable[str], replaced: dict[str, Any]) -> None:
    for field in fields:
        values = getattr(owner, field)
        if not all(_is_representable(value.type) for value in values):
            replaced[field] = [
                value if _is_representable(value.type) else View(value, type=onnx.TypeProto()) for value in values
            ]


def _readable_nodes(owner: onnx.GraphProto | onnx.FunctionProto, replaced: dict[str, Any]) -> None:
    views: dict[int, Any] = {}
    for index, node in enumerate(owner.node):
        for attribute in node.attribute:
            if attribute.type in _NOT_PLAIN:
                attributes = [readable_attribute(a, is_constant(node)) for a in node.attribute]
                if any(isinstance(a, View) for a in attributes):
                    views[index] = View(node, attribute=attributes)
                break
    if views:
        replaced["node"] = [views.get(index, node) for index, node in enumerate(owner.node)]


def readable_attribute(attribute: onnx.AttributeProto, of_constant: bool = False) -> Any:
    """The attribute as onnx_ir can read it: itself, or a view of it.

    Args:
        attribute: The attribute.
        of_constant: Whether it is one of ONNX's `Constant`.
    """
    kind = attribute.type
    if kind not in _NOT_PLAIN or attribute.ref_attr_name:
        return attribute
    if kind == onnx.AttributeProto.STRING:
        return attribute if _is_text(attribute.s) else View(attribute, s=NoText(attribute.s))
    if kind == onnx.AttributeProto.STRINGS:
        if all(map(_is_text, attribute.strings)):
            return attribute
        strings = [text if _is_text(text) else NoText(text) for text in attribute.strings]
        return View(attribute, strings=strings)
    if kind == onnx.AttributeProto.GRAPH:
        graph = _readable_graph(attribute.g)
        return attribute if graph is attribute.g else View(attribute, g=graph)
    if kind == onnx.AttributeProto.GRAPHS:
        graphs = [_readable_graph(graph) for graph in attribute.graphs]
        return View(attribute, graphs=graphs) if any(isinstance(graph, View) for graph in graphs) else attribute
    if kind == onnx.AttributeProto.TYPE_PROTO:
        return attribute if _is_representable(attribute.tp) else View(attribute, tp=onnx.TypeProto())
    if kind == onnx.AttributeProto.TYPE_PROTOS:
        types = [readable_type(proto) for proto in attribute.type_protos]
        return attribute if all(map(_is_representable, attribute.type_protos)) else View(attribute, type_protos=types)
    if kind == onnx.AttributeProto.SPARSE_TENSORS:
        stand_ins = [SparseStandIn(sparse) for sparse in attribute.sparse_tensors]
        return View(attribute, type=onnx.AttributeProto.TENSORS, tensors=stand_ins)
    name = "value" if of_constant else attribute.name
    return View(attribute, name=name, type=onnx.AttributeProto.TENSOR, t=SparseStandIn(attribute.sparse_tensor))


def _is_text(string: bytes) -> bool:
    if string.isascii():
        return True
    try:
        string.decode()
    except UnicodeDecodeError:
        return False
    return True
