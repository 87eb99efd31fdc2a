"""What an engine computed, as tensors that a model can hold."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts.fact import Fact
from foldproof.rewriting.constants import strings_of
from foldproof.rewriting.rule import Reason

SPILLED_FROM = 8 << 20
"""Results of at least this many bytes are kept in a temporary file, not in memory, until the model is written."""

_PAGE = 4096


class Results:
    """Makes tensors of results, and keeps large ones out of memory."""

    def __init__(self) -> None:
        self._file: Any = None
        self._size = 0

    def tensor(self, array: Any, fact: Fact) -> ir.TensorProtocol | Reason:
        """The tensor of a result.

        Args:
            array: What the engine handed out.
            fact: What is proven of the value.

        Returns:
            The tensor, or the reason why it can't be the value: the engine contradicts what is proven.
        """
        if not isinstance(array, (np.ndarray, np.generic)):
            return Reason("its result is no tensor")
        array = np.asarray(array)
        if fact.shape is not None and (
            len(fact.shape) != array.ndim
            or any(isinstance(dim, int) and dim != size for dim, size in zip(fact.shape, array.shape, strict=True))
        ):
            return Reason("the runtime gave it the shape {}, which contradicts what is proven", list(array.shape))
        if array.dtype.kind in "OSU":
            tensor: ir.TensorProtocol = ir.StringTensor(strings_of(array), shape=ir.Shape(array.shape))
        else:
            tensor = self._kept(array)
        if _is_narrow(array.dtype) and np.isnan(array).any():
            return Reason("it holds NaN, of which {} has more than one and the specification names none", array.dtype)
        if fact.dtype is not None and tensor.dtype is not fact.dtype:
            return Reason("the runtime gave it the type {}, which contradicts what is proven", tensor.dtype.name)
        return tensor

    def _kept(self, array: np.ndarray[Any, Any]) -> ir.TensorProtocol:
        array = np.ascontiguousarray(array).reshape(array.shape)  # a scalar would become 1-D
        dtype = ir.DataType.from_numpy(array.dtype)
        if array.nbytes < SPILLED_FROM:
            return ir.Tensor(array, dtype=dtype)
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="foldproof-")  # noqa: SIM115  it lives as long as the tensors
        file, offset, kind, shape = self._file, self._size, array.dtype, array.shape
        file.seek(offset)
        array.tofile(file)
        file.flush()
        self._size = offset + -(-array.nbytes // _PAGE) * _PAGE
        # Mapped anew at each question: a map that stays keeps the pages that were read.
        return ir.LazyTensor(
            lambda: ir.Tensor(np.memmap(file, kind, "r", offset, shape), dtype=dtype),
            dtype=dtype,
            shape=ir.Shape(shape),
        )


def _is_narrow(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is a float type that numpy itself lacks."""
    return dtype.kind == "V" and "float" in dtype.name
