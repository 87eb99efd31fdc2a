"""The constants that a model already has: what folding starts from."""

from __future__ import annotations

import onnx_ir as ir

from foldproof import facts as proven
from foldproof.facts import Facts, Kind
from foldproof.facts.fact import numbers_of


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
    """The bytes of a tensor, None where they are not known before it is computed (or it is no tensor)."""
    fact = facts.of(value)
    count = fact.element_count
    if fact.kind is not Kind.TENSOR or not fact.is_static or not isinstance(count, int) or not fact.dtype:
        return None
    if fact.dtype is ir.DataType.STRING:
        return 8 * count
    return -(-count * fact.dtype.bitwidth // 8)
