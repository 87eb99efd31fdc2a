from __future__ import annotations

import numpy as np
import pytest

from tests.rules.weighted import becomes, positive, stays, tensor

W, K = tensor(3, 4), tensor(4)


def graph(nodes: str, x: str = "N,3", dtype: str = "float", more: str = "", out: str = "A,B") -> str:
    return f"g ({dtype}[{x}] x{more}) => ({dtype}[{out}] y) {{ {nodes} }}"


@pytest.mark.parametrize("opset", [7, 9, 13, 18])
@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("shape", [(4,), (1, 4), (), (1,), (1, 1)])
def test_a_product_of_matrices_and_a_bias_are_one_gemm(opset: int, dtype: str, shape: tuple[int, ...]) -> None:
    kind = np.float32 if dtype == "float" else np.float64
    weights = {"w": W.astype(kind), "k": tensor(*shape, dtype=kind)}
    body = graph("m = MatMul(x, w) y = Add(k, m)", dtype=dtype)
    becomes(body, {"Gemm": 1}, "matmul_add", weights=weights, opset=opset)


def test_neither_factor_has_to_be_constant() -> None:
    body = graph("m = MatMul(x, w) y = Add(m, c)", x="N,K", more=", float[K,M] w, float[N,M] c")
    becomes(body, {"Gemm": 1}, "matmul_add", weights={})


@pytest.mark.parametrize(
    ("x", "more", "out"),
    [
        ("2,N,3", "float[4] c", "A,B,C"),  # not matrices
        ("3", "float[4] c", "A"),
        ("N,3", "float[M] c", "A,B"),  # M may be 4, or else: then the sum is not valid, but 1 is
        ("1,3", "float[5,4] c", "A,B"),  # larger
        ("N,3", "float[5,4] c", "A,B"),
        ("N,3", "float[1,1,4] c", "A,B,C"),
        ("N,3", "float[N] c", "A,B"),
    ],
)
def test_a_bias_that_may_make_the_product_larger_stays(x: str, more: str, out: str) -> None:
    stays(graph("m = MatMul(x, w) y = Add(m, c)", x=x, more=f", {more}", out=out), "matmul_add", weights={"w": W})


def test_a_column_that_a_row_multiplies_stays() -> None:
    body = graph("m = MatMul(x, w) y = Add(m, k)")
    assert stays(body, "matmul_add", weights={"w": tensor(3, 1), "k": K})


@pytest.mark.parametrize("dtype", ["int32", "float16"])
def test_a_type_of_which_the_runtime_has_no_gemm_stays(dtype: str) -> None:
    kind = np.int32 if dtype == "int32" else np.float16
    body = graph("m = MatMul(x, w) y = Add(m, k)", dtype=dtype)
    assert stays(body, "matmul_add", weights={"w": W.astype(kind), "k": K.astype(kind)})


def test_a_product_that_is_read_elsewhere_stays() -> None:
    assert stays(graph("m = MatMul(x, w) a = Add(m, k) y = Mul(a, m)"), "matmul_add", weights={"w": W, "k": K})


@pytest.mark.parametrize("attributes", ["", "<alpha = 0.5, beta = 2.0>", "<transB = 1>", "<transA = 1>"])
def test_a_sum_is_the_bias_of_a_gemm_without_one(attributes: str) -> None:
    weights = {"w": W.T.copy() if "transB" in attributes else W, "k": K}
    body = graph(f"m = Gemm {attributes} (x, w) y = Add(k, m)", x="3,N" if "transA" in attributes else "N,3")
    becomes(body, {"Gemm": 1}, "add_into_gemm", weights=weights)


@pytest.mark.parametrize("biases", [(", k", ", l"), ("", ", l"), (", k", "")])
def test_the_sum_of_two_gemms_is_a_gemm_of_a_gemm(biases: tuple[str, str]) -> None:
    weights = {"w": W, "v": tensor(5, 4), "k": K, "l": tensor(1, 4)}
    body = graph(
        f"m = Gemm <beta = 3.0> (x, w{biases[0]}) n = Gemm <alpha = 2.0> (z, v{biases[1]}) y = Add(m, n)",
        more=", float[N,5] z",
    )
    becomes(body, {"Gemm": 2}, "add_into_gemm", weights=weights)


@pytest.mark.parametrize("second", ["n = Gemm(z, v, c)", "n = Relu(z)"])
def test_a_gemm_whose_bias_can_not_move_stays(second: str) -> None:
    weights = {"w": W, "v": tensor(4, 4), "k": K}
    body = graph(f"m = Gemm(x, w, k) {second} y = Add(m, n)", more=", float[N,4] z, float[4] c")
    stays(body, "add_into_gemm", weights=weights)


def test_gemms_of_other_shapes_stay() -> None:
    weights = {"w": W, "v": tensor(5, 1), "k": K}
    body = graph("m = Gemm(x, w, k) n = Gemm(z, v, k1) y = Add(m, n)", more=", float[N,5] z")
    stays(body, "add_into_gemm", weights={**weights, "k1": tensor(1)})


@pytest.mark.parametrize("attributes", ["", "<alpha = 0.5, beta = 2.0>", "<transB = 1>"])
@pytest.mark.parametrize("bias", ["", ", k"])
@pytest.mark.parametrize(
    "operator", ["BatchNormalization(m, s, b, p, v)", "Mul(m, s)", "Sub(s, m)", "Div(m, v)", "Add(m, s)"]
)
def test_one_constant_for_each_column_goes_into_a_gemm(attributes: str, bias: str, operator: str) -> None:
    weights = {"w": W.T.copy() if "transB" in attributes else W, "k": K, "s": tensor(4, seed=1), "b": tensor(4, seed=2)}
    weights |= {"p": tensor(4, seed=3), "v": positive(4)}
    body = graph(f"m = Gemm {attributes} (x, w{bias}) y = {operator}")
    becomes(body, {"Gemm": 1}, "affine_into_gemm", weights=weights, sizes=(0, 1, 2))


@pytest.mark.parametrize("constant", [(5, 1), (5, 4), (1, 1, 4)])
def test_other_constants_stay_beside_a_gemm(constant: tuple[int, ...]) -> None:
    out = "A,B,C" if len(constant) > 2 else "A,B"
    assert stays(
        graph("m = Gemm(x, w) y = Mul(m, k)", x="5,3", out=out),
        "affine_into_gemm",
        weights={"w": W, "k": tensor(*constant)},
    )


@pytest.mark.parametrize("x", ["N,3", "2,N,3", "3"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("constant", [(), (4,)])
def test_a_factor_for_each_column_goes_into_the_weights_of_matmul(
    x: str, bias: bool, constant: tuple[int, ...]
) -> None:
    nodes = "m = MatMul(x, w) a = Add(k, m) y = Mul(a, f)" if bias else "m = MatMul(x, w) y = Mul(m, f)"
    body = graph(nodes, x=x, out=",".join("ABC"[: x.count(",") + 1]))
    left = {"MatMul": 1, "Add": 1} if bias else {"MatMul": 1}
    becomes(body, left, "scale_into_matmul", weights={"w": W, "k": K, "f": tensor(*constant)})


@pytest.mark.parametrize("nodes", ["m = MatMul(x, w) a = Add(m, c) y = Mul(a, f)", "m = MatMul(x, c2) y = Mul(m, f)"])
def test_a_factor_of_what_is_not_constant_stays(nodes: str) -> None:
    body = graph(nodes, more=", float[4] c, float[3,4] c2")
    stays(body, "scale_into_matmul", weights={"w": W, "f": K})


@pytest.mark.parametrize("operator", ["MatMul", "Gemm", "Gemm <transB = 1>"])
@pytest.mark.parametrize("factor", [(), (3,), (1, 3)])
def test_a_factor_of_the_input_goes_into_the_weights(operator: str, factor: tuple[int, ...]) -> None:
    weights = {"w": W.T.copy() if "transB" in operator else W, "f": tensor(*factor)}
    becomes(
        graph(f"m = Mul(x, f) y = {operator} (m, w)"), {operator.split()[0]: 1}, "matmul_of_affine", weights=weights
    )


@pytest.mark.parametrize("attributes", ["", "<alpha = 0.5, beta = 2.0>", "<transB = 1>"])
@pytest.mark.parametrize("before", ["BatchNormalization(x, s, b, p, v)", "Add(x, s)", "Sub(f, x)"])
def test_what_is_added_to_the_input_goes_into_the_bias(attributes: str, before: str) -> None:
    weights = {"w": W.T.copy() if "transB" in attributes else W, "k": K, "f": np.float32(0.7), "s": tensor(3, seed=1)}
    weights |= {"b": tensor(3, seed=2), "p": tensor(3, seed=3), "v": positive(3)}
    body = graph(f"m = {before} y = Gemm {attributes} (m, w, k)")
    becomes(body, {"Gemm": 1}, "matmul_of_affine", weights=weights, sizes=(0, 1, 2))


@pytest.mark.parametrize(
    ("nodes", "x"),
    [
        ("m = Add(x, f) y = MatMul(m, w)", "N,3"),  # no bias to hold it
        ("m = Mul(x, f) y = Gemm <transA = 1> (m, w)", "3,N"),
        ("m = Mul(x, f) y = MatMul(m, w)", "N,1"),  # the factor makes x larger
        ("m = Mul(x, f) y = MatMul(m, w)", "N,M"),
        ("m = Mul(x, f) a = MatMul(m, w) b = MatMul(m, v) y = Add(a, b)", "N,3"),
    ],
)
def test_other_inputs_stay(nodes: str, x: str) -> None:
    weights = {"w": W, "v": tensor(3, 4, seed=1), "f": tensor(*([3, 1] if "transA" in nodes else [3]))}
    assert stays(graph(nodes, x=x), "matmul_of_affine", weights=weights)


def test_two_constant_matrices_are_one_if_that_is_no_larger() -> None:
    body = graph("m = MatMul(x, w) y = MatMul(m, v)", x="B,N,3", out="A,D,C")
    becomes(body, {"MatMul": 1}, "matmul_of_matmul", weights={"w": W, "v": tensor(4, 2)})
    assert stays(
        graph("m = MatMul(x, w) y = MatMul(m, v)", x="N,9"),
        "matmul_of_matmul",
        weights={"w": tensor(9, 2), "v": tensor(2, 9)},
    )


@pytest.mark.parametrize("bias", [(), (4,), (1, 4), None])
@pytest.mark.parametrize(("x", "target"), [("2,N,3", [2, -1, 4]), ("B,1,5,3", [-1, 1, 5, 4]), ("2,4,3", [2, 4, 4])])
def test_rows_need_not_be_flattened(x: str, target: list[int], bias: tuple[int, ...] | None) -> None:
    weights = {"w": W, "t": np.array([-1, 3]), "o": np.array(target)}
    if bias is not None:
        weights["k"] = tensor(*bias)
    nodes = f"r = Reshape(x, t) m = Gemm(r, w{'' if bias is None else ', k'}) y = Reshape(m, o)"
    body = graph(nodes, x=x, out=",".join("ACDE"[: len(target)]))
    left = {"MatMul": 1} if bias is None else {"MatMul": 1, "Add": 1}
    becomes(body, left, "gemm_of_rows", weights=weights)


def test_a_row_count_of_0_would_be_read_as_a_copy() -> None:
    shape = "d = Shape <end = -1> (x) c = Constant <value_ints = [4]> () o = Concat <axis = 0> (d, c)"
    body = graph(f"r = Reshape(x, t) m = Gemm(r, w) {shape} y = Reshape(m, o)", x="B,N,3", out="A,C,D")
    assert stays(body, "gemm_of_rows", weights={"w": W, "t": np.array([-1, 3])})


@pytest.mark.parametrize(
    ("nodes", "x", "target"),
    [
        ("r = Reshape(x, t) m = Gemm(r, w, k) y = Reshape(m, o)", "2,N,3", [-1, 2, 4]),  # other rows
        ("r = Reshape(x, t) m = Gemm(r, w, k) y = Reshape(m, o)", "2,3,N", [2, -1, 4]),  # other columns
        ("r = Reshape(x, t) m = Gemm(r, w, k) y = Reshape(m, o)", "2,N,3", [2, -1, 2]),
        ("r = Reshape(x, t) m = Gemm <alpha = 2.0> (r, w, k) y = Reshape(m, o)", "2,N,3", [2, -1, 4]),
        ("r = Reshape(x, t) m = Gemm(r, w, l) y = Reshape(m, o)", "2,2,3", [2, 2, 4]),  # a bias for each row
        ("r = Reshape(x, t) m = Gemm(r, w, k) p = Reshape(m, o) q = ReduceSum(m) y = Add(p, q)", "2,N,3", [2, -1, 4]),
        ("r = Reshape(x, t) m = Gemm(r, w, k) p = Reshape(m, o) q = ReduceSum(r) y = Add(p, q)", "2,N,3", [2, -1, 4]),
    ],
)
def test_other_shapes_around_a_gemm_stay(nodes: str, x: str, target: list[int]) -> None:
    weights = {"w": W, "k": K, "l": tensor(4, 1), "t": np.array([-1, 3]), "o": np.array(target)}
    stays(graph(nodes, x=x, out="A,B,C"), "gemm_of_rows", weights=weights)


ROWS = "m = MatMul(x, w) a = Add(k, m) p = Reshape(a, s) n = MatMul(x, v) b = Add(n, k) q = Reshape(b, s)"


def rows(nodes: str = ROWS, x: str = "2,N,3", dtype: str = "float") -> str:
    return f"g ({dtype}[{x}] x) => ({dtype}[A,B,C,D] p, {dtype}[E,F,G,H] q) {{ {nodes} }}"


ROW_WEIGHTS = {"w": W, "v": tensor(3, 4, seed=1), "k": K, "s": np.array([2, -1, 2, 2])}


@pytest.mark.parametrize("opset", [7, 13, 18])
@pytest.mark.parametrize("bias", [(4,), (1,), (1, 4), ()])
def test_products_of_the_same_rows_flatten_them_once(opset: int, bias: tuple[int, ...]) -> None:
    weights = ROW_WEIGHTS | {"k": tensor(*bias)}
    left = {"Reshape": 3, "Gemm": 2}
    becomes(rows(), left, "rows_into_gemm", "same_computation", weights=weights, opset=opset, sizes=(1, 2, 5))


@pytest.mark.parametrize(
    ("nodes", "x", "changed"),
    [
        (ROWS, "2,N,3", {"s": np.array([0, 0, 2, 2])}),  # dims of the rows are copied
        (ROWS, "2,N,3", {"k": tensor(1, 1, 4)}),
        (ROWS, "N,3", {}),  # matrices: `matmul_add`
        (ROWS, "2,3,K", {}),
        (ROWS, "2,3,3", {"w": tensor(2, 3, 4), "v": tensor(2, 3, 4)}),
        ("m = MatMul(x, w) a = Add(m, k) p = Reshape(a, s) n = MatMul(x, v) q = Reshape(n, s)", "2,N,3", {}),
        ("m = MatMul(x, w) a = Add(m, k) p = Reshape(a, s) z = Relu(x) n = MatMul(z, v) b = Add(n, k) q = Reshape(b, s)", "2,N,3", {}),
        ("m = MatMul(x, w) a = Add(m, k) p = Reshape(a, s) q = Reshape(m, s)", "2,N,3", {}),
    ],
)  # fmt: skip
def test_products_that_share_no_rows_or_need_their_dims_stay(nodes: str, x: str, changed: dict[str, object]) -> None:
    stays(rows(nodes, x), "rows_into_gemm", weights=ROW_WEIGHTS | changed)


NORMALIZATION = {"s": positive(4), "o": tensor(4, seed=1), "m": tensor(4, seed=2), "v": positive(4)}


def test_a_normalized_product_of_matrices_is_a_gemm() -> None:
    body = "g (float[N,3] x) => (float[N,4] y) { p = MatMul(x, w) y = BatchNormalization(p, s, o, m, v) }"
    becomes(body, {"Gemm": 1}, "normalized_matmul", weights={"w": tensor(3, 4), **NORMALIZATION})


@pytest.mark.parametrize(
    ("body", "overridable"),
    [
        ("g (float[N,3] x) => (float[N,4] y, float[N,4] p) { p = MatMul(x, w) y = BatchNormalization(p, s, o, m, v) }", []),
        ("g (float[N,4,3] x) => (float[N,4,4] y) { p = MatMul(x, w) y = BatchNormalization(p, s, o, m, v) }", []),
        ("g (float[N,3] x, float[4] s) => (float[N,4] y) { p = MatMul(x, w) y = BatchNormalization(p, s, o, m, v) }", ["s"]),
        ("g (float[N,4] x, float[4,4] u) => (float[N,4] y) { p = MatMul(x, u) y = BatchNormalization(p, s, o, m, v) }", []),
        ("g (float[N,3] x) => (float[N,4] y) { p = MatMul(x, w) y, b, c = BatchNormalization <training_mode = 1> (p, s, o, m, v) }", []),
    ],
)  # fmt: skip
def test_other_normalized_products_stay(body: str, overridable: list[str]) -> None:
    stays(body, "normalized_matmul", weights={"w": tensor(3, 4), **NORMALIZATION}, overridable=overridable)


@pytest.mark.parametrize(("factor", "stays_apart"), [(3e38, True), (1e29, True), (1e27, False)])
def test_a_factor_that_makes_weights_huge_stays_since_sums_of_their_products_may_overflow(
    factor: float, stays_apart: bool
) -> None:
    body, weights = graph("m = MatMul(x, w) y = Mul(m, f)"), {"w": np.ones((3, 4), np.float32), "f": np.float32(factor)}
    if stays_apart:
        assert "overflow" in stays(body, "scale_into_matmul", weights=weights)[-1]
    else:
        becomes(body, {"MatMul": 1}, "scale_into_matmul", weights=weights)
