"""The reference kernel of `Constant`, in all its attribute forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from .registry import kernel


@kernel("Constant", since=1)
def constant_1(*, value: Any) -> np.ndarray:
    """The tensor of the `value` attribute; see `constant`."""
    return constant(value=value)


@kernel("Constant", since=11)
def constant_11(*, value: Any = None, sparse_value: onnx.SparseTensorProto | None = None) -> np.ndarray:
    """The tensor of the one attribute that is given; see `constant`."""
    return constant(value=value, sparse_value=sparse_value)


@kernel("Constant", since=12)
def constant(
    *,
    value: Any = None,
    sparse_value: onnx.SparseTensorProto | None = None,
    value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_string: str | bytes | None = None,
    value_strings: Sequence[str | bytes] | None = None,
) -> np.ndarray:
    """The tensor of the one attribute that is given.

    Args:
        value: A `TensorProto`, or a tensor of `onnx_ir`.
        sparse_value: A sparse tensor, with linear or coordinate indices; the result is dense.
        value_int: Gives an int64 scalar.
        value_ints: Gives an int64 1-D tensor.
        value_float: Gives a float32 scalar.
        value_floats: Gives a float32 1-D tensor.
        value_string: Gives a scalar string, UTF-8 decoded.
        value_strings: Gives a 1-D tensor of strings.

    Raises:
        ValueError: No attribute is given, or more than one.
    """
    forms = {
        "value": value,
        "sparse_value": sparse_value,
        "value_int": value_int,
        "value_ints": value_ints,
        "value_float": value_float,
        "value_floats": value_floats,
        "value_string": value_string,
        "value_strings": value_strings,
    }
    given = [name for name, form in forms.items() if form is not None]
    if len(given) != 1:
        raise ValueError(f"Constant needs exactly one attribute, but has {' and '.join(given) or 'none'}")
    if value is not None:
        return _dense(value)
    if sparse_value is not None:
        return _densify(sparse_value)
    if value_string is not None:
        return np.array(_text(value_string), object)
    if value_strings is not None:
        return np.array([_text(each) for each in value_strings], object)
    if value_int is not None or value_ints is not None:
        return np.array(value_int if value_int is not None else value_ints, np.int64)
    return np.array(value_float if value_float is not None else value_floats, np.float32)


def _dense(value: Any) -> np.ndarray:
    # A tensor of the IR is asked for its array: what numpy 2.2 and older make of it is made of doubles.
    array = numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value.numpy()
    if array.dtype.kind not in "OS":
        return array
    return np.array([_text(each) for each in array.reshape(-1)], object).reshape(array.shape)


def _densify(sparse: onnx.SparseTensorProto) -> np.ndarray:
    """The dense tensor. Indices are linear, `[nnz]`, or coordinates, `[nnz, rank]`."""
    values = _dense(sparse.values)
    indices = numpy_helper.to_array(sparse.indices).astype(np.int64)
    dims = tuple(sparse.dims)
    # zeros() of strings would be the number 0.
    dense = np.full(dims, "", object) if values.dtype == object else np.zeros(dims, values.dtype)
    if indices.ndim == 2:
        dense[tuple(indices.T)] = values
    else:
        dense.reshape(-1)[indices] = values
    return dense


def _text(value: str | bytes) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
