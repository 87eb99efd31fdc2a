from __future__ import annotations

import pytest

import foldproof
from tests.helpers import initializers, operators, parse, rewrite


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("s = Shape(x) i = Constant <value_int = 1> () y = Gather(s, i)", 4),
        ("s = Shape(x) i = Constant <value_int = -1> () y = Gather(s, i)", 4),
        ("s = Size(x) t = Shape(x) i = Constant <value_int = 0> () n = Gather(t, i) y = Div(s, n)", 4),
        ("s = Size(x) t = Shape(x) p = ReduceProd <keepdims = 0> (t) y = Sub(s, p)", 0),
    ],
)
def test_shape_arithmetic_is_known_in_a_dynamic_model(body: str, value: int) -> None:
    model, _ = rewrite(parse(f"g (float[N,4] x) => (int64 y) {{ {body} }}"))
    assert operators(model) == {}
    assert initializers(model) == {"y": value}


@pytest.mark.parametrize(
    "body",
    [
        "s = Shape(x) i = Constant <value_int = 0> () y = Gather(s, i)",
        "s = Size(x) t = Constant <value_int = 5> () y = Div(s, t)",
    ],
)
def test_what_the_batch_decides_is_not_known(body: str) -> None:
    model, _ = rewrite(parse(f"g (float[N,4] x) => (int64 y) {{ {body} }}"))
    assert operators(model) != {}


def test_one_of_many_equal_sizes_is_enough() -> None:
    model, _ = rewrite(
        parse("g (float[N,4] x, int64 k) => (int64 y) { a = Size(x) b = Size(x) c = Add(a, k) y = Add(b, c) }")
    )
    assert operators(model) == {"Size": 1, "Add": 2}


def test_a_product_of_the_dims_is_the_size_that_is_there() -> None:
    body = "a = Size(x) s = Shape(x) b = ReduceProd <keepdims = 0> (s) c = Mul(a, k) y = Add(b, c)"
    model, _ = rewrite(parse(f"g (float[N,M] x, int64 k) => (int64 y) {{ {body} }}"))
    assert operators(model) == {"Size": 1, "Mul": 1, "Add": 1}


@pytest.mark.parametrize("names", [("a", "b", "c"), ("a", "b", "c", "d", "e")])
def test_many_outputs_of_one_value_end(names: tuple[str, ...]) -> None:
    outputs = ", ".join(f"int64 {name}" for name in names)
    sizes = " ".join(f"{name} = Size(x)" for name in names)
    result = foldproof.Optimizer().run(parse(f"g (float[N,4] x) => ({outputs}) {{ {sizes} }}"))
    assert result.report.verdict == "verified"
    assert operators(result.model) == {"Size": 1, "Identity": len(names) - 1}


def test_an_integer_reduction_that_overflows_is_left() -> None:
    body = "g (float[N] x) => (int32 q) <int32[2] k = {65536, 65536}> { q = ReduceProd <keepdims = 0> (k) }"
    model, _ = rewrite(parse(body), "known_elements")
    assert operators(model) == {"ReduceProd": 1}
