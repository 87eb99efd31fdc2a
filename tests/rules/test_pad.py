from __future__ import annotations

import numpy as np
import pytest

from tests.rules.checking import assert_becomes, assert_stays
from tests.rules.weighted import becomes, stays, tensor

W = {"w": tensor(4, 2, 3, 3)}


def graph(nodes: str, pads: str = "0,0,1,0,0,0,2,1") -> str:
    count = len(pads.split(","))
    return f"g (float[N,2,6,6] x) => (float[A,B,C,D] y) <int64[{count}] p = {{{pads}}}> {{ {nodes} }}"


@pytest.mark.parametrize("attributes", ["", "<pads = [1, 1, 0, 0]>", '<auto_pad = "VALID", strides = [2, 1]>'])
@pytest.mark.parametrize("value", ["", ", z"])
def test_padding_with_zeros_goes_into_the_convolution(attributes: str, value: str) -> None:
    body = graph(f"a = Pad(x, p{value}) y = Conv {attributes} (a, w)")
    becomes(body, {"Conv": 1}, "pad_into_conv", weights={**W, "z": np.float32(0)}, sizes=(0, 1, 2))


def test_padding_along_given_axes_goes_into_the_convolution() -> None:
    body = graph("a = Pad(x, p, , i) y = Conv(a, w)", pads="1,2")
    becomes(body, {"Conv": 1}, "pad_into_conv", weights={**W, "i": np.array([-1])}, sizes=(0, 1, 2))


def test_older_forms_go_into_the_convolution() -> None:
    body = "g (float[N,2,6,6] x) => (float[A,B,C,D] y) { a = Pad <pads = [0,0,1,0,0,0,2,1]> (x) y = Conv(a, w) }"
    becomes(body, {"Conv": 1}, "pad_into_conv", weights=W, opset=9, sizes=(0, 1, 2))


@pytest.mark.parametrize(
    ("nodes", "pads"),
    [
        ('a = Pad <mode = "reflect"> (x, p) y = Conv(a, w)', "0,0,1,0,0,0,2,1"),
        ("a = Pad(x, p, o) y = Conv(a, w)", "0,0,1,0,0,0,2,1"),
        ("a = Pad(x, p) y = Conv(a, w)", "0,0,1,0,0,0,-1,1"),
        ("a = Pad(x, p) y = Conv(a, w)", "1,0,1,0,0,0,0,1"),
        ("a = Pad(x, p) y = Conv <group = 2> (a, w)", "0,1,0,0,0,1,0,0"),
        ('a = Pad(x, p) y = Conv <auto_pad = "SAME_UPPER"> (a, w)', "0,0,1,0,0,0,2,1"),
        ("a = Pad(x, p) y = ConvTranspose(a, w2)", "0,0,1,0,0,0,2,1"),
        ("a = Pad(x, p) b = Conv(a, w) c = ReduceSum(a) y = Add(b, c)", "0,0,1,0,0,0,2,1"),
    ],
)
def test_other_padding_stays(nodes: str, pads: str) -> None:
    stays(graph(nodes, pads), "pad_into_conv", weights={**W, "o": np.float32(1), "w2": tensor(2, 2, 3, 3)})


@pytest.mark.parametrize("attributes", ["", ", count_include_pad = 1, pads = [1, 0, 0, 1]", ", strides = [2, 2]"])
def test_padding_goes_into_an_average_pool_that_counts_it(attributes: str) -> None:
    body = graph(f"a = Pad(x, p) y = AveragePool <kernel_shape = [4, 4]{attributes}> (a)")
    becomes(body, {"AveragePool": 1}, "pad_into_average_pool", weights={}, sizes=(1, 2))


@pytest.mark.parametrize(
    "pool",
    [
        "AveragePool <kernel_shape = [3, 3], pads = [1, 0, 0, 0]>",
        "AveragePool <kernel_shape = [2, 2]>",  # a pad of 2 is as large as the kernel
        "AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>",
        "MaxPool <kernel_shape = [3, 3]>",
    ],
)
def test_padding_of_other_pools_stays(pool: str) -> None:
    stays(graph(f"a = Pad(x, p) y = {pool} (a)"), "pad_into_average_pool", "pad_into_conv", weights={})


POOLED = """g (float[N,1,6] x) => (float[A,B,C] y) <int64[6] p = {0, 0, 1, 0, 0, 1}, float v = {-inf}> {
    a = Pad(x, p, v) y = MaxPool <kernel_shape = [3]> (a) }"""


@pytest.mark.parametrize(
    "attributes", ["", ", strides = [2]", ", pads = [1, 0]", ', auto_pad = "VALID"', ", dilations = [1]"]
)
@pytest.mark.parametrize("opset", [9, 13])
def test_padding_with_less_than_any_number_goes_into_a_max_pool(attributes: str, opset: int) -> None:
    body = POOLED.replace("[3]", f"[3]{attributes}")
    if opset == 9:
        body = body.replace("Pad(x, p, v)", "Pad <pads = [0, 0, 1, 0, 0, 1], value = -inf> (x)")
        if "dilations" in attributes:
            body = body.replace(attributes, "")  # they come with version 10
    assert_becomes(body, {"MaxPool": 1}, "pad_into_max_pool", opset=opset)


@pytest.mark.parametrize(
    "body",
    [
        POOLED.replace("-inf", "0"),
        POOLED.replace("-inf", "-3e38"),
        POOLED.replace("Pad(x, p, v)", "Pad(x, p)"),
        POOLED.replace("Pad(x, p, v)", 'Pad <mode = "edge"> (x, p)'),
        POOLED.replace("[3]", "[1]"),
        POOLED.replace("[3]", "[3], ceil_mode = 1, strides = [2]"),
        POOLED.replace("[3]", "[3], dilations = [2]"),
        POOLED.replace("[3]", '[3], auto_pad = "SAME_UPPER"'),
        POOLED.replace("p = {0, 0, 1, 0, 0, 1}", "p = {0, 1, 1, 0, 0, 1}"),
        POOLED.replace("y = MaxPool", "y, i = MaxPool"),
        POOLED.replace("(a) }", "(a) w = Neg(a) }").replace("y)", "y, float[A,B,D] w)"),
    ],
)
def test_other_padding_of_a_max_pool_stays(body: str) -> None:
    assert_stays(body, "pad_into_max_pool")


@pytest.mark.parametrize("operator", ["AveragePool", "MaxPool"])
def test_padding_of_what_may_be_empty_stays_since_the_runtime_does_not_pool_it(operator: str) -> None:
    body = (
        "g (float[N,2,6,W] x) => (float[A,B,C,D] y) <int64[8] p = {0,0,1,0,0,0,2,1}> {"
        f" v = Constant <value_float = {'0.0' if operator == 'AveragePool' else '-inf'}> ()"
        f" a = Pad(x, p, v) y = {operator} <kernel_shape = [3, 3]> (a) }}"
    )
    assert_stays(body, "pad_into_average_pool", "pad_into_max_pool")
