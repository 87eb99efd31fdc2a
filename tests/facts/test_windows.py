"""Convolutions and pools: how many places a window takes."""

from __future__ import annotations

import itertools

import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

from tests.facts.checking import compare, random_feeds
from tests.facts.inferring import assert_sound_at, infer
from tests.helpers import needs_recent_onnxruntime, parse

SIZES = [{"n": n, "h": h} for n in (0, 1) for h in range(7)]


def assert_sound_where_it_runs(body: str, *, opset: int, least: int = 1) -> None:
    """Asserts that the facts hold at each of the sizes that the node does not refuse, and that it takes some."""
    model, runs = parse(body, opset=opset), 0
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for sizes in SIZES:
        feeds = random_feeds(model, sizes)
        try:
            (y,) = session.run(["y"], feeds)
        except (Fail, InvalidArgument, RuntimeException):
            continue
        runs += 1
        assert compare(model, {"y": y}, feeds).faults == [], sizes
    assert runs >= least


# Convolutions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "attributes", "expected"),
    [
        (3, "strides = [1]", "h - 2"),
        (3, "pads = [1, 1]", "h"),
        (3, "pads = [1, 1], strides = [2]", "(h + 1)//2"),
        (3, "pads = [0, 1], strides = [2]", "h//2"),
        (3, "dilations = [2]", "h - 4"),
        (3, "strides = [3], kernel_shape = [3]", "h//3"),
        (3, 'auto_pad = "SAME_UPPER", strides = [2]', "(h + 1)//2"),
        (3, 'auto_pad = "SAME_LOWER"', "h"),
        (3, 'auto_pad = "VALID", pads = [1, 1]', "h - 2"),
        (1, "strides = [1]", "h"),
    ],
)
def test_conv(kernel, attributes, expected):
    """Where the window doesn't fit, the node fails."""
    body = f"g (float[n, 4, h] x, float[6, 4, {kernel}] w) => (float[] y) {{ y = Conv <{attributes}> (x, w) }}"
    assert infer(body, opset=11)["y"] == f"float[n, 6, {expected}]"
    if 'VALID", pads' not in attributes:
        assert_sound_where_it_runs(body, opset=11, least=4)


def test_conv_of_groups_and_two_axes():
    body = """g (float[n, 4, h, 8] x, float[6, 2, 3, 5] w) => (float[] y) { y = Conv <group = 2,
        pads = [1, 0, 1, 2]> (x, w) }"""
    assert infer(body)["y"] == "float[n, 6, h, 6]"
    assert_sound_at(body, {"n": 1, "h": 1}, {"n": 3, "h": 4})


def test_conv_by_a_kernel_of_unknown_shape():
    body = """g (float[n, 4, h, 8] x, float[a] w, int64[k] t) => (float[] z) <int64[4] u = {0, 4, -1, 3}>
        { k = Reshape(w, u)  y = Conv(x, k)  l = Reshape(w, t)  z = Conv <kernel_shape = [3, 3]> (x, l)
        v = Conv(x, l) }"""
    facts = infer(body)
    assert facts["y"].startswith("float[n, ")
    assert facts["y"].endswith(", 6]")
    assert facts["z"] == "float[n, z:1, h - 2, 6]"
    assert facts["v"] == "float[n, v:1, v:2, v:3]"


@pytest.mark.parametrize("attributes", ["strides = [1]", "pads = [1]", "strides = [0, 0]", "kernel_shape = [3]"])
def test_conv_that_is_not_valid_raises_nothing(attributes):
    infer(f"g (float[n, 4, h, 8] x, float[6, 4, 3, 3] w) => (float[] y) {{ y = Conv <{attributes}> (x, w) }}")


def test_quantized_convolutions():
    body = """g (uint8[n, 4, h] x, uint8[6, 4, 3] w, float s, uint8 z) => (uint8[] y)
        { y = QLinearConv <pads = [1, 1]> (x, s, z, w, s, z, s, z)  i = ConvInteger(x, w) }"""
    assert infer(body, opset=10) == {"y": "uint8[n, 6, h]", "i": "int32[n, 6, h - 2]"}


@needs_recent_onnxruntime
@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("strides = [1]", "h + 2"),
        ("strides = [2]", "2*h + 1"),
        ("strides = [2], pads = [1, 1], output_padding = [1]", "2*h"),
        ("strides = [2], dilations = [2]", "2*h + 3"),
        ('strides = [2], auto_pad = "SAME_UPPER"', "2*h"),
        ('strides = [4], auto_pad = "SAME_LOWER"', "y:2"),  # onnxruntime gives less than the specification
        ('strides = [2], auto_pad = "VALID"', "2*h + 1"),
        ("strides = [2], output_shape = [9]", "9"),
    ],
)
def test_conv_transpose(attributes, expected):
    body = f"""g (float[n, 4, h] x, float[4, 3, 3] w) => (float[] y) {{ y = ConvTranspose
        <group = 2, {attributes}> (x, w) }}"""
    assert infer(body, opset=11)["y"] == f"float[n, 6, {expected}]"
    assert_sound_where_it_runs(body, opset=11)


def test_conv_transpose_to_a_whole_shape():
    body = """g (float[n, 4, h] x, float[4, 3, 3] w) => (float[] y) { y = ConvTranspose
        <output_shape = [1, 3, 9]> (x, w) }"""
    assert infer(body)["y"] == "float[n, 3, 9]"


def test_causal_conv_with_state():
    body = "g (float[n, 4, l] x, float[4, 1, 3] w) => (float[] y) { y, s = CausalConvWithState(x, w) }"
    assert infer(body, opset=27) == {"y": "float[n, 4, l]", "s": "float[n, 4, 2]"}


# Pools -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("kernel_shape = [3]", "h - 2"),
        ("kernel_shape = [3], pads = [1, 1]", "h"),
        ("kernel_shape = [2], strides = [2]", "max(h//2, min(h, 1))"),  # 1 of an input of 1, not 0
        ("kernel_shape = [3], strides = [2], pads = [1, 1]", "max(h - 1, 0)//2 + 1"),
        ('kernel_shape = [3], strides = [2], auto_pad = "SAME_UPPER"', "(h + 1)//2"),
        ("kernel_shape = [2], strides = [2], ceil_mode = 1", "(h + 1)//2"),
        ('kernel_shape = [2], strides = [2], ceil_mode = 1, auto_pad = "VALID"', "y:2"),
    ],
)
@pytest.mark.parametrize(("operator", "opset"), [("MaxPool", 10), ("AveragePool", 19), ("LpPool", 18), ("MaxPool", 12)])
def test_pools(operator, opset, attributes, expected):
    """A pool of an input that is too small rounds towards zero, and fails where it is empty."""
    body = f"g (float[n, 4, h] x) => (float[] y) {{ y = {operator} <{attributes}> (x) }}"
    assert infer(body, opset=opset)["y"] == f"float[n, 4, {expected}]"
    assert_sound_where_it_runs(body, opset=opset, least=10)


def test_a_pool_that_always_fits_has_the_formula_of_a_convolution():
    """The batch is at least 1, so that the height is too, or the node fails."""
    body = """g (float[1, 4, h] x, float[4, 4, 3] w) => (float[] y)
        { y = MaxPool <kernel_shape = [3], strides = [2], pads = [1, 1]> (x)
          z = Conv <strides = [2], pads = [1, 1]> (x, w) }"""
    facts = infer(body)
    assert facts["y"] == facts["z"] == "float[1, 4, (h + 1)//2]"


def test_all_pools_of_small_windows_hold():
    for kernel, stride, before, after, ceil in itertools.product((1, 2, 3), (1, 2, 3), (0, 1), (0, 1), (0, 1)):
        if max(before, after) >= kernel:
            continue
        body = f"""g (float[n, 1, h] x) => (float[] y) {{ y = MaxPool <kernel_shape = [{kernel}], strides = [{stride}],
            pads = [{before}, {after}], ceil_mode = {ceil}> (x) }}"""
        assert_sound_where_it_runs(body, opset=12, least=10)


def test_a_dilated_pool_with_same_padding_is_not_known():
    """onnxruntime forgets the dilation when it computes the padding."""
    body = """g (float[n, 1, h] x) => (float[] y) { y = MaxPool <kernel_shape = [3], dilations = [2],
        auto_pad = "SAME_UPPER"> (x) }"""
    assert infer(body)["y"] == "float[n, 1, y:2]"


def test_indices_of_a_max_pool():
    body = "g (float[n, 4, h] x) => (float[] y) { y, i = MaxPool <kernel_shape = [3]> (x) }"
    assert infer(body) == {"y": "float[n, 4, h - 2]", "i": "int64[n, 4, h - 2]"}


@pytest.mark.parametrize("operator", ["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"])
def test_global_pools(operator):
    assert infer(f"g (float[n, c, h, w] x) => (float[] y) {{ y = {operator}(x) }}")["y"] == "float[n, c, 1, 1]"


def test_max_unpool():
    body = """g (float[n, 1, h] x, int64[n, 1, h] i, int64[3] s) => (float[] z) <int64[3] t = {2, 1, 9}>
        { y = MaxUnpool <kernel_shape = [3], strides = [2], pads = [1, 0]> (x, i)
          z = MaxUnpool <kernel_shape = [3]> (x, i, t)  w = MaxUnpool <kernel_shape = [3]> (x, i, s) }"""
    assert infer(body) == {"y": "float[n, 1, 2*h]", "z": "float[2, 1, 9]", "w": "float[w:0, w:1, w:2]"}


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "GlobalMaxPool", "Conv", "ConvTranspose"])
def test_inputs_of_unknown_rank(operator):
    arguments = "(z, w)" if operator.startswith("Conv") else "(z)"
    attributes = "<kernel_shape = [3, 3]>" if operator.endswith("ePool") or operator == "MaxPool" else ""
    body = f"""g (float[a] x, float[6, 4, 3, 3] w, int64[k] t) => (float[] y)
        {{ z = Reshape(x, t)  y = {operator} {attributes} {arguments} }}"""
    expected = {"Conv": "[y:0, 6, y:2, y:3]", "ConvTranspose": "[y:0, 4, y:2, y:3]", "GlobalMaxPool": "[...]"}
    assert infer(body)["y"] == f"float{expected.get(operator, '[y:0, y:1, y:2, y:3]')}"
