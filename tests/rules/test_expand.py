from __future__ import annotations

import pytest

from tests.helpers import initializers
from tests.rules.checking import assert_becomes, assert_stays


@pytest.mark.parametrize(
    ("nodes", "left"),
    [
        ("s = Shape(x) e = Expand(w, s) y = Add(e, x)", {"Add": 1}),
        ("s = Shape(x) e = Expand(w, s) y = Mul(x, e)", {"Mul": 1}),
        ("s = Shape(x) e = Expand(w, s) f = Expand(u, s) g = Add(e, f) y = Add(g, x)", {"Add": 2}),
        ("s = Shape(x) e = Expand(w, s) a = Add(e, x) b = Mul(e, x) y = Sub(a, b)", {"Add": 1, "Mul": 1, "Sub": 1}),
        ("s = Shape(x) e = Expand(w, s) c = Greater(e, x) y = Where(c, e, x)", {"Greater": 1, "Where": 1}),
    ],
)
def test_what_is_broadcast_anyway_is_not_expanded(nodes: str, left: dict[str, int]) -> None:
    body = f"g (float[N,M] x, float[1,M] w, float[N,1] u) => (float[N,M] y) {{ {nodes} }}"
    assert_becomes(body, left, "operand_expanded_for_nothing")


def test_two_that_are_expanded_to_each_other_need_neither() -> None:
    body = """g (float[N,1] x, float[1,M] w, float[N,M] z) => (float[N,M] y) {
        s = Shape(z) a = Expand(x, s) b = Expand(w, s) y = Add(a, b) }"""
    assert_becomes(body, {"Add": 1}, "operand_expanded_for_nothing")


@pytest.mark.parametrize(
    "nodes",
    [
        "s = Shape(x) e = Expand(w, s) y = Add(e, u)",  # u has one column
        "s = Shape(x) e = Expand(w, s) y = Add(e, e)",
        "s = Shape(x) e = Expand(w, s) a = Add(e, x) b = Neg(e) y = Add(a, b)",
        "e = Expand(w, p) y = Add(e, x)",  # p may be any
        "y = Expand(w, p)",
    ],
)
def test_what_is_needed_in_full_stays(nodes: str) -> None:
    body = f"g (float[N,M] x, float[1,1] w, float[N,1] u, int64[2] p) => (float[A,B] y) {{ {nodes} }}"
    assert_stays(body, "operand_expanded_for_nothing")


def test_an_expanded_value_that_is_an_output_stays() -> None:
    body = """g (float[N,M] x, float[1,1] w) => (float[N,M] y, float[N,M] e) {
        s = Shape(x) e = Expand(w, s) y = Add(e, x) }"""
    assert_stays(body, "operand_expanded_for_nothing")


def test_an_expand_that_adds_a_dim_stays() -> None:
    body = "g (float[N] x, float[1] w) => (float[1,N] y) <int64[2] s = {1, 1}> { e = Expand(w, s) y = Add(e, x) }"
    assert_stays(body, "operand_expanded_for_nothing")


def test_a_target_of_integers_and_dims_that_are_there_is_constant() -> None:
    body = """g (float[N,1,M] x) => (float[N,5,M] y) <int64[1] five = {5}> {
        n = Shape <end = 1> (x) m = Shape <start = 2> (x) s = Concat <axis = 0> (n, five, m) y = Expand(x, s) }"""
    model = assert_becomes(body, {"Expand": 1}, "expand_target")
    assert list(initializers(model).values()) == [[1, 5, 1]]


def test_a_target_with_a_dim_from_elsewhere_stays() -> None:
    body = "g (float[N,1] x, float[N,M] w) => (float[N,M] y) { s = Shape(w) y = Expand(x, s) }"
    assert_stays(body, "expand_target")
    assert_stays("g (float[N,1] x, int64[2] s) => (float[A,B] y) { y = Expand(x, s) }", "expand_target")


def test_one_of_two_expands_is_enough() -> None:
    body = """g (float[N,1] x) => (float[2,N,7] y) <int64[2] s = {1, 7}, int64[3] t = {2, 1, 7}> {
        v = Expand(x, s) y = Expand(v, t) }"""
    assert_becomes(body, {"Expand": 1}, "expand_of_expand")


@pytest.mark.parametrize(
    "nodes",
    ["v = Expand(x, s) y = Expand(v, t)", "v = Expand(x, p) y = Expand(v, t)", "v = Expand(x, t) y = Expand(v, p)"],
)
def test_an_inner_expand_that_does_something_stays(nodes: str) -> None:
    constants = "int64[2] s = {1, 7}, int64[3] t = {2, 1, 1}"
    body = f"g (float[N,1] x, int64[2] p) => (float[A,B,C] y) <{constants}> {{ {nodes} }}"
    assert_stays(body, "expand_of_expand")
