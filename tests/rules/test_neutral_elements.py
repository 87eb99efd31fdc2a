from __future__ import annotations

import pytest

from tests.rules.checking import assert_becomes, assert_stays


def graph(expression: str, constant: str, dtype: str = "float", shape: str = "N,3") -> str:
    inputs = f"{dtype}[{shape}] x, {dtype}[1,3] w"
    return f"g ({inputs}) => ({dtype}[{shape}] y) <{dtype}{constant}> {{ a = {expression} y = Add(a, w) }}"


@pytest.mark.parametrize(
    ("expression", "constant"),
    [
        ("Mul(x, k)", " k = {1}"),
        ("Mul(k, x)", "[1] k = {1}"),
        ("Mul(x, k)", "[1,1] k = {1}"),
        ("Mul(x, k)", "[3] k = {1, 1, 1}"),
        ("Div(x, k)", " k = {1}"),
        ("Pow(x, k)", " k = {1}"),
        ("Sub(x, k)", " k = {0}"),
        ("Add(x, k)", " k = {-0.0}"),
        ("Add(k, x)", "[3] k = {-0.0, -0.0, -0.0}"),
        ("Max(x, k)", " k = {-inf}"),
    ],
)
def test_a_neutral_float_changes_no_bit(expression: str, constant: str) -> None:
    assert_becomes(graph(expression, constant), {"Add": 1}, "neutral_operand")


@pytest.mark.parametrize(
    ("expression", "constant"),
    [("Add(k, x)", " k = {0}"), ("Sub(x, k)", " k = {0}"), ("Mul(x, k)", " k = {1}"), ("Div(x, k)", " k = {1}"),
     ("Max(x, k)", " k = {-2147483648}"), ("Min(k, x)", " k = {2147483647}"), ("BitwiseAnd(x, k)", " k = {-1}"),
     ("BitwiseOr(x, k)", " k = {0}"), ("BitwiseXor(k, x)", "[3] k = {0, 0, 0}"), ("Pow(x, k)", " k = {1}")],
)  # fmt: skip
def test_a_neutral_integer_changes_nothing(expression: str, constant: str) -> None:
    assert_becomes(graph(expression, constant, "int32"), {"Add": 1}, "neutral_operand")


@pytest.mark.parametrize("expression", ["And(x, t)", "And(t, x)", "Or(x, f)", "Xor(f, x)"])
def test_a_neutral_truth_value_changes_nothing(expression: str) -> None:
    body = f"g (bool[N] x) => (bool[N] y) <bool t = {{1}}, bool[1] f = {{0}}> {{ a = {expression} y = Not(a) }}"
    assert_becomes(body, {"Not": 1}, "neutral_operand")


@pytest.mark.parametrize(("expression", "constant"), [("Add(x, k)", " k = {0}"), ("Sub(x, k)", " k = {-0.0}")])
def test_the_other_zero_changes_the_sign_of_a_zero(expression: str, constant: str) -> None:
    assert_stays(graph(expression, constant), "neutral_operand")
    assert_becomes(graph(expression, constant), {"Add": 1}, "zero_operand", exact=False)


@pytest.mark.parametrize(
    ("expression", "constant"),
    [
        ("Mul(x, k)", "[3] k = {1, 1, 2}"),
        ("Mul(x, k)", " k = {0}"),
        ("Add(x, k)", "[3] k = {-0.0, 0.0, -0.0}"),
        ("Sub(k, x)", " k = {0}"),
        ("Div(k, x)", " k = {1}"),
        ("Pow(k, x)", " k = {1}"),
        ("Max(x, k)", " k = {inf}"),
        ("Mul(x, k)", " k = {nan}"),
    ],
)
def test_what_only_looks_neutral_stays(expression: str, constant: str) -> None:
    assert_stays(graph(expression, constant), "neutral_operand")


def test_a_power_of_wide_integers_stays() -> None:
    assert_stays(graph("Pow(x, k)", " k = {1}", "int64"), "neutral_operand")


@pytest.mark.parametrize(
    ("shape", "constant"),
    [("1,3", "[2,1] k = {1, 1}"), ("N,3", "[1,1,1] k = {1}"), ("N,3", "[5,1] k = {1, 1, 1, 1, 1}")],
)
def test_a_neutral_operand_that_may_enlarge_the_result_stays(shape: str, constant: str) -> None:
    body = f"g (float[{shape}] x) => (float y) <float{constant}> {{ a = Mul(x, k) y = ReduceSum <keepdims = 0> (a) }}"
    assert_stays(body, "neutral_operand")


def test_a_filled_operand_is_neutral_where_its_shape_is_that_of_the_result() -> None:
    body = """g (float[N,3] x) => (float[N,3] y) {
        s = Shape(x) ones = ConstantOfShape <value = float[1] {1}> (s) a = Mul(x, ones) y = Neg(a) }"""
    assert_becomes(body, {"Neg": 1}, "neutral_operand")


def test_a_default_that_the_caller_may_override_is_not_neutral() -> None:
    body = "g (float[N] x, float k) => (float[N] y) <float k = {1}> { y = Mul(x, k) }"
    assert_stays(body, "neutral_operand", overridable=["k"])


def test_the_sum_of_an_old_opset_is_known_by_its_shape() -> None:
    body = """g (float[N,3] x) => (float[N,3] y) <float[3] k = {1, 1, 1}> {
        a = Mul <broadcast = 1, axis = 1> (x, k) y = Neg(a) }"""
    assert_becomes(body, {"Neg": 1}, "neutral_operand", opset=6)
