"""Models for the tests of model files."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

UNKNOWN_FIELD = bytes([0xFA, 0x3F, 3]) + b"new"
"""Field 1023, length-delimited: something that a later version of ONNX might add."""


def _sparse(name: str) -> onnx.SparseTensorProto:
    values = helper.make_tensor(name, TensorProto.FLOAT, [2], [5, 7])
    indices = helper.make_tensor("", TensorProto.INT64, [2, 2], [0, 1, 2, 0])
    return helper.make_sparse_tensor(values, indices, [3, 2])


def _types() -> dict[str, onnx.TypeProto]:
    """Types that onnx_ir lacks, and such with parts that it drops."""
    numbers = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    mapping = helper.make_map_type_proto(TensorProto.STRING, numbers)
    opaque = onnx.TypeProto()
    opaque.opaque_type.domain, opaque.opaque_type.name = "custom", "Handle"
    denoted = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", None, 2])
    denoted.denotation = "IMAGE"
    denoted.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    return {
        "map": mapping,
        "map_list": helper.make_sequence_type_proto(mapping),
        "opaque": opaque,
        "opaque_list": helper.make_sequence_type_proto(opaque),
        "maybe_map": helper.make_optional_type_proto(mapping),
        "untyped_list": helper.make_sequence_type_proto(onnx.TypeProto()),
        "denoted": denoted,
    }


@pytest.fixture
def everything() -> onnx.ModelProto:
    """A model with about all that a model file can hold, much of which onnx_ir drops, moves or refuses."""
    float_x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2], doc_string="the input")
    truth = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    branch = helper.make_graph(
        [helper.make_node("Add", ["a", "inner"], ["t"], doc_string="inside")],
        "then",
        [],
        [onnx.ValueInfoProto(name="t")],  # no type: allowed in a branch
        [helper.make_tensor("inner", TensorProto.FLOAT, [2], [1, 2])],
        value_info=[helper.make_tensor_value_info("inner", TensorProto.FLOAT, [2])],
    )
    otherwise = helper.make_graph(
        [helper.make_node("Identity", ["a"], ["e"])], "else", [], [onnx.ValueInfoProto(name="e")]
    )
    nodes = [
        helper.make_node("Abs", ["x"], ["a"], name="abs", domain="ai.onnx", doc_string="first"),
        helper.make_node("Constant", [], ["s"], name="sparse", sparse_value=_sparse("stored")),
        helper.make_node("If", ["c"], ["b"], name="choice", then_branch=branch, else_branch=otherwise),
        helper.make_node("Odd", ["b", "w", "half", "", "dense_by_input"], ["o", "", "m"], domain="custom", name="odd"),
        helper.make_node("Twice", ["b"], ["y"], name="call", domain="mine", overload="float"),
        helper.make_node("Concat", ["s", "sparse_w"], ["z"], axis=0),
    ]
    odd = nodes[3]
    odd.attribute.extend(
        [
            helper.make_attribute("nan", float("nan"), doc_string="not a number"),
            helper.make_attribute("minus_zero", -0.0),
            helper.make_attribute("floats", [0.1, -0.0, float("inf")]),
            helper.make_attribute("bytes", b"\xff\xfe"),
            helper.make_attribute("texts", ["a", "\N{GREEK SMALL LETTER BETA}"]),
            onnx.AttributeProto(name="no_texts", type=onnx.AttributeProto.STRINGS, strings=[b"\xff", b"a", b""]),
            helper.make_attribute("empty", [], attr_type=onnx.AttributeProto.INTS),
            helper.make_attribute("tensor", helper.make_tensor("t", TensorProto.STRING, [2], [b"p", b"q"])),
            helper.make_attribute("tensors", [helper.make_tensor("u", TensorProto.INT32, [1], [4])]),
            helper.make_attribute("sparse", _sparse("")),
            onnx.AttributeProto(
                name="sparse_list",
                type=onnx.AttributeProto.SPARSE_TENSORS,
                sparse_tensors=[_sparse(""), _sparse("")],
            ),
            helper.make_attribute("type", _types()["denoted"]),
            helper.make_attribute("map_type", _types()["map"]),
            helper.make_attribute("types", [_types()["map_list"], _types()["denoted"]]),
        ]
    )
    odd.attribute[0].MergeFromString(UNKNOWN_FIELD)
    odd.metadata_props.add(key="z", value="1")
    odd.metadata_props.add(key="a", value="2")
    odd.MergeFromString(UNKNOWN_FIELD)
    weights = numpy_helper.from_array(np.array([1.5, -2.5], np.float32), "w")  # raw data
    weights.doc_string = "weights"
    weights.metadata_props.add(key="z", value="1")
    weights.MergeFromString(UNKNOWN_FIELD)
    half = helper.make_tensor("half", TensorProto.FLOAT16, [2], [1, 2])  # typed data
    by_input = helper.make_tensor("dense_by_input", TensorProto.FLOAT, [2], [8, 9])
    texts = helper.make_tensor("texts", TensorProto.STRING, [1], [b"\xff"])
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])]
    outputs += [helper.make_value_info(name, kind) for name, kind in _types().items()]
    graph = helper.make_graph(
        [*nodes, helper.make_node("Types", ["x"], list(_types()), domain="custom")],
        "main",
        [float_x, truth, helper.make_tensor_value_info("dense_by_input", TensorProto.FLOAT, [2])],
        outputs,
        [weights, half, by_input, texts],
        doc_string="the graph",
        value_info=[
            helper.make_tensor_value_info("b", TensorProto.FLOAT, ["N", 2], doc_string="b before a"),
            helper.make_tensor_value_info("a", TensorProto.FLOAT, ["N", 2]),
            helper.make_tensor_value_info("of_nothing", TensorProto.FLOAT, [1]),
            helper.make_value_info("o", _types()["map"]),
        ],
        sparse_initializer=[_sparse("sparse_w")],
    )
    graph.metadata_props.add(key="z", value="1")
    graph.metadata_props.add(key="a", value="2")
    graph.input[0].metadata_props.add(key="z", value="1")
    graph.input[0].metadata_props.add(key="a", value="2")
    annotation = graph.quantization_annotation.add(tensor_name="a")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    graph.MergeFromString(UNKNOWN_FIELD)
    twice = helper.make_function(
        "mine",
        "Twice",
        ["p"],
        ["q"],
        [
            helper.make_node("Mul", ["p", "two"], ["q"], name="mul"),
            helper.make_node("Abs", ["p"], ["unused"]),
        ],
        [helper.make_opsetid("ai.onnx", 17)],
        attributes=["free"],
        attribute_protos=[
            helper.make_attribute("given", 3),
            helper.make_attribute("given_tensor", helper.make_tensor("t", TensorProto.FLOAT, [1], [1])),
        ],
        value_info=[helper.make_tensor_value_info("q", TensorProto.FLOAT, ["N", 2])],
        overload="float",
    )
    twice.node.insert(0, helper.make_node("Constant", [], ["two"], value_float=2.0))
    twice.metadata_props.add(key="z", value="1")
    twice.metadata_props.add(key="a", value="2")
    twice.MergeFromString(UNKNOWN_FIELD)
    proto = helper.make_model(
        graph,
        ir_version=10,
        opset_imports=[helper.make_opsetid(*o) for o in (("mine", 1), ("ai.onnx", 16), ("custom", 1), ("", 17))],
        functions=[twice],
        producer_name="tester",
        producer_version="",
        domain="org.example",
        model_version=7,
        doc_string="the model",
    )
    proto.metadata_props.add(key="z", value="1")
    proto.metadata_props.add(key="a", value="2")
    training = proto.training_info.add()
    training.algorithm.CopyFrom(helper.make_graph([helper.make_node("Abs", ["x"], ["l"])], "train", [], []))
    proto.MergeFromString(UNKNOWN_FIELD)
    return proto
