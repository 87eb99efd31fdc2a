"""What an engine computed, as tensors that a model can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts.fact import Fact
from foldproof.large_tensors import Spill
from foldproof.rewriting.constants import strings_of
from foldproof.rewriting.rule import Reason


class Results:
    """Makes tensors of results, and keeps large ones out of memory."""

    def __init__(self) -> None:
        self._spill = Spill()

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
            tensor = self._spill.tensor(array)
        if _is_opaque_float(array.dtype) and np.isnan(array).any():
            return Reason("it holds NaN, and common tools take a stored {} with NaN for another tensor", array.dtype)
        if fact.dtype is not None and tensor.dtype is not fact.dtype:
            return Reason("the runtime gave it the type {}, which contradicts what is proven", tensor.dtype.name)
        return tensor


def _is_opaque_float(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is a float type that numpy doesn't take for one.

    What compares such tensors by value knows nothing of NaN there, and finds a difference between a tensor and itself.
    The bits are no obstacle: onnxruntime's are known, and the ONNX reference gives the same in each of these types.
    """
    return dtype.kind == "V" and "float" in dtype.name
