"""Operators that make tensors: of a shape that is data, of a range, at random, or quantized."""

from __future__ import annotations

import pytest

from tests.facts.inferring import assert_sound_at, infer
from tests.helpers import needs_recent_onnxruntime

BINDINGS = [{"n": 0}, {"n": 1}, {"n": 4}, {"n": 11}]


def test_constant_of_shape():
    body = """g (float[n, 3] x, int64[2] data, int64[k] any) => (float[] y) <int64[2] two = {2, 1}, int64[0] none = {}>
        { s = Shape(x)  y = ConstantOfShape(s)  z = ConstantOfShape <value = int64[1] {7}> (two)
          w = ConstantOfShape <value = bool[1] {1}> (none)  v = ConstantOfShape(data)  u = ConstantOfShape(any) }"""
    facts = infer(body)
    assert facts["y"] == "float[n, 3]"
    assert facts["z"] == "int64[2, 1] = [7, 7]"
    assert facts["w"] == "bool[] = [1]"
    assert facts["v"] == "float[v:0, v:1]"
    assert facts["u"] == "float[...]"


def test_constant_of_shape_in_a_run():
    body = """g (float[n, 3] x) => (float[] y) <int64[2] two = {2, 1}>
        { s = Shape(x)  y = ConstantOfShape(s)  z = ConstantOfShape <value = int64[1] {7}> (two) }"""
    assert_sound_at(body, *BINDINGS, elements=2)


@pytest.mark.parametrize(
    ("start", "limit", "delta", "expected"),
    [
        ("zero", "n", "one", "int64[n]"),
        ("one", "n", "one", "int64[max(n - 1, 0)]"),
        ("n", "zero", "minus", "int64[n]"),
        ("zero", "n", "two", "int64[(n + 1)//2]"),
        ("n", "n3", "two", "int64[2] = [n, n + 2]"),
        ("zero", "three", "two", "int64[2] = [0, 2]"),
        ("three", "zero", "minus", "int64[3] = [3, 2, 1]"),
        ("three", "zero", "one", "int64[0] = []"),
        ("zero", "n", "zero", "int64[y:0]"),
        ("zero", "data", "one", "int64[y:0]"),
        ("zero", "three", "n", "int64[y:0]"),
    ],
)
def test_range_of_integers(start, limit, delta, expected):
    body = f"""g (float[n] x, int64 data) => (int64[] y)
        <int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}, int64 three = {{3}}, int64 minus = {{-1}}>
        {{ n = Size(x)  n3 = Add(n, three)  y = Range({start}, {limit}, {delta}) }}"""
    assert infer(body)["y"] == expected
    if delta not in ("zero", "n"):
        assert_sound_at(body, *BINDINGS)


@pytest.mark.parametrize(
    ("start", "limit", "delta", "expected"),
    [
        ("0", "1", "0.25", "float[4] = [0, 1/4, 1/2, 3/4]"),
        ("0", "2.5", "1", "float[3] = [0, 1, 2]"),
        ("1", "0", "-0.5", "float[2] = [1, 1/2]"),
        ("0", "1", "0.1", "float[y:0]"),  # ten or eleven, by the rounding
        ("0.1", "1", "0.5", "float[2]"),
    ],
)
def test_range_of_floats(start, limit, delta, expected):
    body = f"""g (float[1] x) => (float[] y)
        <float start = {{{start}}}, float limit = {{{limit}}}, float delta = {{{delta}}}>
        {{ y = Range(start, limit, delta) }}"""
    assert infer(body)["y"] == expected
    assert_sound_at(body)


def test_range_of_a_symbolic_double():
    body = """g (float[n] x) => (double[] y) <double zero = {0}, double one = {1}>
        { n = Size(x)  f = Cast <to = 11> (n)  y = Range(zero, f, one) }"""
    assert infer(body)["y"] == "double[n]"
    assert_sound_at(body, *BINDINGS)


def test_eye_like():
    body = """g (float[n, 3] x, float[2, 3] c) => (float[] y)
        { y = EyeLike(x)  z = EyeLike <k = 1, dtype = 7> (c)  w = EyeLike <k = -1> (c) }"""
    assert infer(body) == {
        "y": "float[n, 3]", "z": "int64[2, 3] = [0, 1, 0, 0, 0, 1]", "w": "float[2, 3] = [0, 0, 0, 1, 0, 0]",
    }  # fmt: skip
    assert_sound_at(body, *BINDINGS, elements=12)


@needs_recent_onnxruntime
def test_one_hot():
    body = """g (int64[n, 3] i, float[2] v, int64 depth) => (float[] y) <int64[1] five = {5}>
        { y = OneHot(i, five, v)  z = OneHot <axis = 0> (i, five, v)  w = OneHot <axis = -2> (i, depth, v) }"""
    assert infer(body) == {"y": "float[n, 3, 5]", "z": "float[5, n, 3]", "w": "float[n, w:1, 3]"}
    assert_sound_at(body.split("w =")[0] + "}", *BINDINGS)


def test_non_zero_of_known_data_is_known():
    body = """g (float[n] x) => (int64[] y) <int64[2, 2] c = {0, 3, 4, 0}, float[3] f = {0.5, 0, -2}>
        { y = NonZero(c)  z = NonZero(f)  w = NonZero(x)  s = Shape(x)  v = NonZero(s) }"""
    facts = infer(body)
    assert facts["y"] == "int64[2, 2] = [0, 1, 1, 0]"
    assert facts["z"] == "int64[1, 2] = [0, 2]"
    assert facts["w"] == "int64[1, w:1]"
    assert facts["v"] == "int64[1, v:1]"  # n may be 0
    assert_sound_at(body, *BINDINGS, elements=6)


def test_non_zero_of_a_filled_tensor_counts_it():
    body = """g (float[n, 2] x) => (int64[] y)
        { s = Shape(x)  c = ConstantOfShape <value = int64[1] {1}> (s)  y = NonZero(c)
          d = ConstantOfShape(s)  z = NonZero(d) }"""
    facts = infer(body)
    assert facts["y"] == "int64[2, 2*n]"
    assert facts["z"] == "int64[2, z:1]"
    assert_sound_at(body, *BINDINGS)


def test_non_zero_of_a_scalar_has_rank_2():
    facts = infer("g (float x) => (int64[] y) <int64 c = {3}> { y = NonZero(x)  z = NonZero(c) }")
    assert facts == {"y": "int64[y:0, y:1]", "z": "int64[z:0, 1]"}


def test_windows_and_mel_weights():
    body = """g (float[n] x, float low, float high) => (float[] y)
        <int64 ten = {10}, int64 bins = {8}, int64 rate = {8000}>
        { n = Size(x)  y = HannWindow(n)  z = HammingWindow <output_datatype = 11> (ten)  w = BlackmanWindow(ten)
          m = MelWeightMatrix(bins, n, rate, low, high) }"""
    assert infer(body) == {
        "n": "int64[] = [n]", "y": "float[n]", "z": "double[10]", "w": "float[10]", "m": "float[n//2 + 1, 8]",
    }  # fmt: skip
    body = "g (float[n] x) => (float[] y) { n = Size(x)  y = HannWindow(n)  z = BlackmanWindow <periodic = 0> (n) }"
    assert_sound_at(body, {"n": 1}, {"n": 5})


def test_random_operators_have_a_shape_and_no_elements():
    body = """g (float[n, 3] x) => (float[] y)
        { y = RandomNormal <shape = [2, 3]> ()  z = RandomUniform <shape = [4], dtype = 11> ()  w = RandomNormalLike(x)
          v = RandomUniformLike <dtype = 11> (x)  m = Multinomial <sample_size = 5> (x)  b = Bernoulli <dtype = 7> (x)
          l = Multinomial <dtype = 7> (x) }"""
    assert infer(body) == {
        "y": "float[2, 3]", "z": "double[4]", "w": "float[n, 3]", "v": "double[n, 3]", "m": "int32[n, 5]",
        "b": "int64[n, 3]", "l": "int64[n, 1]",
    }  # fmt: skip
    assert_sound_at(body.replace("b = Bernoulli <dtype = 7> (x)", ""), {"n": 1}, {"n": 4})


def test_quantized_types_come_from_the_zero_point_the_scale_or_an_attribute():
    body = """g (float[n, 3] x) => (uint8[] y) <float s = {0.5}, int8 zp = {1}, uint8 uz = {1}, float16 h = {14336}>
        { y = QuantizeLinear(x, s)  z = QuantizeLinear(x, s, zp)  w = QuantizeLinear <output_dtype = 4> (x, s)
          d = DequantizeLinear(z, s, zp)  e = DequantizeLinear(y, h)  q, qs, qz = DynamicQuantizeLinear(x) }"""
    assert infer(body) == {
        "y": "uint8[n, 3]", "z": "int8[n, 3]", "w": "uint16[n, 3]", "d": "float[n, 3]", "e": "float16[n, 3]",
        "q": "uint8[n, 3]", "qs": "float[]", "qz": "uint8[]",
    }  # fmt: skip
    assert_sound_at(body, {"n": 1}, {"n": 4})


def test_the_latest_dequantize_linear_names_its_type():
    body = "g (int8[n] x) => (float16[] y) <float s = {0.5}> { y = DequantizeLinear <output_dtype = 10> (x, s) }"
    assert infer(body, opset=23)["y"] == "float16[n]"


@pytest.mark.parametrize(
    "node",
    [
        "y = ConstantOfShape(bad)",
        "y = ConstantOfShape(f)",
        "y = ConstantOfShape()",
        "y = Range(f, f)",
        "y = Range(bad, bad, bad)",
        "y = OneHot <axis = 9> (bad, bad, f)",
        "y = OneHot(bad)",
        "y = NonZero()",
        "y = RandomNormal()",
        "y = RandomNormal <shape = [-1]> ()",
        "y = Multinomial(f)",
        "y = EyeLike(f)",
        "y = HannWindow(bad)",
        "y = MelWeightMatrix(bad)",
        "y = QuantizeLinear(f)",
        "y = DequantizeLinear()",
    ],
)
def test_invalid_nodes_are_no_fault_of_ours(node):
    infer(f"g (float[n] x) => (float y) <int64[2] bad = {{-1, 2}}, float[1] f = {{1.5}}> {{ {node} }}")
