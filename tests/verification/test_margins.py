from __future__ import annotations

import numpy as np
import pytest

from foldproof.verification import verify
from foldproof.verification.margins import moved_before_integers

ARGMAX = """g (float[N, 4] x) => (int64[N] y) <float[4] w = {{1, 1, 1, 1}}, float[4] v = {{{}}}> {{
    s = Mul (x, w)
    s2 = Mul (s, v)
    s3 = {}
    y = ArgMax <axis = 1, keepdims = 0> (s3)
}}"""


def argmax(weights, of="Abs (s2)"):
    return ARGMAX.format(", ".join(map(str, weights)), of)


def feeds(tmp_path, x):
    np.savez(tmp_path / "feed.npz", x=np.asarray(x, np.float32))
    return {"feeds": tmp_path, "exact": False}


def test_an_index_of_two_nearly_equal_elements_may_change(parse, tmp_path):
    one, other = argmax([1, 1, 1, 1]), argmax([1, "1.000001", 1, 1])
    options = feeds(tmp_path, [[5, 5, 1, 2], [1, 2, 3, 4]])
    assert verify(parse(one), parse(other), **options).status == "same"


def test_an_index_of_elements_that_are_apart_may_not(parse, tmp_path):
    one, other = argmax([1, 1, 1, 1]), argmax([1, "1.01", 1, 1])
    result = verify(parse(one), parse(other), **feeds(tmp_path, [[5, 5, 1, 2], [1, 2, 3, 4]]))
    assert result.status == "same"  # within the noise of a tie
    result = verify(parse(one), parse(other), **feeds(tmp_path, [[5, 4.99, 1, 2], [1, 2, 3, 4]]))
    assert (result.differences[0].original, result.differences[0].optimized) == (0, 1)


def test_a_wrong_index_beside_an_undecided_one_is_found(parse, tmp_path):
    one, other = argmax([1, 1, 1, 1]), argmax([1, 1, 1, 1], "Neg (s2)")
    result = verify(parse(one), parse(other), **feeds(tmp_path, [[5, 5, 1, 2], [1, 2, 3, 4]]))
    (found,) = [each for each in result.differences if each.feeds.endswith("feed.npz")]
    assert found.index in [(0,), (1,)]


def test_with_exact_rules_alone_a_near_tie_is_no_excuse(parse, tmp_path):
    one, other = argmax([1, 1, 1, 1]), argmax([1, "1.000001", 1, 1])
    options = {**feeds(tmp_path, [[5, 5, 1, 2]]), "exact": True}
    assert verify(parse(one), parse(other), **options).status == "different"


@pytest.mark.parametrize("nodes", ["y = Greater (s, half)", "r = Mul (s, ten) y = Cast <to = 9> (r)"])
def test_comparisons_are_moved_too(parse, nodes):
    graph = f"g (float[N] x) => (bool[N] y) <float half = {{0.5}}, float ten = {{10}}> {{ s = Sigmoid (x) {nodes} }}"
    moved = moved_before_integers(parse(graph))
    assert [node.op_type for node in moved.graph.node].count("RandomUniformLike") in (1, 2)


def test_where_no_integers_are_made_nothing_is_moved(parse):
    graph = "g (float[N] x, int64[N] i) => (float[N] y, int64[N] j) { y = Abs (x) j = Neg (i) }"
    assert moved_before_integers(parse(graph)) is None
