from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import initializers, operators, parse, rewrite
from tests.rules.checking import assert_becomes, assert_same, assert_stays


def graph(nodes: str, dtype: str = "float", **numbers: Any) -> str:
    constants = ", ".join(f"{dtype} {name} = {{{number}}}" for name, number in numbers.items())
    return f"g ({dtype}[N,3] x) => ({dtype}[N,3] y) <{constants}> {{ {nodes} }}"


@pytest.mark.parametrize(
    ("nodes", "numbers", "bounds"),
    [
        ("a = Clip(x, p, q) y = Clip(a, r, s)", {"p": -1, "q": 5, "r": 0.5, "s": 7}, [0.5, 5]),
        ("a = Clip(x, p, q) y = Clip(a, r, s)", {"p": 0, "q": 1, "r": 2, "s": 3}, [2, 2]),
        ("a = Clip(x, p, q) y = Clip(a, r, s)", {"p": 2, "q": 3, "r": -1, "s": 0}, [2, 0]),
        ("a = Clip(x, p, q) y = Clip(a, r, s)", {"p": 5, "q": 2, "r": 3, "s": 9}, [5, 3]),
        ("a = Clip(x, p) y = Clip(a, r, s)", {"p": -1, "r": -2, "s": 7}, [-1, 7]),
        ("a = Clip(x, p) y = Clip(a, , q)", {"p": -1, "q": 7}, [-1, 7]),
        ("a = Relu(x) y = Clip(a, p, q)", {"p": -1, "q": 6}, [0, 6]),
        ("a = Clip(x, p, q) y = Relu(a)", {"p": -1, "q": 6}, [0, 6]),
    ],
)
def test_two_clips_become_one(nodes: str, numbers: dict[str, float], bounds: list[float]) -> None:
    model = assert_becomes(graph(nodes, **numbers), {"Clip": 1}, "clip_of_clip")
    constants = initializers(model)
    assert [constants[name] for name in model.graph.node[0].input[1:]] == bounds


@pytest.mark.parametrize(
    ("nodes", "numbers", "left"),
    [
        ("a = Clip(x, p, q) b = Clip(a, r, s) y = Neg(b)", {"p": 0, "q": 1, "r": -1, "s": 2}, {"Clip": 1, "Neg": 1}),
        ("a = Clip(x, p, q) b = Relu(a) y = Neg(b)", {"p": 1, "q": 2}, {"Clip": 1, "Neg": 1}),
        ("a = Clip(x, p, q) b = Relu(a) y = Add(a, b)", {"p": 1, "q": 2}, {"Clip": 1, "Add": 1}),
    ],
)
def test_an_outer_clip_that_changes_nothing_goes(nodes: str, numbers: dict[str, float], left: dict[str, int]) -> None:
    assert_becomes(graph(nodes, **numbers), left, "clip_of_clip")


def test_the_outer_clip_without_a_bound_stays_in_one_that_has_none_either() -> None:
    # onnxruntime bounds infinity by the largest finite number then, and Relu does not.
    model = assert_becomes(graph("a = Relu(x) y = Clip(a, p)", p=0), {"Clip": 1}, "clip_of_clip")
    assert len(model.graph.node[0].input) == 2


def test_attributes_of_an_old_opset() -> None:
    body = graph("a = Clip <min = -1.0, max = 4.0> (x) y = Clip <min = 0.5> (a)")
    model = assert_becomes(body, {"Clip": 1}, "clip_of_clip", opset=10)
    assert {a.name: a.f for a in model.graph.node[0].attribute} == {"min": 0.5, "max": 4.0}
    assert_becomes(graph("a = Relu(x) y = Clip <max = 6.0> (a)"), {"Clip": 1}, "clip_of_clip", opset=7)


@pytest.mark.parametrize(
    ("nodes", "numbers"),
    [
        ("a = Clip(x, p, q) y = Clip(a, r, s)", {"p": 0, "q": 1, "r": -1, "s": "-0.0"}),
        ("a = Clip(x, p, q) y = Relu(a)", {"p": -3, "q": -2}),  # -0.0 becomes 0.0
        ("a = Clip(x, p, q) y = Clip(a, r, x0)", {"p": 0, "q": 1, "r": -1, "x0": "nan"}),
    ],
)
def test_a_zero_whose_sign_may_change_stays_in_exact_rules(nodes: str, numbers: dict[str, Any]) -> None:
    assert_stays(graph(nodes, **numbers), "clip_of_clip")


def test_a_value_between_that_is_read_elsewhere_stays() -> None:
    assert_stays(graph("a = Clip(x, p, q) b = Clip(a, r, s) y = Add(a, b)", p=-1, q=5, r=0, s=7), "clip_of_clip")


def test_a_bound_that_is_not_known_stays() -> None:
    body = "g (float[N] x, float p) => (float[N] y) <float q = {5}> { a = Clip(x, p) y = Clip(a, , q) }"
    assert_stays(body, "clip_of_clip", "max_min_to_clip")
    body = "g (float[N] x, float p) => (float[N] y) <float q = {5}, float p = {1}> { a = Clip(x, p) y = Clip(a, , q) }"
    assert_stays(body, "clip_of_clip", "max_min_to_clip", overridable=["p"])


bound = st.sampled_from([-2.5, -1.0, 0.0, -0.0, 1.0, 3.0, np.inf, -np.inf, None])


@settings(max_examples=60, deadline=None)
@given(inner=st.tuples(bound, bound), outer=st.tuples(bound, bound))
def test_clips_of_any_ranges_are_the_same_bit_for_bit(
    inner: tuple[float | None, float | None], outer: tuple[float | None, float | None]
) -> None:
    numbers = {name: each for name, each in zip("pqrs", (*inner, *outer), strict=True) if each is not None}
    p, q, r, s = (name if name in numbers else "" for name in "pqrs")
    inputs = [", ".join(each).rstrip(", ") for each in (("x", p, q), ("a", r, s))]
    nodes = "a = Clip({}) y = Clip({})".format(*inputs)
    proto = parse(graph(nodes, **dict.fromkeys(numbers, 0)))
    for tensor in proto.graph.initializer:
        tensor.CopyFrom(onnx.numpy_helper.from_array(np.array(numbers[tensor.name], np.float32), tensor.name))
    model, _ = rewrite(proto, "clip_of_clip")
    x = np.array([-np.inf, -3, -2.5, -1.5, -1, -0.0, 0.0, 0.5, 1, 2, 3, 4, np.inf, np.nan, 1e-40], np.float32)
    assert_same(proto, model, {"x": x.reshape(5, 3)})


@pytest.mark.parametrize(
    ("nodes", "left"),
    [
        ("a = Max(x, p) y = Min(a, q)", {"Clip": 1}),
        ("a = Max(p, x) y = Min(q, a)", {"Clip": 1}),
        ("a = Min(x, q) y = Max(a, p)", {"Clip": 1}),
        ("a = Relu(x) y = Min(a, q)", {"Clip": 1}),
        ("a = Max(x, p) y = Clip(a, , q)", {"Clip": 1}),
        ("a = Max(x, p) y = Max(a, q)", {"Max": 1}),
        ("a = Min(x, p) y = Min(q, a)", {"Min": 1}),
        ("a = Relu(x) y = Max(a, q)", {"Max": 1}),  # a Clip would make infinity the largest finite number
    ],
)
@pytest.mark.parametrize("dtype", ["float", "double", "int64"])
def test_maxima_and_minima_with_numbers_become_one_clip(nodes: str, left: dict[str, int], dtype: str) -> None:
    assert_becomes(graph(nodes, dtype, p=1, q=4), left, "max_min_to_clip", exact=False)


def test_a_bound_that_lets_infinity_pass_stays_behind_one_that_is_left_out() -> None:
    # onnxruntime puts the largest finite number in the place of what a Clip leaves out.
    assert_stays(graph("a = Clip(x, p) y = Clip(a, , q)", p=0, q="inf"), "clip_of_clip", "max_min_to_clip")
    assert_stays(graph("a = Clip(x, , q) y = Max(a, p)", p="-inf", q=1), "max_min_to_clip")


def test_disjoint_bounds_of_maximum_and_minimum() -> None:
    assert_becomes(graph("a = Max(x, p) y = Min(a, q)", p=4, q=1), {"Clip": 1}, "max_min_to_clip", exact=False)
    assert_becomes(graph("a = Min(x, p) y = Max(a, q)", p=1, q=4), {"Clip": 1}, "max_min_to_clip", exact=False)


def test_disjoint_bounds_stay_where_they_would_be_attributes_which_the_runtime_refuses() -> None:
    assert_stays(graph("a = Max(x, p) y = Min(a, q)", p=4, q=1), "max_min_to_clip", opset=10)
    assert_stays(graph("a = Clip <min = 4.0> (x) y = Clip <max = 1.0> (a)"), "clip_of_clip", opset=10)


def test_a_clip_is_not_put_where_the_runtime_lacks_it() -> None:
    assert_stays(graph("a = Max(x, p) y = Min(a, q)", "double", p=1, q=4), "max_min_to_clip", opset=11)
    assert_stays(graph("a = Max(x, p) y = Min(a, q)", "float16", p=1, q=4), "max_min_to_clip")


@pytest.mark.parametrize(
    "nodes",
    ["a = Max(x, p) y = Min(a, x)", "a = Max(x, v) y = Min(a, q)", "a = Max(x, p, q) y = Min(a, q)"],
)
def test_bounds_that_are_no_numbers_stay(nodes: str) -> None:
    body = graph(nodes, p=1, q=4).replace("float q", "float[3] v = {1, 2, 3}, float q")
    assert_stays(body, "max_min_to_clip")


def test_a_number_that_enlarges_stays() -> None:
    body = "g (float[N,3] x) => (float[1,N,3] y) <float[1,1,1] p = {1}, float q = {2}> { a = Max(x, p) y = Min(a, q) }"
    assert_stays(body, "max_min_to_clip")


def test_bounds_that_hold_all_values_go() -> None:
    assert_becomes(graph("a = Clip(x, p, q) y = Neg(a)", "int8", p=-128, q=127), {"Neg": 1}, "clip_to_all")
    assert_becomes(graph("a = Clip(x) y = Neg(a)", "int8"), {"Neg": 1}, "clip_to_all")
    assert_becomes(graph("a = Clip(x, p, q) y = Neg(a)", p="-inf", q="inf"), {"Neg": 1}, "clip_to_all")
    assert_stays(graph("y = Clip(x, p, q)", "int8", p=-127, q=127), "clip_to_all")
    assert_stays(graph("y = Clip(x, p)", p="-inf"), "clip_to_all")


def test_a_clip_of_floats_without_bounds_stays() -> None:
    """onnxruntime makes infinity the largest finite number."""
    assert_stays(graph("y = Clip(x)"))


def test_a_type_that_no_clip_admits_is_never_made() -> None:
    model, _ = rewrite(parse(graph("a = Relu(x) y = Min(a, p)", "double", p=6), opset=8), "max_min_to_clip")
    assert operators(model) == {"Relu": 1, "Min": 1}


def test_bounds_of_integers_are_merged_bit_for_bit() -> None:
    text = """g (int64[N] x) => (int64[N] y) <int64 a = {-5}, int64 b = {9}, int64 c = {20}> {
        p = Max(x, a) q = Min(p, c) y = Min(q, b) }"""
    assert_becomes(text, {"Clip": 1}, "clip_of_clip")
    floats = text.replace("int64", "float")
    assert_stays(floats, "clip_of_clip")
