"""Variations of what is written into a model: the elements of constants, and attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from foldproof.checking.variation import Variation, initializer_of, maker_of, nodes_of
from foldproof.protos import attribute_of, canonical

_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf)
_EXTREME = (1e-40, 3.4e38)
_INTEGERS = (0, 1, -1, 2, -2, 2**31 - 1, 2**63 - 1, -(2**63))
_KIND = onnx.AttributeProto


def variations(model: onnx.ModelProto, *, extreme: bool = True) -> Iterator[Variation]:
    """Other elements for each constant, and other values for each attribute that there is or could be.

    Args:
        model: The model.
        extreme: Try floats that overflow or are denormal too. What is equal in real arithmetic need not be equal there.
    """
    floats = (*_FLOATS, *_EXTREME) if extreme else _FLOATS
    for tensor in model.graph.initializer:
        yield from _elements(tensor.name, tensor, floats)
    for node in nodes_of(model):
        value = attribute_of(node, "value")
        if value is not None and value.type == _KIND.TENSOR:
            yield from _elements(node.output[0], value.t, floats)
        yield from _attributes(node, model)


# Constants -----------------------------------------------------------------------------------------------------------


def _elements(name: str, tensor: onnx.TensorProto, floats: tuple[float, ...]) -> Iterator[Variation]:
    array = numpy_helper.to_array(tensor)
    if array.dtype.kind == "b":
        yield Variation(f"{name} is turned", partial(_rewrite, name, lambda values: ~values))
    numbers = _INTEGERS if array.dtype.kind in "iu" else floats if array.dtype.kind == "f" else ()
    for number in numbers:
        if array.dtype.kind not in "iu" or np.iinfo(array.dtype).min <= number <= np.iinfo(array.dtype).max:
            yield Variation(f"{name} is all {number}", partial(_rewrite, name, partial(_filled, number)))
            if array.size > 1:
                words = f"the last element of {name} is {number}"
                yield Variation(words, partial(_rewrite, name, partial(_ended, number)))
    if array.size > 1:
        yield Variation(f"{name} is turned round", partial(_rewrite, name, lambda values: np.flip(values).copy()))
    if array.ndim:
        yield Variation(f"{name} lacks its last element", partial(_rewrite, name, lambda values: values[..., :-1]))


def _filled(number: float, values: Any) -> Any:
    return np.full_like(values, _as(number, values.dtype))


def _ended(number: float, values: Any) -> Any:
    copy = values.copy()
    copy.reshape(-1)[-1:] = _as(number, copy.dtype)
    return copy


def _as(number: float, dtype: np.dtype) -> Any:
    """The number in a type that another variation may have chosen, or the nearest one there."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        whole = int(number) if np.isfinite(number) else int(limits.max)
        return dtype.type(min(max(whole, int(limits.min)), int(limits.max)))
    with np.errstate(all="ignore"):
        return np.asarray(number).astype(dtype)


def _rewrite(name: str, change: Callable[[Any], Any], model: onnx.ModelProto) -> bool:
    tensor = initializer_of(model, name)
    if tensor is None:
        node = maker_of(model, name)
        value = None if node is None else attribute_of(node, "value")
        tensor = None if value is None else value.t
    if tensor is None:
        return False
    array = numpy_helper.to_array(tensor)
    changed = np.asarray(change(array), array.dtype)
    if changed.shape == array.shape and changed.tobytes() == array.tobytes():
        return False
    tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))
    return True


# Attributes ----------------------------------------------------------------------------------------------------------


def _attributes(node: onnx.NodeProto, model: onnx.ModelProto) -> Iterator[Variation]:
    output = next((name for name in node.output if name), "")
    for attribute in node.attribute:
        for value in _others(attribute):
            words = f"{attribute.name} of the {node.op_type} that makes {output} is {value}"
            yield Variation(words, partial(_set, output, attribute.name, value))
        if attribute.type not in (_KIND.GRAPH, _KIND.GRAPHS):
            words = f"{attribute.name} of the {node.op_type} that makes {output} is left out"
            yield Variation(words, partial(_leave_out, output, attribute.name))
    given = {attribute.name for attribute in node.attribute}
    for name, value in _defaults(node, model):
        if name not in given and value in (0, 1):
            words = f"{name} of the {node.op_type} that makes {output} is {1 - value}"
            yield Variation(words, partial(_set, output, name, 1 - value))


def _others(attribute: onnx.AttributeProto) -> list[Any]:
    value = onnx.helper.get_attribute_value(attribute)
    found: list[Any] = []
    if attribute.type == _KIND.INT:
        found = [value + 1, value - 1, 0, 1, -1]
    elif attribute.type == _KIND.FLOAT:
        found = [0.0, 1.0, -1.0, value / 2]
    elif attribute.type == _KIND.INTS and value:
        found = [value[::-1], [value[0] + 1, *value[1:]], [-1, *value[1:]], [0, *value[1:]], value[:-1] or value]
    return [each for number, each in enumerate(found) if each != value and each not in found[:number]]


def _defaults(node: onnx.NodeProto, model: onnx.ModelProto) -> Iterator[tuple[str, Any]]:
    """The integer attributes that an operator has by default, as its schema says."""
    version = next((each.version for each in model.opset_import if not canonical(each.domain)), 1)
    try:
        schema = onnx.defs.get_schema(node.op_type, version, canonical(node.domain))
    except onnx.defs.SchemaError:
        return
    for name, attribute in schema.attributes.items():
        if attribute.default_value.type == _KIND.INT:
            yield name, attribute.default_value.i


def _set(output: str, name: str, value: Any, model: onnx.ModelProto) -> bool:
    node = maker_of(model, output)
    if node is None:
        return False
    _leave_out(output, name, model)
    node.attribute.append(onnx.helper.make_attribute(name, value))
    return True


def _leave_out(output: str, name: str, model: onnx.ModelProto) -> bool:
    node = maker_of(model, output)
    kept = [] if node is None else [each for each in node.attribute if each.name != name]
    if node is None or len(kept) == len(node.attribute):
        return False
    del node.attribute[:]
    node.attribute.extend(kept)
    return True
