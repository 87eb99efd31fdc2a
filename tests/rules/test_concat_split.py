from __future__ import annotations

import pytest

from tests.helpers import parse, rewrite
from tests.rules.moving import becomes, stays


def test_joined_values_that_are_joined_are_joined_at_once() -> None:
    becomes(
        """g (float[N,M] x, float[N,K] y) => (float[A,B] z) {
            a = Concat <axis = 1> (x, y) b = Concat <axis = -1> (y, x) c = Concat <axis = 1> (a, x, b) z = Relu(c) }""",
        {"Concat": 1, "Relu": 1},
        "nested_concat",
    )


@pytest.mark.parametrize(
    "text",
    [
        "g (float[N,N] x) => (float[A,B] z) { a = Concat <axis = 0> (x, x) z = Concat <axis = 1> (a, a) }",
        """g (float[N,N] x) => (float[A,B] z, float[C,D] a) {
        a = Concat <axis = 0> (x, x) z = Concat <axis = 0> (a, x) }""",
        "g (float[N,N] x) => (float[A,B] z) { a = Concat <axis = 0> (x, x) z = Concat <axis = 0> (a, x, a) }",
        """g (float[N,N] x) => (float[A,B] z, float[A,B] w) {
        a = Concat <axis = 0> (x, x) z = Concat <axis = 0> (a, x) w = Concat <axis = 0> (x, a) }""",
    ],
)
def test_nested_concat_stays(text: str) -> None:
    stays(text, "nested_concat")


@pytest.mark.parametrize(
    ("inputs", "left"), [("x, e, y", {"Concat": 1}), ("e, x", {"Identity": 1}), ("e, e", {"Identity": 1})]
)
def test_empty_inputs_go(inputs: str, left: dict[str, int]) -> None:
    text = f"g (float[N,2] x, float[N,3] y, float[N,0] e) => (float[A,B] z) {{ z = Concat <axis = 1> ({inputs}) }}"
    becomes(text, left, "concat_of_empty")


@pytest.mark.parametrize(
    "text",
    [
        "g (float[0,2] x, float[0,3] y) => (float[A,B] z) { z = Concat <axis = 1> (x, y) }",
        "g (float[N,2] x, float[N,M] y) => (float[A,B] z) { z = Concat <axis = 1> (x, y) }",
    ],
)
def test_inputs_that_are_not_empty_on_the_axis_stay(text: str) -> None:
    stays(text, "concat_of_empty")


SPLIT = "g (float[N,6] x, float[N,2] y) => (float[A,B] z) <int64[2] s = {2, 4}> { p, q = Split <axis = 1> (x, s) z = "


@pytest.mark.parametrize(
    ("concat", "left"),
    [
        ("Concat <axis = 1> (p, q)", {"Identity": 1}),
        ("Concat <axis = -1> (y, p, q)", {"Concat": 1}),
        ("Concat <axis = 1> (p, q, p, q)", {"Concat": 1}),
    ],
)
def test_all_parts_of_a_split_in_order_are_what_was_split(concat: str, left: dict[str, int]) -> None:
    becomes(SPLIT + concat + " }", left, "concat_of_split")


@pytest.mark.parametrize("inputs", ["q, p", "p, y, q", "p, p"])
def test_parts_in_another_order_stay(inputs: str) -> None:
    stays(SPLIT + f"Concat <axis = 1> ({inputs}) }}", "concat_of_split")


def test_parts_of_another_axis_stay() -> None:
    stays(SPLIT.replace("[N,6]", "[N,4]").replace("{2, 4}", "{2, 2}") + "Concat <axis = 0> (p, q) }", "concat_of_split")


MAX = 2**63 - 1


def pieces(*cuts: tuple[int, int], axis: int = 1) -> str:
    values = ", ".join(f"int64[1] s{k} = {{{s}}}, int64[1] e{k} = {{{e}}}" for k, (s, e) in enumerate(cuts))
    nodes = " ".join(f"p{k} = Slice(x, s{k}, e{k}, a)" for k in range(len(cuts)))
    joined = ", ".join(f"p{k}" for k in range(len(cuts)))
    return f"""g (float[M,N] x) => (float[A,B] y) <int64[1] a = {{1}}, {values}> {{
        {nodes} y = Concat <axis = {axis}> ({joined}) }}"""


@pytest.mark.parametrize(
    ("cuts", "left"),
    [
        (((0, 2), (2, MAX)), {"Identity": 1}),
        (((0, -2), (-2, MAX)), {"Identity": 1}),
        (((0, 1), (1, 3), (3, MAX)), {"Identity": 1}),
        (((1, 2), (2, 4)), {"Slice": 1}),
        (((-3, -2), (-2, -1)), {"Slice": 1}),
        (((0, -1), (-1, MAX), (1, 2)), {"Slice": 1, "Concat": 1}),
    ],
)
def test_slices_that_follow_on_each_other_are_one(cuts: tuple[tuple[int, int], ...], left: dict[str, int]) -> None:
    becomes(pieces(*cuts), left, "concat_of_slices")


@pytest.mark.parametrize(
    "cuts",
    [
        ((2, MAX), (0, 2)),  # in another order
        ((0, 2), (3, MAX)),  # with a gap
        ((1, -2), (-2, MAX)),  # the second starts before the first where n is 2
        ((0, 2), (2, -1)),  # the second may end before it starts, the first not
        ((2, 1), (1, 3)),  # the first is empty, the second starts before it
        ((0, -2), (-2, -3)),
    ],
)
def test_slices_that_may_not_follow_stay(cuts: tuple[tuple[int, int], ...]) -> None:
    stays(pieces(*cuts), "concat_of_slices")


def test_slices_of_another_axis_stay() -> None:
    stays(pieces((0, 2), (2, 4), axis=0).replace("M,N", "4,4"), "concat_of_slices")


def test_slices_that_are_read_elsewhere_stay() -> None:
    text = pieces((1, 2), (2, 4)).replace("(float[A,B] y)", "(float[A,B] y, float[C,D] p0, float[E,F] p1)")
    stays(text, "concat_of_slices")


CONCAT = "g (float[N,2] x, float[N,4] y) => (float[A,B] p, float[C,D] q) <int64[2] s = {2, 4}, int64[2] t = {3, 3}> { "


@pytest.mark.parametrize("axis", [1, -1])
def test_a_split_where_it_was_joined_takes_it_back(axis: int) -> None:
    text = CONCAT + f"j = Concat <axis = {axis}> (x, y) a, b = Split <axis = 1> (j, s) p = Relu(a) q = Neg(b) }}"
    becomes(text, {"Relu": 1, "Neg": 1}, "split_of_concat")


def test_parts_of_which_one_may_be_empty_stay() -> None:
    """onnxruntime joins an empty tensor to one of any other dims."""
    text = (
        CONCAT.replace("float[N,4] y", "float[2,4] y") + "j = Concat <axis = 1> (x, y) p, q = Split <axis = 1> (j, s) }"
    )
    _, rewriter = rewrite(parse(text), "split_of_concat")
    assert len(rewriter.ledger) == 0


def test_a_split_at_another_place_stays() -> None:
    stays(CONCAT + "j = Concat <axis = 1> (x, y) p, q = Split <axis = 1> (j, t) }", "split_of_concat")


def test_dims_one_after_the_other_are_one_shape() -> None:
    text = """g (float[N,M,3,K] x) => (int64[A] y) <int64[1] k = {7}> {
        a = Shape <end = 1> (x) b = Shape <start = 1, end = 3> (x) c = Shape <start = 3> (x) d = Shape <end = 1> (x)
        y = Concat <axis = 0> (a, b, k, c, d) }"""
    becomes(text, {"Shape": 3, "Concat": 1}, "concat_of_shapes")
    becomes(text.replace("(a, b, k, c, d)", "(a, b, c)"), {"Shape": 1}, "concat_of_shapes")
    stays(text.replace("(a, b, k, c, d)", "(b, a, c)"), "concat_of_shapes")


def test_gathers_of_one_value_are_one() -> None:
    text = """g (float[N,M,3] x) => (int64[A] y) <int64[1] i = {2}, int64[2] j = {0, -2}, int64[1] k = {7}> {
        s = Shape(x) a = Gather(s, i) b = Gather(s, j) y = Concat <axis = 0> (a, b, k) }"""
    becomes(text, {"Shape": 1, "Gather": 1, "Concat": 1}, "concat_of_gathers")
    becomes(text.replace("(a, b, k)", "(a, b)"), {"Shape": 1, "Gather": 1}, "concat_of_gathers")
    stays(text.replace("int64[A] y", "int64[A] y, int64[1] a"), "concat_of_gathers")
    stays(text.replace("(a, b, k)", "(a, k, b)"), "concat_of_gathers")


@pytest.mark.parametrize(
    ("split", "opset"),
    [("Split <axis = 1, split = [6]> (x)", 12), ("Split(x, s)", 13), ("Split <num_outputs = 1> (x)", 18)],
)
def test_a_split_into_one_goes(split: str, opset: int) -> None:
    text = f"g (float[6,6] x) => (float[A,B] y) <int64[1] s = {{6}}> {{ p = {split} y = Relu(p) }}"
    becomes(text, {"Relu": 1}, "split_into_one", opset=opset)
    stays("g (float[6,6] x) => (float[A,B] p, float[C,D] q) { p, q = Split(x) }", "split_into_one", opset=12)
