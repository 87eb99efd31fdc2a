"""Finds the large constants that claims refer to, in the files of the two models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import external_data_helper

from foldproof.certificates.claim import Stored, digest
from foldproof.errors import ModelError
from foldproof.protos import attribute_of, load_proto, scopes


class Constants:
    """The constants of a model's file.

    Args:
        path: The file.

    Raises:
        ModelError: It can't be read.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._by_name: dict[str, list[onnx.TensorProto]] = {}
        for name, tensor in _constants(load_proto(path)):
            self._by_name.setdefault(name, []).append(tensor)

    def find(self, wanted: Stored) -> onnx.TensorProto | None:
        """The constant that a claim refers to; None where the file holds no such one."""
        for tensor in self._by_name.get(wanted.source, ()):
            if tensor.data_type == wanted.element_type and tuple(tensor.dims) == wanted.dims:
                found = self._with_raw_data(tensor)
                if digest(found.raw_data) == wanted.sha256:
                    return found
        return None

    def _with_raw_data(self, tensor: onnx.TensorProto) -> onnx.TensorProto:
        found = onnx.TensorProto()
        found.CopyFrom(tensor)
        try:
            if found.data_location == onnx.TensorProto.EXTERNAL:
                external_data_helper.load_external_data_for_tensor(found, str(self._folder))
                found.data_location = onnx.TensorProto.DEFAULT
                found.ClearField("external_data")
            if found.HasField("raw_data"):
                return found
            array = onnx.numpy_helper.to_array(found)
        except (OSError, ValueError, TypeError, onnx.checker.ValidationError) as error:
            raise ModelError(f"the constant {tensor.name!r} can't be read: {error}") from error
        return onnx.numpy_helper.from_array(array)


def _constants(proto: onnx.ModelProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    for scope in scopes(proto):
        if scope.graph is not None:
            yield from ((tensor.name, tensor) for tensor in scope.graph.initializer)
        for node in scope.nodes:
            attribute = attribute_of(node, "value") if node.op_type == "Constant" and not node.domain else None
            if attribute is not None and attribute.HasField("t"):
                yield node.output[0], attribute.t
