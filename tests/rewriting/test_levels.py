from __future__ import annotations

import pytest

import foldproof
from foldproof.rewriting.packs import installed
from tests.helpers import operators, parse


def test_level_1_is_exact() -> None:
    assert [rule.name for rule in installed() if rule.level == 1 and not rule.exact] == []


CLEAN_UP = "g (float[2,N] x) => (float[2,N] y, int64 s) { i = Identity(x) a = Add(i, i) b = Add(i, i) y = Mul(a, b) t = Shape(x) z = Constant <value_int = 0> () s = Gather(t, z) }"
TOLERANT = "g (float[2,3] x) => (float[2,3] y) <float k = {2.0}> { a = Mul(x, k) y = Mul(a, k) }"


@pytest.mark.parametrize(("level", "left"), [(1, {"Mul": 2}), (2, {"Mul": 1}), (3, {"Mul": 1})])
def test_floats_are_reassociated_from_level_2(level: int, left: dict[str, int]) -> None:
    assert operators(foldproof.optimize(parse(TOLERANT), level=level)) == left


def test_level_1_folds_shapes_and_cleans_up() -> None:
    assert operators(foldproof.optimize(parse(CLEAN_UP), level=1)) == {"Add": 1, "Mul": 1}


def test_exact_leaves_tolerant_rules_out_at_each_level() -> None:
    assert operators(foldproof.optimize(parse(TOLERANT), level=3, exact=True)) == {"Mul": 2}
