"""Parts of a model in a person's words."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.diffing.contents import constant_of
from foldproof.diffing.difference import ConstantRef, NodeRef
from foldproof.graphs import dtype_name, operator_name
from foldproof.rewriting.description import node_text, place_of

MAX_SHOWN = 8
"""Of a longer list only so many elements are shown."""


def node_ref(node: ir.Node, graph: str) -> NodeRef:
    """A node."""
    return NodeRef(place_of(node), node.name or "", operator_name(node), graph, node_text(node))


def constant_ref(value: ir.Value, graph: str) -> ConstantRef:
    """A constant."""
    tensor = constant_of(value) if value.producer() is not None else value.const_value
    text = "" if tensor is None else tensor_text(tensor)
    return ConstantRef(str(value.name), "initializer" if value.producer() is None else "Constant", text, graph)


def tensor_text(tensor: ir.TensorProtocol) -> str:
    """The type and dims of a tensor, as `float32[3, 4]`."""
    return _typed(tensor.dtype, [str(dim) for dim in tensor.shape.numpy()])


def type_text(value: ir.Value) -> str | None:
    """What a model declares of a value, None for nothing."""
    if value.type is None and value.shape is None:
        return None
    dims = None if value.shape is None else [_dim_text(dim) for dim in value.shape]
    if isinstance(value.type, ir.TensorType):
        return _typed(value.type.dtype, dims)
    return str(value.type) if dims is None else f"{value.type} of [{', '.join(dims)}]"


def attribute_text(attribute: ir.Attr | None) -> str | None:
    """The value of an attribute, None where there is none."""
    if attribute is None:
        return None
    value = attribute.value
    if attribute.is_ref():
        return f"@{attribute.ref_attr_name}"
    if attribute.type in (ir.AttributeType.TENSOR, ir.AttributeType.SPARSE_TENSOR):
        return tensor_text(value)
    if attribute.type is ir.AttributeType.GRAPH:
        return "a body"
    if isinstance(value, (list, tuple)):
        shown = [str(each) for each in value[:MAX_SHOWN]]
        return f"[{', '.join([*shown, *(['...'] if len(value) > MAX_SHOWN else [])])}]"
    return repr(value) if isinstance(value, (str, bytes)) else str(value)


def value_name(a: ir.Value, b: ir.Value) -> str:
    """The name of a value, both where they differ."""
    return str(a.name) if a.name == b.name else f"{a.name} ({b.name})"


def _typed(dtype: ir.DataType, dims: list[str] | None) -> str:
    name = dtype_name(dtype)
    return name if dims is None else f"{name}[{', '.join(dims)}]"


def _dim_text(dim: int | ir.SymbolicDim) -> str:
    return str(dim) if isinstance(dim, int) else dim.value or "?"
