"""Random operators: of their output only the type and the shape can be known."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer.casts import dtype_attribute


@infers("RandomNormal", "RandomUniform")
def random(node: NodeView) -> Fact | None:
    """RandomNormal, RandomUniform 1..22: the shape is an attribute."""
    shape = node.attribute("shape")
    if shape is None or any(dim < 0 for dim in shape):
        return None
    return tensor_fact(dtype_attribute(node, "dtype", ir.DataType.FLOAT), shape)


@infers("RandomNormalLike", "RandomUniformLike", "Bernoulli")
def random_like(node: NodeView) -> Fact:
    """RandomNormalLike, RandomUniformLike 1..22, Bernoulli 15..22: the input's shape, by default its type."""
    data = node.input(0)
    return tensor_fact(dtype_attribute(node, "dtype", data.dtype), data.shape)


@infers("Multinomial")
def multinomial(node: NodeView) -> Fact | None:
    """Multinomial-7..22: `sample_size` draws for each row."""
    dtype = dtype_attribute(node, "dtype", ir.DataType.INT32)
    shape = node.input(0).shape
    rows = shape[0] if shape is not None and len(shape) == 2 else node.fresh(0)
    return tensor_fact(dtype, (rows, node.attribute("sample_size", 1)))
