"""The oracle itself: it must see each kind of lie."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from foldproof.facts.dim import Dim
from foldproof.facts.fact import Fact, Kind, tensor_fact
from tests.facts import checking, running
from tests.helpers import needs_recent_onnxruntime, parse

N, M = Dim.symbol("N"), Dim.symbol("M")
F = ir.DataType.FLOAT


def lie(monkeypatch: pytest.MonkeyPatch, body: str, lies: dict[str, Fact], feeds: dict[str, object]) -> list[str]:
    """What the oracle says if these facts were proven of some values."""
    true = checking.Facts.of

    def of(self: checking.Facts, value: ir.Value | None) -> Fact:
        return lies[value.name] if value is not None and value.name in lies else true(self, value)

    monkeypatch.setattr(checking.Facts, "of", of)
    return checking.check(parse(body, opset=21), feeds).faults


X = {"x": np.array([[1, 0, 2]], np.float32)}
NEG = "g (float[N,3] x) => (float[a,b] y) { y = Neg (x) }"


@pytest.mark.parametrize(
    "claimed",
    [
        tensor_fact(F, (N, 3)),
        tensor_fact(None, (1, 3)),
        tensor_fact(F),
        Fact(),
        tensor_fact(F, (N, 3), [-1, None, -2]),
        tensor_fact(F, (2 * N - 1, 3 * N)),
    ],
)
def test_the_truth_is_not_contradicted(monkeypatch, claimed):
    assert lie(monkeypatch, NEG, {"y": claimed}, X) == []


@pytest.mark.parametrize(
    "claimed",
    [
        tensor_fact(ir.DataType.DOUBLE, (N, 3)),
        tensor_fact(F, (N, 3, 1)),
        tensor_fact(F, (N, 4)),
        tensor_fact(F, (N + 1, 3)),
        tensor_fact(F, (3, N)),
        tensor_fact(F, (N, 3), [-1, None, -3]),
        tensor_fact(F, (N, 3), [N, None, None]),
        tensor_fact(F, (N, 3), [None, 0, None]),  # it is -0.0, which is no exact number
        tensor_fact(F, (N, 3), [-1, None]),
        Fact(kind=Kind.SEQUENCE, item=tensor_fact(F)),
    ],
)
def test_a_lie_is_seen(monkeypatch, claimed):
    (fault,) = lie(monkeypatch, NEG, {"y": claimed}, X)[:1]
    assert "y (Neg#0)" in fault


def test_a_wrong_constant_is_seen(monkeypatch):
    stored = ir.tensor(np.array([[-1, 0, -2]], np.float32))  # the sign of the zero is wrong
    claimed = Fact(dtype=F, shape=(1, 3), constant=stored)
    assert lie(monkeypatch, NEG, {"y": claimed}, X)


def test_a_symbol_must_be_one_number_in_a_run(monkeypatch):
    u = Dim.symbol("u", 7)
    claims = {"y": tensor_fact(F, (1, u)), "z": tensor_fact(F, (u, 1))}
    body = "g (float[N,3] x) => (float[a,b] z) { y = Neg (x) z = Transpose (y) }"
    assert lie(monkeypatch, body, {"y": claims["y"]}, X) == []
    assert lie(monkeypatch, body, claims, X) == []
    claims["z"] = tensor_fact(F, (u, u))
    assert len(lie(monkeypatch, body, claims, X)) == 1


def test_an_expression_whose_symbol_is_learnt_later_is_compared_too(monkeypatch):
    u = Dim.symbol("u", 7)
    body = "g (float[N,3] x) => (float[a,b] z) { y = Neg (x) z = Transpose (y) }"
    claims = {"y": tensor_fact(F, (1, u + 1)), "z": tensor_fact(F, (u, 1))}
    assert len(lie(monkeypatch, body, claims, X)) == 1
    claims = {"y": tensor_fact(F, (1, 2 * u - 3)), "z": tensor_fact(F, (u, 1))}
    assert lie(monkeypatch, body, claims, X) == []


SEQUENCE = "g (float[N,3] x) => (seq(float) y) { z = Concat <axis = 0> (x, x) y = SequenceConstruct (x, z) }"


@pytest.mark.parametrize(
    ("claimed", "faults"),
    [
        (Fact(kind=Kind.SEQUENCE, item=tensor_fact(F)), 0),
        (Fact(kind=Kind.SEQUENCE, items=(tensor_fact(F, (N, 3)), tensor_fact(F, (2 * N, 3)))), 0),
        (Fact(kind=Kind.SEQUENCE, item=tensor_fact(F, (N, 3))), 1),
        (Fact(kind=Kind.SEQUENCE, items=(tensor_fact(F, (N, 3)),)), 1),
        (Fact(kind=Kind.SEQUENCE, items=(tensor_fact(F, (2 * N, 3)), tensor_fact(F, (2 * N, 3)))), 1),
        (tensor_fact(F, (N, 3)), 1),
    ],
)
def test_items_are_compared(monkeypatch, claimed, faults):
    assert len(lie(monkeypatch, SEQUENCE, {"y": claimed}, X)) == faults


@pytest.mark.parametrize(("items", "faults"), [(None, 0), ((tensor_fact(F, (N, 3)),), 0), ((), 1)])
def test_whether_an_optional_is_empty_is_compared(monkeypatch, items, faults):
    body = "g (float[N,3] x) => (float[a,b] y) { o = Optional (x) y = OptionalGetElement (o) }"
    claimed = Fact(kind=Kind.OPTIONAL, item=tensor_fact(F, (N, 3)), items=items)
    assert len(lie(monkeypatch, body, {"o": claimed, "y": Fact()}, X)) == faults


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("y = Cast <to = 16> (x)", ir.DataType.BFLOAT16),
        pytest.param("y = Cast <to = 17> (x)", ir.DataType.FLOAT8E4M3FN, marks=needs_recent_onnxruntime),
        ("y = Cast <to = 10> (x)", ir.DataType.FLOAT16),
        ("y = Cast <to = 8> (x)", ir.DataType.STRING),
        ("y = Cast <to = 9> (x)", ir.DataType.BOOL),
        ("y = Cast <to = 2> (x)", ir.DataType.UINT8),
    ],
)
def test_types_that_numpy_lacks_are_told_apart(monkeypatch, text, dtype):
    body = f"g (float[N,3] x) => ({dtype.name.lower()}[a,b] y) {{ {text} }}"
    assert lie(monkeypatch, body, {"y": Fact(dtype=dtype)}, X) == []
    assert lie(monkeypatch, body, {"y": Fact(dtype=ir.DataType.INT64)}, X) != []


def test_feeds_outside_the_contract_are_refused():
    model = parse("g (float[N,3] x, float[N] w) => (float[a,b] y) { y = Neg (x) }")
    assert running.symbol_values(model, {"x": np.zeros((2, 3)), "w": np.zeros(2)}) == {"N": 2}
    with pytest.raises(ValueError, match="dim 0 must be 2"):
        checking.check(model, {"x": np.zeros((2, 3), np.float32), "w": np.zeros(1, np.float32)})
    with pytest.raises(ValueError, match="dim 1 must be 3"):
        checking.check(model, {"x": np.zeros((2, 4), np.float32), "w": np.zeros(2, np.float32)})


def test_a_model_that_no_runtime_runs_is_no_proof():
    model = parse("g (float[N,3] x) => (float[a,b] y) { k = Constant <value_ints = [7, 7]> () y = Reshape (x, k) }")
    with pytest.raises(running.CannotRunError):
        checking.assert_sound(model, X)


def test_an_overridden_initializer_is_no_constant():
    model = parse("g (float[N,3] x, int64[1] k = {5}) => (int64[1] y) { y = Neg (k) }")
    checking.assert_sound(model, {**X, "k": np.array([7])})
    checking.assert_sound(model, X)
    assert onnx.numpy_helper.to_array(model.graph.initializer[0]).tolist() == [5]
