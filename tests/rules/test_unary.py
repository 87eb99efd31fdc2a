from __future__ import annotations

import pytest

from tests.rules.checking import assert_becomes, assert_stays

REPEATED = "repeated"


def graph(expression: str, dtype: str = "float", given: str = "") -> str:
    nodes = f"a = {expression.split(' of ')[1]}(x) b = {expression.split(' of ')[0]}(a)"
    return f"g ({given or dtype}[N] x) => ({dtype}[N] y) {{ {nodes} y = Identity(b) }}"


@pytest.mark.parametrize(
    ("expression", "dtype", "rule", "exact"),
    [
        ("Neg of Neg", "float", "neg_of_neg", True),
        ("Neg of Neg", "int8", "neg_of_neg", True),
        ("Not of Not", "bool", "not_of_not", True),
        ("BitwiseNot of BitwiseNot", "int16", "bitwise_not_of_bitwise_not", True),
        ("Reciprocal of Reciprocal", "float", "reciprocal_of_reciprocal", False),
    ],
)
def test_what_is_undone_goes(expression: str, dtype: str, rule: str, exact: bool) -> None:
    assert_becomes(graph(expression, dtype), {"Identity": 1}, rule, exact=exact)


@pytest.mark.parametrize("dtype", ["float", "int32", "int8"])
def test_the_absolute_value_has_no_sign(dtype: str) -> None:
    assert_becomes(graph("Abs of Neg", dtype), {"Abs": 1, "Identity": 1}, "abs_of_neg")


@pytest.mark.parametrize(("dtype", "opset"), [("float", 18), ("int64", 18), ("float", 6)])
def test_a_negative_term_is_subtracted_and_the_other_way_round(dtype: str, opset: int) -> None:
    head = f"g ({dtype}[N] x, {dtype}[N] w) => ({dtype}[N] y)"
    assert_becomes(f"{head} {{ a = Neg(w) y = Sub(x, a) }}", {"Add": 1}, "sub_of_neg", opset=opset)
    assert_becomes(f"{head} {{ a = Neg(w) y = Add(a, x) }}", {"Sub": 1}, "add_of_neg", opset=opset)
    assert_stays(f"{head} {{ a = Neg(w) y = Sub(a, x) }}", "sub_of_neg", "add_of_neg", opset=opset)


@pytest.mark.parametrize(
    "expression",
    ["Relu of Relu", "Abs of Abs", "Floor of Floor", "Ceil of Ceil", "Round of Round", "Floor of Round",
     "Ceil of Floor", "Round of Sign", "Relu of Abs", "Relu of Exp", "Abs of Sigmoid", "Relu of Softmax"],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float", "double"])
def test_what_is_done_already_is_not_done_again(expression: str, dtype: str) -> None:
    inner = expression.split(" of ")[1]
    assert_becomes(graph(expression, dtype), {inner: 1, "Identity": 1}, REPEATED)


@pytest.mark.parametrize(
    ("outer", "to", "dtype", "given"),
    [
        ("Floor", 1, "float", "int64"),
        ("Round", 1, "float", "bool"),
        ("Relu", 1, "float", "uint8"),
        ("Abs", 11, "double", "bool"),
    ],
)
def test_integers_are_whole_and_bytes_are_not_negative(outer: str, to: int, dtype: str, given: str) -> None:
    body = f"g ({given}[N] x) => ({dtype}[N] y) {{ a = Cast <to = {to}> (x) b = {outer}(a) y = Identity(b) }}"
    assert_becomes(body, {"Cast": 1, "Identity": 1}, REPEATED)


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("Relu of Abs", "int32"),  # |-2**31| is negative
        ("Abs of Relu", "float"),  # Relu may give -0.0
        ("Relu of Neg", "float"),
        ("Sign of Abs", "float"),
        ("Abs of Floor", "float"),
        ("Floor of Abs", "float"),
        ("Exp of Exp", "float"),
    ],
)
def test_what_may_change_a_value_stays(expression: str, dtype: str) -> None:
    assert_stays(graph(expression, dtype), REPEATED)


def test_a_cast_of_signed_integers_may_be_negative() -> None:
    assert_stays("g (int8[N] x) => (float[N] y) { a = Cast <to = 1> (x) y = Relu(a) }", REPEATED)


def test_an_inner_value_that_is_read_elsewhere_stays_there() -> None:
    body = "g (float[N] x) => (float[N] y, float[N] z) { y = Neg(x) a = Neg(y) z = Abs(a) }"
    assert_becomes(body, {"Neg": 1, "Abs": 1}, "neg_of_neg")
