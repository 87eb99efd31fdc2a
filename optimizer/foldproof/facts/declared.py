"""What a value's declaration states."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts.dim import DimLike
from foldproof.facts.fact import Basis, Fact, Kind


def declared_fact(type_: ir.TypeProtocol | None, shape: tuple[DimLike, ...] | None, basis: Basis) -> Fact:
    """The fact that a declared type states. The shape belongs to the innermost tensor of a sequence or optional."""
    if isinstance(type_, ir.SequenceType):
        # A symbolic dim may be another number in each item: the published tests of SequenceMap have such inputs.
        common = shape if shape is not None and all(isinstance(dim, int) for dim in shape) else None
        return Fact(kind=Kind.SEQUENCE, item=declared_fact(type_.elem_type, common, basis), basis=basis)
    if isinstance(type_, ir.OptionalType):
        return Fact(kind=Kind.OPTIONAL, item=declared_fact(type_.elem_type, shape, basis), basis=basis)
    if isinstance(type_, ir.TensorType):
        return Fact(dtype=type_.dtype, shape=shape, basis=basis)
    return Fact(basis=basis)


def declared_symbol(value: ir.Value, axis: int) -> str | None:
    """The symbol that the model declares for a dim of a value."""
    if value.shape is None or not 0 <= axis < len(value.shape):
        return None
    dim = value.shape[axis]
    return None if isinstance(dim, int) else dim.value
