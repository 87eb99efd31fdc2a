from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from tests.rules.weighted import becomes, positive, stays, tensor

NORMALIZATION = {"s": tensor(4), "b": tensor(4, seed=1), "m": tensor(4, seed=2), "v": positive(4)}
CONV = {"w": tensor(4, 3, 3, 3), "k": tensor(4, seed=3)}


def graph(nodes: str, x: str = "N,3,6,6", dtype: str = "float") -> str:
    return f"g ({dtype}[{x}] x) => ({dtype}[A,B,C,D] y) {{ {nodes} }}"


@pytest.mark.parametrize("opset", [7, 9, 14, 15, 18])
@pytest.mark.parametrize("bias", ["", ", k"])
def test_batch_normalization_goes_into_the_convolution(opset: int, bias: str) -> None:
    body = graph(f"c = Conv <pads = [1, 1, 1, 1]> (x, w{bias}) y = BatchNormalization <epsilon = 0.01> (c, s, b, m, v)")
    becomes(body, {"Conv": 1}, "affine_into_conv", weights={**CONV, **NORMALIZATION}, opset=opset, sizes=(0, 1, 2))


@pytest.mark.parametrize(
    ("operator", "constant"),
    [
        ("Add(c, k)", tensor(4, 1, 1)),
        ("Add(k, c)", tensor(1, 4, 1, 1)),
        ("Sub(c, k)", tensor(4, 1, 1)),
        ("Sub(k, c)", tensor(4, 1, 1)),
        ("Mul(k, c)", tensor(4, 1, 1)),
        ("Div(c, k)", positive(4, 1, 1)),
        ("Add(c, k)", np.float32(0.3)),
        ("Mul(c, k)", tensor(1, 1, 1, 1)),
    ],
)
def test_arithmetic_with_one_constant_for_each_channel_goes_into_the_convolution(operator: str, constant: Any) -> None:
    weights = {"w": CONV["w"], "k": constant, "z": CONV["k"]}
    becomes(
        graph(f"c = Conv(x, w, z) y = {operator}"), {"Conv": 1}, "affine_into_conv", weights=weights, sizes=(0, 1, 2)
    )


@pytest.mark.parametrize(
    ("operator", "constant"),
    [
        ("Div(k, c)", positive(4, 1, 1)),  # no affine function
        ("Div(c, k)", np.zeros((4, 1, 1), np.float32)),
        ("Mul(c, k)", np.full((4, 1, 1), np.inf, np.float32)),
        ("Add(c, k)", tensor(4)),  # along the width
        ("Add(c, k)", tensor(4, 4, 1)),
        ("Add(c, k)", tensor(1, 1, 4, 1, 1)),  # a dim more
        ("Mul(c, k)", np.full((4, 1, 1), 3e38, np.float32)),  # overflows
    ],
)
def test_other_arithmetic_stays(operator: str, constant: Any) -> None:
    shape = "[A,B,C,D]" if constant.ndim < 5 else "[A,B,C,D,E]"
    body = graph(f"c = Conv(x, w) y = {operator}").replace("[A,B,C,D]", shape)
    stays(body, "affine_into_conv", weights={"w": CONV["w"] * 9, "k": constant})


def test_one_output_channel_that_a_constant_multiplies_stays() -> None:
    weights = {"w": tensor(1, 3, 3, 3), "k": tensor(4, 1, 1)}
    assert stays(graph("c = Conv(x, w) y = Add(c, k)"), "affine_into_conv", weights=weights)


@pytest.mark.parametrize("operator", ["Add", "Mul"])
def test_chains_of_arithmetic_go_into_the_convolution(operator: str) -> None:
    weights = {**CONV, "p": tensor(4, 1, 1), "q": tensor(4, 1, 1, seed=5)}
    body = graph(f"c = Conv(x, w) d = Mul(c, p) e = {operator}(q, d) y = Add(e, p)")
    becomes(body, {"Conv": 1}, "affine_into_conv", weights=weights, sizes=(0, 1, 2))


def test_both_readers_of_a_convolution_keep_it() -> None:
    body = graph("c = Conv(x, w) a = BatchNormalization(c, s, b, m, v) y = Mul(a, c)")
    assert "the convolution is read elsewhere" in stays(body, "affine_into_conv", weights={**CONV, **NORMALIZATION})


def test_a_convolution_that_is_an_output_stays() -> None:
    body = "g (float[N,3,6,6] x) => (float[A,B,C,D] c, float[A,B,C,D] y) { c = Conv(x, w) y = Add(c, k) }"
    assert stays(body, "affine_into_conv", weights={"w": CONV["w"], "k": tensor(4, 1, 1)})


def test_weights_that_another_convolution_reads_are_not_stored_twice() -> None:
    weights = {"w": tensor(8, 8, 3, 3), "k": tensor(8, 1, 1)}
    body = graph("c = Conv(x, w) d = Mul(c, k) e = Conv(d, w) y = Relu(e)", x="N,8,6,6")
    assert "its weights w are read elsewhere, and the file would grow" in stays(
        body, "affine_into_conv", weights=weights
    )


def test_a_bias_goes_into_a_convolution_whose_weights_are_read_elsewhere() -> None:
    weights = {"w": tensor(8, 8, 3, 3), "k": tensor(8, 1, 1)}
    body = graph("c = Conv(x, w) d = Add(c, k) r = Relu(d) y = Conv(r, w)", x="N,8,6,6")
    becomes(body, {"Conv": 2, "Relu": 1}, "affine_into_conv", weights=weights, sizes=(0, 1, 2))


@pytest.mark.parametrize("name", ["w", "k", "s", "v"])
def test_a_default_that_the_caller_may_override_is_no_constant(name: str) -> None:
    weights = {**CONV, **NORMALIZATION}
    shape = ",".join(map(str, weights[name].shape))
    body = f"g (float[N,3,6,6] x, float[{shape}] {name}) => (float[A,B,C,D] y) {{ c = Conv(x, w, k) "
    body += "y = BatchNormalization(c, s, b, m, v) }"
    stays(body, "affine_into_conv", weights=weights, overridable=[name])


@pytest.mark.parametrize(
    ("attributes", "opset"), [("training_mode = 1", 14), ("training_mode = 1", 18), ("spatial = 0", 8)]
)
def test_another_form_of_batch_normalization_stays(attributes: str, opset: int) -> None:
    outputs = "y, n, o" if "training" in attributes else "y"
    body = graph(f"c = Conv(x, w) {outputs} = BatchNormalization <{attributes}> (c, s, b, m, v)")
    stays(body, "affine_into_conv", weights={**CONV, **NORMALIZATION}, opset=opset)


@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("operator", ["BatchNormalization(c, s, b, m, v)", "Mul(c, p)", "Add(c, p)"])
def test_groups_of_a_transposed_convolution_are_kept_apart(group: int, operator: str) -> None:
    weights = {"w": tensor(4, 8 // group, 3, 2), "p": tensor(8, 1, 1), "s": tensor(8), "b": tensor(8, seed=1)}
    weights |= {"m": tensor(8, seed=2), "v": positive(8)}
    body = graph(f"c = ConvTranspose <group = {group}, strides = [2, 1]> (x, w) y = {operator}", x="N,4,3,3")
    becomes(body, {"ConvTranspose": 1}, "affine_into_conv", weights=weights, sizes=(1, 2))


@pytest.mark.parametrize("group", [2, 4])
def test_groups_of_a_convolution_are_kept_apart(group: int) -> None:
    weights = {**NORMALIZATION, "w": tensor(4, 4 // group, 3, 3)}
    body = graph(f"c = Conv <group = {group}> (x, w) y = BatchNormalization(c, s, b, m, v)", x="N,4,6,6")
    becomes(body, {"Conv": 1}, "affine_into_conv", weights=weights, sizes=(0, 1, 2))


@pytest.mark.parametrize("dtype", ["double", "float16"])
def test_weights_keep_their_type(dtype: str) -> None:
    kind = np.float64 if dtype == "double" else np.float16
    weights = {"w": tensor(4, 3, 3, 3, dtype=kind), "k": tensor(4, 1, 1, dtype=kind)}
    body = graph("c = Conv(x, w) d = Mul(c, k) y = Add(d, k)", dtype=dtype)
    model = becomes(body, {"Conv": 1}, "affine_into_conv", weights=weights, sizes=(1, 2))
    assert {onnx.helper.tensor_dtype_to_np_dtype(each.data_type) for each in model.graph.initializer} == {
        np.dtype(kind)
    }


def test_a_product_that_a_narrow_type_can_not_hold_stays() -> None:
    weights = {"w": tensor(4, 3, 3, 3, dtype=np.float16), "k": np.full((4, 1, 1), 1e-6, np.float16)}
    reasons = stays(graph("c = Conv(x, w) y = Mul(c, k)", dtype="float16"), "affine_into_conv", weights=weights)
    assert "the new weights lose precision in float16" in reasons


FILLED = "n = Constant <value_ints = [16, 3, 3, 3]> () w = ConstantOfShape <value = float[1] {0.25}> (n) "


def test_filled_weights_stay_filled() -> None:
    weights = {"k": np.float32(3), "p": tensor(16, 1, 1)}
    body = graph(FILLED + "c = Conv(x, w) d = Mul(c, k) y = Add(d, p)")
    model = becomes(
        body, {"ConstantOfShape": 1, "Conv": 1}, "affine_into_conv", weights=weights, sizes=(0, 1, 2), opset=12
    )
    assert max(np.prod(each.dims) for each in model.graph.initializer) <= 16


def test_filled_weights_with_a_factor_for_each_channel_are_expanded() -> None:
    weights = {
        "s": tensor(16),
        "b": tensor(16, seed=1),
        "m": tensor(16, seed=2),
        "v": positive(16),
        "p": tensor(16, 1, 1),
    }
    body = graph(FILLED + "c = Conv(x, w) d = BatchNormalization(c, s, b, m, v) y = Mul(d, p)")
    model = becomes(body, {"Expand": 1, "Conv": 1}, "affine_into_conv", weights=weights, sizes=(0, 1, 2), opset=12)
    assert max(np.prod(each.dims) for each in model.graph.initializer) <= 16


def test_a_factor_before_filled_weights_expands_them() -> None:
    body = graph(FILLED + "d = Mul(x, p) y = Conv(d, w)")
    weights = {"p": tensor(3, 1, 1)}
    model = becomes(body, {"Expand": 1, "Conv": 1}, "conv_of_affine", weights=weights, sizes=(0, 1, 2), opset=12)
    assert max(np.prod(each.dims) for each in model.graph.initializer) <= 4


def test_filled_weights_that_others_read_stay_there() -> None:
    body = graph(FILLED + "c = Conv(x, w) d = Mul(c, p) e = Conv(x, w) y = Sub(d, e)")
    weights = {"p": tensor(16, 1, 1)}
    left = {"ConstantOfShape": 1, "Expand": 1, "Conv": 2, "Sub": 1}
    becomes(body, left, "affine_into_conv", weights=weights, sizes=(0, 1, 2))


def test_filled_weights_that_would_have_to_be_stored_stay() -> None:
    body = graph(FILLED.replace("16, 3", "96, 1") + "c = Mul(x, p) y = Conv <group = 3> (c, w)")
    reasons = stays(body, "conv_of_affine", weights={"p": tensor(3, 1, 1)})
    assert "the new weights are no longer made of few numbers, and the file would grow" in reasons


# Before a convolution ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("bias", ["", ", k"])
@pytest.mark.parametrize(
    "operator", ["BatchNormalization(x, s, b, m, v)", "Mul(x, p)", "Sub(p, x)", "Div(x, q)", "Add(x, t)"]
)
def test_what_comes_before_an_unpadded_convolution_goes_into_it(group: int, bias: str, operator: str) -> None:
    weights = {"w": tensor(6, 3 // group, 3, 3), "k": tensor(6), "s": tensor(3), "b": tensor(3, seed=1)}
    weights |= {"m": tensor(3, seed=2), "v": positive(3), "p": tensor(3, 1, 1), "q": positive(3, 1, 1)}
    weights["t"] = np.array(0.5, np.float32)
    body = graph(f'c = {operator} y = Conv <group = {group}, auto_pad = "VALID"> (c, w{bias})')
    becomes(body, {"Conv": 1}, "conv_of_affine", weights=weights, sizes=(0, 1, 2))


def test_a_factor_goes_into_a_padded_convolution() -> None:
    weights = {"w": tensor(4, 3, 3, 3), "p": tensor(3, 1, 1)}
    body = graph("c = Mul(x, p) y = Conv <pads = [1, 1, 1, 1]> (c, w)")
    becomes(body, {"Conv": 1}, "conv_of_affine", weights=weights, sizes=(0, 1, 2))


@pytest.mark.parametrize("group", [1, 3])
def test_a_factor_goes_into_a_transposed_convolution(group: int) -> None:
    weights = {"w": tensor(3, 2, 3, 3), "p": tensor(3, 1, 1)}
    body = graph(f"c = Mul(x, p) y = ConvTranspose <group = {group}> (c, w)")
    becomes(body, {"ConvTranspose": 1}, "conv_of_affine", weights=weights, sizes=(1, 2))


@pytest.mark.parametrize("attributes", ["pads = [0, 1, 0, 0]", 'auto_pad = "SAME_UPPER"'])
@pytest.mark.parametrize("operator", ["Conv", "ConvTranspose"])
def test_what_is_added_before_padding_stays(attributes: str, operator: str) -> None:
    weights = {"w": tensor(3, 3, 3, 3), "p": tensor(3, 1, 1)}
    assert stays(graph(f"c = Add(x, p) y = {operator} <{attributes}> (c, w)"), "conv_of_affine", weights=weights)


def test_a_constant_that_makes_the_input_larger_stays() -> None:
    weights = {"w": tensor(4, 3, 3, 3), "p": tensor(3, 1, 1)}
    for channels in ("1", "C"):
        body = graph("c = Mul(x, p) y = Conv(c, w)", x=f"N,{channels},6,6").replace("[A,B,C,D]", "[A,B,G,H]")
        assert "the channels of its input are not proven" in stays(body, "conv_of_affine", weights=weights)


def test_an_input_that_is_read_elsewhere_stays() -> None:
    weights = {"w": tensor(3, 3, 1, 1), "p": tensor(3, 1, 1)}
    assert stays(graph("c = Mul(x, p) d = Conv(c, w) y = Add(c, d)"), "conv_of_affine", weights=weights)


def test_the_end_of_a_gelu_stays_for_the_runtime() -> None:
    weights = {"w": tensor(4, 3, 1, 1), "h": np.float32(0.5), "r": np.float32(2**0.5), "o": np.float32(1)}
    body = graph("d = Div(x, r) e = Erf(d) f = Add(e, o) m = Mul(x, f) n = Mul(m, h) y = Conv(n, w)")
    assert "it is the end of a Gelu" in stays(body, "conv_of_affine", weights=weights)


def test_filled_constants_are_read_through_data_movement() -> None:
    nodes = "n = Constant <value_ints = [16]> () i = Constant <value_ints = [1, 2]> () "
    nodes += "f = ConstantOfShape <value = float[1] {3.0}> (n) k = Unsqueeze(f, i) "
    body = graph(
        FILLED.replace("n = ", "o = ").replace("(n)", "(o)") + nodes + "c = Conv(x, w) d = Mul(c, k) y = Add(d, k)"
    )
    becomes(body, {"ConstantOfShape": 1, "Conv": 1}, "affine_into_conv", weights={}, sizes=(0, 1, 2))


def test_a_negation_goes_into_the_convolution() -> None:
    becomes(graph("c = Conv(x, w, k) y = Neg(c)"), {"Conv": 1}, "affine_into_conv", weights=CONV, sizes=(0, 1, 2))
    becomes(graph("c = Neg(x) y = Conv <pads = [1, 1, 1, 1]> (c, w, k)"), {"Conv": 1}, "conv_of_affine", weights=CONV)
