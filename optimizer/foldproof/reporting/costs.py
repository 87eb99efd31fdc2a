"""What a model costs by count: its parameters, and its multiply-accumulates where shapes tell them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.facts.dim import DimLike, product
from foldproof.graphs import all_graphs

Shape = tuple[DimLike, ...]


@dataclasses.dataclass(frozen=True)
class Costs:
    """The costs of one model.

    Attributes:
        parameters: How many elements its initializers and `Constant` nodes have.
        macs: The multiply-accumulates of convolutions, matrix products and recurrent layers of the main graph: a
            number, or an expression over the symbolic dims. None where no such node has a known shape.
        macs_unknown: How many such nodes are not counted: their shapes are not known, or they stand in a body or a
            function, and nothing says how often they run.
    """

    parameters: int
    macs: int | str | None
    macs_unknown: int

    def to_dict(self) -> dict[str, Any]:
        """The costs for JSON."""
        return dataclasses.asdict(self)


def costs_of(model: ir.Model, facts: Facts) -> Costs:
    """The costs of a model as it is now. No weight is read."""
    counted: Counter[DimLike] = Counter()  # most layers cost the same, and to add expressions takes long
    unknown = parameters = 0
    for graph in all_graphs(model):
        parameters += sum(_size(value.const_value) for value in graph.initializers.values())
        for node in graph:
            if node.op_type == "Constant" and not node.domain:
                parameters += sum(_size(each.value) for each in node.attributes.values() if _is_tensor(each))
            count = _MACS.get(node.op_type) if not node.domain else None
            if count is None:
                continue
            macs = _macs(node, facts, count) if graph is model.graph else None
            if macs is None:
                unknown += 1
            else:
                counted[macs] += 1
    total: DimLike = 0
    for macs, times in counted.items():
        total = total + macs * times
    return Costs(parameters, (total if isinstance(total, int) else str(total)) if counted else None, unknown)


def _is_tensor(attribute: ir.Attr) -> bool:
    return not attribute.is_ref() and attribute.type is ir.AttributeType.TENSOR


def _size(tensor: ir.TensorProtocol | None) -> int:
    return 0 if tensor is None else tensor.size


def _macs(node: ir.Node, facts: Facts, count: Callable[..., DimLike]) -> DimLike | None:
    shapes = [facts.of(value).shape if value is not None else None for value in node.inputs]
    try:
        return count(node, facts.of(node.outputs[0]).shape, *shapes)
    except (TypeError, IndexError):  # a shape that is not known, or an input that is not there
        return None


def _convolution(weight: int) -> Callable[..., DimLike]:
    def macs(node: ir.Node, y: Shape, *inputs: Shape) -> DimLike:
        return product((*y, *inputs[weight][1:]))

    return macs


def _transposed_convolution(node: ir.Node, y: Shape, x: Shape, w: Shape, *_: Shape) -> DimLike:
    return product((*x, *w[1:]))


def _matrix_product(node: ir.Node, y: Shape, a: Shape, *_: Shape) -> DimLike:
    return product((*y, a[-1]))


def _gemm(node: ir.Node, y: Shape, a: Shape, *_: Shape) -> DimLike:
    return product((*y, a[0 if node.attributes.get_int("transA", 0) else 1]))


def _recurrent(node: ir.Node, y: Shape, x: Shape, w: Shape, r: Shape, *_: Shape) -> DimLike:
    return product(x[:2]) * (product(w) + product(r))


# By the operators' definitions. Biases and element-wise arithmetic are not counted, as is usual.
_MACS: dict[str, Callable[..., DimLike]] = {
    "Conv": _convolution(1),
    "ConvInteger": _convolution(1),
    "QLinearConv": _convolution(3),
    "ConvTranspose": _transposed_convolution,
    "MatMul": _matrix_product,
    "MatMulInteger": _matrix_product,
    "QLinearMatMul": _matrix_product,
    "Gemm": _gemm,
    "RNN": _recurrent,
    "GRU": _recurrent,
    "LSTM": _recurrent,
}
