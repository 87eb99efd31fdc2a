"""The constants of the model before and after a run, by which claims can refer to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import onnx
import onnx_ir as ir

from foldproof.certificates.claim import Stored, digest
from foldproof.graphs import all_graphs


class NotRestated(Exception):
    """Why a rewrite can't be restated with what was kept of the graph around it."""


class Tensors:
    """The constants of the model before and after, by which a claim can refer to them.

    Args:
        model: The model before it is rewritten.
    """

    def __init__(self, model: ir.Model) -> None:
        self._homes: dict[int, tuple[Literal["input", "output"], str, ir.TensorProtocol]] = {}
        self._protos: dict[tuple[str, str], onnx.TensorProto] = {}
        self._add(model, "input")

    def add_output(self, model: ir.Model) -> None:
        """Adds those of the model after it was rewritten."""
        self._add(model, "output")

    def _add(self, model: ir.Model, file: Literal["input", "output"]) -> None:
        for name, tensor in _constants(model):
            self._homes.setdefault(id(tensor), (file, name, tensor))

    def stored(self, tensor: ir.TensorProtocol, name: str) -> Stored | None:
        """How a claim refers to a tensor; None where neither model holds it."""
        home = self._homes.get(id(tensor))
        if home is None:
            return None
        file, source, _ = home
        proto = self._protos.setdefault((file, source), tensor_proto(tensor))
        return Stored(name, file, source, proto.data_type, tuple(proto.dims), digest(proto.raw_data))

    def holds(self, tensor: ir.TensorProtocol) -> bool:
        """Whether one of the models holds a tensor."""
        return id(tensor) in self._homes

    def proto(self, stored: Stored) -> onnx.TensorProto:
        """The tensor that a claim refers to."""
        return self._protos[stored.file, stored.source]


def _constants(model: ir.Model) -> Iterator[tuple[str, ir.TensorProtocol]]:
    for graph in all_graphs(model):
        for name, value in graph.initializers.items():
            if value.const_value is not None:
                yield name, value.const_value
        for node in graph:
            attribute = node.attributes.get("value") if node.op_type == "Constant" and not node.domain else None
            if attribute is not None and attribute.type is ir.AttributeType.TENSOR and not attribute.is_ref():
                yield str(node.outputs[0].name), attribute.as_tensor()


def tensor_proto(tensor: ir.TensorProtocol) -> onnx.TensorProto:
    """A tensor with its elements in it, and without a name.

    Raises:
        NotRestated: Its elements can't be read.
    """
    proto = onnx.TensorProto(data_type=int(tensor.dtype), dims=[int(dim) for dim in tensor.shape.numpy()])
    try:
        if tensor.dtype is ir.DataType.STRING:
            array = tensor.numpy().reshape(-1).tolist()
            proto.string_data.extend(each if isinstance(each, bytes) else str(each).encode() for each in array)
        else:
            proto.raw_data = tensor.tobytes()
    except (OSError, ValueError, TypeError) as error:
        raise NotRestated(f"a constant can't be read: {error}") from error
    return proto
