"""Einsum."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from foldproof.facts.dim import DimLike
from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._broadcast import broadcast_dim
from foldproof.facts.transfer._moves import widened

Label: TypeAlias = "str | int"
"""What names an axis: a letter, or for an axis under the ellipsis its position from the back."""

_TERM = re.compile(r"([A-Za-z]*)(\.\.\.)?([A-Za-z]*)")


@infers("Einsum")
def einsum(node: NodeView) -> Fact:
    """Einsum-12..28: the dims that the output's letters name; those of the ellipsis are broadcast.

    Runtimes broadcast a letter's dims too, though the specification doesn't. Nothing is left to the schema's
    inference: it never comes back from some equations that are not valid.
    """
    left, arrow, right = str(node.attribute("equation", "")).replace(" ", "").partition("->")
    inputs = node.inputs
    terms = [_TERM.fullmatch(term) for term in left.split(",")]
    hidden_rank = _hidden_rank(terms, inputs)
    dims: dict[Label, list[DimLike | None]] = {}
    for term, fact in zip(terms, inputs, strict=False):
        labels = _labels(term, hidden_rank or 0)
        if labels is None or (fact.shape is not None and len(fact.shape) != len(labels)):
            return tensor_fact()
        for label, dim in zip(labels, fact.shape or (None,) * len(labels), strict=True):
            dims.setdefault(label, []).append(dim)
    if not arrow:
        once = sorted(label for label, found in dims.items() if isinstance(label, str) and len(found) == 1)
        right = ("..." if "..." in left else "") + "".join(once)
    result = _labels(_TERM.fullmatch(right), hidden_rank or 0)
    if result is None or len(terms) != len(inputs) or not dims.keys() >= set(result):
        return tensor_fact()
    if "..." in right and hidden_rank is None:
        return tensor_fact()
    found = [_common(dims[label]) for label in result]
    return tensor_fact(None, [node.fresh(axis) if dim is None else dim for axis, dim in enumerate(found)])


def _hidden_rank(terms: Sequence[re.Match[str] | None], inputs: Sequence[Fact]) -> int | None:
    """The number of axes under the ellipsis, the same for all inputs; None where no input tells."""
    for term, fact in zip(terms, inputs, strict=False):
        if term is not None and term[2] and fact.shape is not None:
            return max(len(fact.shape) - len(term[1] + term[3]), 0)
    return None


def _labels(term: re.Match[str] | None, hidden_rank: int) -> list[Label] | None:
    """What names the axes of one term; None where it is not valid."""
    if term is None:
        return None
    return [*term[1], *(range(-hidden_rank, 0) if term[2] else ()), *term[3]]


def _common(dims: Sequence[DimLike | None]) -> DimLike | None:
    """The dim that dims are broadcast to, some of which are unknown; None where it is not proven."""
    known = broadcast_dim([dim for dim in dims if dim is not None])
    return known if None not in dims or known is None else widened(known)
