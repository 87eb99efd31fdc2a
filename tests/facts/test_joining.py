"""Concat, Split, Tile, Expand and Pad."""

from __future__ import annotations

import pytest

from tests.facts.inferring import assert_sound_at, infer
from tests.helpers import needs_recent_onnxruntime

SIZES = [{"n": 0, "m": 0}, {"n": 1, "m": 1}, {"n": 2, "m": 0}, {"n": 5, "m": 3}]


# Concat ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "axis", "expected"),
    [
        ("float[n, 3] a, float[m, 3] b", 0, "[m + n, 3]"),
        ("float[n, 3] a, float[m, 3] b", -2, "[m + n, 3]"),
        ("float[2, n] a, float[2, n] b", 1, "[2, 2*n]"),
        ("float[2, 3] a, float[k, m] b", 0, "[k + 2, 3]"),  # m is 3, or b is empty, or the node fails
        ("float[k, 3] a, float[n, m] b", 0, "[k + n, y:1]"),  # onnxruntime ignores what is empty
    ],
)
def test_concat_adds_the_dims(inputs, axis, expected):
    body = f"g ({inputs}) => (float[] y) {{ y = Concat <axis = {axis}> (a, b) }}"
    assert infer(body)["y"] == f"float{expected}"
    if "k" not in inputs:
        assert_sound_at(body, *SIZES)


def test_concat_along_1_by_default_before_version_4():
    body = "g (float[n, 3] a, float[n, m] b) => (float[] y) { y = Concat(a, b) }"
    assert infer(body, opset=3)["y"] == "float[n, m + 3]"


def test_concat_of_unknown_elements_keeps_the_known_ones():
    body = """g (float[n, m] x, int64[2] t) => (int64[] y) <int64[1] one = {1}>
        { s = Shape(x)  y = Concat <axis = 0> (s, t, one) }"""
    assert infer(body)["y"] == "int64[5] = [n, m, ?, ?, 1]"
    assert_sound_at(body, *SIZES, elements=5)


@pytest.mark.parametrize("inputs", ["float[2, 3] a, float[2] b", "float[2, 3] a, float[2, 3] b"])
def test_concat_that_is_not_valid_proves_nothing(inputs):
    assert infer(f"g ({inputs}) => (float[] y) {{ y = Concat <axis = 2> (a, b) }}")["y"] == "float[...]"


# Split -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opset", "call"),
    [
        (2, "<axis = 1, split = [1, 2]> (x)"),
        (11, "<axis = -1, split = [1, 2]> (x)"),
        (13, "<axis = 1> (x, sizes)"),
        (18, "<axis = 1> (x, sizes)"),
        (18, "<axis = 1, num_outputs = 2> (x)"),
    ],
)
def test_split_in_all_its_versions(opset, call):
    body = f"g (float[n, 3] x) => (float[] a, float[] b) <int64[2] sizes = {{1, 2}}> {{ a, b = Split {call} }}"
    sizes = (2, 1) if "num_outputs" in call else (1, 2)
    assert infer(body, opset=opset) == {"a": f"float[n, {sizes[0]}]", "b": f"float[n, {sizes[1]}]"}


def test_split_in_equal_parts():
    body = "g (float[6, n] x) => (float[] c) { a, b, c = Split(x)  d, e = Split <axis = 1> (x) }"
    facts = infer(body, opset=13)
    assert facts["c"] == "float[2, n]"
    assert facts["d"] == facts["e"] == "float[6, n//2]"  # where n is odd, the node fails
    assert_sound_at(body, {"n": 0}, {"n": 4}, opset=13)


@needs_recent_onnxruntime
def test_the_last_part_may_be_smaller_from_version_18_on():
    body = "g (float[n] x) => (float[] c) { a, b, c = Split <num_outputs = 3> (x) }"
    facts = infer(body, opset=18)
    assert facts == {"a": "float[(n + 2)//3]", "b": "float[(n + 2)//3]", "c": "float[n - 2*((n + 2)//3)]"}
    assert_sound_at(body, {"n": 0}, {"n": 2}, {"n": 3}, {"n": 5}, {"n": 7}, opset=18)


def test_split_sizes_of_the_run():
    body = """g (float[n, m] x, int64[2] t) => (float[] b) <int64[1] axis = {1}, int64[1] two = {2}>
        { a, b = Split(x, t)
          m = Shape <start = 1> (x)  half = Div(m, two)  rest = Sub(m, half)  sizes = Concat <axis = 0> (half, rest)
          c, d = Split <axis = 1> (x, sizes)
          t_0, t_1 = Split(t)  some = Concat <axis = 0> (two, t_0)
          e, f = Split(x, some) }"""
    facts = infer(body, opset=15)
    assert (facts["a"], facts["b"]) == ("float[a:0, m]", "float[b:0, m]")
    assert (facts["c"], facts["d"]) == ("float[n, m//2]", "float[n, m - m//2]")
    assert (facts["e"], facts["f"]) == ("float[2, m]", "float[n - 2, m]")  # the sizes add up, or it fails


def test_elements_are_split():
    body = """g (float[n, 3, m] x) => (int64[] b) <int64[2] sizes = {1, 2}> { s = Shape(x)  a, b = Split(s, sizes) }"""
    assert infer(body)["b"] == "int64[2] = [3, m]"
    assert_sound_at(body, *SIZES, elements=6)


@pytest.mark.parametrize("call", ["<axis = 3> (x)", "(x, sizes)", "<num_outputs = 3> (x)"])
def test_split_that_is_not_valid_raises_nothing(call):
    infer(f"g (float[6] x) => (float[] a, float[] b) <int64[3] sizes = {{1, 2, 3}}> {{ a, b = Split {call} }}")


# Tile ------------------------------------------------------------------------------------------------------


def test_tile_multiplies():
    body = """g (float[n, 3] x, float[m] y) => (float[] z) <int64[1] two = {2}>
        { m = Shape(y)  repeats = Concat <axis = 0> (m, two)  z = Tile(x, repeats) }"""
    assert infer(body)["z"] == "float[m*n, 6]"
    assert_sound_at(body, *SIZES)


def test_tile_of_version_1_has_one_axis():
    body = """g (float[n, 3] x) => (float[] y) <float tiles = {2.0}, float axis = {1.0}> { y = Tile(x, tiles, axis) }"""
    assert infer(body, opset=1)["y"] == "float[n, 6]"


def test_tile_by_repeats_of_the_run():
    body = "g (float[n, 0] x, int64[2] r, int64[k] q) => (float[] y) { y = Tile(x, r)  z = Tile(x, q) }"
    assert infer(body) == {"y": "float[y:0, 0]", "z": "float[z:0, 0]"}


def test_elements_are_tiled():
    body = "g (float[n, m] x) => (int64[] y) <int64[1] two = {2}> { s = Shape(x)  y = Tile(s, two) }"
    assert infer(body)["y"] == "int64[4] = [n, m, n, m]"
    assert_sound_at(body, *SIZES, elements=6)


def test_what_grows_large_is_not_tracked():
    body = """g (float[n] x) => (int64[] y) <int64[1] many = {1000000}> { s = Shape(x)  y = Tile(s, many)
        z = Expand(s, many) }"""
    assert infer(body) == {"s": "int64[1] = [n]", "y": "int64[1000000]", "z": "int64[1000000]"}


# Expand ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ("n, 1", "{1, 4}", "[n, 4]"),
        ("n, 4", "{2, 1, 1}", "[2, n, 4]"),
        ("n, 1", "{3, 1}", "[3, 1]"),  # n is 1 or 3
        ("3, n", "{1}", "[3, n]"),
        ("n, 1", "{0}", "[n, 0]"),
        ("0, 1", "{1, 5}", "[0, 5]"),
    ],
)
def test_expand(shape, target, expected):
    count = len(target.split(","))
    body = f"g (float[{shape}] x) => (float[] y) <int64[{count}] t = {target}> {{ y = Expand(x, t) }}"
    assert infer(body)["y"] == f"float{expected}"
    assert_sound_at(body, {"n": 1})


def test_expand_to_symbols():
    body = "g (float[n, 1] x, float[n, m] y) => (float[] z) { s = Shape(y)  z = Expand(x, s) }"
    assert infer(body)["z"] == "float[n, m]"
    assert_sound_at(body, *SIZES)


def test_expand_of_one_symbol_to_another_is_not_known():
    body = "g (float[n] x, float[m] y) => (float[] z) { s = Shape(y)  z = Expand(x, s) }"
    assert infer(body)["z"] == "float[z:0]"
    assert_sound_at(body, {"n": 1, "m": 1}, {"n": 1, "m": 0}, {"n": 0, "m": 1}, {"n": 4, "m": 1}, {"n": 1, "m": 4})


def test_expand_to_a_target_of_the_run():
    """What is at least 2 can't get wider, and 0 stays 0."""
    body = "g (float[3, n, 1, 0] x, int64[4] t, int64[k] u) => (float[] y) { y = Expand(x, t)  z = Expand(x, u) }"
    assert infer(body) == {"y": "float[3, y:1, y:2, 0]", "z": "float[...]"}


def test_elements_are_expanded():
    body = "g (float[n] x) => (int64[] y) <int64[2] t = {2, 2}> { s = Shape(x)  y = Expand(s, t) }"
    assert infer(body)["y"] == "int64[2, 2] = [n, n, n, n]"
    assert_sound_at(body, {"n": 0}, {"n": 3}, elements=5)


# Pad -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opset", "call"),
    [
        (1, "<paddings = [1, 0, 2, -1]> (x)"),
        (2, "<pads = [1, 0, 2, -1]> (x)"),
        (11, "(x, pads)"),
        (13, '<mode = "edge"> (x, pads)'),
        (18, "(x, pads, none, axes)"),
        (25, "(x, pads, none, axes)"),
    ],
)
def test_pad_in_all_its_versions(opset, call):
    body = f"""g (float[n, m] x) => (float[] y)
        <int64[4] pads = {{1, 0, 2, -1}}, int64[2] axes = {{0, -1}}, float none = {{0.0}}> {{ y = Pad {call} }}"""
    assert infer(body, opset=opset)["y"] == "float[n + 3, m - 1]"


def test_pad_of_named_axes():
    body = """g (float[n, m, 4] x) => (float[] y) <int64[2] pads = {1, 2}, int64[1] axes = {-2}, float none = {0.0}>
        { y = Pad(x, pads, none, axes) }"""
    assert infer(body)["y"] == "float[n, m + 3, 4]"
    assert_sound_at(body, *SIZES)


def test_pad_by_symbols_and_by_pads_of_the_run():
    body = """g (float[n, m] x, int64[4] r) => (float[] z) <int64[1] zero = {0}>
        { n = Shape <end = 1> (x)  pads = Concat <axis = 0> (zero, n, n, zero)  y = Pad(x, pads)  z = Pad(x, r) }"""
    facts = infer(body)
    assert facts["y"] == "float[2*n, m + n]"
    assert facts["z"] == "float[z:0, z:1]"


def test_elements_are_padded_with_the_value():
    body = """g (float[n, m] x) => (int64[] y) <int64[2] pads = {1, 2}, int64 seven = {7}, int64[2] cut = {-1, 1}>
        { s = Shape(x)  y = Pad(s, pads, seven)  z = Pad(s, cut)  w = Pad <mode = "edge"> (s, pads) }"""
    facts = infer(body)
    assert facts["y"] == "int64[5] = [7, n, m, 7, 7]"
    assert facts["z"] == "int64[2] = [m, 0]"
    assert facts["w"] == "int64[5]"
    assert_sound_at(body, *SIZES, elements=9)


@pytest.mark.parametrize("pads", ["{1, 2, 3}", "{-9, 9}"])
def test_pad_that_is_not_valid_raises_nothing(pads):
    count = len(pads.split(","))
    infer(f"g (float[n] x) => (int64[] y) <int64[{count}] p = {pads}> {{ s = Shape(x)  y = Pad(s, p) }}")
