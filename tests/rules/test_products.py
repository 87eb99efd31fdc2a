from __future__ import annotations

import pytest

from tests.helpers import initializers
from tests.rules.checking import assert_becomes, assert_stays

CONSTANTS = "<float one = {1}, float[1] two = {2}, float e = {1e-5}, int64[1] last = {-1}>"
MEAN = "q = ReduceMean(p, last) a = Add(q, e) s = Sqrt(a)"


@pytest.mark.parametrize(
    "nodes",
    [
        "r = Reciprocal(w) y = Mul(x, r)",
        "r = Reciprocal(w) y = Mul(r, x)",
        "r = Div(one, w) y = Mul(x, r)",
    ],
)
def test_a_product_with_a_reciprocal_of_the_same_shape_is_a_quotient(nodes: str) -> None:
    body = f"g (float[N,3] x, float[N,3] w) => (float[N,3] y) {CONSTANTS} {{ {nodes} }}"
    assert_becomes(body, {"Div": 1}, "product_with_reciprocal", exact=False)


@pytest.mark.parametrize("square", ["Pow(x, two)", "Mul(x, x)"])
@pytest.mark.parametrize("reciprocal", ["Reciprocal(s)", "Div(one, s)"])
def test_a_value_is_divided_by_its_root_mean_square(square: str, reciprocal: str) -> None:
    nodes = f"p = {square} {MEAN} r = {reciprocal} y = Mul(x, r)"
    body = f"g (float[N,3] x) => (float[N,3] y) {CONSTANTS} {{ {nodes} }}"
    left = {square[:3]: 1, "ReduceMean": 1, "Add": 1, "Sqrt": 1, "Div": 1}
    assert_becomes(body, left, "product_with_reciprocal", exact=False)


@pytest.mark.parametrize(
    "nodes",
    [
        "r = Reciprocal(w) y = Mul(r, r)",  # it is read on
        "r = Reciprocal(v) y = Mul(x, r)",  # fewer reciprocals than products
        "r = Div(two, w) y = Mul(x, r)",
        "r = Reciprocal(w) t = Mul(x, r) y = Add(t, r)",
        "r = Div(x, w) y = Mul(x, r)",
        f"p = Pow(w, two) {MEAN} r = Reciprocal(s) y = Mul(x, r)",  # that of another value
        f"p = Pow(x, e) {MEAN} r = Reciprocal(s) y = Mul(x, r)",
    ],
)
def test_what_is_no_cheaper_quotient_stays(nodes: str) -> None:
    body = f"g (float[N,3] x, float[N,3] w, float[N,1] v) => (float[N,3] y) {CONSTANTS} {{ {nodes} }}"
    assert_stays(body, "product_with_reciprocal")


def test_a_numerator_that_enlarges_the_reciprocal_stays() -> None:
    body = "g (float[3] x, float w) => (float[3] y) <float[3] one = {1, 1, 1}> { r = Div(one, w) y = Mul(x, r) }"
    assert_stays(body, "product_with_reciprocal")


def test_what_is_quantized_right_away_stays() -> None:
    # The last bit decides about a whole step.
    body = """g (float[N] x, float[N] w) => (uint8[N] y) {
        r = Reciprocal(w) t = Mul(x, r) u = Mul(t, x) y, s, z = DynamicQuantizeLinear(u) }"""
    assert_stays(body, "product_with_reciprocal")


def test_integers_are_not_divided() -> None:
    body = "g (int32[N] x, int32[N] w) => (int32[N] y) <int32 one = {1}> { r = Div(one, w) y = Mul(x, r) }"
    assert_stays(body, "product_with_reciprocal")


SCALES = "<float a = {0.5}, float[1] b = {3}, float[3] c = {1, 2, 3}, float[1,1,1] d = {2}>"


@pytest.mark.parametrize(
    ("nodes", "scale"),
    [
        ("p = Mul(x, a) q = Mul(b, w) y = MatMul(p, q)", 1.5),
        ("p = Div(x, b) q = Mul(w, a) y = MatMul(p, q)", 0.5 / 3),
    ],
)
def test_two_scales_of_a_matmul_are_one(nodes: str, scale: float) -> None:
    body = f"g (float[N,3] x, float[3,M] w) => (float[N,M] y) {SCALES} {{ {nodes} }}"
    model = assert_becomes(body, {"Mul": 1, "MatMul": 1}, "scales_of_matmul", exact=False)
    assert next(iter(initializers(model).values())) == pytest.approx(scale)


@pytest.mark.parametrize(
    "nodes",
    [
        "p = Mul(x, a) y = MatMul(p, w)",
        "p = Mul(x, c) q = Mul(w, a) y = MatMul(p, q)",
        "p = Mul(x, a) q = Mul(w, a) t = MatMul(p, q) y = Add(t, p)",
        "p = Div(a, x) q = Mul(w, a) y = MatMul(p, q)",
        "p = Mul(x, a) y = MatMul(p, p)",
        "p = Mul(x, d) q = Mul(w, a) y = MatMul(p, q)",
    ],
)
def test_what_are_not_two_scales_stays(nodes: str) -> None:
    nodes = f"{nodes.replace('y =', 'z =')} y = ReduceMax <keepdims = 0> (z)"
    body = f"g (float[3,3] x, float[3,3] w) => (float y) {SCALES} {{ {nodes} }}"
    assert_stays(body, "scales_of_matmul")
