"""Parameters and multiply-accumulates, counted by hand."""

from __future__ import annotations

import onnx_ir as ir
import pytest

from foldproof.facts import Facts
from foldproof.reporting.costs import Costs, costs_of
from tests.helpers import parse


def costs(text: str) -> Costs:
    model = ir.from_proto(parse(text))
    return costs_of(model, Facts(model))


@pytest.mark.parametrize(
    ("text", "macs"),
    [
        # Each of 2*4*6*6 outputs sums 3*3*3 products; by groups each sums 1*3*3.
        ("g (float[2,3,8,8] x, float[4,3,3,3] w) => (float[2,4,6,6] y) { y = Conv(x, w) }", 2 * 4 * 6 * 6 * 27),
        ("g (float[2,3,8,8] x, float[3,1,3,3] w) => (float[2,3,6,6] y) { y = Conv<group=3>(x, w) }", 2 * 3 * 6 * 6 * 9),
        # Each of 2*3*8*8 inputs is spread by 4*3*3 products.
        ("g (float[2,3,8,8] x, float[3,4,3,3] w) => (float[2,4,10,10] y) { y = ConvTranspose(x, w) }", 2 * 3 * 64 * 36),
        ("g (float[5,2,3] a, float[3,4] b) => (float[5,2,4] y) { y = MatMul(a, b) }", 5 * 2 * 4 * 3),
        ("g (float[3] a, float[3,4] b) => (float[4] y) { y = MatMul(a, b) }", 4 * 3),
        ("g (float[3,2] a, float[3,4] b) => (float[2,4] y) { y = Gemm<transA=1>(a, b) }", 2 * 4 * 3),
        # 7 steps of a batch of 2, four gates of 5: each takes 3 products with the input and 5 with the state.
        (
            "g (float[7,2,3] x, float[1,20,3] w, float[1,20,5] r) => (float[7,1,2,5] y) { y = LSTM<hidden_size=5>(x, w, r) }",
            7 * 2 * 20 * (3 + 5),
        ),
    ],
)
def test_macs(text: str, macs: int) -> None:
    assert costs(text) == Costs(0, macs, 0)


def test_symbolic_dims_stay_symbols() -> None:
    found = costs("g (float[N,3] a, float[3,4] b) => (float[N,4] y) { c = MatMul(a, b) d = Neg(c) y = Identity(d) }")
    assert found.macs == "12*N"


def test_what_is_not_known_is_counted() -> None:
    found = costs(
        "g (float a, float[3,4] b) => (float y) { c = acme.What(a) d = MatMul(c, b) y = ReduceSum(d) }".replace(
            "acme.What", "Identity"
        )
    )
    assert found.macs is None
    found = costs(
        """g (float[2,3] a, float[3,4] b, bool c) => (float[2,4] y) { y = If (c) <
             then_branch = t () => (float[2,4] p) { p = MatMul(a, b) },
             else_branch = e () => (float[2,4] q) { q = MatMul(a, b) }> }"""
    )
    assert (found.macs, found.macs_unknown) == (None, 2)


def test_parameters_are_elements_of_initializers_and_constants() -> None:
    found = costs(
        "g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { c = Constant<value = float[3] {1.0, 2.0, 3.0}>() y = Add(x, w) }"
    )
    assert found == Costs(5, None, 0)


def test_a_product_of_too_many_terms_is_not_counted() -> None:
    """17 terms times 17 are more than an expression may have."""
    rows = ", ".join(f"float[R{k}, 1] r{k}" for k in range(17))
    columns = ", ".join(f"float[1, C{k}] c{k}" for k in range(17))
    joined = f"a = Concat <axis = 0> ({', '.join(f'r{k}' for k in range(17))})"
    other = f"b = Concat <axis = 1> ({', '.join(f'c{k}' for k in range(17))})"
    found = costs(f"g ({rows}, {columns}) => (float[M, N] y) {{ {joined} {other} y = MatMul (a, b) }}")
    assert (found.macs, found.macs_unknown) == (None, 1)
