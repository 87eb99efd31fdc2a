from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.rules.weighted import becomes, stays


def graph(nodes: str, dtype: str = "float", x: str = "N,3") -> str:
    return f"g ({dtype}[{x}] x) => ({dtype}[A,B] y) {{ {nodes} }}"


def numbers(dtype: Any = np.float32, **more: float) -> dict[str, Any]:
    found = {"zero": 0, "one": 1, "two": 2, "three": 3, "six": 6, "half": 0.5, "sixth": 1 / 6, "root": math.sqrt(2)}
    found |= {"inverse": math.sqrt(0.5), "cubic": 0.044715, "slope": math.sqrt(2 / math.pi)}
    return {name: np.array(number, dtype) for name, number in {**found, **more}.items()}


GATE = "a = Add(x, three) b = Clip(a, zero, six) "
SWISHES = ["m = Mul(x, b) y = Div(m, six)", "m = Mul(b, x) y = Mul(sixth, m)"]


@pytest.mark.parametrize("end", SWISHES)
def test_hard_swish_is_recognized(end: str) -> None:
    becomes(graph(GATE + end), {"HardSwish": 1}, "hard_swish", weights=numbers(), opset=14)
    becomes(graph(GATE + end), {"HardSigmoid": 1, "Mul": 1}, "hard_swish", weights=numbers(), opset=12)
    other = numbers(three=2, six=4, sixth=0.25)
    becomes(graph(GATE + end), {"HardSigmoid": 1, "Mul": 1}, "hard_swish", weights=other, opset=14)


def test_hard_swish_with_limits_as_attributes_is_recognized() -> None:
    body = graph("a = Add(x, three) b = Clip <min = 0.0, max = 6.0> (a) m = Mul(x, b) y = Div(m, six)")
    becomes(body, {"HardSigmoid": 1, "Mul": 1}, "hard_swish", weights=numbers(), opset=10)


@pytest.mark.parametrize("end", ["d = Div(b, six)", "d = Mul(b, sixth)"])
def test_hard_sigmoid_is_recognized(end: str) -> None:
    body = graph(f"{GATE} {end} y = Neg(d)")
    becomes(body, {"HardSigmoid": 1, "Neg": 1}, "hard_sigmoid", weights=numbers())
    swish = graph(f"{GATE} {end} y = Mul(x, d)")
    becomes(swish, {"HardSwish": 1}, "hard_sigmoid", "swish_of_hard_sigmoid", weights=numbers())
    becomes(swish, {"HardSigmoid": 1, "Mul": 1}, "hard_sigmoid", "swish_of_hard_sigmoid", weights=numbers(), opset=13)


@pytest.mark.parametrize(
    "nodes",
    [
        "m = Mul(x, b) y = Div(m, three)",  # scaled otherwise than clipped
        "m = Mul(x, b) y = Div(six, m)",
        "m = Mul(x, b) n = Add(m, b) y = Div(n, six)",
        "n = Neg(x) m = Mul(n, b) y = Div(m, six)",
        "m = Mul(x, b) n = Div(m, six) y = Add(n, a)",
        "m = Mul(x, b) n = Div(m, six) y = Add(n, m)",
    ],
)
def test_what_is_no_hard_swish_stays(nodes: str) -> None:
    stays(graph(GATE + nodes), "hard_swish", "hard_sigmoid", weights=numbers())


@pytest.mark.parametrize("change", [{"zero": 1}, {"six": -6}, {"six": math.inf}, {"three": math.nan}])
def test_other_limits_stay(change: dict[str, float]) -> None:
    stays(graph(GATE + SWISHES[0]), "hard_swish", "hard_sigmoid", weights=numbers(**change))


def test_a_type_of_which_the_runtime_has_no_hard_swish_stays() -> None:
    stays(graph(GATE + SWISHES[0], "double"), "hard_swish", "hard_sigmoid", weights=numbers(np.float64))


def test_a_constant_that_makes_the_input_larger_is_no_gate() -> None:
    weights = numbers() | {"three": np.full((1, 1, 1), 3, np.float32)}
    body = graph(GATE + SWISHES[0]).replace("[A,B]", "[A,B,C]")
    stays(body, "hard_swish", "hard_sigmoid", weights=weights)


ERF = ["d = Div(x, root) e = Erf(d) f = Add(e, one)", "d = Mul(inverse, x) e = Erf(d) f = Add(one, e)"]
CUBES = ["c = Pow(x, three)", "q = Mul(x, x) c = Mul(x, q)", "q = Mul(x, x) c = Mul(q, x)"]
TANH = [f"{cube} k = Mul(c, cubic) l = Add(x, k) d = Mul(slope, l) e = Tanh(d) f = Add(e, one)" for cube in CUBES]
HALVES = [
    "h = Mul(x, half) y = Mul(h, f)",
    "h = Mul(x, f) y = Mul(h, half)",
    "h = Mul(half, f) y = Mul(x, h)",
    "h = Div(x, two) y = Mul(f, h)",
]


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("curve", [*ERF, *TANH])
def test_gelu_is_recognized(curve: str, half: str) -> None:
    becomes(graph(f"{curve} {half}"), {"Gelu": 1}, "gelu", weights=numbers(), opset=20)
    assert stays(graph(f"{curve} {half}"), "gelu", weights=numbers(), opset=19) == []


@pytest.mark.parametrize(
    ("nodes", "change"),
    [
        (f"{ERF[0]} {HALVES[0]}", {"root": 1.41}),
        (f"{ERF[0]} {HALVES[0]}", {"half": 0.4}),
        (f"{ERF[0]} {HALVES[0]}", {"one": 1.1}),
        (f"{ERF[0]} h = Neg(x) i = Mul(h, half) y = Mul(i, f)", {}),
        (f"{ERF[0]} h = Mul(x, half) i = Mul(h, f) y = Add(i, e)", {}),
        (f"{TANH[0]} {HALVES[0]}", {"cubic": 0.04}),
        (f"{TANH[0]} {HALVES[0]}", {"three": 2}),
        (f"{TANH[1]} {HALVES[0]}", {"slope": 0.8}),
    ],
)
def test_what_is_no_gelu_stays(nodes: str, change: dict[str, float]) -> None:
    stays(graph(nodes), "gelu", weights=numbers(**change), opset=20)


def test_mish_is_recognized() -> None:
    body = graph("s = Softplus(x) t = Tanh(s) y = Mul(t, x)")
    becomes(body, {"Mish": 1}, "mish", weights={})
    assert stays(body, "mish", weights={}, opset=17) == []
    stays(graph("s = Softplus(x) t = Tanh(s) m = Mul(t, x) y = Add(m, s)"), "mish", weights={})
    stays(graph("s = Softplus(x) t = Tanh(s) n = Neg(x) y = Mul(t, n)"), "mish", weights={})


OTHERS = [
    f"{ERF[0]} {HALVES[2]}",
    f"{ERF[0]} h = Mul(f, half) y = Mul(h, x)",
    f"{ERF[1]} {HALVES[0]}",
    f"{ERF[1]} {HALVES[1]}",
    f"{ERF[0]} {HALVES[3]}",
]


@pytest.mark.parametrize("nodes", OTHERS)
def test_gelu_is_written_as_the_runtime_recognizes_it(nodes: str) -> None:
    left = {"Div": 1, "Erf": 1, "Add": 1, "Mul": 2}
    becomes(graph(nodes), left, "gelu_written_out", weights=numbers(), opset=17)
    stays(graph(nodes), "gelu_written_out", weights=numbers(), opset=20)


@pytest.mark.parametrize("nodes", [f"{ERF[0]} {HALVES[0]}", f"{ERF[0]} {HALVES[1]}", f"{TANH[0]} {HALVES[2]}"])
def test_gelu_that_the_runtime_recognizes_stays(nodes: str) -> None:
    stays(graph(nodes), "gelu_written_out", weights=numbers(), opset=17)


@pytest.mark.parametrize("nodes", ["s = Sigmoid(x) y = Mul(s, x)", "m = Mul(x, a) s = Sigmoid(m) y = Mul(x, s)"])
def test_a_value_times_its_sigmoid_is_a_swish(nodes: str) -> None:
    body = f"g (float[N,8] x) => (float[N,8] y) {{ {nodes} }}"
    becomes(body, {"Swish": 1}, "swish", weights={"a": np.float32(1.5)}, opset=24)


@pytest.mark.parametrize(
    ("nodes", "opset"),
    [
        ("s = Sigmoid(x) y = Mul(s, x)", 23),
        ("s = Sigmoid(x) m = Mul(s, x) y = Add(m, s)", 24),
        ("n = Neg(x) s = Sigmoid(n) y = Mul(s, x)", 24),
        ("m = Mul(x, b) s = Sigmoid(m) y = Mul(x, s)", 24),
    ],
)
def test_other_products_with_a_sigmoid_are_no_swish(nodes: str, opset: int) -> None:
    weights = {"b": np.arange(8, dtype=np.float32)}
    stays(f"g (float[N,8] x) => (float[N,8] y) {{ {nodes} }}", "swish", weights=weights, opset=opset)
