from __future__ import annotations

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import operators, parse, rewrite
from tests.rules.checking import assert_same_everywhere
from tests.rules.moving import becomes, stays

bound = st.one_of(st.integers(-6, 6), st.just(2**31 - 1), st.just(2**63 - 1), st.just(-(2**63)))
step = st.sampled_from([1, 1, 1, 2, 3, -1, -2])


def slices(dim: str, *cuts: tuple[int, int, int]) -> onnx.ModelProto:
    """A chain of Slices of one axis."""
    values = ", ".join(
        f"int64[1] {name}{k} = {{{number}}}"
        for k, cut in enumerate(cuts)
        for name, number in zip("set", cut, strict=True)
    )
    chain = " ".join(f"v{k + 1} = Slice(v{k}, s{k}, e{k}, zero, t{k})" for k in range(len(cuts)))
    return parse(f"g (float[{dim}] v0) => (float[A] v{len(cuts)}) <int64[1] zero = {{0}}, {values}> {{ {chain} }}")


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["0", "1", "2", "5", "N"]), st.tuples(bound, bound, step), st.tuples(bound, bound, step))
def test_slices_of_one_axis_keep_their_meaning(
    dim: str, first: tuple[int, int, int], second: tuple[int, int, int]
) -> None:
    original = slices(dim, first, second)
    model, rewriter = rewrite(original, "slice_of_slice", "dead_node")
    if len(rewriter.ledger):
        assert operators(model) == {"Slice": 1}
        assert_same_everywhere(original, model)


@pytest.mark.parametrize(
    ("dim", "first", "second"),
    [
        ("N", (0, 2**63 - 1, 1), (1, 5, 1)),
        ("N", (2, 9, 2), (1, 3, 1)),
        ("N", (1, -1, 1), (1, 2**63 - 1, 1)),
        ("N", (1, 2**63 - 1, 1), (1, -2, 1)),
        ("N", (0, -1, 1), (0, -1, 1)),
        ("9", (-1, -10, -1), (-1, -10, -1)),
        ("9", (-4, -1, 1), (-2, 9, 1)),
        ("9", (5, 5, 1), (0, 1, 1)),
    ],
)
def test_two_slices_of_one_axis_become_one(dim: str, first: tuple[int, int, int], second: tuple[int, int, int]) -> None:
    model, _ = rewrite(slices(dim, first, second), "slice_of_slice", "dead_node")
    assert operators(model) == {"Slice": 1}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0, 5, 1), (0, -1, 1)),  # min(n, 5) - 1
        ((-3, 2**63 - 1, 1), (1, 2**63 - 1, 1)),  # starts at 0 where n < 3
        ((0, -1, 1), (0, 4, 1)),  # min(n - 1, 4)
        ((-1, -(2**63), -1), (0, 2, 1)),
    ],
)
def test_two_slices_stay_where_one_depends_on_an_unknown_dim(
    first: tuple[int, int, int], second: tuple[int, int, int]
) -> None:
    _, rewriter = rewrite(slices("N", first, second), "slice_of_slice")
    assert len(rewriter.ledger) == 0


def test_slices_of_different_axes_become_one() -> None:
    becomes(
        """g (float[N,M,7] x) => (float[A,B,C] y)
        <int64[1] a = {1}, int64[1] b = {4}, int64[1] c = {2}, int64[1] z = {0}, int64[1] m = {-1}> {
            p = Slice(x, a, b, a) q = Slice(p, c, b, m) y = Slice(q, z, c, z) }""",
        {"Slice": 1},
        "slice_of_slice",
    )


def test_slices_of_an_old_opset() -> None:
    becomes(
        """g (float[N,M,7] x) => (float[A,B,C] y) {
            p = Slice <axes = [0], starts = [1], ends = [100]> (x) y = Slice <starts = [0, 1], ends = [2, -1]> (p) }""",
        {"Slice": 1},
        "slice_of_slice",
        opset=9,
    )


@pytest.mark.parametrize(
    "text",
    [
        """g (float[N] x) => (float[A] y, float[B] p) <int64[1] a = {1}, int64[1] b = {4}> {
        p = Slice(x, a, b) y = Slice(p, a, b) }""",
        """g (float[N] x, int64[1] k) => (float[A] y) <int64[1] a = {1}, int64[1] b = {4}> {
        p = Slice(x, a, k) y = Slice(p, a, b) }""",
        """g (float[N,M] x, int64[1] k) => (float[A,B] y) <int64[1] a = {0}, int64[1] b = {4}> {
        p = Slice(x, a, b, k) y = Slice(p, a, b) }""",
    ],
)
def test_slices_stay(text: str) -> None:
    stays(text, "slice_of_slice")


@pytest.mark.parametrize(("start", "end"), [(0, 1), (2, 3), (-1, 2**63 - 1), (-2, -1)])
def test_one_slice_without_its_dim_is_a_gather(start: int, end: int) -> None:
    becomes(
        f"""g (float[3,4,N] x) => (float[A,B] y)
        <int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{1}}> {{
            p = Slice(x, s, e, a) y = Squeeze(p, a) }}""",
        {"Gather": 1},
        "squeeze_of_slice",
    )


@pytest.mark.parametrize(
    ("start", "end", "dropped", "opset"), [(0, 2, 1, 18), (-1, 0, 1, 18), (1, 2, 0, 18), (-1, 2**63 - 1, 1, 10)]
)
def test_other_slices_are_no_gather(start: int, end: int, dropped: int, opset: int) -> None:
    squeeze = f"Squeeze <axes = [{dropped}]> (p)" if opset < 13 else "Squeeze(p, q)"
    stays(
        f"""g (float[1,M,N] x) => (float[A,B] y) <int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{1}},
            int64[1] q = {{{dropped}}}> {{ p = Slice(x, s, e, a) y = {squeeze} }}""",
        "squeeze_of_slice",
        opset=opset,
    )


HALVES = """g (float[N,6] x) => (float[A,B] y) <int64[1] z = {0}, int64[1] h = {2}, int64[1] e = {9223372036854775807},
    int64[1] a = {1}> { p = Slice(x, h, e, a) q = Slice(x, z, h, a) n = Neg(p) y = Concat <axis = 1> (n, q) }"""


@pytest.mark.parametrize("opset", [10, 12, 13, 18])
def test_slices_that_cut_a_dim_into_parts_are_one_split(opset: int) -> None:
    model, _ = rewrite(parse(HALVES, opset=opset), "slices_as_split", "dead_node")
    assert operators(model) == {"Split": 1, "Neg": 1, "Concat": 1}
    assert_same_everywhere(parse(HALVES, opset=opset), model)


@pytest.mark.parametrize(
    "text",
    [
        HALVES.replace("[N,6]", "[6,N]"),  # the second part is of unknown size
        HALVES.replace("q = Slice(x, z, h, a)", "q = Slice(x, z, a, a)"),  # a gap
        HALVES.replace("q = Slice(x, z, h, a)", "q = Slice(x, z, h, z)"),  # another axis
        HALVES.replace("q = Slice(x, z, h, a)", "o = Neg(x) q = Slice(o, z, h, a)"),  # another value
    ],
)
def test_other_slices_are_no_split(text: str) -> None:
    stays(text, "slices_as_split")


def test_a_split_of_which_one_part_is_read_is_a_slice() -> None:
    becomes(
        """g (float[N,6] x) => (float[A,B] y) <int64[3] s = {1, 2, 3}> {
            p, q, r = Split <axis = -1> (x, s) y = Relu(q) }""",
        {"Slice": 1, "Relu": 1},
        "split_for_one",
    )


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_split_and_slices_do_not_undo_each_other(opset: int) -> None:
    model, rewriter = rewrite(parse(HALVES, opset=opset), "slices_as_split", "split_for_one", "dead_node")
    assert operators(model) == {"Split": 1, "Neg": 1, "Concat": 1}
    assert len(rewriter.ledger) == 1


def test_a_slice_of_one_joined_part_is_of_that_part() -> None:
    becomes(
        """g (float[N,2] x, float[N,3] z) => (float[A,B] y, float[C,D] w) <int64[1] a = {1}, int64[1] s = {3},
            int64[1] e = {5}, int64[1] t = {2}> {
            p = Concat <axis = -1> (x, z) q = Slice(p, s, e, a) y = Relu(q) r = Slice(p, t, e, a) w = Relu(r) }""",
        {"Slice": 1, "Relu": 2},
        "slice_of_concat",
    )


def test_a_slice_of_two_joined_parts_stays() -> None:
    stays(
        """g (float[N,2] x, float[N,3] z) => (float[A,B] y) <int64[1] a = {1}, int64[1] e = {5}> {
            p = Concat <axis = -1> (x, z) y = Slice(p, a, e, a) }""",
        "slice_of_concat",
    )


@pytest.mark.parametrize(("start", "end"), [(0, 2), (1, 2**63 - 1), (-2, -1), (-9, 9)])
def test_a_slice_of_a_shape_is_a_shape(start: int, end: int) -> None:
    text = f"""g (float[N,M,3] x) => (int64[A] y) <int64[1] s = {{{start}}}, int64[1] e = {{{end}}}> {{
        p = Shape(x) y = Slice(p, s, e) }}"""
    becomes(text, {"Shape": 1}, "slice_of_shape")
    stays(text, "slice_of_shape", opset=14)


def test_a_slice_of_a_part_of_a_shape() -> None:
    becomes(
        """g (float[N,M,3,K] x) => (int64[A] y) <int64[1] s = {1}, int64[1] e = {-1}> {
            p = Shape <start = 1> (x) y = Slice(p, s, e) }""",
        {"Shape": 1},
        "slice_of_shape",
    )


def test_slices_that_become_gathers_are_no_split() -> None:
    text = """g (float[2,N] x) => (float[A] y) <int64[1] z = {0}, int64[1] o = {1}, int64[1] e = {2}> {
        p = Slice(x, z, o, z) q = Slice(x, o, e, z) a = Squeeze(p, z) b = Squeeze(q, z) y = Add(a, b) }"""
    becomes(text, {"Gather": 2, "Add": 1}, "slices_as_split", "squeeze_of_slice")


REVERSED = """g (float[N,M] x) => (float[N,M] y) <int64[1] a = {1}, int64[1] s = {-1}, int64[1] e = {-9223372036854775807},
    int64[1] t = {-1}> { z = Slice(x, s, e, a, t) w = Slice(z, s, e, a, t) y = Neg(w) }"""


def test_what_is_reversed_twice_is_as_it_was() -> None:
    becomes(REVERSED, {"Neg": 1}, "slice_of_slice", "slice_all")


@pytest.mark.parametrize(
    "text",
    [
        REVERSED.replace("s = {-1}", "s = {-2}"),  # not all of it
        REVERSED.replace("s = {-1}", "s = {5}"),
        REVERSED.replace("e = {-9223372036854775807}", "e = {0}"),  # without the first
        REVERSED.replace("t = {-1}", "t = {-2}"),
    ],
)
def test_what_is_partly_reversed_stays(text: str) -> None:
    stays(text, "slice_of_slice")
