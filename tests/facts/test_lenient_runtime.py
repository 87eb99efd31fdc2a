"""Where onnxruntime runs what the specification forbids, facts hold for what it does."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.facts.checking import assert_sound
from tests.helpers import needs_recent_onnxruntime, operators, parse, rewrite


def zeros(*dims: int) -> np.ndarray:
    return np.zeros(dims, np.float32)


@needs_recent_onnxruntime
@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (2, 0), (2, 3)])
def test_an_open_dim_beside_zeros_under_allowzero(sizes: tuple[int, int]) -> None:
    body = """g (float[N,M] x) => (float[A,B] y) { s = Shape(x) o = Constant <value_ints = [1]> () m = Gather(s, o)
        k = Constant <value_ints = [-1]> () t = Concat <axis = 0> (k, m) y = Reshape <allowzero = 1> (x, t) }"""
    assert_sound(parse(body), {"x": zeros(*sizes)})


@needs_recent_onnxruntime
@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (2, 0), (2, 3)])
def test_an_open_dim_beside_the_zeros_of_the_input_itself(sizes: tuple[int, int]) -> None:
    body = """g (float[N,M,12] x) => (float[A,B,C,D] y) { s = Shape <end = 2> (x) k = Constant <value_ints = [-1, 4]> ()
        t = Concat <axis = 0> (s, k) y = Reshape <allowzero = 1> (x, t) z = Shape <start = 2> (y) }"""
    model = parse(body.replace("=> (float[A,B,C,D] y)", "=> (float[A,B,C,D] y, int64[2] z)"))
    assert_sound(model, {"x": zeros(*sizes, 12)})
    assert "Shape" in operators(model)
    optimized, _ = rewrite(model)
    assert [list(onnx.numpy_helper.to_array(each)) for each in optimized.graph.initializer if each.name == "z"] == [
        [3, 4]
    ]


def test_a_copied_dim_beside_an_open_one_keeps_its_target_under_allowzero() -> None:
    body = """g (float[B,S,8] x) => (float[P,Q,R] y) { s = Shape(x) a = Constant <value_ints = [0]> () n = Gather(s, a)
        m = Constant <value_ints = [-1]> () d = Constant <value_ints = [2]> () t = Concat <axis = 0> (n, m, d)
        y = Reshape <allowzero = 1> (x, t) }"""
    model, _ = rewrite(parse(body))
    assert operators(model)["Concat"] == 1
    model, _ = rewrite(parse(body.replace(" <allowzero = 1>", "")))
    assert operators(model) == {"Reshape": 1}


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_an_empty_input_of_a_concat_tells_nothing(rows: int) -> None:
    body = """g (float[N,M] x) => (float[A,B] y) { e = Constant <value = float[1,0] {}> ()
        y = Concat <axis = 1> (x, e) }"""
    assert_sound(parse(body), {"x": zeros(rows, 3)})


def test_the_inputs_of_a_concat_that_agree_tell() -> None:
    body = "g (float[N,4] x, float[M,4] w) => (float[A,B] y, int64[1] d) { y = Concat <axis = 0> (x, w) d = Shape <start = 1> (y) }"
    model, _ = rewrite(parse(body))
    assert operators(model) == {"Concat": 1}


@pytest.mark.parametrize(("rows", "picks"), [(1, 3), (3, 0), (2, 2)])
def test_the_batch_of_a_gather_nd_is_that_of_the_indices(rows: int, picks: int) -> None:
    body = "g (float[N,M] x, int64[P,1] i) => (float[A] y) { y = GatherND <batch_dims = 1> (x, i) }"
    assert_sound(parse(body), {"x": zeros(rows, 4), "i": np.zeros((picks, 1), np.int64)})


@pytest.mark.parametrize("slope", [1, 7])
def test_a_slope_may_be_larger_than_what_it_is_applied_to(slope: int) -> None:
    body = "g (float[N,M] x, float[K] s) => (float[A,B] y) { y = PRelu(x, s) }"
    assert_sound(parse(body), {"x": zeros(2, 1), "s": zeros(slope)})
