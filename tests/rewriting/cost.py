"""Measures what rules declare to lower: `foldproof.rewriting.Cost`, read off a model."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.checking.costs import computing_nodes
from foldproof.checking.costs import costs as all_but_the_form
from foldproof.rewriting import Cost

CHEAPER = {
    "Xor": 1, "Where": 2, "CastLike": 1, "Split": 1, "Transpose": 1, "MatMul": 1,
    "ReduceMax": 1, "ReduceMin": 1, "ReduceSum": 1, "ReduceMean": 1, "ReduceProd": 1, "ReduceLogSumExp": 1,
}  # fmt: skip
"""Operators for some of which there is a cheaper one, of weight 0: Not, Cast, Slice, Reshape, Gemm, Squeeze."""


def costs(model: ir.Model, *, dead: bool = False) -> dict[Cost, int]:
    """The costs of a model; those of what nothing reads too, if `dead`."""
    nodes = computing_nodes(model, dead=dead)
    form = sum(CHEAPER.get(node.op_type, 0) for node in nodes) + sum(map(_late_halves, nodes))
    return {**all_but_the_form(model, dead=dead), Cost.FORM: form}


def _late_halves(node: ir.Node) -> int:
    """Whether a node's Erf stands in a product in a way that onnxruntime does not take for a Gelu."""
    if node.op_type != "Erf":
        return 0
    argument = node.inputs[0].producer() if node.inputs[0] is not None else None
    sums = [use.node for use in node.outputs[0].uses() if use.node.op_type == "Add"]
    halved = any(
        use.node.op_type == "Mul"
        and any(value is not None and value.const_value is not None for value in use.node.inputs)
        for total in sums
        for use in total.outputs[0].uses()
    )
    return int(argument is not None and argument.op_type == "Mul") + int(halved)
