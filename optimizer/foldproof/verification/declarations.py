"""Comparing what two models declare: the names, order, types and dims of their inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx

from .results import Difference
from .signature import inputs_of, output_names


def missing_values(original: onnx.ModelProto, optimized: onnx.ModelProto) -> Iterator[Difference]:
    """Inputs and outputs that only one of two models has, or that it has in another order."""
    pairs = (
        ("input", [each.name for each in inputs_of(original)], [each.name for each in inputs_of(optimized)]),
        ("output", list(output_names(original)), list(output_names(optimized))),
    )
    for kind, before, after in pairs:
        if before == after:
            continue
        lost = [name for name in before if name not in after]
        new = [name for name in after if name not in before]
        for name in lost:
            detail = f"the optimized model has no {kind} {name!r}"
            yield Difference(name, "missing", detail, original=before, optimized=after)
        for name in new:
            detail = f"the original has no {kind} {name!r}"
            yield Difference(name, "missing", detail, original=before, optimized=after)
        if not lost and not new:
            yield Difference("", "missing", f"the {kind}s are in another order", original=before, optimized=after)


def changed_declarations(original: onnx.ModelProto, optimized: onnx.ModelProto) -> Iterator[str]:
    """Inputs and outputs that are declared otherwise, in words. No runtime looks at most of this."""
    for kind in ("input", "output"):
        before = {each.name: each.type for each in getattr(original.graph, kind)}
        for each in getattr(optimized.graph, kind):
            if each.name in before and _text(before[each.name]) != _text(each.type):
                yield f"{kind} {each.name}: declared {_text(before[each.name])}, now {_text(each.type)}"


def false_dims(
    original: onnx.ModelProto, optimized: onnx.ModelProto, values: Mapping[str, Any]
) -> Iterator[Difference]:
    """Outputs with another dim than the optimized model declares. What the original declares too is no difference.

    Args:
        original: The original.
        optimized: The optimized model.
        values: What it handed out, by the output's name.
    """
    given = {(each.name, _numbers(each.type)) for each in original.graph.output}  # the same one may be there twice
    for each in optimized.graph.output:
        declared, value = _numbers(each.type), values.get(each.name)
        if not isinstance(value, np.ndarray) or (each.name, declared) in given or len(declared) != value.ndim:
            continue
        if any(number is not None and number != dim for number, dim in zip(declared, value.shape, strict=True)):
            detail = f"the optimized model declares {_text(each.type)}, and hands out {list(value.shape)}"
            before = next((_text(other.type) for other in original.graph.output if other.name == each.name), "")
            yield Difference(each.name, "shape", detail, original=before, optimized=_text(each.type))


def _numbers(declared: onnx.TypeProto) -> tuple[int | None, ...]:
    """The dims of a tensor: numbers, and None for each other one."""
    return tuple([dim.dim_value if dim.HasField("dim_value") else None for dim in declared.tensor_type.shape.dim])


_TYPES: dict[int, str] = {number: name.lower() for name, number in onnx.TensorProto.DataType.items()}


def _text(declared: onnx.TypeProto) -> str:
    """A type and its dims, for a person; equal for equal ones."""
    if not declared.HasField("tensor_type"):
        return " ".join(str(declared).split())
    tensor = declared.tensor_type
    kind = _TYPES.get(tensor.elem_type, f"type {tensor.elem_type}")
    if not tensor.HasField("shape"):
        return kind
    dims = (str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in tensor.shape.dim)
    return f"{kind}[{', '.join(dims)}]"
