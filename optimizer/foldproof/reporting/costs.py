"""What a model costs by count: its parameters, and its multiply-accumulates where shapes tell them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.facts.dim import DimLike, TooComplexError, product
from foldproof.graphs import all_graphs

Shape = tuple[DimLike, ...]
_Count = Callable[..., DimLike]  # the multiply-accumulates, by the shapes of the first output and the inputs


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
    counted: Counter[tuple[_Count, tuple[Shape | None, ...]]] = Counter()  # most layers are alike
    unknown = parameters = 0
    for graph in all_graphs(model):
        parameters += sum(_size(value.const_value) for value in graph.initializers.values())
        for node in graph:
            if node.op_type == "Constant" and not node.domain:
                parameters += sum(_size(each.value) for each in node.attributes.values() if _is_tensor(each))
            count = _count_of(node)
            if count is None:
                continue
            if graph is model.graph and node.outputs:
                counted[count, tuple([facts.of(value).shape for value in (node.outputs[0], *node.inputs)])] += 1
            else:
                unknown += 1
    total: DimLike = 0
    is_any_known = False
    for (count, shapes), times in counted.items():
        try:
            total = total + count(*shapes) * times
        except (TypeError, IndexError, TooComplexError):  # a shape is not known, or an input is not there
            unknown += times
        else:
            is_any_known = True
    return Costs(parameters, (total if isinstance(total, int) else str(total)) if is_any_known else None, unknown)


def _is_tensor(attribute: ir.Attr) -> bool:
    return not attribute.is_ref() and attribute.type is ir.AttributeType.TENSOR


def _size(tensor: ir.TensorProtocol | None) -> int:
    return 0 if tensor is None else tensor.size


def _convolution(weight: int) -> _Count:
    def macs(y: Shape, *inputs: Shape) -> DimLike:
        return product((*y, *inputs[weight][1:]))

    return macs


def _transposed_convolution(y: Shape, x: Shape, w: Shape, *_: Shape) -> DimLike:
    return product((*x, *w[1:]))


def _matrix_product(y: Shape, a: Shape, *_: Shape) -> DimLike:
    return product((*y, a[-1]))


def _transposed_product(y: Shape, a: Shape, *_: Shape) -> DimLike:
    return product((*y, a[0]))


def _recurrent(y: Shape, x: Shape, w: Shape, r: Shape, *_: Shape) -> DimLike:
    return product(x[:2]) * (product(w) + product(r))


# By the operators' definitions. Biases and element-wise arithmetic are not counted, as is usual.
_MACS: dict[str, _Count] = {
    "Conv": _convolution(1),
    "ConvInteger": _convolution(1),
    "QLinearConv": _convolution(3),
    "ConvTranspose": _transposed_convolution,
    "MatMul": _matrix_product,
    "MatMulInteger": _matrix_product,
    "QLinearMatMul": _matrix_product,
    "Gemm": _matrix_product,
    "RNN": _recurrent,
    "GRU": _recurrent,
    "LSTM": _recurrent,
}


def _count_of(node: ir.Node) -> _Count | None:
    """How to count the multiply-accumulates of a node; None for an operator that has none, or is not known."""
    if node.domain:
        return None
    if node.op_type == "Gemm" and node.attributes.get_int("transA", 0) != 0:
        return _transposed_product
    return _MACS.get(node.op_type)
