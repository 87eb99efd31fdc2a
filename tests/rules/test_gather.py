from __future__ import annotations

import numpy as np
import pytest

from tests.helpers import initializers, operators, parse, rewrite
from tests.rules.checking import assert_same
from tests.rules.moving import becomes, stays


@pytest.mark.parametrize("indices", ["{0, 1, 2}", "{0, -2, -1}"])
def test_gathering_all_in_order_is_nothing(indices: str) -> None:
    becomes(
        f"g (float[N,3] x) => (float[A,B] y) <int64[3] i = {indices}> {{ p = Gather <axis = -1> (x, i) y = Relu(p) }}",
        {"Relu": 1},
        "gather_all",
    )


@pytest.mark.parametrize(
    ("shape", "indices"),
    [("N,3", "int64[3] i = {0, 2, 1}"), ("N,3", "int64[2] i = {0, 1}"), ("3,N", "int64[3] i = {0, 1, 2}")],
)
def test_gathering_less_or_in_another_order_stays(shape: str, indices: str) -> None:
    stays(f"g (float[{shape}] x) => (float[A,B] y) <{indices}> {{ y = Gather <axis = 1> (x, i) }}", "gather_all")


@pytest.mark.parametrize(
    ("second", "dims"), [("int64 j = {1}", "A"), ("int64[3] j = {-1, 0, 0}", "A,B"), ("int64[1] j = {2}", "A,B")]
)
def test_a_gather_of_a_gather_is_one(second: str, dims: str) -> None:
    becomes(
        f"""g (float[N,5] x) => (float[{dims}] y) <int64[3] i = {{4, -2, 0}}, {second}> {{
            p = Gather <axis = 1> (x, i) y = Gather <axis = 1> (p, j) }}""",
        {"Gather": 1},
        "gather_of_gather",
    )


@pytest.mark.parametrize(
    "text",
    [
        """g (float[3,5] x) => (float[A,B] y) <int64[3] i = {4, -2, 0}, int64[1] j = {0}> {
        p = Gather <axis = 1> (x, i) y = Gather <axis = 0> (p, j) }""",
        """g (float[N,5] x, int64[3] i) => (float[A,B] y) <int64[1] j = {0}> {
        p = Gather <axis = 1> (x, i) y = Gather <axis = 1> (p, j) }""",
        """g (float[3,5] x) => (float[A,B,C] y) <int64[1,2] i = {0, 1}, int64[1] j = {0}> {
        p = Gather <axis = 1> (x, i) y = Gather <axis = 1> (p, j) }""",
    ],
)
def test_other_gathers_of_gathers_stay(text: str) -> None:
    stays(text, "gather_of_gather")


@pytest.mark.parametrize(
    ("start", "end", "step", "index"),
    [
        *[(1, 4, 1, 1), (0, 5, 2, 2), (2, 2**63 - 1, 1, 0), (1, 2**63 - 1, 1, -1), (-2, 2**63 - 1, 1, -2)],
        *[(-1, -(2**63), -1, 1), (-2, 9, 1, 0)],
    ],
)
def test_a_gather_of_a_slice_reads_what_was_sliced(start: int, end: int, step: int, index: int) -> None:
    becomes(
        f"""g (float[N,5] x) => (float[A] y)
        <int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{1}},
            int64[1] t = {{{step}}}, int64 i = {{{index}}}> {{
            p = Slice(x, s, e, a, t) y = Gather <axis = 1> (p, i) }}""",
        {"Gather": 1},
        "gather_of_slice",
    )


@pytest.mark.parametrize(
    ("start", "end", "step", "index"), [(-2, 2**63 - 1, 1, 0), (0, -1, 1, -1), (0, 5, 2, -1), (-1, -(2**63), -1, 0)]
)
def test_a_gather_that_counts_from_the_other_end_stays(start: int, end: int, step: int, index: int) -> None:
    stays(
        f"""g (float[N,M] x) => (float[A] y)
        <int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{1}},
            int64[1] t = {{{step}}}, int64 i = {{{index}}}> {{
            p = Slice(x, s, e, a, t) y = Gather <axis = 1> (p, i) }}""",
        "gather_of_slice",
    )


@pytest.mark.parametrize("index", [0, -1])
def test_the_only_slice_of_a_new_dim_is_the_value(index: int) -> None:
    becomes(
        f"""g (float[N,M] x) => (float[A,B] y) <int64 i = {{{index}}}, int64[1] a = {{1}}> {{
            p = Unsqueeze(x, a) q = Gather <axis = 1> (p, i) y = Relu(q) }}""",
        {"Relu": 1},
        "gather_of_unsqueeze",
    )


def test_a_slice_of_another_dim_than_the_new_one_stays() -> None:
    stays(
        """g (float[3,M] x) => (float[A,B] y) <int64 i = {0}, int64[1] a = {1}> {
            p = Unsqueeze(x, a) y = Gather <axis = 0> (p, i) }""",
        "gather_of_unsqueeze",
    )


@pytest.mark.parametrize(
    ("indices", "dims"),
    [("int64 i = {1}", "A"), ("int64[2] i = {4, 2}", "A,B"), ("int64 i = {-1}", "A"), ("int64[1] i = {-5}", "A,B")],
)
def test_a_gather_of_one_joined_part_is_of_that_part(indices: str, dims: str) -> None:
    text = f"""g (float[N,2] x, float[N,3] z) => (float[{dims}] y) <{indices}> {{
        p = Concat <axis = 1> (x, z) y = Gather <axis = 1> (p, i) }}"""
    becomes(text, {"Gather": 1}, "gather_of_concat")


@pytest.mark.parametrize(
    ("shapes", "indices", "axis"),
    [
        (("N,2", "N,3"), "int64[2] i = {1, 2}", 1),
        (("N,M", "N,3"), "int64[1] i = {2}", 1),
        (("3,2", "3,3"), "int64[1] i = {0}", 0),
        (("N,2", "N,M"), "int64[1] i = {-3}", 1),
    ],
)
def test_a_gather_of_several_or_unknown_parts_stays(shapes: tuple[str, str], indices: str, axis: int) -> None:
    text = f"""g (float[{shapes[0]}] x, float[{shapes[1]}] z) => (float[A,B] y) <{indices}> {{
        p = Concat <axis = 1> (x, z) y = Gather <axis = {axis}> (p, i) }}"""
    stays(text, "gather_of_concat")


def test_a_dim_that_a_scalar_index_takes_and_unsqueeze_gives_back() -> None:
    becomes(
        """g (float[N,5] x) => (float[A,B] y) <int64 i = {3}, int64[1] a = {1}> {
            p = Gather <axis = 1> (x, i) y = Unsqueeze(p, a) }""",
        {"Gather": 1},
        "unsqueeze_of_gather",
    )
    becomes(
        """g (float[N,5] x) => (float[A] y) <int64[1] i = {3}, int64[1] a = {1}> {
            p = Gather <axis = 1> (x, i) y = Squeeze(p, a) }""",
        {"Gather": 1},
        "squeeze_of_gather",
    )


@pytest.mark.parametrize(
    "text",
    [
        """g (float[N,5] x) => (float[A,B] y) <int64 i = {3}, int64[1] a = {0}> {
        p = Gather <axis = 1> (x, i) y = Unsqueeze(p, a) }""",
        """g (float[N,5] x, int64 i) => (float[A,B] y) <int64[1] a = {1}> {
        p = Gather <axis = 1> (x, i) y = Unsqueeze(p, a) }""",
        """g (float[N,5] x) => (float[A,B] y, float[C] p) <int64 i = {3}, int64[1] a = {1}> {
        p = Gather <axis = 1> (x, i) y = Unsqueeze(p, a) }""",
    ],
)
def test_other_unsqueezes_of_gathers_stay(text: str) -> None:
    stays(text, "unsqueeze_of_gather")


@pytest.mark.parametrize(
    "indices", ["int64[1] i = {1}", "int64[2] i = {0, 1}", "int64[2] i = {-2, -1}", "int64[3] i = {0, 1, 2}"]
)
def test_dims_that_follow_on_each_other_are_a_shape(indices: str) -> None:
    text = f"g (float[N,M,K] x) => (int64[A] y) <{indices}> {{ p = Shape(x) y = Gather(p, i) }}"
    becomes(text, {"Shape": 1}, "gather_of_shape")
    stays(text, "gather_of_shape", opset=14)


@pytest.mark.parametrize("indices", ["int64[2] i = {1, 0}", "int64[2] i = {0, 2}"])
def test_other_dims_are_gathered(indices: str) -> None:
    stays(f"g (float[N,M,K] x) => (int64[A] y) <{indices}> {{ p = Shape(x) y = Gather(p, i) }}", "gather_of_shape")


@pytest.mark.parametrize("axis", [-1, 1])
def test_gathering_rows_by_one_number_each(axis: int) -> None:
    text = f"""g (float[N,M] x, int64[K] i) => (float[A,B] y) <int64[1] a = {{{axis}}}> {{
        j = Unsqueeze(i, a) y = GatherND(x, j) }}"""
    original = parse(text)
    model, _ = rewrite(original, "gather_nd_of_rows", "dead_node", "unused_initializer")
    assert operators(model) == {"Gather": 1}
    assert initializers(model) == {}
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    for indices in ([3, 0, -1, -4], []):
        assert_same(original, model, {"x": data, "i": np.array(indices, np.int64)})


@pytest.mark.parametrize("node", ["Unsqueeze(i, z)", "Unsqueeze(i, o)"])
def test_gathering_by_more_numbers_stays(node: str) -> None:
    batched = " <batch_dims = 1> " if node == "Unsqueeze(i, o)" else ""
    stays(
        f"""g (float[2,2] x, int64[2] i) => (float y) <int64[1] z = {{0}}, int64[1] o = {{1}}> {{
            j = {node} p = GatherND {batched} (x, j) y = ReduceSum <keepdims = 0> (p) }}""",
        "gather_nd_of_rows",
    )


@pytest.mark.parametrize(
    ("start", "end", "step", "taken"),
    [(1, 3, 1, [0, 2]), (-2, 9223372036854775807, 1, [2, 4]), (3, -9223372036854775807, -2, [4, 0]), (0, 1, 1, [5])],
)
def test_a_slice_of_gathered_rows_gathers_fewer(start: int, end: int, step: int, taken: list[int]) -> None:
    text = f"""g (float[N,6] x) => (float[A,B] y) <int64[4] i = {{5, 0, 2, 4}}, int64[1] a = {{1}}, int64[1] s = {{{start}}},
        int64[1] e = {{{end}}}, int64[1] t = {{{step}}}> {{ z = Gather <axis = -1> (x, i) y = Slice(z, s, e, a, t) }}"""
    model = becomes(text, {"Gather": 1}, "slice_of_gather")
    assert list(initializers(model).values()) == [taken]


@pytest.mark.parametrize(
    "nodes",
    [
        "z = Gather <axis = 1> (x, i) y = Slice(z, s, e, a) u = Neg(z) w = Concat <axis = 1> (u, y)",  # the Gather is read elsewhere
        "z = Gather <axis = 1> (x, i) y = Slice(z, s, e, o) w = Neg(y)",  # another axis
        "z = Gather <axis = 1> (x, j) y = Slice(z, s, e, a) w = ReduceSum <keepdims = 0> (y, a)",  # indices of two dims
        "z = Gather <axis = 1> (x, i) y = Slice(z, e, s, a) w = Neg(y)",  # nothing is left
    ],
)
def test_other_slices_of_gathered_rows_stay(nodes: str) -> None:
    stays(
        f"""g (float[N,6] x) => (float[A,B] o0, float[C,D] o1) <int64[4] i = {{5, 0, 2, 4}}, int64[1,2] j = {{5, 0}},
            int64[1] a = {{1}}, int64[1] o = {{0}}, int64[1] s = {{1}}, int64[1] e = {{3}}> {{
            {nodes} o0 = Identity(w) o1 = Neg(x) }}""",
        "slice_of_gather",
    )
