"""Variations of element types and of operator sets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import onnx
from onnx import numpy_helper

from foldproof.checking.variation import Variation, graphs_of, nodes_of
from foldproof.protos import canonical

_T = onnx.TensorProto
_FLOATS = (_T.FLOAT, _T.DOUBLE, _T.FLOAT16, _T.BFLOAT16)
_INTEGERS = (_T.INT32, _T.INT64, _T.INT8, _T.UINT8, _T.UINT64)
_NAMES = ("to", "dtype", "output_dtype")
"""Attributes that hold an element type."""

OLDEST = 7
"""No opset before this one is tried: onnxruntime runs hardly any operator of them."""


def variations(model: onnx.ModelProto, newest: int) -> Iterator[Variation]:
    """Each element type of the model as another one, and each opset at which one of its operators changes.

    Args:
        model: The model.
        newest: The last opset to try.
    """
    used = {value.type.tensor_type.elem_type for value in model.graph.input}
    used |= {tensor.data_type for tensor in model.graph.initializer}
    for old in sorted(used & {*_FLOATS, *_INTEGERS}):
        for new in (*_FLOATS, *_INTEGERS):
            if new != old:
                words = f"{_T.DataType.Name(old)} is {_T.DataType.Name(new)}"
                yield Variation(words, partial(_retype, old, new))
    for version in _versions(model, newest):
        yield Variation(f"opset {version}", partial(_in_opset, version))


def _retype(old: int, new: int, model: onnx.ModelProto) -> bool:
    dtype = onnx.helper.tensor_dtype_to_np_dtype(new)
    for graph in graphs_of(model):
        for value in (*graph.input, *graph.output, *graph.value_info):
            tensor = value.type.tensor_type
            if value.type.HasField("tensor_type") and tensor.elem_type == old:
                tensor.elem_type = new
        for tensor in graph.initializer:
            _convert(tensor, old, dtype)
    for node in nodes_of(model):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                _convert(attribute.t, old, dtype)
            elif attribute.name in _NAMES and attribute.i == old:
                attribute.i = new
    return True


def _convert(tensor: onnx.TensorProto, old: int, dtype: np.dtype) -> None:
    if tensor.data_type == old:
        with np.errstate(all="ignore"):
            converted = numpy_helper.to_array(tensor).astype(dtype)
        tensor.CopyFrom(numpy_helper.from_array(converted, tensor.name))


def _versions(model: onnx.ModelProto, newest: int) -> list[int]:
    """The opsets from which on one of the model's operators means something else."""
    used = {node.op_type for node in nodes_of(model) if not canonical(node.domain)}
    found = {
        schema.since_version
        for schema in onnx.defs.get_all_schemas_with_history()
        if not schema.domain and schema.name in used
    }
    return sorted(version for version in found | {newest} if OLDEST <= version <= newest)


def _in_opset(version: int, model: onnx.ModelProto) -> bool:
    for each in model.opset_import:
        if not canonical(each.domain):
            if each.version == version:
                return False
            converted = _converted(model, version)
            if converted is not None:
                model.CopyFrom(converted)
            else:
                each.version = version
            return True
    return False


def _converted(model: onnx.ModelProto, version: int) -> onnx.ModelProto | None:
    """The model as ONNX's own converter writes it in another opset; None where it can't."""
    if model.functions or any(canonical(node.domain) for node in nodes_of(model)):
        return None
    try:
        converted = onnx.version_converter.convert_version(model, version)
    except (RuntimeError, IndexError, ValueError):
        return None
    return converted if len(converted.graph.node) == len(model.graph.node) else None
