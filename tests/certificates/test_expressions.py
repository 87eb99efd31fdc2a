from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldproof.certificates.expressions import MAX_LENGTH, ExpressionError, evaluate, symbols_of
from foldproof.facts.dim import Dim, DimLike, floor_div, maximum, minimum, modulo


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2*batch*seq + 1", 31),
        ("(seq + 1)//2", 3),
        ("-seq + 7", 2),
        ("min(seq, 4) - max(batch, 2)", 1),
        ("seq**2 % 7", 4),
        ("-7//2", -4),
        ("12", 12),
    ],
)
def test_the_arithmetic_is_that_of_python(text: str, value: int) -> None:
    assert evaluate(text, {"batch": 3, "seq": 5}) == value


def test_symbols_are_in_alphabetical_order() -> None:
    assert symbols_of("min(seq, 2*batch)//_0") == ["_0", "batch", "seq"]


@pytest.mark.parametrize(
    "text",
    ["", "n +", "n/2", "1.5", "'n'", "n.real", "f(n)", "min()", "[n]", "n if n else 1", "m", "n//0", "n % 0", "True"],
)
def test_what_is_no_expression_of_dims_has_no_value(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, {"n": 2})


@pytest.mark.parametrize("text", ["n**60**60", "n**64*n**64*n**64*n**64*n**64", "1+" * MAX_LENGTH + "1"])
def test_what_is_too_large_has_no_value(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, {"n": 2**20})


N, M = Dim.symbol("n"), Dim.symbol("m")


@given(
    st.recursive(
        st.sampled_from([N, M]) | st.integers(0, 9),
        lambda inner: st.tuples(
            st.sampled_from(
                [
                    lambda a, b: a + b,
                    lambda a, b: a - b,
                    lambda a, b: a * b,
                    lambda a, b: floor_div(a, 2),
                    lambda a, b: modulo(a, 3),
                    minimum,
                    maximum,
                ]
            ),
            inner,
            inner,
        ).map(lambda made: made[0](made[1], made[2])),
        max_leaves=6,
    ),
    st.integers(0, 20),
    st.integers(0, 20),
)
def test_it_reads_what_dims_are_written_as(dim: DimLike, n: int, m: int) -> None:
    expected = dim if isinstance(dim, int) else dim.evaluate({"n": n, "m": m})
    assert evaluate(str(dim), {"n": n, "m": m}) == expected
