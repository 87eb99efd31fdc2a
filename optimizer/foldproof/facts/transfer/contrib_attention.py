"""onnxruntime's own attention operators (`com.microsoft`) and the embedding that goes before them."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike, exact_div, maximum
from foldproof.facts.fact import UNKNOWN, Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._broadcast import Shape
from foldproof.facts.transfer._moves import scalar

DOMAIN = "com.microsoft"


def _dim(shape: Shape | None, axis: int, rank: int) -> DimLike | None:
    """A dim of a shape of the rank that is expected."""
    return shape[axis] if shape is not None and len(shape) == rank else None


def _fact(node: NodeView, output: int, dtype: ir.DataType | None, dims: Sequence[DimLike | None]) -> Fact:
    """The fact of an output, with fresh symbols where a dim is not known; nothing of one that is not declared."""
    if output >= node.output_count:
        return UNKNOWN
    return tensor_fact(dtype, (node.fresh(axis, output) if dim is None else dim for axis, dim in enumerate(dims)))


def _ratio(dim: DimLike | None, divisor: DimLike | None) -> DimLike | None:
    return None if dim is None or divisor is None or divisor == 0 else exact_div(dim, divisor)


def _times(a: DimLike | None, b: DimLike | None) -> DimLike | None:
    return None if a is None or b is None else a * b


def _plus(a: DimLike | None, b: DimLike | None) -> DimLike | None:
    return None if a is None or b is None else a + b


@infers("EmbedLayerNormalization", "QEmbedLayerNormalization", domain=DOMAIN)
def embed_layer_normalization(node: NodeView) -> Sequence[Fact]:
    """A vector for each word; for each sentence the number of its words; the sum before normalization."""
    words, table = node.input(0).shape, node.input(2)
    dtype = table.dtype
    if node.op_type == "QEmbedLayerNormalization":
        dtype = node.input(8).dtype
    batch = _dim(words, 0, 2)
    vectors = _fact(node, 0, dtype, (batch, _dim(words, 1, 2), _dim(table.shape, 1, 2)))
    return [vectors, _fact(node, 1, ir.DataType.INT32, (batch,)), vectors]


@infers("Attention", "QAttention", domain=DOMAIN)
def attention(node: NodeView) -> Sequence[Fact]:
    """Merged projections of queries, keys and values; keys and values are stacked in the present state."""
    data, weights = node.input(0), node.input(1)
    dtype, past_at = (node.input(2).dtype, 8) if node.op_type == "QAttention" else (data.dtype, 4)
    sizes = node.attribute("qkv_hidden_sizes", ())
    thirds = _ratio(_dim(weights.shape, 1, 2), 3)
    keys: DimLike | None = sizes[1] if len(sizes) == 3 else thirds
    values: DimLike | None = sizes[2] if len(sizes) == 3 else thirds
    batch, length = _dim(data.shape, 0, 3), _dim(data.shape, 1, 3)
    output = _fact(node, 0, dtype, (batch, length, values))
    if node.output_count < 2:
        return [output]
    heads = node.attribute("num_heads")
    total: DimLike | None = length
    past = _dim(node.input(past_at).shape, 3, 5)
    if node.attribute("past_present_share_buffer", 0):
        total = past
    elif node.has_input(past_at):
        total = _plus(past, length)
    present = _fact(node, 1, dtype, (2, batch, heads, total, _ratio(keys, heads)))
    return [output, present]


@infers("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(node: NodeView) -> Sequence[Fact]:
    """Queries, keys and values apart (3-D), keys and values of another node (4-D), or packed (5-D)."""
    query, key, value = (node.input(k).shape for k in range(3))
    dtype = node.input(0).dtype
    heads: DimLike | None = node.attribute("num_heads")
    rank = None if query is None else len(query)
    batch, length = (query[0], query[1]) if query is not None and rank in (3, 5) else (None, None)
    # Of keys and values: the width of all heads together, the length, and the width of one head of each.
    hidden, kv_length, key_head, value_head = None, None, None, None
    if query is not None and rank == 5:  # batch, length, heads, 3, head size
        hidden, kv_length, key_head, value_head = query[2] * query[4], query[1], query[4], query[4]
    elif query is not None and rank == 3 and key is not None and len(key) == 5:  # batch, length, heads, 2, head size
        hidden, kv_length, key_head, value_head = key[2] * key[4], key[1], key[4], key[4]
    elif value is not None and len(value) == 4:  # batch, heads, length, head size
        hidden = value[1] * value[3]
    elif value is not None and len(value) == 3 and key is not None and len(key) == 3:
        hidden, kv_length = value[2], key[1]
        key_head, value_head = _ratio(_dim(query, 2, 3), heads), _ratio(value[2], heads)
    facts = [_fact(node, 0, dtype, (batch, length, hidden))]
    if node.output_count < 2:
        return facts
    total: DimLike | None = kv_length
    if node.has_input(6):
        shared = node.has_input(8)  # a buffer of the greatest length that goes in and out
        total = None if shared else _plus(_dim(node.input(6).shape, 2, 4), kv_length)
    facts.append(_fact(node, 1, dtype, (batch, heads, total, key_head)))
    facts.append(_fact(node, 2, dtype, (batch, heads, total, value_head)))
    facts.append(_fact(node, 3, None, (batch, heads, length, total)))
    return facts


@infers("GroupQueryAttention", domain=DOMAIN)
def group_query_attention(node: NodeView) -> Sequence[Fact]:
    """Several query heads for each head of keys and values, which are kept in a cache of past and present."""
    query, past = node.input(0).shape, node.input(3).shape
    dtype = node.input(0).dtype
    heads, kv_heads = node.attribute("num_heads"), node.attribute("kv_num_heads")
    batch, length, width = (_dim(query, axis, 3) for axis in range(3))
    head_size: DimLike | None = None
    if isinstance(heads, int) and isinstance(kv_heads, int) and query is not None:
        head_size = _ratio(width, heads if node.has_input(1) else heads + 2 * kv_heads)
    facts = [_fact(node, 0, dtype, (batch, length, _times(head_size, heads)))]
    if node.output_count < 2:
        return facts
    total = scalar(node.input(6))
    kept: DimLike | None = None
    if isinstance(total, (int, Dim)) and not node.attribute("sliding_window_cache", 0):
        # The cache grows where it must, unless the caller gives a buffer that has room.
        before: DimLike | None = _dim(past, 2, 4) if node.has_input(3) else 0
        kept = None if before is None else maximum(before, total)
    cache = node.input(3).dtype if node.has_input(3) else dtype
    last = _dim(past, 3, 4) if node.has_input(3) else head_size
    cached = node.fresh(2, 1) if kept is None else kept  # one for both
    for output in (1, 2):
        facts.append(_fact(node, output, cache, (batch, kv_heads, cached, last)))
    return facts
