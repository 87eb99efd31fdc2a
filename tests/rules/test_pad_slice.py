from __future__ import annotations

import pytest

from tests.helpers import parse, rewrite
from tests.rules.moving import becomes, stays

PADS = "int64[4] p = {0, 1, 2, 0}, int64[4] q = {1, 0, 0, 3}, float v = {7}, float w = {-0.0}, int64[1] a = {1}"


def pads(first: str, second: str) -> str:
    return f"g (float[N,3] x) => (float[A,B] y) <{PADS}> {{ b = {first} y = {second} }}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Pad(x, p, v)", "Pad(b, q, v)"),
        ("Pad(x, p)", "Pad(b, q)"),
        ('Pad <mode = "constant"> (x, p, w)', "Pad(b, q, w)"),
    ],
)
def test_pads_with_one_constant_are_one(first: str, second: str) -> None:
    becomes(pads(first, second), {"Pad": 1}, "pad_of_pad")


def test_pads_of_an_old_opset_are_one() -> None:
    text = "Pad <value = 2.0, pads = [0, 1, 2, 0]> (x)", "Pad <value = 2.0, pads = [1, 0, 0, 3]> (b)"
    becomes(pads(*text), {"Pad": 1}, "pad_of_pad", opset=10)
    stays(pads(text[0], text[1].replace("2.0", "3.0")), "pad_of_pad", opset=10)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Pad(x, p, v)", "Pad(b, q, w)"),
        ("Pad(x, p, w)", "Pad(b, q)"),  # -0.0 is not 0.0
        ('Pad <mode = "edge"> (x, p)', 'Pad <mode = "edge"> (b, q)'),
        ("Pad(x, k)", "Pad(b, q)"),  # what the first takes away, the second does not give back
        ("Pad(x, k, v, a)", "Pad(b, q, v)"),
    ],
)
def test_other_pads_stay(first: str, second: str) -> None:
    k = "int64[2] k = {1, 1}, " if "v, a" in first else "int64[4] k = {0, -1, 0, 0}, "
    stays(pads(first, second).replace("<int64", f"<{k}int64", 1), "pad_of_pad")


CUT = """g (float[N,3] x) => (float[A,B] y) <int64[4] p = {{0, 1, 2, 0}}, int64[2] s = {{{0}}}, int64[2] e = {{{1}}}> {{
    b = Pad <mode = "{2}"> (x, p) c = Slice(b, s, e) y = Neg(c) }}"""


@pytest.mark.parametrize(
    ("starts", "ends", "mode"),
    [("0, 1", f"-2, {2**63 - 1}", "constant"), ("0, 1", "-2, 4", "edge"), ("0, 1", "-2, 2147483647", "constant")],
)
def test_a_slice_that_takes_the_pads_away(starts: str, ends: str, mode: str) -> None:
    text = CUT.format(starts, ends, mode)
    # Where N is 0, onnxruntime refuses to pad by the edge.
    becomes(text if mode == "constant" else text.replace("[N,3]", "[2,3]"), {"Neg": 1}, "slice_of_pad")


@pytest.mark.parametrize(
    ("starts", "ends"), [("0, 1", "-1, 4"), ("0, 0", "-2, 4"), ("1, 1", "-2, 4"), ("0, 1", "-2, 3"), ("0, 1", "-2, -1")]
)
def test_a_slice_that_takes_more_or_less_stays(starts: str, ends: str) -> None:
    stays(CUT.format(starts, ends, "constant"), "slice_of_pad")


def test_an_axis_that_stays_padded() -> None:
    stays(
        """g (float[N,3] x) => (float[A,B] y) <int64[4] p = {0, 1, 2, 0}, int64[1] s = {1}, int64[1] e = {4}> {
            b = Pad(x, p) y = Slice(b, s, e, s) }""",
        "slice_of_pad",
    )


def test_pads_that_no_tensor_has_stay() -> None:
    half = f"{{0, {2**62}, 0, 0}}"
    text = f"g (float[N,M] x) => (float[A,B] y) <int64[4] p = {half}, int64[4] q = {half}> {{ b = Pad(x, p) y = Pad(b, q) }}"
    _, rewriter = rewrite(parse(text), "pad_of_pad")
    assert len(rewriter.ledger) == 0
