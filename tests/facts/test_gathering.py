"""Gather and Scatter in all their forms."""

from __future__ import annotations

import pytest

from tests.facts.inferring import assert_sound_at, infer

SIZES = [{"n": 0, "m": 1}, {"n": 1, "m": 0}, {"n": 4, "m": 3}]
SHAPE_DATA = "s = Shape(x)"


@pytest.mark.parametrize(
    ("indices", "attributes", "expected"),
    [
        ("int64 i", "", "[m, 4]"),
        ("int64[2] i", "", "[2, m, 4]"),
        ("int64[k, 2] i", "<axis = 1>", "[n, k, 2, 4]"),
        ("int32[k] i", "<axis = -1>", "[n, m, k]"),
        ("int64[0] i", "<axis = 1>", "[n, 0, 4]"),
        ("int64[k] i", "<axis = 3>", "[...]"),  # not valid
    ],
)
def test_gather(indices, attributes, expected):
    body = f"g (float[n, m, 4] x, {indices}) => (float[] y) {{ y = Gather {attributes} (x, i) }}"
    assert infer(body)["y"] == f"float{expected}"


def test_elements_are_gathered():
    body = f"""g (float[n, 3, m] x, int64[1] r) => (int64[] d)
        <int64 last = {{-1}}, int64[2, 2] some = {{0, 1, 1, 2}}, int64[1] far = {{7}}, int64[1] one = {{1}}>
        {{ {SHAPE_DATA}  a = Gather(s, last)  b = Gather(s, some)  t = Concat <axis = 0> (one, r)  c = Gather(s, t)
           d = Gather(s, far) }}"""
    facts = infer(body)
    assert facts["a"] == "int64[] = [m]"
    assert facts["b"] == "int64[2, 2] = [n, 3, 3, m]"
    assert facts["c"] == "int64[2] = [3, ?]"
    assert facts["d"] == "int64[1]"  # the node fails
    assert_sound_at(body.replace("  d = Gather(s, far)", "  d = Identity(s)"), *SIZES, elements=9)


def test_elements_of_a_matrix_are_gathered_along_an_axis():
    body = f"""g (float[n, 3, m, 5] x) => (int64[] y) <int64[2] t = {{2, 2}}, int64 one = {{1}}>
        {{ {SHAPE_DATA}  a = Reshape(s, t)  y = Gather <axis = 1> (a, one) }}"""
    assert infer(body)["y"] == "int64[2] = [3, 5]"


def test_gather_elements_has_the_shape_of_the_indices():
    body = f"""g (float[n, 3, m] x, int64[k, 2, m] i) => (float[] y) <int64[2] some = {{-1, 0}}, int64[1] far = {{9}}>
        {{ y = GatherElements <axis = 1> (x, i)  {SHAPE_DATA}  z = GatherElements(s, some)
        w = GatherElements(s, far) }}"""
    facts = infer(body)
    assert facts["y"] == "float[k, 2, m]"
    assert facts["z"] == "int64[2] = [m, n]"
    assert facts["w"] == "int64[1]"


@pytest.mark.parametrize(
    ("indices", "attributes", "expected"),
    [
        ("int64[2] i", "", "[4]"),
        ("int64[k, 1] i", "", "[k, m, 4]"),
        ("int64[k, 5, 3] i", "", "[k, 5]"),
        ("int64[n, k, 1] i", "<batch_dims = 1>", "[n, k, 4]"),
        ("int64[5, k, 1] i", "<batch_dims = 1>", "[5, k, 4]"),  # n is 5, or the node fails
        ("int64[k, k] i", "", "[...]"),
        ("int64[k, 4] i", "", "[...]"),  # not valid
    ],
)
def test_gather_nd(indices, attributes, expected):
    body = f"g (float[n, m, 4] x, {indices}) => (float[] y) {{ y = GatherND {attributes} (x, i) }}"
    assert infer(body)["y"] == f"float{expected}"


def test_elements_are_gathered_by_tuples():
    body = f"""g (float[n, 3, m, 5] x) => (int64[] c)
        <int64[2] t = {{2, 2}}, int64[2, 2] i = {{0, 1, -1, 0}}, int64[1, 1] row = {{1}}, int64[1, 1] far = {{2}}>
        {{ {SHAPE_DATA}  a = Reshape(s, t)  b = GatherND(a, i)  c = GatherND(a, row) }}"""
    facts = infer(body)
    assert facts["b"] == "int64[2] = [3, m]"
    assert facts["c"] == "int64[1, 2] = [m, 5]"
    assert_sound_at(body, *SIZES, elements=12)
    assert infer(body.replace("(a, row)", "(a, far)"))["c"] == "int64[1, 2]"  # the node fails


@pytest.mark.parametrize("operator", ["ScatterElements", "Scatter"])
def test_scatter_elements_keeps_the_shape(operator):
    body = (
        f"""g (float[n, m] x, int64[k, 1] i, float[k, 1] u) => (float[] y) {{ y = {operator} <axis = 1> (x, i, u) }}"""
    )
    assert infer(body, opset=10 if operator == "Scatter" else 11)["y"] == "float[n, m]"


def test_elements_are_scattered():
    body = f"""g (float[n, 3, m] x, int64[1] r) => (int64[] g)
        <int64[2] i = {{-1, 0}}, int64[2] u = {{7, 8}}, int64[1] zero = {{0}}, int64[1, 1] one = {{1}}, int64[1]
        nine = {{9}},
        int64[2, 1] both = {{2, 2}}>
        {{ {SHAPE_DATA}  a = ScatterElements(s, i, u)  b = ScatterElements(s, zero, r)  c = ScatterND(s, one, nine)
           d = ScatterElements <reduction = "add"> (s, i, u)  e = ScatterND(s, one, r)  f = ScatterND(r, both, u)
           g = ScatterElements(s, r, nine) }}"""
    facts = infer(body)
    assert facts["a"] == "int64[3] = [8, 3, 7]"
    assert facts["b"] == "int64[3] = [?, 3, m]"
    assert facts["c"] == "int64[3] = [n, 9, m]"
    assert facts["d"] == "int64[3]"
    assert facts["e"] == "int64[3] = [n, ?, m]"
    assert facts["f"] == "int64[1]"  # out of range: it fails
    assert facts["g"] == "int64[3]"
    assert_sound_at(body.replace("f = ScatterND(r, both, u)", ""), *SIZES, elements=11)


def test_updates_of_one_place_leave_it_open_which_stays():
    body = f"""g (float[n, 3] x) => (int64[] y) <int64[2] same = {{0, -2}}, int64[2] u = {{7, 8}}>
        {{ {SHAPE_DATA}  y = ScatterElements(s, same, u) }}"""
    assert infer(body)["y"] == "int64[2]"


def test_tensor_scatter_keeps_the_shape_of_the_cache():
    body = "g (float[n, 8, m, 4] c, float[n, 8, 1, 4] u, int64[n] i) => (float[] y) { y = TensorScatter(c, u, i) }"
    assert infer(body, opset=24)["y"] == "float[n, 8, m, 4]"
