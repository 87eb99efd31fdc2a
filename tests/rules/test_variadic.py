from __future__ import annotations

import pytest

from tests.rules.checking import assert_becomes, assert_stays

HEAD = "g (float[N] x, float[1] w, float[N] v) => (float[N] y)"


@pytest.mark.parametrize("operator", ["Max", "Min"])
def test_nested_maxima_are_one(operator: str) -> None:
    nodes = f"a = {operator}(x, w) b = {operator}(a, v) y = {operator}(b, x)"
    model = assert_becomes(f"{HEAD} {{ {nodes} }}", {operator: 1}, "nested_maximum")
    assert list(model.graph.node[0].input) == ["x", "w", "v", "x"]
    body = f"g (float[N] x, float[N] w, float[N] v) => (float[N] y) {{ a = {operator}(x, w) y = {operator}(a, v) }}"
    assert_becomes(body, {operator: 1}, "nested_maximum", opset=7)


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Max(x, w) y = Max(v, a)",  # in another order
        "a = Max(x, w) y = Min(a, v)",
        "a = Max(x, w) b = Max(a, v) y = Add(a, b)",
        "a = Max(x, w) y = Max(a, v, a)",
        "a = Sum(x, w) y = Sum(a, v)",
    ],
)
def test_other_nestings_stay(nodes: str) -> None:
    assert_stays(f"{HEAD} {{ {nodes} }}", "nested_maximum")
