"""Reshape, Flatten, Squeeze, Unsqueeze and Transpose."""

from __future__ import annotations

import pytest

from foldproof.facts.dim import Dim
from foldproof.facts.transfer.reshaping import reshaped
from tests.facts.inferring import assert_sound_at, infer

N, M = Dim.symbol("n"), Dim.symbol("m")


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ([2, 3], [6], [6]),
        ([2, 3], [3, -1], [3, 2]),
        ([N, 4, 3], [-1, 12], [N, 12]),
        ([N, 4, 3], [0, -1], [N, 12]),
        ([N, 4, 3], [0, 0, 3, 1], [N, 4, 3, 1]),
        ([N, M, 8], [-1, 8], [N * M, 8]),
        ([N, M, 8], [N, M, 2, 4], [N, M, 2, 4]),
        ([N, M, 8], [N * M, 8], [N * M, 8]),  # the count tells, where all other dims are at least 1
        ([N * M, 8], [N, -1, 8], [N, M, 8]),
        ([N + 1, 6], [N + 1, 2, 3], [N + 1, 2, 3]),  # never 0
        ([N, M], [N, M, 1], [N, M, 1]),
        ([4, N * M], [4, N, M], [4, N, M]),  # where m is 0 there is no dim to copy: the node fails
        ([4, N], [4, N - 1], [4, N]),  # the count tells again
        ([N, 6], [None], [6 * N]),
        ([N, 6], [2, None], [2, 3 * N]),
        ([N, 6], [None, None], [None, None]),
        ([N, 6], [N, None], [N, None]),  # where n is 0 the other dim may be anything
        ([N, 6], [-1, 4], [(3 * N) // 2, 4]),
        (None, [2, N, -1], [2, None, None]),
        (None, [3, 4], [3, 4]),
        (None, [0, 4], [None, 4]),
        ([2, 3], [-1, -1], [None, None]),  # not valid
        ([2, 3], [-2, 3], [None, None]),  # not valid: it fails, so that nothing may take its place
        ([2, 3], [0, 0, 0], [2, 3, 0]),  # not valid: it fails
    ],
)
def test_the_dims_of_a_target(shape, target, expected):
    assert reshaped(shape, target) == expected


def test_a_symbol_that_is_0_copies_the_dim_of_the_input():
    """With n = m = 0, Reshape([0, 8], [0, 0, 8]) gives [0, 8, 8]: the second dim is m, and 8 where m is 0."""
    assert [str(dim) for dim in reshaped([N * M, 8], [N, M, 8])] == ["n", "m - 8*min(m, 1) + 8", "8"]
    assert reshaped([N * M, 8], [N, M, 8], zero_copies=False) == [N, M, 8]
    body = """g (float[a, 8] x, float[n, m] y) => (float[] z) <int64[1] eight = {8}>
        { s = Shape(y)  t = Concat <axis = 0> (s, eight)  z = Reshape(x, t) }"""
    # Where m alone is 0, the count doesn't match and the node fails.
    assert_sound_at(body, *[{"a": n * m, "n": n, "m": m} for n, m in [(0, 0), (0, 1), (0, 3), (1, 1), (2, 1), (3, 3)]])


def test_an_addition_tells_that_the_symbol_was_not_0():
    """Of a linear layer on [n*m, 8], whose result goes back to [n, m, 8]: a dim of 8 can't be added to one of 0."""
    body = """g (float[n, m, 8] x) => (float[] z) <int64[2] flat = {-1, 8}>
        { a = Reshape(x, flat)  s = Shape(x)  y = Reshape(a, s)  z = Add(x, y) }"""
    assert infer(body)["y"] == "float[n, m - 8*min(m, 1) + 8, 8]"
    assert infer(body)["z"] == "float[n, m, 8]"
    assert_sound_at(body, {"n": 1, "m": 1}, {"n": 2, "m": 1}, {"n": 1, "m": 3}, {"n": 0, "m": 4})


def test_minus_1_beside_a_symbol_that_may_be_0():
    """[n, 4, m, 3] to [-1, m, 3]: where m is 0, it becomes [0, 4, 3]."""
    body = """g (float[n, 4, m, 3] x) => (float[] z) <int64[1] free = {-1}, int64[1] three = {3}>
        { m = Shape <start = 2, end = 3> (x)  t = Concat <axis = 0> (free, m, three)  z = Reshape(x, t) }"""
    assert infer(body)["z"] == "float[4*n*min(m, 1), m - 4*min(m, 1) + 4, 3]"
    assert_sound_at(body, *[{"n": n, "m": m} for n in (0, 1, 2) for m in (0, 1, 3)])


def test_a_target_that_may_be_negative_proves_nothing():
    body = """g (float[n, m, 3] x, float[k] y) => (float[] z) <int64[1] one = {1}, int64[1] three = {3}>
        { k = Shape(y)  t = Sub(k, one)  s = Concat <axis = 0> (t, k, three)  z = Reshape(x, s) }"""
    assert infer(body)["z"].startswith("float[z:0, ")
    assert_sound_at(body, {"k": 2, "n": 1, "m": 2}, {"k": 3, "n": 3, "m": 2}, {"k": 1, "n": 0, "m": 1})


@pytest.mark.parametrize(
    ("opset", "call"), [(1, "<shape = [0, -1]> (x)"), (5, "(x, t)"), (14, "(x, t)"), (21, "(x, t)")]
)
def test_reshape_in_all_its_versions(opset, call):
    body = f"g (float[n, 2, 3] x) => (float[] y) <int64[2] t = {{0, -1}}> {{ y = Reshape {call} }}"
    assert infer(body, opset=opset)["y"] == "float[n, 6]"


def test_allowzero_takes_a_0_as_it_is():
    body = "g (float[n, 0] x) => (float[] y) <int64[2] t = {0, 7}> { y = Reshape <allowzero = 1> (x, t) }"
    assert infer(body)["y"] == "float[0, 7]"
    assert_sound_at(body, {"n": 0}, {"n": 3})


@pytest.mark.parametrize(
    ("target", "expected"),
    [("int64[2] t", "float[y:0, y:1]"), ("int64[k] t", "float[...]"), ("int64[1] t", "float[6*n]")],
)
def test_a_target_of_the_run(target, expected):
    assert infer(f"g (float[n, 6] x, {target}) => (float[] y) {{ y = Reshape(x, t) }}")["y"] == expected


def test_elements_go_through_changes_of_the_shape():
    body = """g (float[n, 2, 3, m] x) => (int64[] e) <int64[2] t = {2, -1}, int64[1] flat = {-1}, int64[1] axis = {0}>
        { s = Shape(x)  a = Reshape(s, t)  b = Transpose(a)  c = Reshape(b, flat)
          d = Unsqueeze(c, axis)  f = Flatten(d)  e = Squeeze(f, axis) }"""
    facts = infer(body)
    assert facts["a"] == "int64[2, 2] = [n, 2, 3, m]"
    assert facts["b"] == "int64[2, 2] = [n, 3, 2, m]"
    assert facts["e"] == "int64[4] = [n, 3, 2, m]"
    assert_sound_at(body, {"n": 0, "m": 1}, {"n": 5, "m": 0}, elements=24)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", "[n, 6*m]"),
        ("<axis = 0>", "[1, 6*m*n]"),
        ("<axis = 2>", "[2*n, 3*m]"),
        ("<axis = 4>", "[6*m*n, 1]"),
        ("<axis = -1>", "[6*n, m]"),
        ("<axis = -4>", "[1, 6*m*n]"),
        ("<axis = 5>", "[...]"),  # not valid
    ],
)
def test_flatten(attributes, expected):
    body = f"g (float[n, 2, 3, m] x) => (float[] y) {{ y = Flatten {attributes} (x) }}"
    assert infer(body)["y"] == f"float{expected}"
    if expected != "[...]":
        assert_sound_at(body, {"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 3, "m": 2})


def test_flatten_of_an_unknown_rank_has_two_dims():
    body = "g (float[n, 3] x, int64[k] t) => (float[] y) { z = Reshape(x, t)  y = Flatten(z) }"
    assert infer(body)["y"] == "float[y:0, y:1]"


@pytest.mark.parametrize(
    ("shape", "axes", "expected"),
    [
        ("1, n, 1", "{0}", "[n, 1]"),
        ("1, n, 1", "{-1, 0}", "[n]"),
        ("1, n, 1", "{0, -3}", "[n, 1]"),  # one axis named twice is one axis
        ("n, 3", "{0}", "[3]"),  # n is 1, or the node fails
        ("n, 3", "{5}", "[y:0]"),  # not valid
        ("2, 3", "{}", "[2, 3]"),
        ("1, 3", "{}", "[...]"),  # onnxruntime takes an empty list for none given, others as they find it
    ],
)
def test_squeeze_by_axes(shape, axes, expected):
    count = len(axes[1:-1].split(",")) if axes != "{}" else 0
    body = f"g (float[{shape}] x) => (float[] y) <int64[{count}] axes = {axes}> {{ y = Squeeze(x, axes) }}"
    assert infer(body)["y"] == f"float{expected}"


@pytest.mark.parametrize(
    ("shape", "expected"), [("1, 3, 1", "[3]"), ("0, 1", "[0]"), ("n, 1", "[...]"), ("1, 1", "[]")]
)
def test_squeeze_of_all_dims_that_are_1(shape, expected):
    """A symbol may be 1: then not even the rank is known."""
    body = f"g (float[{shape}] x) => (float[] y) {{ y = Squeeze(x) }}"
    assert infer(body)["y"] == f"float{expected}"
    assert_sound_at(body, {"n": 1}, {"n": 2})


def test_a_dim_that_is_never_1_stays_in_a_squeeze():
    body = """g (float[n, 1] x) => (float[] y) <int64[1] one = {1}>
        { two = Concat <axis = 0> (x, x)  y = Squeeze(two) }"""
    assert infer(body)["y"] == "float[2*n]"
    assert_sound_at(body, {"n": 0}, {"n": 1}, {"n": 2})


@pytest.mark.parametrize(("axes", "expected"), [("one", "[y:0]"), ("two", "[...]"), ("some", "[...]")])
def test_squeeze_by_axes_of_the_run(axes, expected):
    """Two axes may be the same one."""
    body = f"""g (float[1, n] x, int64[1] one, int64[2] two, int64[k] some) => (float[] y)
        {{ y = Squeeze(x, {axes}) }}"""
    assert infer(body)["y"] == f"float{expected}"


def test_axes_as_attributes_of_old_versions():
    body = (
        """g (float[1, n, 1] x) => (float[] z) { y = Squeeze <axes = [0, 2]> (x)  z = Unsqueeze <axes = [1, 3]> (x) }"""
    )
    assert infer(body, opset=1) == {"y": "float[n]", "z": "float[1, 1, n, 1, 1]"}
    assert infer(body, opset=11) == {"y": "float[n]", "z": "float[1, 1, n, 1, 1]"}


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ("{0}", "[1, n, m]"),
        ("{-1, 0}", "[1, n, m, 1]"),
        ("{1, 2}", "[n, 1, 1, m]"),
        ("{1, 1}", "[...]"),
        ("{7}", "[...]"),
    ],
)
def test_unsqueeze(axes, expected):
    count = len(axes.split(","))
    body = f"g (float[n, m] x) => (float[] y) <int64[{count}] axes = {axes}> {{ y = Unsqueeze(x, axes) }}"
    assert infer(body)["y"] == f"float{expected}"
    if expected != "[...]":
        assert_sound_at(body, {"n": 0, "m": 2}, {"n": 3, "m": 1})


def test_unsqueeze_by_axes_of_the_run_knows_the_rank():
    assert infer("g (float[n] x, int64[2] a) => (float[] y) { y = Unsqueeze(x, a) }")["y"] == "float[y:0, y:1, y:2]"


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [("", "[m, 3, n]"), ("<perm = [1, 0, 2]>", "[3, n, m]"), ("<perm = [0, 0, 1]>", "[...]")],
)
def test_transpose(attributes, expected):
    body = f"g (float[n, 3, m] x) => (float[] y) {{ y = Transpose {attributes} (x) }}"
    assert infer(body)["y"] == f"float{expected}"
    if expected != "[...]":
        assert_sound_at(body, {"n": 0, "m": 2}, {"n": 1, "m": 4})
