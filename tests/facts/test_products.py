"""Matrix products."""

from __future__ import annotations

import pytest

from tests.facts.inferring import assert_sound_at, infer
from tests.helpers import needs_recent_onnxruntime

SIZES = [{"n": n, "m": m, "k": k} for n, m, k in [(0, 1, 2), (1, 1, 1), (2, 0, 3), (3, 2, 0), (2, 3, 4)]]


@needs_recent_onnxruntime
@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("n, k", "k, m", "[n, m]"),
        ("k", "k", "[]"),
        ("n, k", "k", "[n]"),
        ("k", "k, m", "[m]"),
        ("k", "3, k, m", "[3, m]"),
        ("n, 2, k", "k, m", "[n, 2, m]"),
        ("n, 1, 2, k", "5, k, m", "[n, 5, 2, m]"),
        ("0, 2, k", "1, k, m", "[0, 2, m]"),
    ],
)
def test_matmul(a, b, expected):
    body = f"g (float[{a}] a, float[{b}] b) => (float[] y) {{ y = MatMul(a, b) }}"
    assert infer(body)["y"] == f"float{expected}"
    assert_sound_at(body, *SIZES)


@needs_recent_onnxruntime
def test_batches_that_are_symbols_prove_nothing_of_each_other():
    body = "g (float[n, 2, 3] a, float[m, 3, 4] b) => (float[] y) { y = MatMul(a, b) }"
    assert infer(body)["y"] == "float[y:0, 2, 4]"
    assert_sound_at(body, {"n": 1, "m": 0}, {"n": 0, "m": 1}, {"n": 1, "m": 3}, {"n": 3, "m": 1})


def test_quantized_products():
    body = """g (uint8[n, k] a, uint8[k, m] b, float s, uint8 z) => (uint8[] y)
        { y = QLinearMatMul(a, s, z, b, s, z, s, z)  i = MatMulInteger(a, b) }"""
    assert infer(body) == {"y": "uint8[n, m]", "i": "int32[n, m]"}


@pytest.mark.parametrize(
    ("attributes", "a", "b"),
    [
        ("", "n, k", "k, m"),
        ("<transA = 1>", "k, n", "k, m"),
        ("<transB = 1>", "n, k", "m, k"),
        ("<transA = 1, transB = 1>", "k, n", "m, k"),
    ],
)
@pytest.mark.parametrize("opset", [7, 9, 11, 13])
def test_gemm(attributes, a, b, opset):
    body = f"g (float[{a}] a, float[{b}] b, float[1] c) => (float[] y) {{ y = Gemm {attributes} (a, b, c) }}"
    assert infer(body, opset=opset)["y"] == "float[n, m]"
    assert_sound_at(body, *SIZES, opset=opset)


@pytest.mark.parametrize(
    ("equation", "shapes", "expected"),
    [
        ("ij,jk->ik", ["n, k", "k, m"], "[n, m]"),
        ("ij,jk", ["n, k", "k, m"], "[n, m]"),
        ("ji", ["n, m"], "[m, n]"),  # in alphabetical order
        ("ii->i", ["n, n"], "[n]"),
        ("ii", ["n, n"], "[]"),
        ("i,j->ji", ["n", "m"], "[m, n]"),
        ("bhid, bhjd -> bhij", ["2, n, m, 4", "2, n, k, 4"], "[2, n, m, k]"),
        ("...ij,...jk->...ik", ["5, n, k", "5, k, m"], "[5, n, m]"),
        ("...ij,...jk", ["5, n, k", "1, k, m"], "[5, n, m]"),
        ("a...,a...->...", ["n, 4, m", "n, 4, m"], "[4, m]"),
        ("ij,ij->ij", ["1, n", "2, n"], "[2, n]"),  # onnxruntime broadcasts letters too
    ],
)
def test_einsum(equation, shapes, expected):
    inputs = ", ".join(f"float[{shape}] x{k}" for k, shape in enumerate(shapes))
    names = ", ".join(f"x{k}" for k in range(len(shapes)))
    body = f'g ({inputs}) => (float[] y) {{ y = Einsum <equation = "{equation}"> ({names}) }}'
    assert infer(body)["y"] == f"float{expected}"
    assert_sound_at(body, {"n": 1, "m": 1, "k": 1}, {"n": 2, "m": 3, "k": 4})


@pytest.mark.parametrize(
    ("equation", "expected"),
    [("ij,jk->ik", "[n, y:1]"), ("ij,jk->jk", "[4, y:1]"), ("...j,jk->...k", "[n, y:1]"), ("ij,...->i...", "[...]")],
)
def test_einsum_of_an_unknown_rank(equation, expected):
    body = f"""g (float[n, 4] x, float[a] y0, int64[k] t) => (float[] y)
        {{ z = Reshape(y0, t)  y = Einsum <equation = "{equation}"> (x, z) }}"""
    assert infer(body)["y"] == f"float{expected}"


@pytest.mark.parametrize("equation", ["ij->ik", "ijk->i", "i&j->i", "ij,jk->ik"])
def test_einsum_that_is_not_valid_raises_nothing(equation):
    infer(f'g (float[n, 4] x) => (float[] y) {{ y = Einsum <equation = "{equation}"> (x) }}')


def test_det():
    body = "g (float[n, 3, 3] x, float[2, 2] z) => (float[] y) { y = Det(x)  w = Det(z) }"
    assert infer(body) == {"y": "float[n]", "w": "float[]"}


@pytest.mark.parametrize("operator", ["MatMul", "Gemm"])
def test_products_of_unknown_ranks(operator):
    body = f"g (float[n, 4] a, float[q] b, int64[k] t) => (float[] y) {{ z = Reshape(b, t)  y = {operator}(a, z) }}"
    assert infer(body)["y"] == {"MatMul": "float[...]", "Gemm": "float[n, y:1]"}[operator]
