"""What no runtime could give other bits is computed without a process, to the same bits as onnxruntime gives."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

from foldproof.facts import Facts
from foldproof.folding import Folder
from foldproof.folding.determined import determined
from foldproof.rewriting import Rewriter
from tests.helpers import parse

WEIGHTS = (
    "float[2, 3] w = {0.5, -0, 3, 1, -5, 6}, float[3] v = {0.1, 3, -7}, float k = {3},"
    " int64[2, 3] n = {1, 4611686018427387904, -3, 5, 7, 9223372036854775807}, bool[2, 3] c = {1, 0, 0, 1, 1, 0}"
)
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
    "Add": ("[2, 3]", "t = Add (w, v)"),
    "Sub": ("[2, 3]", "t = Sub (k, w)"),
    "Mul": ("[2, 3]", "t = Mul (w, v)"),
    "Div": ("[2, 3]", "t = Div (v, w)"),
    "Sqrt": ("[2, 3]", "a = Mul (w, w)  t = Sqrt (a)"),
    "Neg": ("[2, 3]", "t = Neg (w)"),
    "Where of Less": ("[2, 3]", "l = Less (w, v)  t = Where (l, k, v)"),
    "Where of Greater": ("[2, 3]", "l = Greater (w, k)  t = Where (l, k, v)"),
    "Where of LessOrEqual": ("[2, 3]", "l = LessOrEqual (w, k)  t = Where (l, k, v)"),
    "Where of GreaterOrEqual": ("[2, 3]", "l = GreaterOrEqual (w, k)  t = Where (l, k, v)"),
    "Where of Equal": ("[2, 3]", "l = Equal (w, k)  t = Where (l, v, k)"),
    "Where of Not": ("[2, 3]", "l = Not (c)  t = Where (l, v, k)"),
    "Where of And": ("[2, 3]", "e = Equal (w, k)  l = And (c, e)  t = Where (l, v, k)"),
    "Where of Or": ("[2, 3]", "e = Equal (w, k)  l = Or (c, e)  t = Where (l, v, k)"),
    "Where of Xor": ("[2, 3]", "e = Equal (w, k)  l = Xor (c, e)  t = Where (l, v, k)"),
    "Cast of integers": ("[2, 3]", "t = Cast <to = 1> (n)"),
    "Cast of booleans": ("[2, 3]", "t = Cast <to = 1> (c)"),
    "Cast to integers and back": ("[3]", "q = Div (v, k)  i = Cast <to = 7> (q)  t = Cast <to = 1> (i)"),
    "Cast to fewer bits": ("[2, 3]", "i = Cast <to = 6> (n)  t = Cast <to = 1> (i)"),
    "Cast to doubles and back": ("[2, 3]", "d = Cast <to = 11> (w)  t = Cast <to = 1> (d)"),
    "Cast to booleans": ("[2, 3]", "l = Cast <to = 9> (w)  t = Where (l, k, v)"),
    "integers that wrap around": ("[2, 3]", "m = Mul (n, n)  a = Add (m, n)  l = Less (a, n)  t = Where (l, v, k)"),
}


def model_with(nodes: str, shape: str) -> onnx.ModelProto:
    return with_a_denormal(parse(f"g (float x) => (float{shape} y) <{WEIGHTS}> {{ {nodes}  y = Mul (x, t) }}"))


def with_a_denormal(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The 1 of `w` becomes 1e-40, which onnx 1.20 can't read in text."""
    (weights,) = (each for each in proto.graph.initializer if each.name == "w")
    elements = onnx.numpy_helper.to_array(weights).copy()
    elements[elements == 1] = 1e-40
    weights.CopyFrom(onnx.numpy_helper.from_array(elements, "w"))
    return proto


@pytest.mark.parametrize("name", NODES)
def test_the_bits_are_those_of_the_runtime_and_no_session_is_needed(name: str) -> None:
    shape, nodes = NODES[name]
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


@pytest.mark.parametrize(
    "node",
    ["Div (z, z)", "Exp (w)", "Div (n, n)", "Cast <to = 0> (w)", "Concat <axis = 0> (w, n)"],
    ids=["a NaN", "a sum of a series", "integers", "no type at all", "a mixture of types"],
)
def test_what_a_runtime_may_choose_is_left_to_it(node: str) -> None:
    more = f"float[2] z = {{0, 1}}, float h = {{3e9}}, {WEIGHTS}"
    proto = with_a_denormal(parse(f"g (float x) => (float y) <{more}> {{ t = {node}  q = Shape (x)  y = Neg (x) }}"))
    model = ir.from_proto(proto)
    made = next(iter(model.graph))
    inputs = [value.const_value.numpy() for value in made.inputs if value is not None and value.const_value is not None]
    assert determined(made, inputs, Facts(model)) is None


def test_how_old_versions_broadcast_is_left_to_the_runtime() -> None:
    proto = parse(f"g (float x) => (float y) <{WEIGHTS}> {{ t = Add <broadcast = 1> (w, v)  y = Neg (x) }}", opset=6)
    model = ir.from_proto(proto)
    made = next(iter(model.graph))
    inputs = [value.const_value.numpy() for value in made.inputs if value is not None and value.const_value is not None]
    assert determined(made, inputs, Facts(model)) is None
