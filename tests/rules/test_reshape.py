from __future__ import annotations

import pytest

from tests.helpers import initializers, parse, rewrite
from tests.rules.moving import becomes, stays


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("g (float[N,12] x) => (float[N,K,P] y) <int64[2] c = {3, 4}, int64[1] z = {0}> "
         "{ s = Shape(x) n = Gather(s, z) t = Concat <axis = 0> (n, c) y = Reshape(x, t) }", [-1, 3, 4]),
        ("g (float[N,M,12] x) => (float[N,M,K,P] y) <int64[2] c = {3, 4}, int64[2] z = {0, 1}> "
         "{ s = Shape(x) n = Gather(s, z) t = Concat <axis = 0> (n, c) y = Reshape(x, t) }", [0, 0, 3, 4]),
        ("g (float[2,M,12] x) => (float[K,M,P] y) <int64[1] a = {1}, int64[1] b = {24}> "
         "{ s = Shape(x) n = Gather(s, a) t = Concat <axis = 0> (a, n, b) y = Reshape(x, t) }", [1, -1, 24]),
    ],
)  # fmt: skip
def test_a_computed_target_becomes_a_constant_one(text: str, target: list[int]) -> None:
    model = becomes(text, {"Reshape": 1}, "reshape_target")
    assert list(initializers(model).values()) == [target]


def test_a_target_with_minus_1_stays_itself_element_by_element() -> None:
    text = """g (float[N,M,3] x) => (float[N,K] y) <int64[1] c = {-1}, int64[1] z = {0}> {
        s = Shape(x) n = Gather(s, z) t = Concat <axis = 0> (n, c) y = Reshape(x, t) }"""
    model, _ = rewrite(parse(text), "reshape_target", "dead_node", "unused_initializer")
    assert list(initializers(model).values()) == [[0, -1]]


@pytest.mark.parametrize(
    "text",
    [
        # N*12 and M, of which M is not the dim in its place, and may be 0.
        """g (float[N,12,M] x) => (float[K,M] y) <int64[1] t = {12}, int64[1] z = {0}, int64[1] q = {2}> {
        s = Shape(x) n = Gather(s, z) m = Gather(s, q) k = Mul(n, t) u = Concat <axis = 0> (k, m)
        y = Reshape(x, u) }""",
        "g (float[N,12] x, int64[2] t) => (float[K,P] y) { y = Reshape(x, t) }",
    ],
)
def test_a_target_that_no_constant_expresses_stays(text: str) -> None:
    stays(text, "reshape_target")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("g (float[N,12] x) => (float[A,B] y) <int64[3] s = {-1, 3, 4}, int64[2] t = {-1, 6}> "
         "{ a = Reshape(x, s) y = Reshape(a, t) }", {"Reshape": 1}),
        ("g (float[N,12] x) => (float[A,B] y) <int64[3] s = {0, 3, 4}, int64[2] t = {0, 12}> "
         "{ a = Reshape(x, s) y = Reshape(a, t) }", {"Identity": 1}),
        ("g (float[2,3,4] x) => (float[A,B,C] y) <int64[2] s = {6, 4}, int64[3] u = {0, 2, 2}> "
         "{ a = Reshape(x, s) y = Reshape(a, u) }", {"Reshape": 1}),
        ("g (float[N,M] x) => (float[A,B,C,D] y) <int64[1] s = {1}, int64[1] t = {3}> "
         "{ a = Unsqueeze(x, s) y = Unsqueeze(a, t) }", {"Unsqueeze": 1}),
        ("g (float[N,M] x) => (float[A,B,C,D] y) <int64[1] s = {-1}, int64[1] t = {1}> "
         "{ a = Unsqueeze(x, s) y = Unsqueeze(a, t) }", {"Unsqueeze": 1}),
        ("g (float[1,N,1,M] x) => (float[A,B] y) <int64[1] s = {2}, int64[1] t = {0}> "
         "{ a = Squeeze(x, s) y = Squeeze(a, t) }", {"Squeeze": 1}),
        ("g (float[1,N,1,M] x) => (float[A,B] y) <int64[1] s = {-2}, int64[1] t = {-3}> "
         "{ a = Squeeze(x, s) y = Squeeze(a, t) }", {"Squeeze": 1}),
        ("g (float[N,M] x) => (float[A,B] y) <int64[1] s = {1}> { a = Unsqueeze(x, s) y = Squeeze(a, s) }",
         {"Identity": 1}),
        ("g (float[N,M] x) => (float[A,B,C] y) <int64[2] s = {0, 2}, int64[1] t = {0}> "
         "{ a = Unsqueeze(x, s) y = Squeeze(a, t) }", {"Unsqueeze": 1}),
        ("g (float[1,N,1,M] x) => (float[A,B,C] y) <int64[2] s = {0, 2}, int64[1] t = {0}> "
         "{ a = Squeeze(x, s) y = Unsqueeze(a, t) }", {"Squeeze": 1}),
        ("g (float[2,3,4] x) => (float[A,B,C] y) <int64[1] t = {1}> { a = Flatten(x) y = Unsqueeze(a, t) }",
         {"Reshape": 1}),
        ("g (float[N,3,4] x) => (float[A,B] y) <int64[4] s = {0, 0, 2, 2}> { a = Reshape(x, s) y = Flatten(a) }",
         {"Reshape": 1}),
        ("g (float[N,M,4] x) => (float[A,B,C,D] y) <int64[4] s = {0, 0, 2, 2}, int64[1] t = {1}> "
         "{ a = Unsqueeze(x, t) b = Squeeze(a, t) y = Reshape(b, s) }", {"Reshape": 1}),
    ],
)  # fmt: skip
def test_two_become_one(text: str, expected: dict[str, int]) -> None:
    becomes(text, expected, "one_reshape")


@pytest.mark.parametrize("opset", [11, 12])
def test_axes_are_attributes_in_old_opsets(opset: int) -> None:
    becomes(
        """g (float[N,M] x) => (float[A,B,C,D] y) {
            a = Unsqueeze <axes = [1]> (x) y = Unsqueeze <axes = [0]> (a) }""",
        {"Unsqueeze": 1},
        "one_reshape",
        opset=opset,
    )


def test_a_0_of_the_outer_target_is_not_taken_over() -> None:
    # The 0 stands for the 6 of the inner result, not for the 2 of x.
    text = """g (float[2,3,N] x) => (float[A,B] y) <int64[2] s = {6, -1}, int64[2] t = {0, -1}> {
        a = Reshape(x, s) y = Reshape(a, t) }"""
    model = becomes(text, {"Reshape": 1}, "one_reshape")
    assert [6, -1] in initializers(model).values()


def test_allowzero_of_the_outer_target_is_a_real_0() -> None:
    becomes(
        """g (float[0,6] x) => (float[A,B] y) <int64[3] s = {2, 0, 3}, int64[2] t = {5, 0}> {
            a = Reshape <allowzero = 1> (x, s) y = Reshape <allowzero = 1> (a, t) }""",
        {"Reshape": 1},
        "one_reshape",
    )


def test_a_dynamic_target_that_may_be_0_is_meant_as_such() -> None:
    becomes(
        """g (float[N,M] x) => (float[A,B,C] y) <int64[1] o = {2}> {
            z = Concat <axis = 0> (x, x) a = Unsqueeze(z, o) n = Shape(x) s = Concat <axis = 0> (n, o)
            y = Reshape(a, s) }""",
        {"Reshape": 1, "Shape": 1, "Concat": 2},
        "one_reshape",
    )


@pytest.mark.parametrize(
    "text",
    [
        # A symbolic dim that is copied may be 0, by which -1 can't divide.
        """g (float[N,4,M] x) => (float[A,B,C] y) <int64[1] t = {1}, int64[3] s = {-1, 1, 0}> {
        a = Flatten <axis = 2> (x) y = Unsqueeze(a, t) }""",
        # An unknown axis.
        """g (float[N,M] x, int64[1] k) => (float[A,B,C,D] y) <int64[1] t = {1}> {
        a = Unsqueeze(x, t) y = Unsqueeze(a, k) }""",
        # A target that copies a dim of the inner result, of unknown rank.
        """g (float[N,M] x, int64[3] k) => (float[A,B] y) <int64[2] t = {0, -1}> {
        a = Reshape(x, k) y = Reshape(a, t) }""",
        # Where M is 0, the target's 0 copies the N of the inner result.
        """g (float[N,M] x, float[M,N] z) => (float[A,B] y) <int64[1] o = {1}> {
        a = Unsqueeze(x, o) s = Shape(z) y = Reshape(a, s) }""",
    ],
)
def test_two_stay(text: str) -> None:
    stays(text, "one_reshape")


def test_the_inner_node_stays_where_it_is_read() -> None:
    becomes(
        """g (float[N,12] x) => (float[A,B] y, float[C,D,E] a) <int64[3] s = {-1, 3, 4}, int64[2] t = {-1, 6}> {
            a = Reshape(x, s) y = Reshape(a, t) }""",
        {"Reshape": 2},
        "one_reshape",
    )


def test_an_overridable_target_is_unknown() -> None:
    text = """g (float[N,12] x, int64[2] t) => (float[A,B] y) <int64[3] s = {0, 3, 4}, int64[2] t = {0, 12}> {
        a = Reshape(x, s) y = Reshape(a, t) }"""
    _, rewriter = rewrite(parse(text), "one_reshape", overridable=["t"])
    assert len(rewriter.ledger) == 0
