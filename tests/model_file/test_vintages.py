"""Models of all vintages: every pair of IR version and opset that onnx knows, and what exporters of their time wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.helper
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import foldproof
from foldproof.model_file import differences

OPSETS = range(1, onnx.defs.onnx_opset_version() + 1)
IR_VERSIONS = range(3, int(onnx.IR_VERSION) + 1)
RUNS_UP_TO = 23
"""The newest opset that the oldest onnxruntime in use may be asked to run here."""


def build(ir_version: int, opset: int) -> onnx.ModelProto:
    """y = Relu(MatMul(x, w) + size(w)), in operators that each opset has in some form."""
    weight = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(3, 2), "w")
    nodes = [
        helper.make_node("Size", ["w"], ["n"], name="size"),
        helper.make_node("Cast", ["n"], ["f"], name="cast", to="FLOAT" if opset < 6 else TensorProto.FLOAT),
        helper.make_node("MatMul", ["x", "w"], ["m"], name="matmul"),
        helper.make_node("Add", ["m", "f"], ["a"], name="add", **({"broadcast": 1} if opset < 7 else {})),
        helper.make_node("Relu", ["a"], ["y"], name="relu"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])]
    if ir_version < 4:
        inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3, 2]))
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [weight], doc_string="of its time")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
    model.producer_name, model.producer_version, model.domain, model.model_version = "tool", "0.1", "org.here", 7
    model.metadata_props.add(key="b", value="1")
    model.metadata_props.add(key="a", value="2")
    return model


@pytest.mark.parametrize("opset", OPSETS)
def test_without_rules_each_vintage_comes_out_equal(opset, tmp_path):
    for ir_version in IR_VERSIONS:
        model = build(ir_version, opset)
        path, out = tmp_path / f"{ir_version}.onnx", tmp_path / f"{ir_version}.out.onnx"
        onnx.save(model, path)
        foldproof.optimize_file(path, out, rules=(), verify=False)
        assert list(differences(model, onnx.load(out))) == []
        assert out.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("opset", [opset for opset in OPSETS if 7 <= opset <= RUNS_UP_TO])
def test_each_vintage_is_optimized(opset):
    """The newest IR version that the opset came with, or the oldest of all."""
    model = build(max(3, min(10, helper.find_min_ir_version_for([helper.make_opsetid("", opset)]))), opset)
    optimized = foldproof.optimize(model, verify=False)
    assert "Size" not in {node.op_type for node in optimized.graph.node}
    x = np.array([[1, -2, 3], [0, 0, -9]], np.float32)
    outputs = [
        onnxruntime.InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
        for each in (model, optimized)
    ]
    np.testing.assert_array_equal(*[output[0] for output in outputs])


def paddle() -> onnx.ModelProto:
    """Dims of -1 for what is not known, and outputs with the shape of nothing."""
    model = build(7, 11)
    model.producer_name = "PaddlePaddle"
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_value = -1
    return model


def scikit() -> onnx.ModelProto:
    """A classifier whose probabilities are a list of maps, and whose operators are of another domain."""
    nodes = [
        helper.make_node(
            "LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", coefficients=[1.0, 2.0, -1.0, 0.5],
            intercepts=[0.0, 1.0], classlabels_ints=[0, 1], multi_class=0, post_transform="SOFTMAX",
        ),
        helper.make_node("ZipMap", ["scores"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]),
    ]  # fmt: skip
    numbers = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, numbers))
    outputs = [helper.make_tensor_value_info("label", TensorProto.INT64, [None]), helper.make_value_info("maps", maps)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])
    imports = [helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 15)]
    graph = helper.make_graph(nodes, "skl", [x], outputs)
    return helper.make_model(graph, opset_imports=imports, ir_version=8, producer_name="skl2onnx")


def keras() -> onnx.ModelProto:
    """Two imports of one domain, names with slashes and colons, metadata of its own."""
    model = build(5, 11)
    model.opset_import.add(domain="ai.onnx", version=11)
    model.opset_import.add(domain="", version=11)
    model.producer_name = "keras2onnx"
    for node in model.graph.node:
        node.name = f"dense/{node.name}:0"
    return model


def caffe2() -> onnx.ModelProto:
    """IR version 3, weights among the inputs, and operators of a domain that nobody knows."""
    model = build(3, 9)
    model.producer_name = "caffe2"
    model.graph.node.append(helper.make_node("ScriptModule", ["y"], ["z"], domain="org.pytorch.caffe2"))
    model.opset_import.add(domain="org.pytorch.caffe2", version=1)
    model.graph.output[0].name = "z"
    return model


def dynamo() -> onnx.ModelProto:
    """Metadata of nodes, values and the graph, and local functions with types of inner values."""
    model = build(10, 18)
    model.producer_name = "pytorch"
    for owner in (model.graph, *model.graph.node, *model.graph.input, *model.graph.initializer):
        owner.metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['', 'layer']")
    body = helper.make_function(
        "pkg.local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 18)]
    )
    body.value_info.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, ["N", 2]))
    body.metadata_props.add(key="origin", value="torch")
    model.functions.append(body)
    model.opset_import.add(domain="pkg.local", version=1)
    model.graph.node[-1].CopyFrom(helper.make_node("Twice", ["a"], ["y"], domain="pkg.local"))
    return model


def training() -> onnx.ModelProto:
    """What is there to go on training: an algorithm, and which values it updates."""
    model = build(8, 17)
    information = model.training_info.add()
    information.algorithm.CopyFrom(
        helper.make_graph(
            [helper.make_node("Identity", ["w"], ["new_w"])],
            "step",
            [],
            [helper.make_tensor_value_info("new_w", TensorProto.FLOAT, [3, 2])],
        )
    )
    information.update_binding.add(key="w", value="new_w")
    annotation = model.graph.quantization_annotation.add(tensor_name="w")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    return model


@pytest.mark.parametrize("make", [paddle, scikit, keras, caffe2, dynamo, training], ids=lambda make: make.__name__)
def test_without_rules_what_exporters_write_comes_out_equal(make, tmp_path):
    model = make()
    path: Path = tmp_path / "model.onnx"
    onnx.save(model, path)
    foldproof.optimize_file(path, tmp_path / "out.onnx", rules=(), verify=False)
    assert list(differences(model, onnx.load(tmp_path / "out.onnx"))) == []


@pytest.mark.parametrize("make", [paddle, scikit, keras, caffe2, dynamo, training], ids=lambda make: make.__name__)
def test_with_rules_the_contract_stays(make, tmp_path):
    """What is no node, no weight and no inner value: all as it was."""
    model = make()
    onnx.save(model, tmp_path / "model.onnx")
    foldproof.optimize_file(tmp_path / "model.onnx", tmp_path / "out.onnx", verify=False)
    changing = {"node", "initializer", "value_info", "quantization_annotation", "functions"}
    found = list(differences(model, onnx.load(tmp_path / "out.onnx"), without=changing))
    assert found == [] or (make is caffe2 and all(each.startswith("graph.input:") for each in found))
