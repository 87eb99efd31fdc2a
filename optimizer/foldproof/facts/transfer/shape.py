"""Shape, Size and Constant: the operators that turn what is known of a shape into data."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts.fact import Fact, constant_fact, tensor_fact
from foldproof.facts.registry import NodeView, infers

MAX_INT64 = 2**63 - 1


@infers("Size")
def size(node: NodeView) -> Fact:
    """Size-1..25: the product of the dims, an int64 scalar. Of a count that int64 can't hold, nothing is known."""
    count = node.input(0).element_count
    return tensor_fact(ir.DataType.INT64, (), [None if isinstance(count, int) and count > MAX_INT64 else count])


@infers("Shape")
def shape(node: NodeView) -> Fact:
    """Shape-1..25: the dims as a 1-D int64 tensor; from version 15 those of [start, end), clamped to the rank."""
    dims = node.input(0).shape
    if dims is None:
        return tensor_fact(ir.DataType.INT64, (node.fresh(0),))
    start, end = shape_slice(len(dims), node.attribute("start", 0), node.attribute("end"))
    return tensor_fact(ir.DataType.INT64, (end - start,), dims[start:end])


def shape_slice(rank: int, start: int, end: int | None) -> tuple[int, int]:
    """The clamped bounds of Shape's `start` and `end`: negative ones count from the back; never end < start."""
    first = min(max(start + rank if start < 0 else start, 0), rank)
    last = rank if end is None else min(max(end + rank if end < 0 else end, 0), rank)
    return first, max(first, last)


@infers("Constant")
def constant(node: NodeView) -> Fact | None:
    """Constant-1..25: the stored tensor, in each of its attribute forms."""
    tensor = _constant_tensor(node)
    return None if tensor is None else constant_fact(tensor)


def _constant_tensor(node: NodeView) -> ir.TensorProtocol | None:
    """The tensor that a Constant node holds, None where its attribute is of no known form."""
    for name, dtype in _FORMS.items():
        value = node.attribute(name)
        if value is None:
            continue
        if dtype is None:
            tensor: ir.TensorProtocol = value  # by the attribute's type; asking the tensor itself is slow
            return tensor
        if dtype is ir.DataType.STRING:
            texts = [value] if name == "value_string" else list(value)
            shape = ir.Shape([]) if name == "value_string" else ir.Shape([len(texts)])
            return ir.StringTensor([t.encode() if isinstance(t, str) else bytes(t) for t in texts], shape=shape)
        return ir.tensor(np.array(value, dtype=dtype.numpy()))
    return None


_FORMS: dict[str, ir.DataType | None] = {
    "value": None,
    "value_int": ir.DataType.INT64,
    "value_ints": ir.DataType.INT64,
    "value_float": ir.DataType.FLOAT,
    "value_floats": ir.DataType.FLOAT,
    "value_string": ir.DataType.STRING,
    "value_strings": ir.DataType.STRING,
}


@infers("Identity")
def identity(node: NodeView) -> Fact:
    """Identity-1..25: all that is known of the input, sequences and optionals too."""
    return node.input(0)
