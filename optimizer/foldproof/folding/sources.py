"""The constants that a model already has: what folding starts from."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof import facts as proven
from foldproof.facts import Facts, Kind
from foldproof.facts.fact import numbers_of
from foldproof.rewriting.constants import strings_of

_POINTER = 8
"""What a string takes at the least, in bytes."""


def is_source(value: ir.Value, facts: Facts) -> bool:
    """Whether a value's content is at hand: a stored tensor, or one of which each element is proven."""
    fact = facts.of(value)
    return fact.constant is not None or numbers_of(fact) is not None


def tensor_of(value: ir.Value, facts: Facts) -> ir.TensorProtocol:
    """The content of a source."""
    fact = facts.of(value)
    tensor = fact.constant if fact.constant is not None else proven.tensor_of(fact)
    assert tensor is not None, f"{value.name} is no source"
    return tensor


def size_of(value: ir.Value, facts: Facts) -> int | None:
    """The bytes of a tensor, None where they are not known before it is computed (or it is no tensor).

    Of strings it is the least that they take: see `exact_size_of`.
    """
    fact = facts.of(value)
    count = fact.element_count
    if fact.kind is not Kind.TENSOR or not fact.is_static or not isinstance(count, int) or not fact.dtype:
        return None
    if fact.dtype is ir.DataType.STRING:
        return _POINTER * count
    return -(-count * fact.dtype.bitwidth // 8)


def exact_size_of(value: ir.Value, facts: Facts) -> int | None:
    """The same, but None for strings that are not at hand: each may have any length."""
    fact = facts.of(value)
    return None if fact.dtype is ir.DataType.STRING and fact.constant is None else size_of(value, facts)


def string_bytes(content: Any) -> int:
    """The bytes of strings: a tensor, an array, or a list of these; 0 for anything else."""
    if isinstance(content, (list, tuple)):
        return sum(map(string_bytes, content))
    if isinstance(content, ir.TensorProtocol):
        return content.nbytes + _POINTER * content.size if content.dtype is ir.DataType.STRING else 0
    array = np.asarray(content)
    return sum(map(len, strings_of(array))) + _POINTER * array.size if array.dtype.kind in "OSU" else 0
