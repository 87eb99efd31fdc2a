from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from tests.helpers import initializers, operators, parse, rewrite

BRANCHES = """<then_branch = t () => (float[N] r) { a = Relu(x) r = Mul(a, k) },
               else_branch = e () => (float[N] r) { a = Neg(x) r = Add(a, k) }>"""


@pytest.mark.parametrize(("condition", "left"), [(1, {"Relu": 1, "Mul": 1}), (0, {"Neg": 1, "Add": 1})])
def test_the_branch_of_a_known_condition_takes_the_place_of_the_if(condition: int, left: dict[str, int]) -> None:
    body = f"g (float[N] x) => (float[N] y) <bool c = {{{condition}}}, float[1] k = {{2}}> {{ y = If (c) {BRANCHES} }}"
    model, _ = rewrite(parse(body), "known_condition")
    assert operators(model) == left
    assert model.graph.node[-1].output[0] == "y"


def test_a_condition_on_shapes_is_known_in_a_dynamic_model() -> None:
    body = f"""g (float[N] x, float[N,4] w) => (float[N] y) <int64 four = {{4}}, int64 axis = {{1}}, float[1] k = {{2}}> {{
        s = Shape(w) d = Gather(s, axis) c = Equal(d, four) y = If (c) {BRANCHES} }}"""
    model, _ = rewrite(parse(body))
    assert operators(model) == {"Relu": 1, "Mul": 1}


def test_the_condition_that_the_caller_may_feed_is_not_known() -> None:
    body = f"g (float[N] x, bool c) => (float[N] y) <bool c = {{1}}, float[1] k = {{2}}> {{ y = If (c) {BRANCHES} }}"
    _, rewriter = rewrite(parse(body), "known_condition", overridable=["c"])
    assert len(rewriter.ledger) == 0


def test_names_and_initializers_of_the_branch_move_without_a_clash() -> None:
    proto = parse(
        """g (float[2] x) => (float[2] y, float[2] z) <bool c = {1}, bool d = {0}> {
            y = If (c) <then_branch = t () => (float[2] r) <float[2] k = {1, 2}> { r = Mul(x, k) },
                        else_branch = e () => (float[2] r) { r = Neg(x) }>
            z = If (d) <then_branch = t () => (float[2] r) { r = Neg(x) },
                        else_branch = e () => (float[2] r) <float[2] k = {3, 4}> { r = Mul(x, k) }>
        }"""
    )
    model, _ = rewrite(proto, "known_condition", "unused_initializer")
    assert operators(model) == {"Mul": 2}
    assert sorted(initializers(model).values()) == [[1.0, 2.0], [3.0, 4.0]]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    y, z = session.run(None, {"x": np.array([1, 1], np.float32)})
    assert (y.tolist(), z.tolist()) == ([1, 2], [3, 4])


def test_a_branch_that_hands_out_its_initializer() -> None:
    proto = parse(
        """g (float[2] x) => (float[2] y) <bool c = {1}> {
            a = If (c) <then_branch = t () => (float[2] r) <float[2] r = {1, 2}> { }, else_branch = e () => (float[2] q) { q = Neg(x) }>
            y = Add(a, x)
        }"""
    )
    model, _ = rewrite(proto, "known_condition", "unused_initializer")
    assert operators(model) == {"Add": 1}
    assert list(initializers(model).values()) == [[1.0, 2.0]]
