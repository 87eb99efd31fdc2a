"""Variations of what values are: given or constant, overridable, read elsewhere too, handed out, the same twice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import onnx
from onnx import numpy_helper

from foldproof.checking.variation import Variation, initializer_of, input_of, maker_of

_TWO_WAYS = 2


def variations(model: onnx.ModelProto) -> Iterator[Variation]:
    """Other roles for each value of the main graph."""
    for tensor in model.graph.initializer:
        if input_of(model, tensor.name) is None:
            yield Variation(f"{tensor.name} is an input", partial(_given, tensor.name, False))
            yield Variation(f"{tensor.name} may be overridden", partial(_given, tensor.name, True))
    for value in model.graph.input:
        for number in (0.0, -0.0, 1.0):
            yield Variation(f"{value.name} is a constant of {number}", partial(_constant, value.name, number))
    outputs = {value.name for value in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in outputs:
                yield Variation(f"{name} is handed out", partial(_handed_out, name))
                yield Variation(f"{name} is read elsewhere too", partial(_shared, name))
        if len(node.input) == _TWO_WAYS:
            words = f"the operands of the {node.op_type} that makes {node.output[0]}"
            yield Variation(f"{words} are swapped", partial(_reread, node.output[0], (1, 0)))
            yield Variation(f"{words} are both the first", partial(_reread, node.output[0], (0, 0)))
            yield Variation(f"{words} are both the second", partial(_reread, node.output[0], (1, 1)))


def _given(name: str, has_default: bool, model: onnx.ModelProto) -> bool:
    tensor = initializer_of(model, name)
    if tensor is None or input_of(model, name) is not None:
        return False
    model.graph.input.append(onnx.helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims)))
    if not has_default:
        model.graph.initializer.remove(tensor)
    return True


def _constant(name: str, number: float, model: onnx.ModelProto) -> bool:
    value = input_of(model, name)
    if value is None or not value.type.HasField("tensor_type") or initializer_of(model, name) is not None:
        return False
    if value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
        return False
    dims = [dim.dim_value if dim.HasField("dim_value") else 2 for dim in value.type.tensor_type.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    model.graph.initializer.append(numpy_helper.from_array(np.full(dims, number).astype(dtype), name))
    model.graph.input.remove(value)
    return True


def _handed_out(name: str, model: onnx.ModelProto) -> bool:
    if any(value.name == name for value in model.graph.output):
        return False
    model.graph.output.add().name = name
    return True


def _shared(name: str, model: onnx.ModelProto) -> bool:
    if any(f"{name}_too" in node.output for node in model.graph.node):
        return False
    model.graph.node.append(onnx.helper.make_node("Identity", [name], [f"{name}_too"]))
    model.graph.output.add().name = f"{name}_too"
    return True


def _reread(output: str, order: tuple[int, int], model: onnx.ModelProto) -> bool:
    node = maker_of(model, output)
    if node is None or len(node.input) != len(order):
        return False
    node.input[:] = [node.input[index] for index in order]
    return True
