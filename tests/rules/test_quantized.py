"""What may be done to a quantized model: its pairs of QuantizeLinear and DequantizeLinear stay."""

from __future__ import annotations

import pytest

from foldproof.options import Options
from foldproof.pipeline import Optimizer
from tests.helpers import operators, parse
from tests.rules.moving import becomes, stays

PAIR = {"QuantizeLinear": 1, "DequantizeLinear": 1}
TRANSPOSED = """g (float[N,M,3] x) => (float[N,M,3] y) <float s = {0.1}, int8 z = {3}> {
    a = Transpose <perm = [0, 2, 1]> (x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z)
    y = Transpose <perm = [0, 2, 1]> (d) }"""
RESHAPED = """g (float[N,6] x) => (float[N,6] y) <float s = {0.1}, int8 z = {3}, int64[3] a = {-1, 2, 3}, int64[2] b = {-1, 6}> {
    r = Reshape(x, a) q = QuantizeLinear(r, s, z) d = DequantizeLinear(q, s, z) y = Reshape(d, b) }"""


def by_channel(text: str) -> str:
    return text.replace(
        "float s = {0.1}, int8 z = {3}", "float[3] s = {0.1, 0.2, 0.4}, int8[3] z = {3, 0, -3}"
    ).replace("Linear(", "Linear <axis = 1> (")


def test_a_transpose_goes_through_a_pair_with_one_scale() -> None:
    becomes(TRANSPOSED, PAIR, "transpose_through")


def test_a_reshape_goes_through_a_pair_with_one_scale() -> None:
    becomes(RESHAPED, PAIR, "reshape_of_unary")


def test_no_transpose_goes_through_a_pair_with_a_scale_for_each_channel() -> None:
    stays(by_channel(TRANSPOSED), "transpose_through", "transpose_through_rounded")


def test_no_reshape_goes_through_a_pair_with_a_scale_for_each_channel() -> None:
    text = by_channel(RESHAPED).replace("a = {-1, 2, 3}", "a = {-1, 3, 2}")
    stays(text, "reshape_of_unary")


def test_an_identity_between_a_pair_goes() -> None:
    text = """g (float[N] x) => (float[N] y) <float s = {0.1}, int8 z = {3}> {
        q = QuantizeLinear(x, s, z) i = Identity(q) y = DequantizeLinear(i, s, z) }"""
    becomes(text, PAIR, "identity")


def test_two_equal_dequantizations_are_one() -> None:
    text = """g (int8[N] x) => (float[N] y) <float s = {0.1}, int8 z = {3}> {
        a = DequantizeLinear(x, s, z) b = DequantizeLinear(x, s, z) y = Mul(a, b) }"""
    becomes(text, {"DequantizeLinear": 1, "Mul": 1}, "same_computation")
    stays(text.replace("b = DequantizeLinear(x, s, z)", "b = DequantizeLinear(x, s)"), "same_computation")


@pytest.mark.parametrize("text", [TRANSPOSED, RESHAPED])
def test_all_rules_together_keep_the_pair(text: str) -> None:
    model = Optimizer(Options(level=3)).run(parse(text)).model
    assert operators(model) == PAIR
