"""Finds models of float16: onnxruntime's CPU computes them in float32, and rounds where it happens to cast."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from foldproof.protos import scopes

_HALF = onnx.TensorProto.FLOAT16


def computes_in_half(proto: onnx.ModelProto) -> bool:
    """Whether any tensor that a model declares, stores or casts to is of float16.

    Such a chain `Add(Mul(x, k), k)` is rounded once, at its end. Where a rule makes a constant of a part of it, that
    part is rounded by itself, as the specification says: then not even an exact rule keeps the runtime's bits.
    """
    return any(code == _HALF for code in _types(proto))


def _types(proto: onnx.ModelProto) -> Iterator[int]:
    for each in (*proto.graph.input, *proto.graph.output, *proto.graph.value_info):
        yield each.type.tensor_type.elem_type
    for scope in scopes(proto):
        if scope.graph is not None:
            for tensor in scope.graph.initializer:
                yield tensor.data_type
        for node in scope.nodes:
            for attribute in node.attribute:
                if attribute.name in ("to", "dtype", "output_dtype"):
                    yield attribute.i
                elif attribute.HasField("t"):
                    yield attribute.t.data_type
