"""What is proven of each value of a model, for every run that its contract admits."""

from foldproof.facts.dim import Dim, DimLike
from foldproof.facts.engine import Facts
from foldproof.facts.fact import MAX_SPLAT, Basis, Element, Fact, Kind, exact_array, tensor_fact, tensor_of
from foldproof.facts.registry import NodeView, infers, infers_body

__all__ = [
    "MAX_SPLAT",
    "Basis",
    "Dim",
    "DimLike",
    "Element",
    "Fact",
    "Facts",
    "Kind",
    "NodeView",
    "exact_array",
    "infers",
    "infers_body",
    "tensor_fact",
    "tensor_of",
]
