from __future__ import annotations

import numpy as np
import pytest

from tests.rules.weighted import becomes, stays


def graph(nodes: str, dtype: str = "float") -> str:
    return f"g ({dtype}[N,3,M] x) => ({dtype}[A,B,C] y) {{ {nodes} }}"


@pytest.mark.parametrize("axis", [-1, 1, 2])
@pytest.mark.parametrize("dtype", ["float", "double"])
def test_exponentials_by_their_sum_are_a_softmax(axis: int, dtype: str) -> None:
    weights = {"i": np.array([axis])}
    becomes(graph("e = Exp(x) s = ReduceSum(e, i) y = Div(e, s)", dtype), {"Softmax": 1}, "softmax", weights=weights)
    body = graph("m = ReduceMax(x, i) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, i) y = Div(e, s)", dtype)
    # Of nothing at all there is no largest, and the runtime raises.
    becomes(body, {"Softmax": 1}, "softmax", weights=weights, sizes=(1, 2, 5))


def test_an_older_softmax_is_made_over_the_last_axis_only() -> None:
    body = graph("e = Exp(x) s = ReduceSum <axes = [2]> (e) y = Div(e, s)")
    becomes(body, {"Softmax": 1}, "softmax", weights={}, opset=11, sizes=(1, 2, 5))
    assert stays(body.replace("[2]", "[1]"), "softmax", weights={}, opset=11)


@pytest.mark.parametrize(
    "nodes",
    [
        "e = Exp(x) s = ReduceSum(e, j) y = Div(e, s)",
        "e = Exp(x) s = ReduceSum(e) y = Div(e, s)",
        "e = Exp(x) s = ReduceSum(e, i) d = Div(e, s) y = Add(d, e)",
        "e = Exp(x) s = ReduceSum(e, i) y = Div(s, e)",
        "e = Exp(x) s = ReduceMean(e, i) y = Div(e, s)",
        "e = Exp(x) f = Abs(x) s = ReduceSum(f, i) y = Div(e, s)",
    ],
)
def test_other_quotients_stay(nodes: str) -> None:
    stays(graph(nodes), "softmax", weights={"i": np.array([2]), "j": np.array([1, 2])})


def test_another_shift_stays_in_the_softmax() -> None:
    body = graph("m = ReduceMax(x, j) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, i) y = Div(e, s)")
    left = {"Softmax": 1, "Sub": 1, "ReduceMax": 1}
    becomes(body, left, "softmax", weights={"i": np.array([2]), "j": np.array([1])}, sizes=(1, 2, 5))


@pytest.mark.parametrize("opset", [9, 11, 13, 18])
@pytest.mark.parametrize("attributes", ["", "<axis = 1>"])
def test_the_logarithm_of_a_softmax_is_a_log_softmax(opset: int, attributes: str) -> None:
    body = graph(f"s = Softmax {attributes} (x) y = Log(s)")
    becomes(body, {"LogSoftmax": 1}, "log_softmax", weights={}, opset=opset, sizes=(1, 2, 5))


def test_a_softmax_that_is_read_elsewhere_stays() -> None:
    assert stays(graph("s = Softmax(x) l = Log(s) y = Mul(l, s)"), "log_softmax", weights={})
    assert stays(graph("s = Softmax(x) y = Log(s)", "float16"), "log_softmax", weights={})
