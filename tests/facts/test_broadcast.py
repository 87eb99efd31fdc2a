from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldproof.facts.dim import Dim, maximum, minimum
from foldproof.facts.transfer._broadcast import broadcast, broadcast_dim
from tests.facts.inferring import assert_sound_at, infer

N, M = Dim.symbol("n"), Dim.symbol("m")


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ([3, 1], 3),
        ([1, 1], 1),
        ([N, 1], N),
        ([N, N], N),
        ([N, 3], 3),
        ([N, 0], 0),
        ([0, 1], 0),
        ([N, M, 5], 5),
        ([N, M], None),  # either may be 1
        ([N, N + 2], N + 2),  # at least 2
        ([2 * N, M], 2 * N),  # never 1
        ([N, minimum(N, 512)], N),  # min(n, 512) is 1 only where n is
        ([minimum(N, 512), N], N),
        ([N + 1, M + 1], maximum(N + 1, M + 1)),  # never 0
        ([N, N * M], None),
        ([N, N + 1], None),  # n = 0: 0 against 1 is 0, not n + 1; n = 1: 2, not n
    ],
)
def test_dims_are_broadcast_where_it_is_proven(dims, expected):
    assert broadcast_dim(dims) == expected


EXPRESSIONS = [
    0, 1, 2, 3, N, M, N + 1, N + 2, 2 * N, 2 * M + 1, N * M, N + M, N // 2, (N + 3) // 2, N % 3,
    minimum(N, 3), minimum(N, M), maximum(N, 1), maximum(N, 2), maximum(M, 1), 4 - minimum(N, 4), maximum(3 - N, 0),
]  # fmt: skip


@given(st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=3))
def test_a_proven_dim_is_right_wherever_the_dims_can_be_broadcast(dims):
    proven = broadcast_dim(dims)
    if proven is None:
        return
    for n in range(6):
        for m in range(6):
            sizes = [value(dim, n, m) for dim in dims]
            try:
                (truth,) = np.broadcast_shapes(*[(size,) for size in sizes])
            except ValueError:
                continue
            assert value(proven, n, m) == truth, (dims, proven, n, m)


def value(dim, n, m):
    return dim if isinstance(dim, int) else dim.evaluate({"n": n, "m": m})


def test_ranks_are_aligned_at_the_back():
    facts = infer("g (float[n, 1, 4] a, float[3, 1] b) => (float[n, 3, 4] c) { c = Add(a, b) }")
    assert facts["c"] == "float[n, 3, 4]"


class Node:
    """All that broadcasting asks of a node."""

    def fresh(self, axis, output):
        return Dim.symbol(f"fresh{axis}", 1)


def test_one_axis_tells_that_a_symbol_is_not_0_and_another_uses_it():
    copied = 8 * (1 - minimum(N, 1))  # what a Reshape copies where its target is 0
    assert broadcast(Node(), [(N + copied, N + M + copied), (N, N + M)]) == (N, N + M)
    assert broadcast(Node(), [(N + M + copied,), (N + M,)]) == (Dim.symbol("fresh0", 1),)


SHAPES = st.lists(st.sampled_from([*EXPRESSIONS, N + 4 - 4 * minimum(N, 1)]), max_size=3).map(tuple)


@given(st.lists(SHAPES, min_size=2, max_size=3))
@settings(max_examples=400)
def test_a_proven_shape_is_right_wherever_the_shapes_can_be_broadcast(shapes):
    proven = broadcast(Node(), shapes)
    for n in range(5):
        for m in range(5):
            sizes = [[value(dim, n, m) for dim in shape] for shape in shapes]
            try:
                truth = np.broadcast_shapes(*sizes)
            except ValueError:
                continue
            assert len(proven) == len(truth)
            for dim, size in zip(proven, truth, strict=True):
                if isinstance(dim, int) or all(symbol.scope == 0 for symbol in dim.symbols):
                    assert value(dim, n, m) == size, (shapes, proven, n, m)


def test_an_unknown_rank_gives_an_unknown_rank():
    assert infer("g (float[] a, float[3] b) => (float c) { c = Add(a, b) }")["c"] == "float[...]"


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", "float[2, 3, 4]"),
        ("<broadcast = 1>", "float[2, n, 4]"),
        ("<broadcast = 1, axis = 1>", "float[2, n, 4]"),
    ],
)
def test_below_opset_7_the_first_input_sets_the_shape(attributes, expected):
    body = f"g (float[2, n, 4] a, float[2, 3, 4] b) => (float[2, n, 4] c) {{ c = Add {attributes} (a, b) }}"
    assert infer(body, opset=6)["c"] == expected


def test_variadic_operators_below_opset_8_have_inputs_of_one_shape():
    body = "g (float[n, 4] a, float[3, m] b) => (float[n, 4] c) { c = Sum(a, b) }"
    assert infer(body, opset=6)["c"] == "float[3, 4]"
    assert infer(body, opset=8)["c"] == "float[3, 4]"
    body = "g (float[n, 4] a, float[4] b, float[1] d) => (float[n, 4] c) { c = Max(a, b, d) }"
    assert infer(body, opset=8)["c"] == "float[n, 4]"


def test_elements_are_broadcast_too():
    body = """g (float[n, 5] x) => (int64[2, 2] y)
        <int64[2, 1] column = {10, 20}> { s = Shape(x)  y = Add(column, s) }"""
    assert infer(body)["y"] == "int64[2, 2] = [n + 10, 15, n + 20, 25]"
    assert_sound_at(body, {"n": 0}, {"n": 1}, {"n": 7}, elements=4)
