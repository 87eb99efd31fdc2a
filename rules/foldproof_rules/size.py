"""Rules about `Size`, the number of elements of a tensor."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts, Kind
from foldproof.rewriting import Constant, Cost, Outcome, Reason, Replace, rule

MAX_INT64 = 2**63 - 1

RUNTIME_TYPES = frozenset(
    {
        ir.DataType.FLOAT,
        ir.DataType.DOUBLE,
        ir.DataType.INT8,
        ir.DataType.INT16,
        ir.DataType.INT32,
        ir.DataType.INT64,
        ir.DataType.UINT8,
        ir.DataType.UINT16,
        ir.DataType.UINT32,
        ir.DataType.UINT64,
        ir.DataType.BOOL,
        ir.DataType.STRING,
    }
)
"""The types of which onnxruntime 1.32 runs `Size` at every opset. float16 is not among them: not at opset 1."""

COUNT_PRESERVING = frozenset(
    {
        *("Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Identity", "Cast", "Dropout", "DepthToSpace"),
        *("SpaceToDepth", "QuantizeLinear", "DequantizeLinear", "ReverseSequence", "CumSum", "Softmax", "LogSoftmax"),
        *(
            "Hardmax",
            "Abs",
            "Acos",
            "Acosh",
            "Asin",
            "Asinh",
            "Atan",
            "Atanh",
            "Ceil",
            "Celu",
            "Cos",
            "Cosh",
            "Elu",
            "Erf",
        ),
        *(
            "Exp",
            "Floor",
            "Gelu",
            "HardSigmoid",
            "HardSwish",
            "IsInf",
            "IsNaN",
            "LeakyRelu",
            "Log",
            "Mish",
            "Neg",
            "Not",
        ),
        *("Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign"),
        *("Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Trilu", "BitwiseNot", "BitCast"),
    }
)
"""Operators whose first output has as many elements as their first input, whatever the shapes."""


@rule("Size", exact=True, benefit=20, level=1)
def static_size(node: ir.Node, facts: Facts) -> Outcome:
    """Size(x) = c, where each dim of x is proven and c is their product.

    A product with an exact 0 is 0, whatever the other dims. A count that int64 can't hold is left as it is: no such
    tensor exists.

    Example:
        g (float[2, 3] x) => (int64 y) { y = Size (x) }
    """
    count = facts.element_count(node.inputs[0])
    if count is None:
        return Reason("the rank of its input is unknown")
    if not isinstance(count, int):
        return Reason("its element count is {}", count)
    if count > MAX_INT64:
        return Reason("its element count {} is more than int64 holds", count)
    return Constant(np.int64(count))


@rule("Size", exact=True, benefit=5, level=1, lowers=Cost.EXPRESSION)
def size_of_source(node: ir.Node, facts: Facts) -> Outcome:
    """Size(f(x)) = Size(x), where f(x) has as many elements as x, back to the earliest such x.

    Nothing has to be computed then only to be counted. `Size` is never moved onto a type that the runtime lacks.

    Example:
        g (float[N, M] x) => (int64 y) { z = Transpose (x)  y = Size (z) }
    """
    current, source = node.inputs[0], None
    while current is not None:
        current = _counted_alike(current, facts)
        if current is not None and facts.of(current).dtype in RUNTIME_TYPES:
            source = current
    if source is None:
        return Reason("nothing that its input is made from is proven to have as many elements")
    return Replace(lambda op: op.Size(source))


def _counted_alike(value: ir.Value, facts: Facts) -> ir.Value | None:
    """An input of the value's maker that has as many elements as the value, in every run."""
    maker = value.producer()
    if maker is None:
        return None
    count = facts.element_count(value)
    is_standard = not maker.domain and facts.function(maker) is None
    for index, candidate in enumerate(maker.inputs):
        if candidate is None or facts.of(candidate).kind is not Kind.TENSOR:
            continue
        preserved = index == 0 and value.index() == 0 and is_standard and maker.op_type in COUNT_PRESERVING
        if preserved or (count is not None and facts.element_count(candidate) == count):
            return candidate
    return None
