"""Finds the part of a model that onnx_ir can't read. Only runs once reading the whole has failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import onnx
import onnx_ir as ir

from foldproof.errors import ModelError
from foldproof.model_file.views import readable_attribute, readable_type

_HINT = "Check the model with onnx.checker, or export it again"


def root_cause(error: BaseException) -> BaseException:
    """The error that an error came from at first."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def blame(proto: onnx.ModelProto) -> ModelError | None:
    """The error that names the first part which can't be read by itself, or None where each can."""
    error = _blame_graph(proto.graph)
    for function in proto.functions:
        error = error or _blame_nodes(function.node)
    return error


def _blame_names(names: Iterable[object]) -> ModelError | None:
    """Protobuf gives what is not UTF-8 as bytes; onnx_ir refuses those."""
    broken = next((name for name in names if isinstance(name, bytes)), None)
    return ModelError(f"the name {broken!r} is not UTF-8 text", hint=_HINT) if broken is not None else None


def _blame_graph(graph: onnx.GraphProto) -> ModelError | None:
    tensors = [*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)]
    values = (*graph.input, *graph.output, *graph.value_info)
    dims = (dim.dim_param for value in values for dim in value.type.tensor_type.shape.dim)
    if error := _blame_names([*(named.name for named in (*values, *tensors)), *dims]):
        return error
    for tensor in tensors:
        if cause := _failure(_read_tensor, tensor):
            return ModelError(f"the initializer {tensor.name!r} is invalid: {cause}", hint=_HINT)
    for value in values:
        if cause := _failure(ir.serde.deserialize_type_proto_for_type, readable_type(value.type)):
            return ModelError(f"the type of the value {value.name!r} is invalid: {cause}", hint=_HINT)
    return _blame_nodes(graph.node)


def _blame_nodes(nodes: Iterable[onnx.NodeProto]) -> ModelError | None:
    for node in nodes:
        if error := _blame_names([*node.input, *node.output]):
            return error
        for attribute in node.attribute:
            if attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
                for graph in (attribute.g, *attribute.graphs):
                    if error := _blame_graph(graph):
                        return error
            elif cause := _failure(_read_attribute, attribute):
                name = node.name or next(iter(node.output), None)
                operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
                reason = f"its attribute {attribute.name!r} is invalid: {cause}"
                return ModelError(reason, node=name, operator=operator, hint=_HINT)
    return None


def _failure(read: Callable[[Any], object], proto: object) -> BaseException | None:
    try:
        read(proto)
    except (ir.serde.SerdeError, ValueError, TypeError, NotImplementedError, AttributeError) as error:
        return root_cause(error)
    return None


def _read_tensor(proto: onnx.TensorProto) -> None:
    tensor = ir.serde.deserialize_tensor(proto)
    _ = tensor.dtype, tensor.shape


def _read_attribute(proto: onnx.AttributeProto) -> None:
    if proto.type == onnx.AttributeProto.TENSOR:
        _read_tensor(proto.t)
    else:
        ir.serde.deserialize_attribute(readable_attribute(proto))
