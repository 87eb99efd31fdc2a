"""Small models, and what folding makes of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from foldproof import model_file
from foldproof.engines import Worker
from foldproof.facts import Facts
from foldproof.folding import Budget, Folder
from foldproof.rewriting import Rewriter
from foldproof.rewriting.packs import installed

CLEANING = ("dead_node", "unused_initializer")


@dataclasses.dataclass(frozen=True)
class Folded:
    """What became of a model."""

    proto: onnx.ModelProto
    model: ir.Model
    folder: Folder
    rewriter: Rewriter

    @property
    def operators(self) -> list[str]:
        """The operators that are left in the main graph, in order, `Constant` not."""
        return [node.op_type for node in self.proto.graph.node if node.op_type != "Constant"]

    def constant(self, name: str) -> np.ndarray[Any, Any]:
        """An initializer of the main graph."""
        return self.model.graph.initializers[name].const_value.numpy()

    @property
    def reasons(self) -> str:
        """Why what stays was not folded."""
        all_reasons = self.rewriter.reasons.values()
        return "; ".join(str(reasons["constant_folding"]) for reasons in all_reasons if "constant_folding" in reasons)


def fold(
    proto: onnx.ModelProto,
    *rules: str,
    limit: int | None = None,
    keep_node: Sequence[str] = (),
    quantized: bool = False,
    worker: Worker | None = None,
) -> Folded:
    """Folds a copy of a model, takes away what nothing reads any more, and checks that the result is valid.

    Args:
        proto: The model.
        rules: Other rules to apply.
        limit: The bytes by which it may grow; None for the default.
        keep_node: Names of nodes that stay.
        quantized: Whether quantized weights are folded.
        worker: The process that onnxruntime runs in; one of its own unless given.
    """
    source = model_file.from_proto(proto)
    model = source.model
    is_old = model.ir_version < 4
    overridable = frozenset(str(value.name) for value in model.graph.inputs if value.is_initializer() and not is_old)
    facts = Facts(model, overridable)
    budget = None if limit is None else Budget(limit)
    folder = Folder(model, facts, budget, keep_node=keep_node, fold_quantized_weights=quantized, worker=worker)
    rewriter = Rewriter(
        model,
        facts,
        [rule for rule in installed() if rule.name in (*CLEANING, *rules)],
        keep_node=keep_node,
        overridable=overridable,
        inputs_list_initializers=is_old,
        folder=folder,
    )
    rewriter.run()
    assert facts.problems == []
    result = model_file.to_proto(model, source)
    onnx.checker.check_model(result, skip_opset_compatibility_check=True)
    return Folded(result, model, folder, rewriter)


def constant_model(
    nodes: Sequence[onnx.NodeProto], output: str, dtype: int, *, rank: int = 1, opset: int = 23, **constants: Any
) -> onnx.ModelProto:
    """A model without inputs.

    Args:
        nodes: Its nodes.
        output: The name of its output.
        dtype: The output's type.
        rank: The number of its dims.
        opset: The version of the default domain.
        constants: Its initializers: arrays, or tensors.
    """
    tensors = [
        numpy_helper.from_array(each, name) if isinstance(each, np.ndarray) else _renamed(each, name)
        for name, each in constants.items()
    ]
    declared = helper.make_tensor_value_info(output, dtype, [None] * rank)
    graph = helper.make_graph(nodes, "g", [], [declared], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13 if opset > 24 else 11)


def _renamed(tensor: onnx.TensorProto, name: str) -> onnx.TensorProto:
    tensor.name = name
    return tensor
