"""Resize, Upsample, DepthToSpace, SpaceToDepth, and operators that sample images."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from foldproof.facts.dim import Dim
from foldproof.facts.transfer.resizing import scaled
from tests.facts.inferring import assert_sound_at, infer

SIZES = [{"h": 1, "w": 2}, {"h": 3, "w": 3}, {"h": 6, "w": 7}]
H = Dim.symbol("h")


def single(number: float) -> Fraction:
    """The exact value of a number as float32 stores it."""
    return Fraction(float(np.float32(number)))


@pytest.mark.parametrize(
    ("dim", "scale", "expected"),
    [
        (H, Fraction(2), 2 * H),
        (H, Fraction(1, 2), H // 2),
        (H, Fraction(5, 2), (5 * H) // 2),
        (7, Fraction(1, 2), 3),
        (10, single(0.3), 3),  # 0.3 as a float32 is a little more: 3.0000001
        (10, single(0.7), None),  # 0.7 is a little less: 6.9999998, which float32 rounds to 7
        (300 * H, single(1 / 300), H),  # rounded up
        (H, single(1 / 3), None),
        (10 * H, single(0.7), None),  # rounded down
        (H, None, None),
        (H, -1, None),
    ],
)
def test_a_scaled_dim(dim, scale, expected):
    assert scaled(dim, scale) == expected


@pytest.mark.parametrize(
    ("opset", "call", "expected"),
    [
        (10, "(x, scales)", "[1, 3, 2*h, w//2]"),
        (11, "(x, roi, scales)", "[1, 3, 2*h, w//2]"),
        (13, "(x, , scales)", "[1, 3, 2*h, w//2]"),
        (13, "(x, , , sizes)", "[1, 3, 5, 6]"),
        (11, "(x, roi, roi, sizes)", "[1, 3, 5, 6]"),  # no scales: an empty tensor
        (18, "<axes = [2, -1]> (x, , few)", "[1, 3, 2*h, w//2]"),
        (19, "<axes = [3, 2]> (x, , , pair)", "[1, 3, 9, 8]"),
        (13, '<coordinate_transformation_mode = "tf_crop_and_resize"> (x, roi, scales)', "[y:0, y:1, y:2, y:3]"),
        (18, '<axes = [2, 3], keep_aspect_ratio_policy = "not_larger"> (x, , , pair)', "[1, 3, y:2, y:3]"),
    ],
)
def test_resize_in_all_its_versions(opset, call, expected):
    body = f"""g (float[1, 3, h, w] x) => (float[] y)
        <float[4] scales = {{1.0, 1.0, 2.0, 0.5}}, int64[4] sizes = {{1, 3, 5, 6}}, float[0] roi = {{}},
        float[2] few = {{2.0, 0.5}}, int64[2] pair = {{8, 9}}> {{ y = Resize {call} }}"""
    assert infer(body, opset=opset)["y"] == f"float{expected}"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("stretch", "[1, 1, 25, 20]"), ("not_larger", "[1, 1, 25, 18]"), ("not_smaller", "[1, 1, 29, 20]")],
)
def test_the_ratio_between_the_dims_is_kept(policy, expected):
    """10 x 7 to at most 25 x 20: by 2.5 and 17.5, a tie; by 20/7 it is 28.57."""
    body = f"""g (float[1, 1, 10, 7] x) => (float[] y) <int64[2] sizes = {{25, 20}}>
        {{ y = Resize <axes = [2, 3], keep_aspect_ratio_policy = "{policy}"> (x, , , sizes) }}"""
    if policy == "not_larger":
        expected = "[1, 1, 25, y:3]"  # float arithmetic may see either side of the tie
    assert infer(body)["y"] == f"float{expected}"


def test_resize_to_sizes_that_are_dims():
    body = """g (float[1, 3, h, w] x, float[1, 3, 2, h] o) => (float[] y) <int64[1] two = {2}>
        { a = Shape <end = 3> (x)  b = Shape <start = 3> (o)  sizes = Concat <axis = 0> (a, b)
        y = Resize(x, , , sizes) }"""
    assert infer(body)["y"] == "float[1, 3, h, h]"
    assert_sound_at(body, *SIZES)


def test_resize_by_scales_of_the_run_knows_the_rank():
    assert infer("g (float[1, h] x, float[2] s) => (float[] y) { y = Resize(x, , s) }")["y"] == "float[y:0, y:1]"


@pytest.mark.parametrize(
    ("opset", "call"),
    [(1, "<height_scale = 2.0, width_scale = 3.0> (x)"), (7, "<scales = [1.0, 1.0, 2.0, 3.0]> (x)"), (9, "(x, s)")],
)
def test_upsample(opset, call):
    body = f"g (float[1, 3, h, w] x) => (float[] y) <float[4] s = {{1.0, 1.0, 2.0, 3.0}}> {{ y = Upsample {call} }}"
    assert infer(body, opset=opset)["y"] == "float[1, 3, 2*h, 3*w]"


def test_depth_and_space():
    body = """g (float[n, 12, h, w] x) => (float[] y) { y = DepthToSpace <blocksize = 2> (x)  z = SpaceToDepth
        <blocksize = 3> (y) }"""
    assert infer(body) == {"y": "float[n, 3, 2*h, 2*w]", "z": "float[n, 27, (2*h)//3, (2*w)//3]"}
    assert_sound_at(body, {"n": 0, "h": 3, "w": 6}, {"n": 1, "h": 3, "w": 3}, {"n": 2, "h": 0, "w": 3})


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("(float[n, c, h, w] x, float[n, p, q, 2] g) => (float[] y) { y = GridSample(x, g) }", "float[n, c, p, q]"),
        (
            "(float[n, c, d, h, w] x, float[2, p, q, r, 3] g) => (float[] y) { y = GridSample(x, g) }",
            "float[2, c, p, q, r]",
        ),
        ("(float[n, 2, 3] t) => (float[] y) <int64[4] s = {5, 3, 6, 7}> { y = AffineGrid(t, s) }", "float[5, 6, 7, 2]"),
        (
            "(float[n, 3, 4] t) => (float[] y) <int64[5] s = {5, 3, 6, 7, 8}> { y = AffineGrid(t, s) }",
            "float[5, 6, 7, 8, 3]",
        ),
        ("(float[n, 2, 3] t, int64[k] s) => (float[] y) { y = AffineGrid(t, s) }", "float[y:0, y:1, y:2, y:3]"),
        (
            "(float[n, 12, l] x) => (float[] y) <int64[2] i = {8, 9}, int64[2] b = {2, 3}> { y = Col2Im(x, i, b) }",
            "float[n, 2, 8, 9]",
        ),
        (
            "(float[n, c, l] x, int64[2] i, int64[2] b) => (float[] y) { y = Col2Im(x, i, b) }",
            "float[n, y:1, y:2, y:3]",
        ),
        (
            "(float[n, c, h, w] x, float[r, 4] b, int64[r] i) => (float[] y)"
            " { y = RoiAlign <output_height = 5, output_width = 6> (x, b, i) }",
            "float[r, c, 5, 6]",
        ),
        (
            "(float[n, c, h, w] x, float[r, 5] b) => (float[] y) { y = MaxRoiPool <pooled_shape = [5, 6]> (x, b) }",
            "float[r, c, 5, 6]",
        ),
        ("(float[n, k, 4] b, float[n, c, k] s) => (int64[] y) { y = NonMaxSuppression(b, s) }", "int64[y:0, 3]"),
        ("(uint8[n] x) => (uint8[] y) { y = ImageDecoder(x) }", "uint8[y:0, y:1, y:2]"),
        (
            "(float[n, 4, h, w] x, float[6, 4, 3, 3] k, float[n, 18, p, q] o) => (float[] y)"
            " { y = DeformConv(x, k, o) }",
            "float[n, 6, p, q]",
        ),
    ],
)
def test_sampling(graph, expected):
    assert infer(f"g {graph}")["y"] == expected
