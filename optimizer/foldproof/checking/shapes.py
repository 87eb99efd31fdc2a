"""Variations of dims and ranks: 0, 1, one more, symbolic, equal, unnamed, an axis more or less."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import onnx

from foldproof.checking.variation import Variation, input_of

_SIZES = (0, 1, 2, 5)


def variations(model: onnx.ModelProto) -> Iterator[Variation]:
    """All of a model's inputs that are tensors, one axis at a time, and each dim wherever it stands."""
    symbols: dict[str, None] = {}
    sizes: dict[int, None] = {}
    for value in model.graph.input:
        if not value.type.HasField("tensor_type"):
            continue
        dims = value.type.tensor_type.shape.dim
        for axis, dim in enumerate(dims):
            if dim.dim_param:
                symbols[dim.dim_param] = None
                yield Variation(f"axis {axis} of {value.name} is unnamed", partial(_set, value.name, axis, None))
            else:
                sizes[dim.dim_value] = None
                yield Variation(f"axis {axis} of {value.name} is S", partial(_set, value.name, axis, "S"))
                for size in sorted({0, 1, dim.dim_value + 1} - {dim.dim_value}):
                    words = f"axis {axis} of {value.name} is {size}"
                    yield Variation(words, partial(_set, value.name, axis, size))
        for size in (1, 2):
            yield Variation(f"{value.name} has another first axis of {size}", partial(_insert, value.name, size))
        if dims:
            yield Variation(f"{value.name} lacks its first axis", partial(_drop, value.name))
    for symbol in symbols:
        for size in _SIZES:
            yield Variation(f"{symbol} is {size}", partial(_everywhere, symbol, size))
        for other in symbols:
            if other < symbol:
                yield Variation(f"{symbol} is {other}", partial(_everywhere, symbol, other))
    for size in sizes:
        others: tuple[str | int, ...] = ("S", 0, 1, size + 1)
        for new in others:
            if new != size:
                yield Variation(f"each dim of {size} is {new}", partial(_everywhere, size, new))


_Dim = onnx.TensorShapeProto.Dimension


def _write(dim: _Dim, size: str | int | None) -> None:
    dim.Clear()
    if isinstance(size, int):
        dim.dim_value = size
    elif size is not None:
        dim.dim_param = size


def _read(dim: _Dim) -> str | int | None:
    return dim.dim_param or (dim.dim_value if dim.HasField("dim_value") else None)


def _set(name: str, axis: int, size: str | int | None, model: onnx.ModelProto) -> bool:
    value = input_of(model, name)
    if value is None or axis >= len(value.type.tensor_type.shape.dim):
        return False
    _write(value.type.tensor_type.shape.dim[axis], size)
    return True


def _insert(name: str, size: int, model: onnx.ModelProto) -> bool:
    return _with_dims(name, model, lambda dims: [size, *dims])


def _drop(name: str, model: onnx.ModelProto) -> bool:
    return _with_dims(name, model, lambda dims: dims[1:])


def _with_dims(
    name: str, model: onnx.ModelProto, change: Callable[[list[str | int | None]], list[str | int | None]]
) -> bool:
    value = input_of(model, name)
    if value is None:
        return False
    shape = value.type.tensor_type.shape
    dims = change([_read(dim) for dim in shape.dim])
    del shape.dim[:]
    for size in dims:
        _write(shape.dim.add(), size)
    return True


def _everywhere(old: str | int, new: str | int, model: onnx.ModelProto) -> bool:
    changed = False
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if _read(dim) == old:
                _write(dim, new)
                changed = True
    return changed
