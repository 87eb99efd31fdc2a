"""The constants that a model already has: what folding starts from."""

from __future__ import annotations

from fractions import Fraction

import onnx_ir as ir

from foldproof.facts import Facts, Kind, exact_array
from foldproof.facts.fact import Fact


def is_source(value: ir.Value, facts: Facts) -> bool:
    """Whether a value's content is at hand: a stored tensor, or one of which each element is proven."""
    fact = facts.of(value)
    return fact.constant is not None or _numbers(fact) is not None


def tensor_of(value: ir.Value, facts: Facts) -> ir.TensorProtocol:
    """The content of a source."""
    fact = facts.of(value)
    if fact.constant is not None:
        return fact.constant
    numbers = _numbers(fact)
    assert numbers is not None, f"{value.name} is no source"
    assert fact.dtype is not None
    shape = [dim for dim in fact.shape or () if isinstance(dim, int)]
    return ir.Tensor(exact_array(numbers, fact.dtype).reshape(shape), dtype=fact.dtype)


def _numbers(fact: Fact) -> list[int | Fraction] | None:
    elements = fact.known_elements
    if elements is None or fact.kind is not Kind.TENSOR or fact.dtype is None or not fact.is_static:
        return None
    numbers = [element for element in elements if isinstance(element, (int, Fraction))]
    return numbers if len(numbers) == len(elements) else None


def size_of(value: ir.Value, facts: Facts) -> int | None:
    """The bytes of a tensor, None where they are not known before it is computed (or it is no tensor)."""
    fact = facts.of(value)
    count = fact.element_count
    if fact.kind is not Kind.TENSOR or not fact.is_static or not isinstance(count, int) or not fact.dtype:
        return None
    if fact.dtype is ir.DataType.STRING:
        return 8 * count
    return -(-count * fact.dtype.bitwidth // 8)
