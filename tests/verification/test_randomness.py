from __future__ import annotations

import pytest

from foldproof.verification import verify
from foldproof.verification.randomness import random_outputs


def reached(model):
    found = random_outputs(model)
    return set(found.values), set(found.shapes)


@pytest.mark.parametrize(
    "draw",
    [
        "r = RandomNormalLike (x)",
        "r = RandomUniformLike (x)",
        "r = Bernoulli (x)",
        "yes = Constant <value = bool {1}> () r = Dropout (x, , yes)",
        "no = Constant <value = bool {0}> () flag = Not (no) r = Dropout (x, , flag)",
    ],
)
def test_what_random_operators_reach_is_found(parse, draw):
    model = parse(f"g (float[N] x) => (float[N] y, float[N] z) {{ {draw} y = Add (x, r) z = Abs (x) }}")
    assert reached(model) == ({"y"}, set())


@pytest.mark.parametrize(
    "still",
    [
        "r = RandomNormalLike <seed = 1.0> (x)",
        "r = Dropout (x)",
        "no = Constant <value = bool {0}> () r = Dropout (x, , no)",
    ],
)
def test_seeded_operators_and_inference_dropout_are_not_random(parse, still):
    assert reached(parse(f"g (float[N] x) => (float[N] r) {{ {still} }}")) == (set(), set())


def test_the_size_of_something_random_is_not_random(parse):
    model = parse("g (float[N] x) => (int64 s) { r = RandomNormalLike (x) t = Exp (r) s = Size (t) }")
    assert reached(model) == (set(), set())


def test_shapes_that_random_values_decide_on_are_random(parse):
    model = parse("g (float[N] x) => (int64 s) { r = Bernoulli (x) t = NonZero (r) s = Size (t) }")
    assert reached(model) == ({"s"}, {"s"})


def test_random_operators_in_functions_and_bodies_count(parse):
    functions = """<domain: "f", opset_import: ["" : 17]> noise (a) => (b) { b = RandomNormalLike (a) }
                   <domain: "f", opset_import: ["" : 17, "f" : 1]> outer (a) => (b) { b = f.noise (a) }"""
    model = parse("g (float[N] x) => (float[N] y) { y = f.outer (x) }", functions, imports='"f" : 1')
    assert reached(model)[0] == {"y"}
    model = parse(
        """g (bool c, float[N] x) => (float[N] y) {
            y = If (c) <then_branch = t () => (float[N] p) { p = RandomNormalLike (x) },
                        else_branch = e () => (float[N] q) { q = Abs (x) }>
        }"""
    )
    assert reached(model)[0] == {"y"}


# A node in front shifts the numbers that an unseeded operator draws.
NOISE = "g (float[N] x) => (float[N] y, float[N] z) {{ {front} r = RandomNormalLike (x) y = Add (x, r) z = {z} (x) }}"


def test_values_that_random_operators_reach_are_compared_by_shape_alone(parse):
    original = parse(NOISE.format(front="a = Abs (x) b = Neg (a)", z="Abs"))
    result = verify(original, parse(NOISE.format(front="", z="Abs")))
    assert result.status == "same"
    assert any("random operators" in note for note in result.notes)
    assert {run.outputs for run in result.runs} == {1}


def test_the_other_outputs_are_compared_by_value(parse):
    original = parse(NOISE.format(front="", z="Abs"))
    result = verify(original, parse(NOISE.format(front="", z="Neg")))
    assert result.status == "different"
    assert {each.output for each in result.differences} == {"z"}


def test_shapes_behind_random_operators_are_compared(parse):
    original = parse("g (float[N] x) => (float[M] y) { y = RandomNormalLike (x) }")
    doubled = parse("g (float[N] x) => (float[M] y) { r = RandomNormalLike (x) y = Concat <axis = 0> (r, r) }")
    assert {each.kind for each in verify(original, doubled).differences} == {"shape"}


@pytest.mark.parametrize("draws", ["y = Sub (a, a)", "c = Abs (a) y = Sub (c, c)"])
def test_a_value_that_is_random_no_more_differs(parse, draws):
    original = parse(
        "g (float[N] x) => (float[N] y) { a = RandomNormalLike (x) b = RandomNormalLike (x) y = Sub (a, b) }"
    )
    optimized = parse(f"g (float[N] x) => (float[N] y) {{ a = RandomNormalLike (x) {draws} }}")
    found = verify(original, optimized)
    assert [difference.output for difference in found.differences] == ["y"]
    assert "it is random" in found.differences[0].detail


def test_a_draw_that_is_often_the_same_is_no_difference(parse):
    model = parse("g (float[N] x) => (float y) { h = ConstantOfShape <value = float {0.05}> (s) r = Bernoulli (h) y = Squeeze (r) }"
                  .replace("(float y) {", "(float y) <int64[1] s = {1}> {"))  # fmt: skip
    assert verify(model, model).status == "same"
