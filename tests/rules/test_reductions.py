from __future__ import annotations

import pytest

from tests.helpers import needs_recent_onnxruntime
from tests.rules.checking import assert_becomes, assert_stays

FLOAT_MERGES = [
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSumExp")
]


def reduce(operator: str, source: str, axes: str, keepdims: int = 1, opset: int = 18) -> str:
    """`Operator(source)` over axes, as the opset writes it; the axes are the initializers `a0`, `a12`, ..."""
    if opset < (13 if operator == "ReduceSum" else 18):
        return f"{operator} <axes = [{axes}], keepdims = {keepdims}> ({source})"
    return f"{operator} <keepdims = {keepdims}> ({source}, a{axes.replace(',', '').replace('-', 'm').replace(' ', '')})"


AXES = (
    "int64[1] a0 = {0}, int64[1] a1 = {1}, int64[1] a2 = {2}, int64[1] am1 = {-1}, int64[2] a12 = {1, 2}, "
    "int64[0] none = {}"
)


def graph(nodes: str, result: str, dtype: str = "float", shape: str = "N,3,4") -> str:
    return f"g ({dtype}[{shape}] x) => ({dtype}[{result}] y) <{AXES}> {{ {nodes} }}"


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax", "ReduceMean", "ReduceLogSum"])
def test_a_squeeze_of_the_reduced_axes_is_no_keepdims(operator: str, opset: int) -> None:
    squeeze = "Squeeze(v, a12)" if opset >= 13 else "Squeeze <axes = [1, 2]> (v)"
    body = graph(f"v = {reduce(operator, 'x', '1, 2', 1, opset)} y = {squeeze}", "N")
    assert_becomes(body, {operator: 1}, "reshape_of_reduction", opset=opset)


@pytest.mark.parametrize(
    ("nodes", "result", "left"),
    [
        ("v = ArgMax <axis = 1> (x) w = Squeeze(v, a1) y = Cast <to = 1> (w)", "N,4", {"ArgMax": 1, "Cast": 1}),
        ("v = ReduceMean(x, a12) s = Constant <value_ints = [0]> () y = Reshape(v, m)", "N", {"ReduceMean": 1}),
        ("v = ReduceMean(x, a12) y = Flatten(v)", "N,1", None),
        pytest.param(
            "v = ReduceMean <keepdims = 0> (x, am1) y = Unsqueeze(v, a2)",
            "N,3,1",
            {"ReduceMean": 1},
            marks=needs_recent_onnxruntime,
        ),
        ("v = ReduceMean(x) y = Squeeze(v)", "", {"ReduceMean": 1}),
    ],
)
def test_other_ways_to_take_the_reduced_axes_out(nodes: str, result: str, left: dict[str, int] | None) -> None:
    body = graph(nodes.replace("s = Constant <value_ints = [0]> () ", ""), result)
    body = body.replace("int64[0] none", "int64[1] m = {-1}, int64[0] none").replace("float[] y", "float y")
    if left is None:
        assert_stays(body, "reshape_of_reduction")
    else:
        assert_becomes(body, left, "reshape_of_reduction")


@pytest.mark.parametrize(
    ("nodes", "result"),
    [
        ("v = ReduceSum(x, a12) y = Squeeze(v, a1)", "N,1"),
        ("v = ReduceSum(x, a1) y = Unsqueeze(v, a1)", "N,1,1,4"),
        ("v = ReduceSum <keepdims = 0> (x, a1) y = Unsqueeze(v, a0)", "1,N,4"),
        ("v = ReduceSum(x, a1) w = Squeeze(v, a1) z = Squeeze(v, a1) y = Add(w, z)", "N,4"),
    ],
)
def test_what_is_more_than_the_reduced_axes_stays(nodes: str, result: str) -> None:
    assert_stays(graph(nodes, result), "reshape_of_reduction")


@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin", "ReduceProd"])
def test_a_reduction_of_one_element_is_the_element(operator: str) -> None:
    for keepdims, result, left in ((1, "N,1,4", {"Neg": 1}), (0, "N,4", {"Squeeze": 1, "Neg": 1})):
        body = graph(f"v = {reduce(operator, 'x', '1', keepdims)} y = Neg(v)", result, shape="N,1,4")
        assert_becomes(body, left, "reduce_exactly_one")
    for opset in (11, 13):
        body = graph(f"v = {reduce(operator, 'x', '1', 0, opset)} y = Neg(v)", "N,4", shape="N,1,4")
        assert_becomes(body, {"Squeeze": 1, "Neg": 1}, "reduce_exactly_one", opset=opset)


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMean"])
def test_a_sum_of_one_element_may_lose_the_sign_of_a_zero(operator: str) -> None:
    body = graph(f"v = {reduce(operator, 'x', '1')} y = Neg(v)", "N,1,4", shape="N,1,4")
    assert_stays(body, "reduce_exactly_one")
    assert_becomes(body, {"Neg": 1}, "reduce_one", exact=False)
    assert_becomes(body.replace("float[", "int32["), {"Neg": 1}, "reduce_exactly_one")
    assert_stays(body.replace("float[", "int64["), "reduce_exactly_one", "reduce_one")  # onnxruntime uses doubles


def test_a_sum_of_integers_that_may_overflow_stays() -> None:
    body = graph("v = ReduceSum(x, a1) y = ReduceSum(v, a2)", "3,1,1", "int32", "3,2,4")
    assert_stays(body, "reduction_of_integer_reduction", "reduction_of_reduction")


@needs_recent_onnxruntime
def test_a_reduction_over_no_axis_is_the_value() -> None:
    body = graph("v = ReduceMax <noop_with_empty_axes = 1> (x, none) y = Neg(v)", "N,3,4")
    assert_becomes(body, {"Neg": 1}, "reduce_exactly_one")
    assert_stays(graph("v = ReduceMax (x, none) y = Neg(v)", "1,1,1"), "reduce_exactly_one")
    assert_stays(graph("v = ReduceMax(x) y = Neg(v)", "1,1,1"), "reduce_exactly_one")


@pytest.mark.parametrize(
    ("nodes", "shape"),
    [
        ("y = ReduceMax(x, a1)", "N,M,4"),  # M may be 1, and may be 2
        ("y = ReduceMax(x, am1)", "N,1,4"),
        ("y = ReduceL2(x, a1)", "N,1,4"),  # the absolute value
        ("y = ReduceSumSquare(x, a1)", "N,1,4"),
        ("y = ReduceMax(x, p)", "N,1,4"),
    ],
)
def test_a_reduction_that_may_do_something_stays(nodes: str, shape: str) -> None:
    body = graph(nodes, "A,B,C", shape=shape).replace("x)", "x, int64[1] p)", 1)
    assert_stays(body, "reduce_exactly_one", "reduce_one")


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("operator", FLOAT_MERGES)
@pytest.mark.parametrize(
    ("inner", "outer", "keepdims", "result"),
    [("1", "2", 1, "3,1,1"), ("1", "1", 0, "3"), ("0", "-1", 0, "2"), ("2", "1,2", 1, "3,1,1"), ("1,2", "0", 0, "")],
)
def test_two_reductions_are_one(operator: str, inner: str, outer: str, keepdims: int, result: str, opset: int) -> None:
    nodes = f"v = {reduce(operator, 'x', inner, keepdims, opset)} y = {reduce(operator, 'v', outer, keepdims, opset)}"
    body = graph(nodes, result, shape="3,2,4").replace("float[] y", "float y")
    assert_becomes(body, {operator: 1}, "reduction_of_reduction", exact=False, opset=opset)


@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin"])
def test_two_reductions_of_integers_are_one(operator: str) -> None:
    body = graph(f"v = {reduce(operator, 'x', '1')} y = {reduce(operator, 'v', '2')}", "3,1,1", "int32", "3,2,4")
    assert_becomes(body, {operator: 1}, "reduction_of_integer_reduction")
    assert_stays(body, "reduction_of_reduction")


@pytest.mark.parametrize(
    "nodes",
    [
        "v = ReduceSum(x, a1) y = ReduceMax(v, a2)",
        "v = ReduceSumSquare(x, a1) y = ReduceSumSquare(v, a2)",
        "v = ReduceSum(x, a1) y = ReduceSum <keepdims = 0> (v, a2)",
        "v = ReduceSum <keepdims = 0> (x, a1) y = ReduceSum(v, a1)",
        "v = ReduceSum(x, a1) w = ReduceSum(v, a2) y = Add(v, w)",
        "v = ReduceSum(x, p) y = ReduceSum(v, a2)",
    ],
)
def test_reductions_that_are_not_one_stay(nodes: str) -> None:
    nodes = f"{nodes.replace('y =', 'z =')} y = ReduceMax <keepdims = 0> (z)"
    body = f"g (float[N,3,4] x, int64[1] p) => (float y) <{AXES}> {{ {nodes} }}"
    assert_stays(body, "reduction_of_reduction", "reduction_of_integer_reduction")


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize(("expression", "keepdims"), [("Div(v, n)", 1), ("Mul(r, v)", 0)])
def test_a_sum_over_its_count_is_the_mean(expression: str, keepdims: int, opset: int) -> None:
    nodes = f"v = {reduce('ReduceSum', 'x', '1, 2', keepdims, opset)} y = {expression}"
    numbers = f"<float n = {{12}}, float r = {{{1 / 12}}}, int64"
    body = graph(nodes, "N,1,1" if keepdims else "N").replace("<int64", numbers)
    assert_becomes(body, {"ReduceMean": 1}, "mean_of_sum", exact=False, opset=opset)


@pytest.mark.parametrize(
    "nodes",
    [
        "v = ReduceSum(x, a12) y = Mul(v, n)",
        "v = ReduceSum(x, a1) y = Div(v, n)",
        "v = ReduceSum(x, a0) y = Div(v, n)",  # N
        "v = ReduceSum(x, a12) y = Div(n, v)",
        "v = ReduceSum(x, a12) w = Div(v, n) y = Add(v, w)",
        "v = ReduceMean(x, a12) y = Div(v, n)",
        "v = ReduceSum <keepdims = 0> (x, a12) y = Div(v, m)",
    ],
)
def test_a_sum_over_another_number_stays(nodes: str) -> None:
    nodes = f"{nodes.replace('y =', 'z =')} y = ReduceMax <keepdims = 0> (z)"
    body = f"g (float[N,3,4] x) => (float y) <float n = {{12}}, float[1,1] m = {{12}}, {AXES}> {{ {nodes} }}"
    assert_stays(body, "mean_of_sum")


@pytest.mark.parametrize("node", ["Flatten(p)", "Squeeze(p, a)", "Reshape(p, t)"])
@pytest.mark.parametrize("opset", [13, 18])
def test_a_global_average_without_its_dims_is_a_mean(node: str, opset: int) -> None:
    assert_becomes(
        f"""g (float[N,3,2,5] x) => (float[N,3] y) <int64[2] a = {{2, 3}}, int64[2] t = {{-1, 3}}> {{
            p = GlobalAveragePool(x) y = {node} }}""",
        {"ReduceMean": 1},
        "mean_of_pool",
        exact=False,
        opset=opset,
    )


@pytest.mark.parametrize(
    "text",
    [
        "g (float[N,3,2,5] x) => (float[M,N] y) { p = GlobalAveragePool(x) y = Flatten <axis = 0> (p) }",
        "g (float[N,3,2,5] x) => (float[N,3] y, float[N,3,1,1] p) { p = GlobalAveragePool(x) y = Flatten(p) }",
        "g (float16[N,3,2,5] x) => (float16[N,3] y) { p = GlobalAveragePool(x) y = Flatten(p) }",
        "g (float[N,3,2,5] x) => (float[N,3] y) { p = GlobalMaxPool(x) y = Flatten(p) }",
    ],
)
def test_other_pools_are_no_mean(text: str) -> None:
    assert_stays(text, "mean_of_pool")
