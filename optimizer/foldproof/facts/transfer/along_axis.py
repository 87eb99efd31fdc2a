"""Operators that go along one axis: the largest elements of it, and running sums and products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foldproof.facts.dim import Dim, DimLike
from foldproof.facts.fact import MAX_ELEMENTS, Element, Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer import _arithmetic as arithmetic
from foldproof.facts.transfer._broadcast import static_count, static_sizes
from foldproof.facts.transfer._moves import scalar


@infers("TopK")
def top_k(node: NodeView) -> Sequence[Fact | None] | None:
    """TopK-1..24: `k` elements of one axis and their indices; `k` is an attribute at version 1."""
    data = node.input(0)
    if data.shape is None:
        return [tensor_fact(data.dtype), None]
    rank = len(data.shape)
    axis = node.attribute("axis", -1)
    if not -rank <= axis < rank:
        return None
    axis %= rank
    k: Element = node.attribute("k") if node.version < 10 else scalar(node.input(1))
    length: DimLike = k if isinstance(k, (int, Dim)) else node.fresh(axis)
    shape = (*data.shape[:axis], length, *data.shape[axis + 1 :])
    return [tensor_fact(data.dtype, shape), tensor_fact(None, shape)]


@infers("CumSum", "CumProd")
def cumulative(node: NodeView) -> Fact:
    """CumSum-11..14, CumProd-26: running sums and products, of the same shape."""
    data = node.input(0)
    count = static_count(data.shape)
    axis = scalar(node.input(1))
    if data.shape is None or count is None or count > MAX_ELEMENTS or not isinstance(axis, int):
        return tensor_fact(data.dtype, data.shape)
    elements = data.elements
    if elements is None or len(elements) != count or not -len(data.shape) <= axis < len(data.shape):
        return tensor_fact(data.dtype, data.shape)
    # Of partial results exact ones alone are claimed: the order in which a runtime adds floats is its own.
    combine = arithmetic.exact_sum if node.op_type == "CumSum" else arithmetic.exact_product
    exclusive, reverse = bool(node.attribute("exclusive", 0)), bool(node.attribute("reverse", 0))
    lines = np.moveaxis(np.arange(count).reshape(static_sizes(data.shape)), axis, -1)
    result: list[Element] = [None] * count
    for line in lines.reshape(-1, lines.shape[-1]).tolist() if count else []:
        for position, target in enumerate(line):
            part = line[position + exclusive :] if reverse else line[: position + (not exclusive)]
            result[target] = combine(data.dtype, *(elements[k] for k in part))
    return tensor_fact(data.dtype, data.shape, result)
