from __future__ import annotations

import pytest

from tests.rules.checking import assert_becomes, assert_stays

TRUTH = "<bool t = {1}, bool[1] f = {0}>"


@pytest.mark.parametrize(
    ("order", "opposite"),
    [("Less", "GreaterOrEqual"), ("Greater", "LessOrEqual"), ("LessOrEqual", "Greater"), ("GreaterOrEqual", "Less")],
)
def test_an_order_of_integers_that_is_denied_is_the_opposite_one(order: str, opposite: str) -> None:
    body = "g ({0}[N] x, {0}[1] w) => (bool[N] y) {{ a = {1}(x, w) y = Not(a) }}"
    assert_becomes(body.format("int64", order), {opposite: 1}, "not_of_comparison")
    assert_stays(body.format("float", order), "not_of_comparison")
    assert_stays(body.format("int8", order), "not_of_comparison")


def test_an_order_whose_opposite_the_opset_lacks_or_that_is_read_elsewhere_stays() -> None:
    body = "g (int64[N] x, int64[1] w) => (bool[N] y) { a = Less(x, w) y = Not(a) }"
    assert_stays(body, "not_of_comparison", opset=11)
    body = "g (int64[N] x, int64[1] w) => (bool[N] y, bool[N] a) { a = Less(x, w) y = Not(a) }"
    assert_stays(body, "not_of_comparison")


def test_exclusive_or_with_true_is_not() -> None:
    assert_becomes(f"g (bool[N] x) => (bool[N] y) {TRUTH} {{ y = Xor(t, x) }}", {"Not": 1}, "xor_true")
    assert_stays(f"g (bool[N] x) => (bool[N] y) {TRUTH} {{ y = Xor(f, x) }}", "xor_true")
    assert_stays("g (bool x) => (bool[3] y) <bool[3] t = {1, 1, 1}> { y = Xor(t, x) }", "xor_true")


@pytest.mark.parametrize(("expression", "truth"), [("And(x, f)", 0), ("Or(t, x)", 1)])
def test_an_operand_that_decides_leaves_a_small_constant(expression: str, truth: int) -> None:
    model = assert_becomes(f"g (bool[2,3] x) => (bool[2,3] y) {TRUTH} {{ y = {expression} }}", {}, "absorbing_operand")
    assert list(model.graph.initializer[0].raw_data) == [truth] * 6
    assert_stays(f"g (bool[N,3] x) => (bool[N,3] y) {TRUTH} {{ y = {expression} }}", "absorbing_operand")
    assert_stays(f"g (bool[40,30] x) => (bool[40,30] y) {TRUTH} {{ y = {expression} }}", "absorbing_operand")


@pytest.mark.parametrize("expression", ["And(x, t)", "Or(x, f)"])
def test_an_operand_that_does_not_decide_is_not_for_this_rule(expression: str) -> None:
    assert_stays(f"g (bool[2,3] x) => (bool[2,3] y) {TRUTH} {{ y = {expression} }}", "absorbing_operand")


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("And(x, x)", "bool"),
        ("Or(x, x)", "bool"),
        ("Max(x, x, x)", "float"),
        ("Min(x, x)", "float"),
        ("BitwiseAnd(x, x)", "int8"),
    ],
)
def test_an_operator_of_equal_operands_gives_them_back(expression: str, dtype: str) -> None:
    body = f"g ({dtype}[N] x) => ({dtype}[N] y) {{ a = {expression} y = Identity(a) }}"
    assert_becomes(body, {"Identity": 1}, "same_operands")


@pytest.mark.parametrize("expression", ["Max(x, x, w)", "Add(x, x)", "Xor(b, b)", "Max(x, w)"])
def test_operands_that_differ_or_an_operator_that_is_not_idempotent_stays(expression: str) -> None:
    dtype = "bool" if "Xor" in expression else "float"
    body = f"g (float[N] x, float[N] w, bool[N] b) => ({dtype}[N] y) {{ y = {expression} }}"
    assert_stays(body, "same_operands")


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [("Equal(x, x)", "bool"), ("Less(x, x)", "bool"), ("GreaterOrEqual(x, x)", "bool"), ("Sub(x, x)", "int32")],
)
def test_integers_are_equal_to_themselves(expression: str, dtype: str) -> None:
    body = f"g ({{}}[{{}}] x) => ({dtype}[{{}}] y) {{{{ y = {expression} }}}}"
    assert_becomes(body.format("int32", "2,3", "2,3"), {}, "compared_with_itself")
    assert_stays(body.format("int32", "N", "N"), "compared_with_itself")
    if dtype == "bool":
        assert_stays(body.format("float", "2", "2"), "compared_with_itself")


WHERE = "g (float[N,3] x, float[N,3] w, bool[N,3] c, float[5,1,1] big) =>"


@pytest.mark.parametrize(
    ("expression", "kept"), [("Where(t, x, w)", "x"), ("Where(f, x, w)", "w"), ("Where(c, x, x)", "x")]
)
def test_a_choice_that_is_known(expression: str, kept: str) -> None:
    body = f"{WHERE} (float[N,3] y) {TRUTH} {{ a = {expression} y = Neg(a) }}"
    model = assert_becomes(body, {"Neg": 1}, "where_known_of_floats", exact=False)
    assert model.graph.node[0].input[0] == kept
    assert_stays(body, "where_known")
    assert_becomes(body.replace("float[", "int32["), {"Neg": 1}, "where_known")


def test_a_choice_that_enlarges_stays() -> None:
    assert_stays(f"{WHERE} (float[5,N,3] y) {TRUTH} {{ y = Where(t, x, big) }}", "where_known_of_floats")
    assert_stays(f"{WHERE} (float[5,N,3] y) {{ b = Cast <to = 9> (big) y = Where(b, x, x) }}", "where_known_of_floats")
    assert_stays(f"{WHERE} (float[N,3] y) <bool[3] m = {{1, 0, 1}}> {{ y = Where(m, x, w) }}", "where_known_of_floats")


def test_a_denied_condition_swaps_the_choices() -> None:
    body = f"{WHERE} (float[N,3] y) {{ n = Not(c) y = Where(n, x, w) }}"
    model = assert_becomes(body, {"Where": 1}, "where_of_not", exact=False)
    assert list(model.graph.node[0].input) == ["c", "w", "x"]


def test_a_choice_of_truth_values_is_the_condition() -> None:
    body = "g (bool[N,3] c, bool v) => (bool[N,3] y) <bool t = {{1}}, bool[1] f = {{0}}> {{ a = {} y = Identity(a) }}"
    assert_becomes(body.format("Where(c, t, f)"), {"Identity": 1}, "where_truth")
    assert_becomes(body.format("Where(c, f, t)"), {"Not": 1, "Identity": 1}, "where_truth")
    assert_stays(body.format("Where(c, t, t)"), "where_truth")
    assert_stays(body.format("Where(c, t, v)"), "where_truth")
    assert_stays("g (bool c) => (bool[2] y) <bool[2] t = {1, 1}, bool f = {0}> { y = Where(c, t, f) }", "where_truth")
