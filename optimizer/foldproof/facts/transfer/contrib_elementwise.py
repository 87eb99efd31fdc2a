"""onnxruntime's own operators (`com.microsoft`) that work element by element, or normalize."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike, floor_div
from foldproof.facts.fact import UNKNOWN, Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._broadcast import broadcast
from foldproof.facts.transfer._moves import scalar
from foldproof.facts.transfer.reductions import reduced_shape

DOMAIN = "com.microsoft"


@infers(
    "BiasAdd",
    "BiasGelu",
    "BiasSoftmax",
    "FastGelu",
    "GatedAdd",
    "Gelu",
    "GroupNorm",
    "Inverse",
    "MoE",
    "QLinearLeakyRelu",
    "QLinearSigmoid",
    "QLinearSoftmax",
    "QMoE",
    "QOrderedGelu",
    "QuickGelu",
    "RotaryEmbedding",
    "ScaledSiLU",
    "Trilu",
    domain=DOMAIN,
)
def same_shape(node: NodeView) -> Fact:
    """The type and the shape of the first input."""
    data = node.input(0)
    return tensor_fact(data.dtype, data.shape)


@infers("ComplexMul", "ComplexMulConj", domain=DOMAIN)
def complex_multiply(node: NodeView) -> Fact:
    """Broadcast inputs, whose last axis holds the real and the imaginary part."""
    return tensor_fact(node.input(0).dtype, broadcast(node, [node.input(0).shape, node.input(1).shape]))


@infers("BiasSplitGelu", domain=DOMAIN)
def bias_split_gelu(node: NodeView) -> Fact:
    """Half of the last axis is left."""
    data = node.input(0)
    shape = (*data.shape[:-1], floor_div(data.shape[-1], 2)) if data.shape else None
    return tensor_fact(data.dtype, shape)


@infers("BiasDropout", domain=DOMAIN)
def bias_dropout(node: NodeView) -> list[Fact]:
    """The data with a bias, and the mask of the same shape."""
    data = node.input(0)
    return [tensor_fact(data.dtype, data.shape), tensor_fact(ir.DataType.BOOL, data.shape)]


@infers("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_layer_normalization(node: NodeView) -> list[Fact]:
    """The shape of the input, also for the sum of input and skip; the outputs between are for training."""
    fact = tensor_fact(node.input(0).dtype, node.input(0).shape)
    return [fact, UNKNOWN, UNKNOWN, fact]


@infers("SkipGroupNorm", domain=DOMAIN)
def skip_group_norm(node: NodeView) -> list[Fact]:
    """The normalized sum of input and skip, and the sum itself."""
    fact = tensor_fact(node.input(0).dtype, node.input(0).shape)
    return [fact, fact]


@infers("SimplifiedLayerNormalization")
def simplified_layer_normalization(node: NodeView) -> list[Fact]:
    """Onnxruntime's name, in the default domain, for the RMS normalization of the axes from `axis` on."""
    data, scale = node.input(0), node.input(1)
    statistics = UNKNOWN
    axis = node.attribute("axis", -1)
    if data.shape is not None and -len(data.shape) <= axis < len(data.shape):
        axes = frozenset(range(axis % len(data.shape), len(data.shape)))
        statistics = tensor_fact(ir.DataType.FLOAT, reduced_shape(data.shape, axes, keep=True))
    return [tensor_fact(scale.dtype, data.shape), statistics]


@infers("QLinearAdd", "QLinearMul", domain=DOMAIN)
def quantized_binary(node: NodeView) -> Fact:
    """Inputs 0 and 3 are the operands, each followed by its scale and zero point."""
    return tensor_fact(node.input(0).dtype, broadcast(node, [node.input(0).shape, node.input(3).shape]))


@infers("MulInteger", domain=DOMAIN)
def multiply_integer(node: NodeView) -> Fact:
    """Inputs 0 and 2 are the operands, each followed by its zero point."""
    dtype = ir.DataType.UINT32 if node.input(0).dtype is ir.DataType.UINT8 else ir.DataType.INT32
    shape = broadcast(node, [node.input(0).shape, node.input(2).shape])
    return tensor_fact(None if node.input(0).dtype is None else dtype, shape)


@infers("QLinearWhere", domain=DOMAIN)
def quantized_where(node: NodeView) -> Fact:
    """Inputs 0, 1 and 4 are the condition and the choices."""
    shapes = [node.input(k).shape for k in (0, 1, 4)]
    return tensor_fact(node.input(1).dtype, broadcast(node, shapes))


@infers("QLinearReduceMean", "ReduceSumInteger", domain=DOMAIN)
def quantized_reduce(node: NodeView) -> Fact | None:
    """The axes are an attribute."""
    data = node.input(0)
    dtype = data.dtype
    if node.op_type == "ReduceSumInteger":
        dtype = {ir.DataType.INT8: ir.DataType.INT32, ir.DataType.UINT8: ir.DataType.UINT32}.get(
            dtype or ir.DataType.UNDEFINED
        )
    if data.shape is None:
        return tensor_fact(dtype)
    rank = len(data.shape)
    given = node.attribute("axes", ()) or range(rank)
    if any(not -rank <= axis < rank for axis in given):
        return None
    axes = frozenset(axis % rank for axis in given)
    return tensor_fact(dtype, reduced_shape(data.shape, axes, bool(node.attribute("keepdims", 1))))


@infers("QLinearGlobalAveragePool", domain=DOMAIN)
def quantized_global_average_pool(node: NodeView) -> Fact:
    """All spatial axes become 1; the channels are the last axis with `channels_last`."""
    data = node.input(0)
    if data.shape is None or len(data.shape) < 2:
        return tensor_fact(data.dtype)
    spatial = range(1, len(data.shape) - 1) if node.attribute("channels_last", 0) else range(2, len(data.shape))
    return tensor_fact(data.dtype, reduced_shape(data.shape, frozenset(spatial), keep=True))


@infers("QLinearConcat", domain=DOMAIN)
def quantized_concat(node: NodeView) -> Fact | None:
    """Each third input from the third on is a part; the others are scales and zero points."""
    parts = node.inputs[2::3]
    dtype = node.input(1).dtype
    shapes = [part.shape for part in parts if part.shape is not None]
    axis = node.attribute("axis", 0)
    if not parts or len(shapes) != len(parts):
        return tensor_fact(dtype)
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes) or not -rank <= axis < rank:
        return None
    axis %= rank
    total: DimLike = 0
    for shape in shapes:
        total = total + shape[axis]
    dims = [next((s[k] for s in shapes if isinstance(s[k], int)), shapes[0][k]) for k in range(rank)]
    return tensor_fact(dtype, (*dims[:axis], total, *dims[axis + 1 :]))


@infers("IsAllFinite", domain=DOMAIN)
def is_all_finite(node: NodeView) -> Fact:
    """One boolean for all inputs."""
    return tensor_fact(ir.DataType.BOOL, ())


@infers("GemmaRotaryEmbedding", domain=DOMAIN)
def gemma_rotary_embedding(node: NodeView) -> Sequence[Fact]:
    """The shapes of the queries and of the keys."""
    return [tensor_fact(node.input(k).dtype, node.input(k).shape) for k in (1, 3)]


@infers("RelativePositionBias", domain=DOMAIN)
def relative_position_bias(node: NodeView) -> Fact:
    """A bias for each head, query and key; the lengths are data."""
    table = node.input(0)
    heads = table.shape[1] if table.shape is not None and len(table.shape) == 2 else node.fresh(1)
    lengths: list[DimLike] = []
    for index in (1, 2):
        known = scalar(node.input(index))
        lengths.append(known if isinstance(known, (int, Dim)) else node.fresh(index + 1))
    return tensor_fact(table.dtype, (1, heads, *lengths))
