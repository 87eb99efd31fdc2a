"""Attention, LinearAttention and RotaryEmbedding."""

from __future__ import annotations

from collections.abc import Sequence

from foldproof.facts.dim import DimLike
from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._moves import quotient


def _dim(fact: Fact, axis: int) -> DimLike | None:
    """One dim of a tensor, None where it is not known."""
    return fact.shape[axis] if fact.shape is not None and -len(fact.shape) <= axis < len(fact.shape) else None


def _fact(node: NodeView, output: int, dims: Sequence[DimLike | None], like: Fact) -> Fact:
    """A tensor with a new symbol for each dim that is None."""
    shape = [node.fresh(axis, output) if dim is None else dim for axis, dim in enumerate(dims)]
    return tensor_fact(like.dtype, shape)


def _per_head(hidden: DimLike | None, heads: int | None) -> DimLike | None:
    return None if hidden is None or not heads else quotient(hidden, heads)


@infers("Attention")
def attention(node: NodeView) -> list[Fact | None] | None:
    """Attention-23..25: the output, keys and values with those of the past, and the product of query and key."""
    query, key, value, past = node.input(0), node.input(1), node.input(2), node.input(4)
    if query.rank is None:  # not to the schema: its inference gives a scalar for the product
        others = list(enumerate((key, value, query), start=1))[: node.output_count - 1]
        return [
            tensor_fact(query.dtype),
            *(tensor_fact(like.dtype, node.fresh_shape(4, output)) for output, like in others),
        ]
    if query.rank not in (3, 4) or any(fact.rank not in (None, query.rank) for fact in (key, value)):
        return [tensor_fact(query.dtype)]
    batch = _dim(query, 0)
    if query.rank == 4:
        heads, length = _dim(query, 1), _dim(query, 2)
        kv_heads = _dim(key, 1) if key.rank else _dim(value, 1)
        new = _dim(key, 2) if key.rank else _dim(value, 2)
        key_size, value_size = _dim(key, 3) if key.rank else _dim(query, 3), _dim(value, 3)
        output: list[DimLike | None] = [batch, heads, length, value_size]
    else:
        query_heads, shared_heads = node.attribute("q_num_heads"), node.attribute("kv_num_heads")
        if not query_heads or not shared_heads:
            return None
        heads, kv_heads, length = query_heads, shared_heads, _dim(query, 1)
        new = _dim(key, 1) if key.rank else _dim(value, 1)
        key_size = _per_head(_dim(query, 2), query_heads)
        if key.rank:
            key_size = _per_head(_dim(key, 2), shared_heads)
        value_size = _per_head(_dim(value, 2), shared_heads)
        output = [batch, length, None if value_size is None else value_size * query_heads]
    before = _dim(past, 2) if node.has_input(4) else 0
    total = None if new is None or before is None else before + new
    facts: list[Fact | None] = [
        _fact(node, 0, output, query),
        *(
            _fact(node, index, dims, like)
            for index, dims, like in (
                (1, (batch, kv_heads, total, key_size), key),
                (2, (batch, kv_heads, total, value_size), value),
                (3, (batch, heads, length, total), query),
            )
            if index < node.output_count
        ),
    ]
    return facts


@infers("LinearAttention")
def linear_attention(node: NodeView) -> list[Fact | None] | None:
    """LinearAttention-27: [B, T, query heads * d_v], and the state [B, kv heads, d_k, d_v]."""
    query, key, value, past = node.input(0), node.input(1), node.input(2), node.input(3)
    query_heads, shared_heads = node.attribute("q_num_heads"), node.attribute("kv_num_heads")
    if not query_heads or not shared_heads or query.rank not in (None, 3):
        return None
    value_size = _per_head(_dim(value, 2), shared_heads)
    key_size = _per_head(_dim(key, 2), shared_heads)
    hidden = None if value_size is None else value_size * query_heads
    facts: list[Fact | None] = [_fact(node, 0, (_dim(query, 0), _dim(query, 1), hidden), query)]
    if node.output_count > 1:
        state: Sequence[DimLike | None] = (_dim(query, 0), shared_heads, key_size, value_size)
        if past.shape is not None and len(past.shape) == 4:
            state = past.shape
        facts.append(_fact(node, 1, state, past))
    return facts


@infers("RotaryEmbedding")
def rotary_embedding(node: NodeView) -> Fact:
    """RotaryEmbedding-23: the shape of the input."""
    return tensor_fact(node.input(0).dtype, node.input(0).shape)
