from __future__ import annotations

import numpy as np
import pytest

from tests.rules.weighted import becomes, stays, tensor

HEADS = {"w": tensor(6, 6), "v": tensor(6, 6, seed=1), "k": tensor(6, seed=2), "c": np.float32(0.3)}
HEADS["w"], HEADS["v"] = HEADS["w"] / 4, HEADS["v"] / 4
HEADS |= {"t": np.array([0, 0, 2, 3])}
QUERY = "q = MatMul(x, w) a = Add(q, k) r = Reshape(a, t) h = Transpose <perm = [0, 2, 1, 3]> (r) "
KEY = "i = MatMul(x, v) s = Reshape(i, t) j = Transpose <perm = [0, 2, 3, 1]> (s) "


def graph(nodes: str, x: str = "B,N,6", out: str = "A,H,M,L") -> str:
    return f"g (float[{x}] x) => (float[{out}] y) {{ {nodes} }}"


@pytest.mark.parametrize("operator", ["Mul(p, c)", "Mul(c, p)", "Div(p, c)"])
def test_the_scale_of_attention_scores_goes_into_the_weights_of_the_queries(operator: str) -> None:
    body = graph(f"{QUERY}{KEY} p = MatMul(h, j) y = {operator}")
    left = {"MatMul": 3, "Add": 1, "Reshape": 2, "Transpose": 2}
    becomes(body, left, "factor_into_weights", weights=HEADS)


def test_the_scale_goes_to_the_keys_where_the_queries_can_not_take_it() -> None:
    body = graph(f"{QUERY}{KEY} e = Relu(h) p = MatMul(e, j) y = Mul(p, c)")
    left = {"MatMul": 3, "Add": 1, "Reshape": 2, "Transpose": 2, "Relu": 1}
    becomes(body, left, "factor_into_weights", weights=HEADS)


@pytest.mark.parametrize(
    ("producer", "x"),
    [
        ("m = Gemm <alpha = 0.5, beta = 2.0> (x, w, k)", "N,6"),
        ("m = MatMul(w, x)", "6,N"),
        ("m = Conv(x, f, k)", "B,2,N"),
        ("m = Conv(x, f)", "B,2,N"),
    ],
)
def test_a_factor_goes_through_data_movement_to_the_weights(producer: str, x: str) -> None:
    out = "A,H,M,L" if "Conv" in producer else "A,H,M"
    body = graph(f"{producer} a = Unsqueeze(m, i) b = Transpose(a) y = Mul(b, c)", x, out)
    left = {producer.split()[2].split("(")[0]: 1, "Unsqueeze": 1, "Transpose": 1}
    weights = {**HEADS, "f": tensor(6, 2, 1), "i": np.array([1])}
    becomes(body, left, "factor_into_weights", weights=weights, sizes=(1, 2, 5))


@pytest.mark.parametrize(
    ("nodes", "out"),
    [
        ("q = MatMul(x, w) r = Reshape(q, t) y = Mul(r, d)", "A,H,M,L"),  # not one number
        ("q = MatMul(x, w) r = Reshape(q, t) y = Mul(r, z)", "A,H,M,L"),  # 0 would hide infinities
        ("q = MatMul(x, w) r = Reshape(q, t) y = Mul(r, e)", "A,H,M,L,O"),  # a dim more
        ("q = MatMul(x, w) r = Reshape(q, t) u = Mul(r, c) y = Add(u, r)", "A,H,M,L"),
        ("q = MatMul(x, w) r = Reshape(q, t) u = Mul(r, c) g = ReduceSum(q) y = Add(u, g)", "A,H,M,L"),
        ("q = Relu(x) r = Reshape(q, t) y = Mul(r, c)", "A,H,M,L"),
        ("q = MatMul(x, w) n = Add(q, x) r = Reshape(n, t) y = Mul(r, c)", "A,H,M,L"),
    ],
)
def test_other_factors_stay(nodes: str, out: str) -> None:
    weights = {**HEADS, "d": tensor(3), "z": np.float32(0), "e": tensor(1, 1, 1, 1, 1)}
    stays(graph(nodes, out=out), "factor_into_weights", weights=weights)


def test_a_factor_goes_through_data_movement_into_a_convolution() -> None:
    body = graph("m = Div(x, c) r = Unsqueeze(m, i) y = Conv <pads = [1, 1]> (r, f, k)", "N,5", "A,H,M")
    weights = {**HEADS, "f": tensor(6, 1, 3), "i": np.array([1])}
    becomes(body, {"Unsqueeze": 1, "Conv": 1}, "weights_of_factor", weights=weights, sizes=(1, 2))
    stays(body.replace("Div(x, c)", "Add(x, c)"), "weights_of_factor", weights=weights)
    stays(body.replace("Div(x, c)", "Div(c, x)"), "weights_of_factor", weights=weights)
    read_twice = body.replace("y = Conv", "s = ReduceSum(m) z = Conv").replace("(r, f, k)", "(r, f, k) y = Add(z, s)")
    assert stays(read_twice, "weights_of_factor", weights=weights)
