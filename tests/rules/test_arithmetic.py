from __future__ import annotations

import numpy as np
import pytest

from tests.helpers import initializers
from tests.rules.checking import assert_becomes, assert_stays

SUMS = ["Add(x, a)", "Add(a, x)", "Sub(x, a)", "Sub(a, x)"]
PRODUCTS = ["Mul(x, a)", "Mul(a, x)", "Div(x, a)", "Div(a, x)"]


def graph(inner: str, outer: str, dtype: str = "float", a: str = " a = {3}", b: str = "[3] b = {5, 7, 2}") -> str:
    outer = outer.replace("a", "b").replace("x", "v")
    return f"g ({dtype}[N,3] x) => ({dtype}[N,3] y) <{dtype}{a}, {dtype}{b}> {{ v = {inner} y = {outer} }}"


@pytest.mark.parametrize("inner", SUMS)
@pytest.mark.parametrize("outer", SUMS)
def test_constants_of_two_sums_are_added(inner: str, outer: str) -> None:
    signs = [-1 if expression == "Sub(a, x)" else 1 for expression in (inner, outer)]
    left = {"Add": 1} if signs[0] == signs[1] else {"Sub": 1}
    assert_becomes(graph(inner, outer), left, "added_constants", exact=False)
    assert_becomes(graph(inner, outer, "int32"), left, "added_integers")
    assert_becomes(graph(inner, outer, "uint8", a=" a = {250}"), left, "added_integers")
    assert_stays(graph(inner, outer), "added_integers")


@pytest.mark.parametrize("inner", PRODUCTS)
@pytest.mark.parametrize("outer", PRODUCTS)
def test_constants_of_two_products_are_multiplied(inner: str, outer: str) -> None:
    model = assert_becomes(graph(inner, outer), None, "multiplied_constants", exact=False)
    assert len(model.graph.node) == 1


def test_integers_are_multiplied_but_never_divided() -> None:
    model = assert_becomes(graph("Mul(x, a)", "Mul(a, x)", "int8", a=" a = {100}"), {"Mul": 1}, "multiplied_integers")
    expected = (np.array([5, 7, 2], np.int8) * np.int8(100)).tolist()
    assert list(initializers(model).values()) == [expected]
    for inner, outer in (("Mul(x, a)", "Div(x, a)"), ("Div(x, a)", "Mul(x, a)"), ("Div(x, a)", "Div(x, a)")):
        assert_stays(graph(inner, outer, "int32"), "multiplied_integers", "multiplied_constants")


def test_three_constants_become_one() -> None:
    body = """g (float[N] x) => (float[N] y) <float a = {1}, float b = {2}, float c = {4}> {
        u = Add(x, a) v = Sub(b, u) y = Add(c, v) }"""
    model = assert_becomes(body, {"Sub": 1}, "added_constants", exact=False)
    assert list(initializers(model).values()) == [5.0]


def test_the_sum_is_rounded_once() -> None:
    body = graph("Add(x, a)", "Add(x, a)", a=" a = {0.1}", b=" b = {0.2}")
    model = assert_becomes(body, {"Add": 1}, "added_constants", exact=False)
    exact = float(np.float32(0.1)) + float(np.float32(0.2))
    assert list(initializers(model).values()) == [float(np.float32(exact))]


def test_a_sum_that_rounds_on_purpose_stays() -> None:
    assert_stays(graph("Add(x, a)", "Sub(x, a)", a=" a = {12582912}", b=" b = {12582912}"), "added_constants")
    assert_stays(graph("Add(x, a)", "Add(x, a)", a=" a = {1e30}", b=" b = {-1e30}"), "added_constants")
    half = 26112  # the bits of 1536, as the text form takes them
    body = graph("Add(x, a)", "Sub(x, a)", "float16", a=f" a = {{{half}}}", b=f" b = {{{half}}}")
    assert_stays(body, "added_constants")


def test_small_offsets_that_cancel_are_merged() -> None:
    body = graph("Add(x, a)", "Sub(x, a)", a=" a = {0.5}", b=" b = {0.5}")
    assert_becomes(body, {"Add": 1}, "added_constants", exact=False)


@pytest.mark.parametrize(
    ("inner", "outer", "a", "b"),
    [
        ("Mul(x, a)", "Mul(x, a)", "1e30", "1e30"),
        ("Mul(x, a)", "Mul(x, a)", "1e-30", "1e-15"),
        ("Mul(x, a)", "Div(x, a)", "3", "0"),
        ("Mul(x, a)", "Mul(x, a)", "0", "3"),
        ("Mul(x, a)", "Mul(x, a)", "inf", "3"),
        ("Add(x, a)", "Add(x, a)", "3e38", "3e38"),
        ("Add(x, a)", "Add(x, a)", "inf", "1"),
    ],
)
def test_constants_out_of_range_stay(inner: str, outer: str, a: str, b: str) -> None:
    body = graph(inner, outer, a=f" a = {{{a}}}", b=f" b = {{{b}}}")
    assert_stays(body, "added_constants", "multiplied_constants")


@pytest.mark.parametrize("rounding", ["Floor(w)", "Round(w)", "Cast <to = 7> (w)"])
def test_constants_stay_where_the_result_is_rounded(rounding: str) -> None:
    # It is a bias that is quantized with the product of two scales: the last bit decides about a whole step.
    dtype = "int64" if "Cast" in rounding else "float"
    body = f"""g (float x) => ({dtype}[2] y) <float a = {{0.3}}, float[2] b = {{5, 7}}> {{
        v = Mul(x, a) w = Div(b, v) y = {rounding} }}"""
    assert_stays(body, "multiplied_constants")


def test_constants_stay_where_the_result_is_a_phase() -> None:
    # In a vocoder, 2 pi and the hop of 300 samples: phases of thousands of turns.
    body = """g (float[1,N] x) => (float[N,1] y) <float a = {6.2831853}, float b = {300}> {
        v = Mul(x, a) w = Mul(v, b) t = Transpose(w) y = Sin(t) }"""
    assert_stays(body, "multiplied_constants")
    body = body.replace("Sin", "Exp").replace("{300}", "{0.3}")
    assert_becomes(body, {"Mul": 1, "Transpose": 1, "Exp": 1}, "multiplied_constants", exact=False)


def test_a_merged_constant_may_not_be_larger() -> None:
    body = graph("Add(x, a)", "Add(x, a)", a="[2,1] a = {1, 2}").replace("[N,3]", "[2,3]")
    assert_stays(body, "added_constants")


def test_a_constant_that_enlarges_still_does() -> None:
    body = "g (float[3] x) => (float[2,3] y) <float[2,1] a = {1, 2}, float b = {3}> { v = Add(x, a) y = Add(v, b) }"
    assert_becomes(body, {"Add": 1}, "added_constants", exact=False)


def test_a_value_between_that_is_read_elsewhere_stays() -> None:
    body = graph("Add(x, a)", "Add(x, a)").replace("y = Add(v, b)", "w = Add(v, b) y = Mul(v, w)")
    assert_stays(body, "added_constants")
    body = graph("Add(x, a)", "Add(x, a)").replace("=> (", "=> (float[N,3] v, ")
    assert_stays(body, "added_constants")


def test_what_the_caller_may_override_is_no_constant() -> None:
    body = graph("Add(x, a)", "Add(x, a)").replace("(float[N,3] x)", "(float[N,3] x, float a)")
    assert_stays(body, "added_constants", overridable=["a"])


def test_broadcasting_by_an_attribute_stays() -> None:
    body = """g (float[2,3] x) => (float[2,3] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> {
        v = Add <broadcast = 1, axis = 0> (x, a) y = Add <broadcast = 1, axis = 0> (v, b) }"""
    assert_stays(body, "added_constants", opset=6)


@pytest.mark.parametrize("expression", ["Mul(x, a)", "Mul(a, x)", "Div(x, a)", "Div(a, x)"])
def test_a_negated_product_has_a_negated_constant(expression: str) -> None:
    body = "g (float[N] x) => (float[N] y) <float a = {{3}}> {{ {} }}"
    operator = expression[:3]
    assert_becomes(body.format(f"v = {expression} y = Neg(v)"), {operator: 1}, "neg_of_product")
    assert_becomes(body.format(f"v = Neg(x) y = {expression.replace('x', 'v')}"), {operator: 1}, "product_of_neg")


def test_a_negated_product_of_integers() -> None:
    body = "g (int8[N] x) => (int8[N] y) <int8 a = {{100}}> {{ v = {}(x, a) y = Neg(v) }}"
    assert_becomes(body.format("Mul"), {"Mul": 1}, "neg_of_product")
    assert_stays(body.format("Div"), "neg_of_product")


def test_a_negated_difference_is_turned_round() -> None:
    body = "g ({0}[N,1] x, {0}[3] w) => ({0}[N,3] y) {{ v = Sub(x, w) y = Neg(v) }}"
    assert_becomes(body.format("int32"), {"Sub": 1}, "neg_of_integer_difference")
    assert_stays(body.format("float"), "neg_of_integer_difference")
    assert_becomes(body.format("float"), {"Sub": 1}, "neg_of_difference", exact=False)
