"""How long folding takes: one session for all that is ready, against one session for each node.

`python -m benchmarks.folding [NODES]` folds a chain of that many nodes (3,000 unless given) in both ways and prints the
seconds. Loading and writing the model is not counted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from unittest import mock

import numpy as np
import onnx
import onnx_ir as ir
from onnx import TensorProto, helper, numpy_helper

from foldproof.facts import Facts
from foldproof.folding import Folder
from foldproof.folding.evaluation import Evaluator
from foldproof.gc_pause import gc_paused
from foldproof.rewriting import Rewriter

OPERATORS = ("Cos", "Exp", "Neg", "Sigmoid", "Abs")


def chain(nodes: int) -> onnx.ModelProto:
    """A model whose output is a chain of operators on a constant of 16 floats."""
    names = ["x", *(f"v{k}" for k in range(1, nodes)), "y"]
    graph = helper.make_graph(
        [helper.make_node(OPERATORS[k % len(OPERATORS)], [names[k]], [names[k + 1]]) for k in range(nodes)],
        "chain",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [16])],
        [numpy_helper.from_array(np.linspace(-1, 1, 16, dtype=np.float32), "x")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def folded(proto: onnx.ModelProto) -> tuple[float, np.ndarray, int]:
    """Folds as an optimization does: the seconds, the result, and the number of sessions."""
    model = ir.from_proto(proto)
    start = time.perf_counter()
    facts = Facts(model)
    folder = Folder(model, facts)
    Rewriter(model, facts, [], folder=folder).run()
    seconds = time.perf_counter() - start
    result = model.graph.outputs[0].const_value
    assert result is not None
    return seconds, result.numpy(), folder.sessions


def one_by_one(proto: onnx.ModelProto) -> tuple[float, np.ndarray, int]:
    """The same, but that each node is computed by a session of its own."""

    def in_turn(self: Evaluator, nodes: Sequence[ir.Node], wanted: Sequence[ir.Value]) -> dict[ir.Value, np.ndarray]:
        computed: dict[ir.Value, np.ndarray] = {}
        for node in nodes:
            self._run([node], dict.fromkeys(node.outputs), computed, 20.0)
        return {value: computed[value] for value in wanted}

    with mock.patch.object(Evaluator, "evaluate", in_turn):
        return folded(proto)


def main() -> None:
    """Prints the comparison."""
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    proto = chain(nodes)
    folded(chain(3))  # what is imported on demand is not part of either
    with gc_paused():  # as in a run
        fast, result, few = folded(proto)
        slow, other, many = one_by_one(proto)
    assert result.tobytes() == other.tobytes()
    sys.stdout.write(f"{nodes} nodes in {few} session: {fast:.2f} s\n")
    sys.stdout.write(f"{nodes} nodes in {many} sessions: {slow:.2f} s, {slow / fast:.1f} times as long\n")


if __name__ == "__main__":
    main()
