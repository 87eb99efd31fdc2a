"""What only moves elements is computed without a process, to the same bits as onnxruntime gives."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

from foldproof.facts import Facts
from foldproof.folding import Folder
from foldproof.rewriting import Rewriter
from tests.helpers import parse

WEIGHTS = "float[2, 3] w = {0.5, -0, 3, 1e-40, -5, 6}"
NODES = {
    "Reshape": ("[3, 2]", "s = Constant <value_ints = [3, -1]> ()  t = Reshape (w, s)"),
    "Flatten": ("[1, 6]", "t = Flatten <axis = 0> (w)"),
    "Unsqueeze": ("[1, 2, 3, 1]", "a = Constant <value_ints = [-1, 0]> ()  t = Unsqueeze (w, a)"),
    "Transpose": ("[3, 2]", "t = Transpose (w)"),
    "Expand": ("[4, 2, 3]", "s = Constant <value_ints = [4, 1, 1]> ()  t = Expand (w, s)"),
    "Concat": ("[2, 6]", "t = Concat <axis = -1> (w, w)"),
    "Gather": ("[2, 2]", "i = Constant <value_ints = [-1, 0]> ()  t = Gather <axis = 1> (w, i)"),
    "Split": ("[2, 1]", "z = Constant <value_ints = [2, 1]> ()  u, t = Split <axis = -1> (w, z)"),
    "ConstantOfShape": (
        "[2, 2]",
        "s = Constant <value_ints = [2, 2]> ()  t = ConstantOfShape <value = float[1] {-0.0}> (s)",
    ),
}


def model_with(nodes: str, shape: str) -> onnx.ModelProto:
    return parse(f"g (float x) => (float{shape} y) <{WEIGHTS}> {{ {nodes}  y = Mul (x, t) }}")


@pytest.mark.parametrize("op_type", NODES)
def test_the_bits_are_those_of_the_runtime_and_no_session_is_needed(op_type: str) -> None:
    shape, nodes = NODES[op_type]
    proto = model_with(nodes, shape)
    model = ir.from_proto(proto)
    facts = Facts(model)
    folder = Folder(model, facts)
    Rewriter(model, facts, [], folder=folder).run()
    assert folder.sessions == 0
    mul = next(node for node in model.graph if node.op_type == "Mul")
    folded = mul.inputs[1].const_value
    assert folded is not None
    with_constant = onnx.ModelProto()
    with_constant.CopyFrom(proto)
    with_constant.graph.output[0].name = "t"
    session = onnxruntime.InferenceSession(with_constant.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(["t"], {"x": np.array(1, np.float32)})
    assert folded.numpy().dtype == expected.dtype
    assert folded.numpy().shape == expected.shape
    assert folded.tobytes() == expected.tobytes()


def test_an_index_out_of_range_is_left_to_the_runtime_which_refuses_it() -> None:
    nodes = "i = Constant <value_ints = [0, 7]> ()  t = Gather <axis = 1> (w, i)"
    model = ir.from_proto(model_with(nodes, "[2, 2]"))
    facts = Facts(model)
    folder = Folder(model, facts)
    Rewriter(model, facts, [], folder=folder).run()
    assert [node.op_type for node in folder.failures] == ["Gather"]
    assert "Gather" in [node.op_type for node in model.graph]
