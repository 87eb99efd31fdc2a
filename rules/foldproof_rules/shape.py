"""Rules about `Shape`, the dims of a tensor."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts, Kind, NodeView
from foldproof.rewriting import Constant, Cost, Outcome, Reason, Replace, rule
from foldproof_rules.size import RUNTIME_TYPES

SHAPE_PRESERVING = frozenset(
    {
        *("Identity", "Cast", "Dropout", "QuantizeLinear", "DequantizeLinear", "ReverseSequence", "CumSum", "Trilu"),
        *("BatchNormalization", "InstanceNormalization", "GroupNormalization", "LayerNormalization", "LRN"),
        *("LpNormalization", "MeanVarianceNormalization", "RMSNormalization", "Softmax", "LogSoftmax", "Hardmax"),
        *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Clip", "Cos", "Cosh", "Elu"),
        *("Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish"),
        *("Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh"),
        *("Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "BitwiseNot"),
    }
)
"""Operators whose first output has the shape of their first input, whatever it is."""


@rule("Shape", exact=True, benefit=20, level=1)
def static_shape(node: ir.Node, facts: Facts) -> Outcome:
    """Shape(x, start, end) = [d, ...], where each dim that start and end select is proven.

    Example:
        g (float[N, 3, 4] x) => (int64[2] y) { y = Shape <start = 1> (x) }
    """
    dims = facts.of(node.outputs[0]).elements
    if dims is None:
        return Reason("the rank of its input is unknown")
    if not all(isinstance(dim, int) for dim in dims):
        return Reason("its dims are [{}]", ", ".join(map(str, dims)))
    return Constant(np.array(dims, np.int64))


@rule("Shape", exact=True, benefit=5, level=1, lowers=Cost.EXPRESSION)
def shape_of_source(node: ir.Node, facts: Facts) -> Outcome:
    """Shape(f(x)) = Shape(x), where f(x) has the shape of x, back to the earliest such x.

    Nothing has to be computed then only to be measured. `Shape` is never moved onto a type that the runtime lacks.

    Example:
        g (float[N, M] x) => (int64[2] y) { z = Exp (x)  y = Shape (z) }
    """
    source = _earliest_alike(node.inputs[0], facts)
    if source is None or NodeView(node, facts).has_unknown_attribute():
        return Reason("nothing that its input is made from is proven to have the same shape")
    attributes = {name: attribute.value for name, attribute in node.attributes.items()}
    return Replace(lambda op: op.Shape(source, **attributes))


def _earliest_alike(value: ir.Value | None, facts: Facts) -> ir.Value | None:
    """A value of the same shape from which another one is made: one that no node makes, or else the last one found."""
    found: list[ir.Value] = []
    queue = [value]
    for current in queue:
        maker = None if current is None else current.producer()
        if current is None or maker is None:
            continue
        for candidate in _shaped_alike(current, maker, facts):
            if candidate in queue:
                continue
            queue.append(candidate)
            if facts.of(candidate).dtype in RUNTIME_TYPES:
                if candidate.producer() is None:
                    return candidate
                found.append(candidate)
    return found[-1] if found else None


def _shaped_alike(value: ir.Value, maker: ir.Node, facts: Facts) -> Iterator[ir.Value]:
    """The inputs of the value's maker that have the value's shape, in every run."""
    shape = facts.shape(value)
    is_standard = not maker.domain and facts.function(maker) is None
    for index, candidate in enumerate(maker.inputs):
        if candidate is None or facts.of(candidate).kind is not Kind.TENSOR:
            continue
        preserved = index == 0 and value.index() == 0 and is_standard and maker.op_type in SHAPE_PRESERVING
        if preserved or (shape is not None and facts.shape(candidate) == shape):
            yield candidate
