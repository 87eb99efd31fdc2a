"""Slice, Compress, Unique, Trilu, CenterCropPad and ReverseSequence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldproof.facts.dim import Dim, maximum, minimum
from foldproof.facts.transfer.slicing import slice_length
from tests.facts.inferring import assert_sound_at, infer

MAX, MIN = 2**63 - 1, -(2**63)
MAX32, MIN32 = 2**31 - 1, -(2**31)
SIZES = [{"n": n, "m": m} for n, m in [(0, 0), (1, 3), (2, 1), (3, 2), (5, 1), (6, 0)]]
N, M = Dim.symbol("n"), Dim.symbol("m")


# Slice -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((0, 1, 1), "min(n, 1)"),
        ((0, MAX, 1), "n"),
        ((0, MAX32, 1), "n"),
        ((1, MAX, 1), "max(n - 1, 0)"),
        ((0, -1, 1), "max(n - 1, 0)"),
        ((-1, MAX, 1), "min(n, 1)"),
        ((-3, MAX, 1), "min(n, 3)"),
        ((2, 5, 1), "max(min(n, 5) - 2, 0)"),
        ((1, -1, 1), "max(n - 2, 0)"),
        ((0, MAX, 2), "(n + 1)//2"),
        ((5, 2, 1), "0"),
        ((-1, MIN, -1), "n"),
        ((MAX, MIN32, -1), "n"),
        ((-1, MIN, -2), "(n + 1)//2"),
        ((2, MIN, -1), "min(n, 3)"),
        ((-1, 0, -1), "max(n - 1, 0)"),
        ((-2, MIN, -1), "y:0"),  # of one element, the specification takes it, numpy doesn't
        ((-1, MAX, -1), "y:0"),  # by the specification nothing, by onnxruntime all
        ((0, 3, 0), "y:0"),  # not valid
    ],
)
def test_the_length_of_a_slice(bounds, expected):
    start, end, step = bounds
    body = f"""g (float[n, m] x) => (float[] y)
        <int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{0}}, int64[1] p = {{{step}}}>
        {{ y = Slice(x, s, e, a, p) }}"""
    assert infer(body)["y"] == f"float[{expected}, m]"
    if step:
        assert_sound_at(body, *SIZES)


BOUNDS = [
    0,
    1,
    2,
    3,
    5,
    -1,
    -2,
    -3,
    -5,
    MAX,
    MIN,
    N,
    M,
    N + 1,
    N - 1,
    N - 2,
    N - 3,
    N - M,
    -N,
    -M,
    -N - 1,
    N // 2,
    M + N,
]
DIMS = [N, N + M, 2 * N + 1, minimum(N, 3), maximum(N - 1, 0), 4]


@given(st.sampled_from(DIMS), st.sampled_from(BOUNDS), st.sampled_from(BOUNDS), st.sampled_from([1, 2, 3]))
def test_a_slice_takes_as_many_elements_as_numpy_does(dim, start, end, step):
    length = slice_length(dim, start, end, step)
    if length is None:
        return
    for n in range(6):
        for m in range(6):
            numbers = {"n": n, "m": m}
            size, first, last, proven = (
                x if isinstance(x, int) else x.evaluate(numbers) for x in (dim, start, end, length)
            )
            assert proven == len(range(size)[first:last:step]), (dim, start, end, step, numbers)


@given(
    st.sampled_from(DIMS),
    st.sampled_from([0, 1, 2, -1, MAX, N - 1]),
    st.sampled_from([0, 1, 3, MIN]),
    st.sampled_from([1, 2]),
)
def test_a_slice_backwards_takes_as_many_elements_as_numpy_does(dim, start, end, step):
    length = slice_length(dim, start, end, -step)
    if length is None:
        return
    for n in range(6):
        numbers = {"n": n, "m": 2}
        size, first, last, proven = (
            x if isinstance(x, int) else x.evaluate(numbers) for x in (dim, start, end, length)
        )
        if first is not start and first < 0:
            continue  # n - 1 of no elements: the specification clamps, and so there are none
        assert proven == len(range(size)[first:last:-step]), (dim, start, end, step, numbers)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (N, N + M, M),  # the causal mask of a decoder: [past, past + new) of [past + new]
        (0, N, N),
        (N + M, MAX, 0),
        (-N - M, MAX, N + M),
        (0, -N - M, 0),
    ],
)
def test_bounds_that_are_dims(start, end, expected):
    assert slice_length(N + M, start, end, 1) == expected


def test_minus_a_symbol_that_is_0_is_the_beginning():
    """x[-m:] is all of x where m is 0."""
    body = """g (float[n] x, float[m] y) => (float[] z) <int64[1] end = {9223372036854775807}>
        { m = Shape(y)  start = Neg(m)  z = Slice(x, start, end) }"""
    assert_sound_at(body, *SIZES)
    length = slice_length(N + M, -M, MAX, 1)
    assert isinstance(length, Dim)
    assert [length.evaluate({"n": 5, "m": m}) for m in (0, 1, 3)] == [5, 1, 3]


def test_a_bound_of_unknown_sign_proves_nothing():
    assert slice_length(N, M - 1, MAX, 1) is None
    assert slice_length(N, 0, N - 3, 1) is None  # at 2: x[:-1] is one element
    assert slice_length(N, None, MAX, 1) is None


@pytest.mark.parametrize(
    ("opset", "call"),
    [
        (1, "<starts = [1, 0], ends = [3, -1], axes = [2, 0]> (x)"),
        (10, "(x, starts, ends, axes)"),
        (11, "(x, starts, ends, negative)"),
        (13, "(x, starts, ends, axes, steps)"),
    ],
)
def test_slice_in_all_its_versions(opset, call):
    body = f"""g (float[n, m, 4] x) => (float[] y)
        <int64[2] starts = {{1, 0}}, int64[2] ends = {{3, -1}}, int64[2] axes = {{2, 0}}, int64[2]
        negative = {{-1, -3}},
        int64[2] steps = {{1, 1}}> {{ y = Slice {call} }}"""
    assert infer(body, opset=opset)["y"] == "float[max(n - 1, 0), m, 2]"


def test_slice_without_axes_and_with_some_bounds_of_the_run():
    body = """g (float[n, m, 4] x, int64[1] t, int64[k] u) => (float[] z) <int64[2] ends = {2, 3}, int64[1] one = {1}>
        { starts = Concat <axis = 0> (t, one)  y = Slice(x, starts, ends)  z = Slice(x, u, u)
        w = Slice(x, t, t, t) }"""
    assert infer(body)["y"] == "float[y:0, max(min(m, 3) - 1, 0), 4]"
    assert infer(body)["z"] == "float[z:0, z:1, z:2]"
    assert infer(body)["w"] == "float[w:0, w:1, w:2]"


def test_elements_are_sliced():
    body = """g (float[n, 3, m, 5] x) => (int64[] c)
        <int64[1] i0 = {0}, int64[1] i1 = {1}, int64[1] last = {-1}, int64[1] back = {-1}, int64[1] two = {2},
        int64[1] end = {9223372036854775807}, int64[1] begin = {-9223372036854775808}>
        { s = Shape(x)  a = Slice(s, i1, last)  b = Slice(s, last, begin, i0, back)  c = Slice(s, i0, end, i0, two) }"""
    facts = infer(body)
    assert facts["a"] == "int64[2] = [3, m]"
    assert facts["b"] == "int64[4] = [5, m, 3, n]"
    assert facts["c"] == "int64[2] = [n, m]"
    assert_sound_at(body, *SIZES, elements=12)


@pytest.mark.parametrize("axes", ["{5}", "{0, 0}"])
def test_slice_that_is_not_valid_raises_nothing(axes):
    count = len(axes.split(","))
    infer(f"g (float[n] x) => (float[] y) <int64[{count}] a = {axes}, int64[1] b = {{1}}> {{ y = Slice(x, b, b, a) }}")


# Compress, Unique ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "attributes", "expected"),
    [
        ("4, n", "<axis = 0>", "[2, n]"),
        ("n, 4", "<axis = -1>", "[n, 2]"),
        ("n, 4", "<axis = 0>", "[y:0, 4]"),  # n may be 0
        ("2, 3", "", "[2]"),
        ("n, 3", "", "[y:0]"),
    ],
)
def test_compress_by_a_known_condition(shape, attributes, expected):
    body = f"g (float[{shape}] x) => (float[] y) <bool[3] c = {{1, 0, 1}}> {{ y = Compress {attributes} (x, c) }}"
    assert infer(body)["y"] == f"float{expected}"
    assert_sound_at(body, {"n": 3}, {"n": 5})


def test_compress_by_a_condition_of_the_run():
    body = "g (float[n, m] x, bool[k] c) => (float[] y) { y = Compress <axis = 1> (x, c)  z = Compress(x, c) }"
    assert infer(body) == {"y": "float[n, y:1]", "z": "float[z:0]"}


def test_elements_are_compressed():
    body = (
        "g (float[n, 3, m] x) => (int64[] y) <bool[3] c = {1, 0, 1}> { s = Shape(x)  y = Compress <axis = 0> (s, c) }"
    )
    assert infer(body)["y"] == "int64[2] = [n, m]"
    assert_sound_at(body, *SIZES, elements=5)


def test_outputs_of_unique_have_one_unknown_number_of_elements():
    body = "g (float[n, m] x) => (float[] y) { y, i, r, c = Unique(x)  u, j, s, d = Unique <axis = 1> (x) }"
    facts = infer(body)
    assert [facts[name] for name in "yirc"] == ["float[y:0]", "int64[y:0]", "int64[m*n]", "int64[y:0]"]
    assert [facts[name] for name in "ujsd"] == ["float[n, u:1]", "int64[u:1]", "int64[m]", "int64[u:1]"]


# The others ------------------------------------------------------------------------------------------------


def test_trilu_keeps_the_shape_and_half_of_the_elements():
    body = """g (float[n, 3, m] x) => (int64[] d) <int64[2] t = {2, 2}, int64[1] zero = {0}, int64 k = {-1}>
        { s = Shape(x)  row = Concat <axis = 0> (s, zero)  a = Reshape(row, t)  b = Trilu(a)  c = Trilu <upper = 0> (a)
          d = Trilu <upper = 0> (a, k)  e = Trilu(x) }"""
    facts = infer(body)
    assert facts["b"] == "int64[2, 2] = [n, 3, 0, 0]"
    assert facts["c"] == "int64[2, 2] = [n, 0, m, 0]"
    assert facts["d"] == "int64[2, 2] = [0, 0, m, 0]"
    assert facts["e"] == "float[n, 3, m]"
    assert_sound_at(body.replace("  e = Trilu(x)", ""), *SIZES, elements=16)


def test_center_crop_pad():
    body = """g (float[n, m, 4] x, int64[1] r) => (float[] c) <int64[2] t = {5, 6}, int64[3] all = {1, 2, 3}>
        { a = CenterCropPad <axes = [0, -1]> (x, t)  b = CenterCropPad(x, all)  c = CenterCropPad
        <axes = [1]> (x, r) }"""
    assert infer(body) == {"a": "float[5, m, 6]", "b": "float[1, 2, 3]", "c": "float[n, c:1, 4]"}


def test_reverse_sequence_keeps_the_shape():
    assert (
        infer("g (float[n, m, 4] x, int64[m] l) => (float[] y) { y = ReverseSequence(x, l) }")["y"] == "float[n, m, 4]"
    )
