from __future__ import annotations

import onnx
import pytest

from foldproof.certificates.claim import Claim, Known
from foldproof.certificates.trial import Outcome, attempt
from foldproof.engines import Worker
from tests.helpers import parse

X = Known("x", onnx.TensorProto.FLOAT, ("n", 3))


def tried(before: str, after: str, *boundary: Known) -> Outcome:
    sides = (parse(f"g (float[?,3] x) => (y) {{ {text} }}").SerializeToString() for text in (before, after))
    with Worker() as worker:
        return attempt(Claim(*sides, boundary or (X,)), worker, {})


def test_equal_sides_hold() -> None:
    outcome = tried("a = Neg(x) y = Neg(a)", "y = Identity(x)")
    assert (outcome.status, outcome.detail) == ("holds", "")
    assert outcome.instances > 8


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("y = Relu(x)", "y = Identity(x)", id="wrong for negative numbers"),
        pytest.param("z = Constant<value_float = 0.0>() y = Add(x, z)", "y = Identity(x)", id="wrong for -0.0"),
        pytest.param("a = IsNaN(x) y = Where(a, x, x)", "y = Mul(x, x)", id="wrong almost everywhere"),
        pytest.param("y = Sub(x, x)", "z = Constant<value_float = 0.0>() y = Mul(x, z)", id="wrong for the sign of 0"),
        pytest.param("y = Shape(x)", "y = Constant<value_ints = [1, 3]>()", id="wrong unless the batch is 1"),
        pytest.param("y = ReduceMean<keepdims=0>(x)", "s = Size(x) d = CastLike(s, x) t = ReduceSum<keepdims=0>(x) y = Div(t, d) ", id="wrong in the last bits"),
    ],
)  # fmt: skip
def test_sides_that_differ_somewhere_are_told_apart(before: str, after: str) -> None:
    outcome = tried(before, after)
    assert outcome.status == "differs"
    assert outcome.detail.startswith("at ")


def test_what_holds_only_by_what_is_known_holds() -> None:
    assert tried("y = Size(x)", "y = Constant<value_int = 6>()").status == "differs"
    known = Known("x", onnx.TensorProto.FLOAT, (2, 3))
    assert tried("y = Size(x)", "y = Constant<value_int = 6>()", known).status == "holds"


def test_a_side_that_fails_where_the_other_runs_differs() -> None:
    outcome = tried("y = Identity(x)", "i = Constant<value_int = 5>() y = Gather<axis = 1>(x, i)")
    assert outcome.status == "differs"
    assert "the side after fails" in outcome.detail


def test_what_never_runs_is_not_said_to_hold() -> None:
    never = "i = Constant<value_int = 5>() y = Gather<axis = 1>(x, i)"
    outcome = tried(never, never)
    assert (outcome.status, outcome.instances) == ("untried", 0)


def test_what_is_no_model_is_not_said_to_hold() -> None:
    with Worker() as worker:
        assert attempt(Claim(b"\xff\xff", b"", (X,)), worker, {}).status == "untried"
