"""Where new constants are stored."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from foldproof.rewriting.constants import Constants
from foldproof.rewriting.names import Names
from tests.helpers import parse


def constants(model: ir.Model) -> Constants:
    return Constants(model, Names(model), frozenset(), inputs_list_initializers=False, initializers_are_inputs=False)


def test_a_large_constant_waits_in_a_file_until_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foldproof.rewriting.constants.SPILLED_FROM", 1000)
    monkeypatch.setattr("foldproof.large_tensors.SPILLED_FROM", 1000)
    model = ir.from_proto(parse("g (float[2] x) => (float[2] y) { y = Neg(x) }"))
    array = np.random.default_rng(0).random((50, 100), np.float32)
    value = constants(model).store(ir.Tensor(array), "w", model.graph)
    assert isinstance(value, ir.Value)
    stored = model.graph.initializers["w"].const_value
    assert isinstance(stored, ir.LazyTensor)
    assert stored.name == "w"
    assert isinstance(stored.numpy(), np.memmap)
    assert np.array_equal(stored.numpy(), array)


def test_small_constants_are_shared() -> None:
    model = ir.from_proto(parse("g (float[2] x) => (float[2] y) { y = Neg(x) }"))
    store = constants(model).store
    one = store(ir.Tensor(np.array([1, 2])), "a", model.graph)
    assert store(ir.Tensor(np.array([1, 2])), "b", model.graph) is one
    assert store(ir.Tensor(np.array([[1, 2]])), "c", model.graph) is not one
    assert store(ir.Tensor(np.array([1, 2], np.int32)), "d", model.graph) is not one
