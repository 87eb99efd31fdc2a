"""onnxruntime's own operators: each claim against a run of onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info

from tests.facts.checking import assert_sound
from tests.facts.inferring import facts_by_name
from tests.helpers import needs_recent_onnxruntime

DOMAIN = "com.microsoft"
DTYPES = {"float": TensorProto.FLOAT, "uint8": TensorProto.UINT8, "int8": TensorProto.INT8, "int32": TensorProto.INT32,
          "int64": TensorProto.INT64, "bool": TensorProto.BOOL, "int16": TensorProto.INT16}  # fmt: skip


def model_of(operator, inputs, outputs, **attributes):
    """One node of the domain.

    Args:
        operator: The operator.
        inputs: Each `float[n, 3]`, or None for one that is left out, or an array for a constant.
        outputs: How many.
        attributes: Of the node.
    """
    values, constants, names = [], [], []
    for index, given in enumerate(inputs):
        name = f"i{index}" if given is not None else ""
        names.append(name)
        if isinstance(given, str):
            dtype, dims = given.rstrip("]").split("[")
            shape = [int(dim) if dim.isdigit() else dim for dim in dims.split(", ") if dim]
            values.append(make_tensor_value_info(name, DTYPES[dtype], shape))
        elif given is not None:
            constants.append(onnx.numpy_helper.from_array(np.asarray(given), name))
    results = [f"o{index}" for index in range(outputs)]
    node = make_node(operator, names, results, domain=DOMAIN, **attributes)
    graph = make_graph([node], "g", values, [onnx.ValueInfoProto(name=name) for name in results], constants)
    model = make_model(graph, opset_imports=[make_opsetid("", 17), make_opsetid(DOMAIN, 1)])
    model.ir_version = 8
    return model


F = np.float32
SCALE, ZERO = F(0.5), np.uint8(3)

RUN = [
    # operator, inputs, attributes, the facts of the outputs
    ("Gelu", ["float[n, 4]"], {}, ["float[n, 4]"]),
    ("QuickGelu", ["float[n, 4]"], {}, ["float[n, 4]"]),
    ("FastGelu", ["float[n, 4]", "float[4]"], {}, ["float[n, 4]"]),
    ("BiasGelu", ["float[n, 4]", "float[4]"], {}, ["float[n, 4]"]),
    ("Inverse", [np.eye(3, dtype=F)[None]], {}, ["float[1, 3, 3]"]),
    ("SkipLayerNormalization", ["float[n, m, 4]", "float[n, m, 4]", "float[4]", "float[4]"], {}, ["float[n, m, 4]"]),
    ("SkipLayerNormalization", ["float[n, m, 4]", "float[1, m, 4]", "float[4]"], {}, ["float[n, m, 4]"]),
    ("SkipSimplifiedLayerNormalization", ["float[n, m, 4]", "float[n, m, 4]", "float[4]"], {}, ["float[n, m, 4]"]),
    ("FusedMatMul", ["float[n, 3, m]", "float[3, 4]"], {"transA": 1}, ["float[n, m, 4]"]),
    ("FusedMatMul", ["float[n, 3]", "float[4, 3]"], {"transB": 1, "alpha": 0.5}, ["float[n, 4]"]),
    ("FusedMatMul", ["float[n, m, 3, 5]", "float[n, m, 5, 4]"], {}, ["float[n, m, 3, 4]"]),
    ("FusedMatMul", ["float[2, n, m, 3]", "float[n, m, 3, 4]"], {"transBatchA": 1}, ["float[n, m, 2, 4]"]),
    ("FusedMatMul", ["float[3, n, m, 2]", "float[4, n, m, 3]"],
     {"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1}, ["float[n, m, 2, 4]"]),
    ("TransposeMatMul", ["float[n, 3]", "float[4, 3]"], {"transB": 1}, ["float[n, 4]"]),
    ("MatMulNBits", ["float[n, m, 32]", np.zeros((5, 1, 16), np.uint8), np.ones(5, F)],
     {"K": 32, "N": 5, "bits": 4, "block_size": 32}, ["float[n, m, 5]"]),
    ("MatMulBnb4", ["float[n, 32]", np.zeros(80, np.uint8), np.ones(5, F)],
     {"K": 32, "N": 5, "block_size": 32, "quant_type": 1}, ["float[n, 5]"]),
    ("MatMulIntegerToFloat", ["uint8[n, 3]", "uint8[3, 4]", SCALE, SCALE], {}, ["float[n, 4]"]),
    ("DynamicQuantizeMatMul", ["float[n, m, 3]", "uint8[3, 4]", SCALE], {}, ["float[n, m, 4]"]),
    ("MatMulInteger16", ["int16[n, 3]", "int16[3, 4]"], {}, ["int32[n, 4]"]),
    ("FusedGemm", ["float[3, n]", "float[3, 4]"], {"transA": 1, "activation": "Relu"}, ["float[n, 4]"]),
    ("QGemm", ["uint8[n, 3]", SCALE, ZERO, "uint8[4, 3]", SCALE, ZERO], {"transB": 1}, ["float[n, 4]"]),
    ("QGemm", ["uint8[n, 3]", SCALE, ZERO, "uint8[3, 4]", SCALE, ZERO, None, SCALE, ZERO], {}, ["uint8[n, 4]"]),
    ("CDist", ["float[n, 3]", "float[m, 3]"], {"metric": "euclidean"}, ["float[n, m]"]),
    ("QLinearAdd", ["uint8[n, 4]", SCALE, ZERO, "uint8[4]", SCALE, ZERO, SCALE, ZERO], {}, ["uint8[n, 4]"]),
    ("QLinearMul", ["int8[n, 1]", SCALE, np.int8(0), "int8[4]", SCALE, np.int8(0), SCALE, np.int8(0)], {},
     ["int8[n, 4]"]),
    ("QLinearSigmoid", ["uint8[n, 4]", SCALE, ZERO, SCALE, ZERO], {},
     ["uint8[n, 4]"]),
    ("QLinearLeakyRelu", ["uint8[n, 4]", SCALE, ZERO, SCALE, ZERO], {}, ["uint8[n, 4]"]),
    ("QLinearSoftmax", ["uint8[n, 4]", SCALE, ZERO, F(1 / 256), np.uint8(0)], {"opset": 13, "axis": 1},
     ["uint8[n, 4]"]),
    ("QLinearWhere", ["bool[n, 1]", "uint8[4]", SCALE, ZERO, "uint8[n, 4]", SCALE, ZERO, SCALE, ZERO], {},
     ["uint8[n, 4]"]),
    ("QLinearConcat", [SCALE, ZERO, "uint8[n, 4]", SCALE, ZERO, "uint8[m, 4]", SCALE, ZERO], {"axis": 0},
     ["uint8[m + n, 4]"]),
    ("QLinearGlobalAveragePool", ["uint8[n, 3, m, 5]", SCALE, ZERO, SCALE, ZERO], {}, ["uint8[n, 3, 1, 1]"]),
    ("QLinearGlobalAveragePool", ["uint8[n, m, 5, 3]", SCALE, ZERO, SCALE, ZERO], {"channels_last": 1},
     ["uint8[n, 1, 1, 3]"]),
    ("QuantizeLinear", ["float[n, 4]", SCALE, ZERO], {}, ["uint8[n, 4]"]),
    ("DequantizeLinear", ["int8[n, 4]", SCALE, np.int8(0)], {}, ["float[n, 4]"]),
    ("Trilu", ["float[n, 4]"], {}, ["float[n, 4]"]),
    ("EmbedLayerNormalization",
     [np.zeros((2, 3), np.int32), None, np.ones((9, 4), F), np.ones((9, 4), F), None, np.ones(4, F), np.ones(4, F)], {},
     ["float[2, 3, 4]", "int32[2]"]),
    ("EmbedLayerNormalization",
     ["int32[n, m]", "int32[n, m]", "float[99, 4]", "float[99, 4]", "float[9, 4]", "float[4]", "float[4]"], {},
     ["float[n, m, 4]", "int32[n]", "float[n, m, 4]"]),
    ("Attention", ["float[n, m, 4]", "float[4, 12]", "float[12]"], {"num_heads": 2}, ["float[n, m, 4]"]),
    ("Attention", ["float[n, m, 4]", "float[4, 16]", "float[16]"], {"num_heads": 2, "qkv_hidden_sizes": [4, 4, 8]},
     ["float[n, m, 8]"]),
    ("Attention", ["float[n, m, 4]", "float[4, 12]", "float[12]", None, "float[2, n, 2, p, 2]"],
     {"num_heads": 2, "unidirectional": 1}, ["float[n, m, 4]", "float[2, n, 2, m + p, 2]"]),
    ("Attention", ["float[n, m, 4]", "float[4, 12]", "float[12]"], {"num_heads": 2, "unidirectional": 1},
     ["float[n, m, 4]", "float[2, n, 2, m, 2]"]),
    ("QAttention", ["uint8[n, m, 4]", "uint8[4, 12]", "float[12]", SCALE, SCALE, None, ZERO, ZERO], {"num_heads": 2},
     ["float[n, m, 4]"]),
    ("MultiHeadAttention", ["float[n, m, 4]", "float[n, p, 4]", "float[n, p, 6]"], {"num_heads": 2},
     ["float[n, m, 6]"]),
    ("MultiHeadAttention", ["float[n, m, 4]", "float[n, 2, p, 2]", "float[n, 2, p, 2]"], {"num_heads": 2},
     ["float[n, m, 4]"]),
    ("MultiHeadAttention",
     ["float[n, m, 4]", "float[n, m, 4]", "float[n, m, 4]", None, None, None, "float[n, 2, p, 2]", "float[n, 2, p, 2]"],
     {"num_heads": 2}, ["float[n, m, 4]", "float[n, 2, m + p, 2]", "float[n, 2, m + p, 2]"]),
    ("MultiHeadAttention", ["float[n, m, 4]", "float[n, p, 4]", "float[n, p, 4]"], {"num_heads": 2},
     ["float[n, m, 4]", "float[n, 2, p, 2]", "float[n, 2, p, 2]"]),
    ("RotaryEmbedding", ["float[n, m, 8]", np.zeros(1, np.int64), np.ones((32, 2), F), np.ones((32, 2), F)],
     {"num_heads": 2, "rotary_embedding_dim": 4}, ["float[n, m, 8]"]),
    ("RotaryEmbedding", ["float[n, 2, m, 4]", np.zeros(1, np.int64), np.ones((32, 2), F), np.ones((32, 2), F)], {},
     ["float[n, 2, m, 4]"]),
    ("DynamicQuantizeLSTM",
     ["float[m, n, 4]", np.zeros((2, 4, 12), np.uint8), np.zeros((2, 3, 12), np.uint8), None, None, None, None, None,
      np.ones(2, F), np.zeros(2, np.uint8), np.ones(2, F), np.zeros(2, np.uint8)],
     {"hidden_size": 3, "direction": "bidirectional"}, ["float[m, 2, n, 3]", "float[2, n, 3]", "float[2, n, 3]"]),
    ("ScaledSiLU", ["float[n, 4]"], {}, ["float[n, 4]"]),
    ("GatedAdd", ["float[n, 4]", "float[n, 4]", "float[n, 1]"], {}, ["float[n, 4]"]),
]  # fmt: skip
"""Cases that onnxruntime runs on the CPU."""

RECENT = {"ScaledSiLU", "GatedAdd"}
"""Operators of these that it has had for a short time only."""

DOCUMENTED = [
    ("ComplexMul", ["float[n, 2]", "float[1, 2]"], {}, ["float[n, 2]"]),
    ("MultiHeadAttention", ["float[n, m, 2, 3, 4]"], {"num_heads": 2}, ["float[n, m, 8]"]),
    ("MultiHeadAttention", ["float[n, m, 8]", "float[n, p, 2, 2, 4]"], {"num_heads": 2}, ["float[n, m, 8]"]),
    ("QLinearReduceMean", ["uint8[n, 3, 4]", SCALE, ZERO, SCALE, ZERO], {"axes": [-1], "keepdims": 0}, ["uint8[n, 3]"]),
    ("ReduceSumInteger", ["uint8[n, 3, 4]"], {"axes": [1], "keepdims": 1}, ["uint32[n, 1, 4]"]),
    ("MulInteger", ["uint8[n, 4]", ZERO, "uint8[4]", ZERO], {}, ["uint32[n, 4]"]),
    ("BiasSplitGelu", ["float[n, m, 1280]", "float[1280]"], {}, ["float[n, m, 640]"]),
    ("BiasAdd", ["float[n, m, 320]", "float[320]", "float[n, m, 320]"], {}, ["float[n, m, 320]"]),
    ("BiasDropout", ["float[n, 4]", "float[4]"], {}, ["float[n, 4]", "bool[n, 4]"]),
    ("BiasSoftmax", ["float[n, 4]", "float[n, 4]"], {"axis": 1, "is_inner_broadcast": 0}, ["float[n, 4]"]),
    ("GroupNorm", ["float[n, 4, 4, 320]", "float[320]", "float[320]"], {"groups": 32, "activation": 0},
     ["float[n, 4, 4, 320]"]),
    ("SkipGroupNorm", ["float[n, 4, 4, 320]", "float[320]", "float[320]", "float[n, 4, 4, 320]"],
     {"groups": 32, "activation": 0}, ["float[n, 4, 4, 320]", "float[n, 4, 4, 320]"]),
    ("IsAllFinite", ["float[n]", "float[m]"], {}, ["bool[]"]),
    ("RelativePositionBias", ["float[32, 4]", np.int64(5), np.int64(7)], {"max_distance": 16}, ["float[1, 4, 5, 7]"]),
    ("GemmFastGelu", ["float[n, 3]", "float[3, 4]"], {}, ["float[n, 4]"]),
]  # fmt: skip
"""Cases without a kernel for the CPU: their facts rest on onnxruntime's documentation alone."""


def ids(cases):
    return [f"{case[0]}-{position}" for position, case in enumerate(cases)]


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "expected"),
    [pytest.param(*case, marks=needs_recent_onnxruntime if case[0] in RECENT else ()) for case in RUN],
    ids=ids(RUN),
)
def test_facts_hold_in_onnxruntime(operator, inputs, attributes, expected):
    model = model_of(operator, inputs, len(expected), **attributes)
    assert list(facts_by_name(model).values()) == expected
    for binding in ({"n": 2, "m": 3, "p": 5}, {"n": 1, "m": 1, "p": 1}, {"n": 3, "m": 2, "p": 4}):
        assert_sound(model, feeds_of(model, binding))


@pytest.mark.parametrize(("operator", "inputs", "attributes", "expected"), DOCUMENTED, ids=ids(DOCUMENTED))
def test_facts_are_as_documented(operator, inputs, attributes, expected):
    assert list(facts_by_name(model_of(operator, inputs, len(expected), **attributes)).values()) == expected


def test_group_query_attention_grows_its_cache():
    rotary = [np.ones((64, 8), F), np.zeros((64, 8), F)]
    queries = ["float[n, m, 64]", "float[n, m, 32]", "float[n, m, 32]", "float[n, 2, p, 16]", "float[n, 2, p, 16]"]
    inputs = [*queries, "int32[n]", "int32[]", *rotary]
    model = model_of("GroupQueryAttention", inputs, 3, num_heads=4, kv_num_heads=2, do_rotary=1)
    cache = "float[n, 2, o1:2, 16]"  # the total length is data, and the same for keys and values
    assert list(facts_by_name(model).values()) == ["float[n, m, 64]", cache, cache]
    for past, new in ((3, 1), (0, 5)):
        feeds = feeds_of(model, {"n": 1, "m": new, "p": past})
        feeds["i5"] = np.full(1, past + new - 1, np.int32)
        feeds["i6"] = np.array(past + new, np.int32)
        assert_sound(model, feeds)


def test_a_known_total_length_is_the_length_of_the_cache():
    lengths = [np.array([5], np.int32), np.int32(6)]
    queries = ["float[1, 1, 32]", "float[1, 1, 16]", "float[1, 1, 16]", "float[1, 2, p, 8]", "float[1, 2, p, 8]"]
    model = model_of("GroupQueryAttention", [*queries, *lengths], 3, num_heads=4, kv_num_heads=2)
    assert list(facts_by_name(model).values())[1:] == ["float[1, 2, max(p, 6), 8]"] * 2
    assert_sound(model, feeds_of(model, {"p": 5}))
    packed = ["float[1, 6, 64]", None, None, None, None]
    model = model_of("GroupQueryAttention", [*packed, *lengths], 3, num_heads=4, kv_num_heads=2)
    assert list(facts_by_name(model).values()) == ["float[1, 6, 32]", "float[1, 2, 6, 8]", "float[1, 2, 6, 8]"]
    assert_sound(model, feeds_of(model, {}))


def test_onnxruntime_has_simplified_layer_normalization_in_the_default_domain():
    node = make_node("SimplifiedLayerNormalization", ["x", "s"], ["y", "v"], axis=-1)
    values = [
        make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 4]),
        make_tensor_value_info("s", TensorProto.FLOAT, [4]),
    ]
    results = [onnx.ValueInfoProto(name=name) for name in ("y", "v")]
    model = make_model(make_graph([node], "g", values, results), opset_imports=[make_opsetid("", 17)])
    model.ir_version = 8
    assert facts_by_name(model) == {"y": "float[n, 3, 4]", "v": "float[n, 3, 1]"}
    x, scale = np.ones((2, 3, 4), F), np.ones(4, F)
    assert_sound(model, {"x": x, "s": scale})


@pytest.mark.parametrize(
    "operator", sorted({case[0] for case in (*RUN, *DOCUMENTED)} | {"GroupQueryAttention", "GemmaRotaryEmbedding"})
)
def test_nodes_without_inputs_or_of_odd_ranks_are_no_fault_of_ours(operator):
    for inputs in ([], ["float[]"] * 9, ["float[n]"] * 9, ["float[a, b, c, d, e, f]"] * 9):
        facts_by_name(model_of(operator, inputs, 3))


def feeds_of(model, binding):
    rng = np.random.default_rng(0)
    feeds = {}
    for value in model.graph.input:
        shape = [dim.dim_value or binding[dim.dim_param] for dim in value.type.tensor_type.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        feeds[value.name] = rng.integers(0, 2, shape).astype(dtype)
    return feeds
