from __future__ import annotations

import pytest

from tests.helpers import operators, parse, rewrite
from tests.rules.checking import assert_same, bindings, feeds_at
from tests.rules.moving import becomes, stays

DROPPING = ("reduction_of_transpose", "squeeze_of_transpose", "gather_of_transpose")


@pytest.mark.parametrize(
    "node", ["Transpose <perm = [0, 1, 2]> (x)", "Transpose <perm = [0, 2, 1]> (t)", "Transpose(s)"]
)
def test_what_moves_nothing_goes(node: str) -> None:
    text = f"""g (float[N,M,K] x, float[N] s) => (float y) {{
        t = Transpose <perm = [0, 2, 1]> (x) a = {node} y = ReduceMax <keepdims = 0> (a) }}"""
    model, _ = rewrite(parse(text), "identity_transpose", "transpose_of_transpose", "dead_node")
    assert "Transpose" not in operators(model)


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        ("<perm = [1, 2, 0]>", "<perm = [2, 0, 1]>", {"Relu": 1}),
        ("", "", {"Relu": 1}),
        ("", "<perm = [2, 1, 0]>", {"Relu": 1}),
        ("<perm = [1, 2, 0]>", "<perm = [1, 2, 0]>", {"Transpose": 1, "Relu": 1}),
        ("<perm = [0, 2, 1]>", "", {"Transpose": 1, "Relu": 1}),
    ],
)
def test_two_transposes_become_one_or_none(first: str, second: str, left: dict[str, int]) -> None:
    text = f"g (float[N,3,M] x) => (float[A,B,C] y) {{ a = Transpose {first} (x) b = Transpose {second} (a)"
    text += " y = Relu(b) }"
    becomes(text, left, "transpose_of_transpose", "identity_transpose")


def test_two_default_transposes_cancel_at_any_rank() -> None:
    text = """g (float[N] x, int64[K] s) => (float y) {
        r = Reshape(x, s) a = Transpose(r) b = Transpose(a) y = ReduceSum(b) }"""
    model, _ = rewrite(parse(text), "transpose_of_transpose", "dead_node")
    assert operators(model) == {"Reshape": 1, "ReduceSum": 1}


@pytest.mark.parametrize(
    ("shape", "perm"), [("N,1,4", "1, 0, 2"), ("1,N,1,4", "1, 3, 0, 2"), ("N,M,1,1", "0, 2, 3, 1"), ("1,1", "1, 0")]
)
def test_moving_only_ones_is_a_reshape(shape: str, perm: str) -> None:
    dims = ",".join("ABCD"[: shape.count(",") + 1])
    text = f"g (float[{shape}] x) => (float[{dims}] y) {{ y = Transpose <perm = [{perm}]> (x) }}"
    if shape == "N,M,1,1":  # M can't be written as a constant in its new place, and -1 fails where N is 0
        stays(text, "transpose_of_ones")
    else:
        becomes(text, {"Reshape": 1}, "transpose_of_ones")


@pytest.mark.parametrize("shape", ["N,2,4", "1,N,M", "2,M,N"])
def test_moving_more_than_ones_stays(shape: str) -> None:
    stays(f"g (float[{shape}] x) => (float[A,B,C] y) {{ y = Transpose <perm = [0, 2, 1]> (x) }}", "transpose_of_ones")


@pytest.mark.parametrize(
    ("gemm", "a", "b"),
    [
        ("Gemm(t, b)", "3,2", "3,4"),
        ("Gemm <transA = 1> (t, b)", "2,3", "3,4"),
        ("Gemm(b, t)", "2,3", "5,3"),
        ("Gemm <transB = 1, alpha = 0.5> (b, t)", "3,2", "5,3"),
    ],
)
def test_gemm_reads_its_input_turned(gemm: str, a: str, b: str) -> None:
    text = f"g (float[{a}] x, float[{b}] b) => (float[A,B] y) {{ t = Transpose(x) y = {gemm} }}"
    becomes(text, {"Gemm": 1}, "gemm_of_transpose", exact=False)


@pytest.mark.parametrize(
    "text",
    [
        "g (float[3,2] x, float[3,4] b) => (float[A,B] y, float[C,D] t) { t = Transpose(x) y = Gemm(t, b) }",
        "g (float[2,3] x, float[3,4] b) => (float[A,B] y) { t = Transpose <perm = [0, 1]> (x) y = Gemm(t, b) }",
    ],
)
def test_gemm_stays(text: str) -> None:
    stays(text, "gemm_of_transpose")


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("y = ReduceMax <keepdims = 0, axes = [1, 2]> (t)", False),
        ("y = ReduceMean <keepdims = 0, axes = [1, -2]> (t)", False),
        ("y = Squeeze <axes = [2]> (r)", True),
        ("y = Gather <axis = 3> (t, i)", True),
        ("y = Gather <axis = -1> (t, i)", True),
    ],
)
def test_what_drops_the_moved_dims_does_without_the_transpose(text: str, exact: bool) -> None:
    dims = "A,B" if "Reduce" in text else "A,B,C"
    original = f"""g (float[N,3,M,5] x, float[N,1,M,5] z) => (float[{dims}] y) <int64 i = {{1}}> {{
        t = Transpose <perm = [0, 2, 3, 1]> (x) r = Transpose <perm = [0, 2, 1, 3]> (z) {text} }}"""
    before = parse(original, opset=12)
    after, _ = rewrite(before, *DROPPING, "dead_node")
    assert "Transpose" not in operators(after)
    for binding in bindings(before, (1, 2, 5)):
        assert_same(before, after, feeds_at(before, binding, special=exact), exact=exact)


@pytest.mark.parametrize(
    "text",
    [
        "y = ReduceMean <keepdims = 0, axes = [1]> (t)",
        "y = ReduceMean <keepdims = 1, axes = [1, 2]> (t)",
        "y = Gather <axis = 1> (t, i)",
        "y = Gather <axis = 3> (t, k)",
    ],
)
def test_what_leaves_other_dims_out_of_order_stays(text: str) -> None:
    original = f"""g (float[N,3,M,5] x) => (float y) <int64 i = {{1}}, int64[1] k = {{1}}> {{
        t = Transpose <perm = [0, 2, 3, 1]> (x) {text.replace("y =", "a =")} y = ReduceMax <keepdims = 0> (a) }}"""
    stays(original, *DROPPING, opset=12)


@pytest.mark.parametrize(
    "nodes", ["t = Transpose(w) y = MatMul(x, t)", "t = Transpose <perm = [1, 0]> (w) y = MatMul(x, t)"]
)
def test_a_product_with_a_transposed_matrix_is_a_gemm(nodes: str) -> None:
    becomes(
        f"g (float[N,3] x, float[M,3] w) => (float[N,M] y) {{ {nodes} }}",
        {"Gemm": 1},
        "matmul_of_transpose",
        exact=False,
    )


def test_both_factors_of_a_product_may_be_transposed() -> None:
    text = "g (float[3,N] x, float[M,3] w) => (float[N,M] y) { s = Transpose(x) t = Transpose(w) y = MatMul(s, t) }"
    becomes(text, {"Gemm": 1}, "matmul_of_transpose", "gemm_of_transpose", exact=False)


@pytest.mark.parametrize(
    ("text", "opset"),
    [
        ("g (float[N,3] x, float[M,3] w) => (float[N,M] y) { t = Transpose(w) y = MatMul(x, t) }", 10),
        ("g (float[N,3] x, float[M,3] w) => (float[N,M] y, float[3,M] t) { t = Transpose(w) y = MatMul(x, t) }", 18),
        ("g (float[2,N,3] x, float[M,3] w) => (float[2,N,M] y) { t = Transpose(w) y = MatMul(x, t) }", 18),
        ("g (int32[N,3] x, int32[M,3] w) => (int32[N,M] y) { t = Transpose(w) y = MatMul(x, t) }", 18),
        ("g (float[3,3] w) => (float[3,3] y) { t = Transpose(w) y = MatMul(t, t) }", 18),
        ("g (float[N,3] x, float[3,M] w) => (float[N,M] y) { t = Transpose <perm = [0, 1]> (w) y = MatMul(x, t) }", 18),
        (
            "g (float[2,N,3] x, float[2,M,3] w) => (float[2,N,M] y) { t = Transpose <perm = [0, 2, 1]> (w) y = MatMul(x, t) }",
            18,
        ),
    ],
)
def test_other_products_with_a_transpose_stay(text: str, opset: int) -> None:
    stays(text, "matmul_of_transpose", opset=opset)
