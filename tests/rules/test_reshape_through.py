from __future__ import annotations

import pytest

from tests.rules.moving import becomes, stays

MERGING = ("one_reshape", "reshape_of_unary", "reshape_of_pad")


def test_keys_of_an_attention_are_transposed_at_once() -> None:
    # Heads are joined with the batch, transposed, and taken apart again.
    becomes(
        """g (float[N,12,M,4] x) => (float[A,B,C,D] y)
        <int64[1] zero = {0}, int64[1] two = {2}, int64[1] k = {-1}, int64[1] h = {12}, int64[1] d = {4}> {
            s = Shape(x) n = Gather(s, zero) m = Gather(s, two) t = Concat <axis = 0> (k, m, d) r = Reshape(x, t)
            p = Transpose <perm = [0, 2, 1]> (r) u = Concat <axis = 0> (n, h, d, m)
            y = Reshape <allowzero = 1> (p, u) }""",
        {"Transpose": 1},
        "transpose_between_reshapes",
    )


@pytest.mark.parametrize(
    ("before", "joined", "perm", "after", "left"),
    [
        ("2,12,5,4", [24, 5, 4], [0, 2, 1], [2, 12, 4, 5], [0, 1, 3, 2]),
        ("2,3,5,4", [6, 20], [1, 0], [5, 4, 2, 3], [2, 3, 0, 1]),
        ("1,3,5,4", [3, 20], [1, 0], [5, 4, 1, 3], [2, 3, 0, 1]),
        ("3,4", [3, 4, 1], [2, 1, 0], [4, 3], [1, 0]),
        ("2,0,4", [0, 4], [1, 0], [4, 2, 0], [2, 0, 1]),
    ],
)
def test_dims_that_are_joined_move_together(
    before: str, joined: list[int], perm: list[int], after: list[int], left: list[int]
) -> None:
    def numbers(values: list[int]) -> str:
        return f"{{{', '.join(map(str, values))}}}"

    text = f"""g (float[{before}] x) => (float[{",".join("ABCD"[: len(after)])}] y)
        <int64[{len(joined)}] s = {numbers(joined)}, int64[{len(after)}] t = {numbers(after)}> {{
        r = Reshape <allowzero = 1> (x, s) p = Transpose <perm = {perm}> (r) y = Reshape <allowzero = 1> (p, t) }}"""
    model = becomes(text, {"Transpose": 1}, "transpose_between_reshapes")
    assert list(model.graph.node[0].attribute[0].ints) == left


@pytest.mark.parametrize(
    ("joined", "perm", "after", "more"),
    [
        ([6, 20], [1, 0], [4, 5, 2, 3], ""),  # apart in other dims
        ([2, 15, 4], [0, 2, 1], [2, 4, 5, 3], ""),
        ([3, 2, 20], [0, 2, 1], [3, 20, 2, 1], ""),  # the inner Reshape does more than to join
        ([6, 20], [1, 0], [5, 4, 2, 3], ", float[20,6] p"),  # the Transpose is read elsewhere
    ],
)
def test_other_transposes_between_reshapes_stay(
    joined: list[int], perm: list[int], after: list[int], more: str
) -> None:
    text = f"""g (float[2,3,5,4] x) => (float[A,B,C,D] y{more})
        <int64[{len(joined)}] s = {{{str(joined)[1:-1]}}}, int64[4] t = {{{str(after)[1:-1]}}}> {{
        r = Reshape(x, s) p = Transpose <perm = {perm}> (r) y = Reshape(p, t) }}"""
    stays(text, "transpose_between_reshapes")


def test_reshapes_meet_through_what_computes_each_element_by_itself() -> None:
    becomes(
        """g (float[N,12] x) => (float[A,B,C] y) <int64[2] s = {-1, 6}, int64[3] t = {-1, 3, 4}> {
            a = Reshape(x, s) b = Sigmoid(a) y = Reshape(b, t) }""",
        {"Reshape": 1, "Sigmoid": 1},
        *MERGING,
    )
    becomes(
        """g (float[N,12] x) => (float[A,B] y) <int64[2] s = {-1, 6}, int64[2] t = {-1, 12}, float lo = {0.25}> {
            a = Reshape(x, s) b = Clip(a, lo) y = Reshape(b, t) }""",
        {"Clip": 1},
        *MERGING,
    )


@pytest.mark.parametrize(
    "text",
    [
        """g (float[N,12] x) => (float[A,B] y, float[C,D] b) <int64[2] s = {-1, 6}, int64[2] t = {-1, 12}> {
        a = Reshape(x, s) b = Relu(a) y = Reshape(b, t) }""",
        """g (float[N,12] x) => (float[A,B] y) <int64[2] s = {-1, 6}, int64[2] t = {-1, 12}> {
        a = Reshape(x, s) b = Softmax(a) y = Reshape(b, t) }""",
        """g (float[N,12] x) => (float[A,B] y)
        <int64[2] s = {-1, 6}, int64[2] t = {-1, 12}, float[6] k = {1, 2, 3, 4, 5, 6}> {
        a = Reshape(x, s) b = Add(a, k) y = Reshape(b, t) }""",
    ],
)
def test_reshapes_do_not_meet(text: str) -> None:
    stays(text, *MERGING)


@pytest.mark.parametrize("mode", ["constant", "reflect"])
@pytest.mark.parametrize("opset", [10, 12, 18])
def test_reshapes_meet_through_pad(mode: str, opset: int) -> None:
    pads = "0, 0, 2, 0, 0, 1"
    pad = f'Pad <mode = "{mode}", pads = [{pads}]> (a)' if opset < 11 else f'Pad <mode = "{mode}"> (a, p)'
    becomes(
        f"""g (float[N,5,1] x) => (float[A,B,C,D] y)
        <int64[3] s = {{-1, 1, 5}}, int64[6] p = {{{pads}}}, int64[4] t = {{-1, 1, 1, 8}}> {{
            a = Reshape(x, s) b = {pad} y = Reshape(b, t) }}""",
        {"Reshape": 1, "Pad": 1},
        *MERGING,
        opset=opset,
    )


def test_a_dim_of_1_goes_after_a_pad() -> None:
    becomes(
        """g (float[N,5] x) => (float[A,B] y)
        <int64[3] s = {-1, 1, 5}, int64[6] p = {1, 0, 0, 0, 0, 2}, int64[1] t = {1}, float v = {7}> {
            a = Reshape(x, s) b = Pad(a, p, v) y = Squeeze(b, t) }""",
        {"Pad": 1},
        *MERGING,
        "same_shape",
    )


@pytest.mark.parametrize(
    ("pads", "target"),
    [("0, 1, 2, 0, 0, 1", "-1, 1, 3, 8"), ("0, 0, 2, 0, 0, 1", "-1, 2, 4"), ("0, 1, 0, 0, 0, 0", "-1, 10")],
)
def test_reshapes_of_more_than_ones_stay_behind_a_pad(pads: str, target: str) -> None:
    count = target.count(",") + 1
    text = f"""g (float[N,5,1] x) => (float[{",".join("ABCD"[:count])}] y)
        <int64[3] s = {{-1, 1, 5}}, int64[6] p = {{{pads}}}, int64[{count}] t = {{{target}}}> {{
        a = Reshape(x, s) b = Pad(a, p) y = Reshape(b, t) }}"""
    stays(text, *MERGING)
