"""Binds symbolic dims of a model's inputs to integers, at the person's request."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from foldproof.errors import UsageError
from foldproof.graphs import all_graphs


def bind_dims(model: ir.Model, sizes: Mapping[str, int]) -> set[str]:
    """Sets dims of the graph inputs, and wherever else a model declares the same symbol.

    Args:
        model: The model, which is changed.
        sizes: Integers for symbols, by name, or as `input:axis` for an unnamed dim.

    Returns:
        The names of the main graph's inputs and outputs whose declaration changed.

    Raises:
        UsageError: No graph input has such a dim.
    """
    used: set[str] = set()
    changed: set[str] = set()
    for value in model.graph.inputs:
        for axis, dim in enumerate(value.shape or ()):
            key = _key(value, axis, dim)
            if key in sizes:
                used.add(key)
                changed.add(str(value.name))
                _set(value, axis, sizes[key])
    unknown = [name for name in sizes if name not in used]
    if unknown:
        there = sorted(
            {_key(v, k, d) for v in model.graph.inputs for k, d in enumerate(v.shape or ())} - {""} - set(sizes)
        )
        raise UsageError(
            f"no graph input has the dim {unknown[0]!r}",
            hint=f"There are: {', '.join(there)}" if there else "All dims of the inputs are integers",
        )
    for graph in all_graphs(model):
        declared = [*graph.outputs, *(output for node in graph for output in node.outputs)]
        for value in declared:
            for axis, dim in enumerate(value.shape or ()):
                symbol = None if isinstance(dim, int) else dim.value
                if symbol in sizes and symbol is not None:
                    _set(value, axis, sizes[symbol])
                    if value.is_graph_output() and graph is model.graph:
                        changed.add(str(value.name))
    return changed


def bindable_dims(model: ir.Model) -> dict[str, int]:
    """The dims that `bind_dims` can bind, by name, each with the first axis on which an input has it."""
    found: dict[str, int] = {}
    for value in model.graph.inputs:
        for axis, dim in enumerate(value.shape or ()):
            key = _key(value, axis, dim)
            if key:
                found.setdefault(key, axis)
    return found


def _key(value: ir.Value, axis: int, dim: int | ir.SymbolicDim) -> str:
    """The name by which a person binds a dim; empty where it is an integer already."""
    if isinstance(dim, int) and dim >= 0:
        return ""
    return dim.value if isinstance(dim, ir.SymbolicDim) and dim.value else f"{value.name}:{axis}"


def _set(value: ir.Value, axis: int, size: int) -> None:
    assert value.shape is not None
    shape = value.shape.copy()
    shape[axis] = size
    value.shape = shape


def binding_text(binding: Mapping[str, int]) -> str:
    """A binding as a person writes it: `batch=1 seq=7`."""
    return " ".join(f"{name}={size}" for name, size in binding.items()) or "the static shapes"
