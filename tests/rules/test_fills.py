from __future__ import annotations

import numpy as np
import pytest

from tests.helpers import initializers
from tests.rules.checking import assert_becomes, assert_stays
from tests.rules.weighted import becomes, tensor

RULE = "filled_operand"
FILL = "s = Shape(x) k = ConstantOfShape <value = float[1] {2.5}> (s)"


@pytest.mark.parametrize(
    ("nodes", "left"),
    [
        (f"{FILL} y = Sub(x, k)", {"Sub": 1}),
        (f"{FILL} y = Sub(k, x)", {"Sub": 1}),
        (f"{FILL} y = Max(x, k, x)", {"Max": 1}),
        (f"{FILL} r = Neg(k) t = Transpose(r) u = Transpose(t) y = Div(x, r)", {"Div": 1}),
        (f"{FILL} c = Greater(x, k) y = Where(c, x, k)", {"Greater": 1, "Where": 1}),
        (f"{FILL} a = Expand(w, s) b = Mul(a, k) y = Add(b, x)", {"Shape": 1, "Expand": 1, "Mul": 1, "Add": 1}),
    ],
)
def test_an_operand_that_is_filled_with_one_number_is_a_scalar(nodes: str, left: dict[str, int]) -> None:
    assert_becomes(f"g (float[N,M] x, float[1,M] w) => (float[N,M] y) {{ {nodes} }}", left, RULE)


# The text form gives a float16 by its bits.
@pytest.mark.parametrize(
    ("dtype", "three"), [("float16", "16896"), ("double", "3"), ("int32", "3"), ("int64", "3"), ("uint8", "3")]
)
def test_the_scalar_has_the_type_of_the_operand(dtype: str, three: str) -> None:
    body = f"""g ({dtype}[N,M] x) => ({dtype}[N,M] y) {{
        s = Shape(x) k = ConstantOfShape <value = {dtype}[1] {{{three}}}> (s) y = Add(x, k) }}"""
    model = assert_becomes(body, {"Add": 1}, RULE)
    assert list(initializers(model).values()) == [3]


@pytest.mark.parametrize(
    "nodes",
    [
        "s = Shape(x) k = ConstantOfShape <value = float[1] {2.5}> (s) y = Add(k, u)",  # u has one column
        "k = ConstantOfShape <value = float[1] {2.5}> (p) y = Add(x, k)",  # p may be any
        "s = Shape(x) k = ConstantOfShape <value = float[1] {-0.0}> (s) y = Add(x, k)",  # its fill is not known
        "s = Shape(x) k = ConstantOfShape <value = float[1] {2.5}> (s) y = MatMul(x, k)",
    ],
)
def test_a_filled_operand_that_is_needed_in_full_stays(nodes: str) -> None:
    assert_stays(f"g (float[N,M] x, float[N,1] u, int64[2] p) => (float[A,B] y) {{ {nodes} }}", RULE)


def test_a_filled_operand_that_adds_a_dim_stays() -> None:
    body = """g (float[N] x) => (float[1,N] y) {
        s = Shape(x) i = Constant <value_ints = [1]> () t = Concat <axis = 0> (i, s)
        k = ConstantOfShape <value = float[1] {2.5}> (t) y = Add(x, k) }"""
    assert_stays(body, RULE)


def test_the_bias_of_a_gemm_that_is_filled_is_one_number() -> None:
    body = """g (float[N,4] x) => (float[N,200] y) {
        n = Constant <value_ints = [200]> () k = ConstantOfShape <value = float[1] {2.5}> (n)
        y = Gemm <beta = 0.5> (x, w, k) }"""
    model = becomes(body, {"Gemm": 1}, "filled_bias_of_gemm", weights={"w": tensor(4, 200)})
    assert sorted(np.size(each) for each in initializers(model).values()) == [1, 800]
