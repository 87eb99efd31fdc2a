"""Reductions, and the operators that go along one axis."""

from __future__ import annotations

import pytest

from tests.facts.inferring import assert_sound_at, infer
from tests.helpers import needs_recent_onnxruntime

REDUCTIONS = [
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
]  # fmt: skip
BINDINGS = [{"n": 1}, {"n": 2}, {"n": 5}]


@pytest.mark.parametrize("operator", REDUCTIONS)
@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("axes = [1]", "float[n, 1, 4]"),
        ("axes = [-1, 0]", "float[1, 3, 1]"),
        ("axes = [1], keepdims = 0", "float[n, 4]"),
        ("keepdims = 0", "float[]"),
        ("keepdims = 1", "float[1, 1, 1]"),
    ],
)
def test_axes_as_an_attribute(operator, attributes, expected):
    body = f"g (float[n, 3, 4] x) => (float y) {{ y = {operator} <{attributes}> (x) }}"
    assert infer(body, opset=11)["y"] == expected
    assert_sound_at(body.replace("float y", "float[] y"), *BINDINGS, opset=11)


@pytest.mark.parametrize("operator", REDUCTIONS)
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("(x, axis)", "float[n, 1, 4]"),
        ("<keepdims = 0> (x, axis)", "float[n, 4]"),
        ("(x)", "float[1, 1, 1]"),
        ("<keepdims = 0> (x)", "float[]"),
        ("(x, none)", "float[1, 1, 1]"),
        ("<noop_with_empty_axes = 1> (x)", "float[n, 3, 4]"),
        ("<noop_with_empty_axes = 1> (x, none)", "float[n, 3, 4]"),
        ("<noop_with_empty_axes = 1, keepdims = 0> (x)", "float[n, 3, 4]"),
        ("(x, axes)", "float[y:0, y:1, y:2]"),
        ("<keepdims = 0> (x, axes)", "float[...]"),  # the axes may be one, given twice
        ("<keepdims = 0> (x, one_axis)", "float[y:0, y:1]"),
        ("<keepdims = 0> (x, some_axes)", "float[...]"),
    ],
)
def test_axes_as_an_input(operator, call, expected):
    body = f"""g (float[n, 3, 4] x, int64[2] axes, int64[1] one_axis, int64[k] some_axes) => (float[] y)
        <int64[1] axis = {{-2}}, int64[0] none = {{}}> {{ y = {operator} {call} }}"""
    assert infer(body, opset=18)["y"] == expected


def test_reduce_sum_has_its_axes_as_an_input_from_version_13_on():
    body = """g (float[n, 3] x) => (float[] y) <int64[1] axis = {0}>
        { y = ReduceSum(x, axis)  z = ReduceMax <axes = [1]> (x) }"""
    assert infer(body, opset=13) == {"y": "float[1, 3]", "z": "float[n, 1]"}
    assert_sound_at(body, *BINDINGS, opset=13)


def test_a_reduced_dim_of_1_stays_1_whichever_axis_it_is():
    body = "g (float[n, 1] x, int64[1] axis) => (float[] y) { y = ReduceSum(x, axis) }"
    assert infer(body)["y"] == "float[y:0, 1]"


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("ReduceProd", "int64[1] = [6*n*m]"),
        ("ReduceSum", "int64[1] = [n + m + 6]"),
        ("ReduceMax", "int64[1] = [max(n, m, 6)]"),
        ("ReduceMin", "int64[1] = [min(n, m, 6)]"),
        ("ReduceMean", "int64[1]"),
    ],
)
def test_shape_data_is_reduced(operator, expected):
    body = f"g (float[n, m, 6] x) => (int64[1] y) {{ s = Shape(x)  y = {operator}(s) }}"
    assert same_terms(infer(body)["y"], expected)
    assert_sound_at(body, {"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 3, "m": 9})


def same_terms(fact: str, expected: str) -> bool:
    """Whether two texts differ at most in the order of their letters: the printing has tests of its own."""
    return sorted(fact) == sorted(expected)


@needs_recent_onnxruntime
def test_rows_and_columns_of_known_elements():
    body = """g (float[1] x) => (int64[2] y)
        <int64[2, 3] c = {1, 2, 3, 4, 5, 6}, int64[1] rows = {1}, int64[1] columns = {0}>
        { y = ReduceSum <keepdims = 0> (c, rows)  z = ReduceProd(c, columns)  a = ReduceMax <keepdims = 0> (c)
          i = ReduceMean(c, columns) b = ReduceMin <noop_with_empty_axes = 1> (c) }"""
    facts = infer(body)
    assert facts["y"] == "int64[2] = [6, 15]"
    assert facts["z"] == "int64[1, 3] = [4, 10, 18]"
    assert facts["a"] == "int64[] = [6]"
    assert facts["b"] == "int64[2, 3] = [1, 2, 3, 4, 5, 6]"
    assert_sound_at(body, elements=12)


def test_an_empty_reduction_is_the_neutral_element_where_there_is_one():
    body = """g (float[1] x) => (int64 y) <int64[0] c = {}>
        { y = ReduceSum <keepdims = 0> (c)  z = ReduceProd <keepdims = 0> (c)  a = ReduceMax <keepdims = 0> (c) }"""
    assert infer(body) == {"y": "int64[] = [0]", "z": "int64[] = [1]", "a": "int64[]"}


def test_float_sums_that_round_depend_on_the_order_and_are_unknown():
    body = """g (float[1] x) => (float y) <float[3] c = {0.1, 0.2, 0.3}, float[3] d = {0.5, 0.25, 4}>
        { y = ReduceSum <keepdims = 0> (c)  z = ReduceSum <keepdims = 0> (d)  p = ReduceProd <keepdims = 0> (d) }"""
    assert infer(body) == {"y": "float[]", "z": "float[] = [19/4]", "p": "float[] = [1/2]"}
    assert_sound_at(body, elements=2)


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
def test_arg_max_takes_one_axis(operator):
    body = f"""g (float[n, 3, 4] x) => (int64[] y)
        {{ y = {operator}(x)  z = {operator} <axis = -1, keepdims = 0> (x)  w = {operator} <axis = 1> (x) }}"""
    assert infer(body) == {"y": "int64[1, 3, 4]", "z": "int64[n, 3]", "w": "int64[n, 1, 4]"}
    assert_sound_at(body, *BINDINGS)


def test_top_k():
    body = """g (float[n, 9] x, int64[1] k) => (float[] v) <int64[1] two = {2}>
        { v, i = TopK(x, two)  w, j = TopK <axis = 0> (x, k)
          s = Shape <end = 1> (x)  u, l = TopK <axis = 0> (x, s) }"""
    facts = infer(body)
    assert (facts["v"], facts["i"]) == ("float[n, 2]", "int64[n, 2]")
    assert (facts["w"], facts["j"]) == ("float[w:0, 9]", "int64[w:0, 9]")  # one symbol for both
    assert (facts["u"], facts["l"]) == ("float[n, 9]", "int64[n, 9]")
    assert infer("g (float[n, 9] x) => (float[] v) { v, i = TopK <k = 3> (x) }", opset=1)["v"] == "float[n, 3]"


def test_running_sums():
    body = """g (float[n, 2] x) => (int64[2, 3] y)
        <int64[2, 3] c = {1, 2, 3, 4, 5, 6}, int64 one = {1}, int64 zero = {0}>
        { y = CumSum(c, one)  z = CumSum(c, zero)  e = CumSum <exclusive = 1> (c, one)
          r = CumSum <reverse = 1> (c, one)
          b = CumSum <reverse = 1, exclusive = 1> (c, one)  s = Shape(x)  t = CumSum(s, zero)  u = CumSum(x, one) }"""
    assert infer(body) == {
        "y": "int64[2, 3] = [1, 3, 6, 4, 9, 15]",
        "z": "int64[2, 3] = [1, 2, 3, 5, 7, 9]",
        "e": "int64[2, 3] = [0, 1, 3, 0, 4, 9]",
        "r": "int64[2, 3] = [6, 5, 3, 15, 11, 6]",
        "b": "int64[2, 3] = [5, 3, 0, 11, 6, 0]",
        "s": "int64[2] = [n, 2]",
        "t": "int64[2] = [n, n + 2]",
        "u": "float[n, 2]",
    }
    assert_sound_at(body, {"n": 0}, {"n": 3}, elements=30)


def test_running_products():
    body = """g (float[1] x) => (int64[3] y) <int64[3] c = {1, 2, 3}, int64 zero = {0}>
        { y = CumProd(c, zero)  e = CumProd <exclusive = 1> (c, zero)  r = CumProd <reverse = 1> (c, zero)
          b = CumProd <reverse = 1, exclusive = 1> (c, zero) }"""
    assert infer(body, opset=26) == {
        "y": "int64[3] = [1, 2, 6]",
        "e": "int64[3] = [1, 1, 2]",
        "r": "int64[3] = [6, 6, 3]",
        "b": "int64[3] = [6, 3, 1]",
    }  # as the specification's example has them


@pytest.mark.parametrize(
    "node",
    [
        "y = ReduceSum(x, axis)",
        "y = ReduceMax(x, axis)",
        "y = ArgMax <axis = 7> (x)",
        "y, z = TopK <axis = -4> (x, axis)",
        "y, z = TopK(x)",
        "y = CumSum(c, axis)",
        "y = CumSum(c)",
        "y = ReduceSum()",
        "y = ReduceSum(scalar, axis)",
    ],
)
def test_invalid_nodes_are_no_fault_of_ours(node):
    infer(f"g (float[n, 3] x, float scalar) => (float y) <int64[1] axis = {{9}}, int64[2] c = {{1, 2}}> {{ {node} }}")
