from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.helpers import operators, parse, rewrite
from tests.rules.checking import assert_same, feeds_at
from tests.rules.moving import CLEANING


def model_of(node: str, gates: int, states: str, more: str = "") -> onnx.ModelProto:
    """A recurrent model: x [3, 2, 4], hidden size 5."""
    weights = np.random.default_rng(0).standard_normal
    proto = parse(
        f"""g (float[T,B,4] x{more}) => (float[A,C,D,E] y)
        <int64[1] i = {{1}}, int64[1] h = {{5}}, int64[1] one = {{1}}> {{
            s = Shape(x) n = Gather(s, one) dims = Concat <axis = 0> (i, n, h) {states}
            y, last = {node} }}""",
        opset=17,
    )
    for name, shape in (("w", (1, gates * 5, 4)), ("r", (1, gates * 5, 5)), ("b", (1, gates * 10))):
        proto.graph.initializer.append(onnx.numpy_helper.from_array(weights(shape).astype(np.float32), name))
    return proto


@pytest.mark.parametrize(
    ("node", "gates"),
    [
        ("LSTM <hidden_size = 5> (x, w, r, b, , z, z)", 4),
        ("GRU <hidden_size = 5, linear_before_reset = 1> (x, w, r, b, , z)", 3),
        ("RNN <hidden_size = 5> (x, w, r, b, , z)", 1),
    ],
)
@pytest.mark.parametrize(
    "states", ["z = ConstantOfShape(dims)", "q = ConstantOfShape(dims) z = Transpose <perm = [0, 1, 2]> (q)"]
)
def test_a_zero_state_is_left_out(node: str, gates: int, states: str) -> None:
    original = model_of(node, gates, states)
    model, _ = rewrite(original, "zero_initial_state", *CLEANING)
    assert operators(model) == {node.split()[0]: 1}
    for binding in ({"T": 3, "B": 2}, {"T": 1, "B": 1}):
        assert_same(original, model, feeds_at(original, binding, special=False))


def test_only_the_zero_state_of_two_is_left_out() -> None:
    node, state = "LSTM <hidden_size = 5> (x, w, r, b, , z, c)", ", float[1,B,5] c"
    original = model_of(node, 4, "z = ConstantOfShape(dims)", state)
    model, _ = rewrite(original, "zero_initial_state", *CLEANING)
    assert list(model.graph.node[-1].input) == ["x", "w", "r", "b", "", "", "c"]
    assert_same(original, model, feeds_at(original, {"T": 3, "B": 2}, special=False))


@pytest.mark.parametrize(
    "states",
    [
        "z = ConstantOfShape <value = float[1] {1}> (dims)",
        "z = ConstantOfShape <value = float[1] {-0.0}> (dims)",
        "q = ConstantOfShape(dims) z = Relu(q)",
    ],
)
def test_another_state_stays(states: str) -> None:
    original = model_of("GRU <hidden_size = 5> (x, w, r, b, , z)", 3, states)
    _, rewriter = rewrite(original, "zero_initial_state")
    assert len(rewriter.ledger) == 0


def test_weights_that_make_nan_of_a_zero_state_stay() -> None:
    original = model_of("RNN <hidden_size = 5> (x, w, r, b, , z)", 1, "z = ConstantOfShape(dims)")
    (weights,) = (each for each in original.graph.initializer if each.name == "r")
    weights.CopyFrom(onnx.numpy_helper.from_array(np.full((1, 5, 5), np.inf, np.float32), "r"))
    _, rewriter = rewrite(original, "zero_initial_state")
    assert len(rewriter.ledger) == 0
