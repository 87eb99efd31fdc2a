"""The published node tests of ONNX with all inputs constant: what folds has the bits that onnxruntime gives."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

from foldproof.engines import EngineError, OnnxRuntime, Worker
from tests.folding.folding import Folded, fold

# The cases are computed by numpy when they are collected, divisions by 0 among them.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

PARTS = 8
"""The cases are split, so that they can run side by side."""

RANDOM = frozenset({"Bernoulli", "Dropout", "Multinomial", "RandomNormalLike", "RandomUniformLike"})


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One process for all."""
    with Worker() as process:
        yield process


@functools.cache
def cases() -> list[tuple[str, onnx.ModelProto]]:
    """All cases whose inputs are tensors, with these as initializers."""
    found = []
    for case in collect_testcases(None):
        inputs, _ = case.data_sets[0]
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        if any(isinstance(each, (list, dict)) or each is None for each in inputs):
            continue
        for value, content in zip(model.graph.input, inputs, strict=False):
            tensor = onnx.TensorProto()
            tensor.CopyFrom(content if isinstance(content, onnx.TensorProto) else numpy_helper.from_array(content))
            tensor.name = value.name
            model.graph.initializer.append(tensor)
        del model.graph.input[:]
        model.ir_version = max(model.ir_version, 4)
        found.append((case.name, model))
    return found


def folded_outputs(result: Folded) -> dict[str, np.ndarray[Any, Any]]:
    """The outputs of a model that became constants."""
    tensors = {tensor.name: tensor for tensor in result.proto.graph.initializer}
    names = [value.name for value in result.proto.graph.output]
    return {name: numpy_helper.to_array(tensors[name]) for name in names if name in tensors}


def content(array: np.ndarray[Any, Any]) -> Any:
    """What two arrays have in common that are the same bit for bit."""
    if array.dtype.kind in "OSU":
        return array.shape, [each if isinstance(each, str) else each.decode() for each in array.reshape(-1).tolist()]
    return array.dtype, array.shape, array.tobytes()


@pytest.mark.parametrize("part", range(PARTS))
def test_what_folds_has_the_bits_of_the_runtime(part: int, worker: Worker) -> None:
    wrong, compared = [], 0
    for name, model in cases()[part::PARTS]:
        try:
            expected = OnnxRuntime(model, worker=worker, seconds=20.0).run({}, 20.0)
        except EngineError:
            continue
        folded = folded_outputs(fold(model, limit=1 << 30, quantized=True, worker=worker))
        if any(node.op_type in RANDOM for node in model.graph.node):
            assert not folded or name.startswith("test_dropout"), name
        for value, array in zip(model.graph.output, expected, strict=True):
            if value.name in folded:
                compared += 1
                if content(folded[value.name]) != content(array):
                    wrong.append(f"{name}: {value.name}")
    assert wrong == []
    assert compared > 150
