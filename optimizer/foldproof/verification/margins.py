"""Where integers hang on floats that are nearly equal: the index of a largest element, the result of a comparison.

A tolerant rewrite may move a float within the tolerance, and an integer that is computed of it may then be another one.
That is no fault where the original itself could as well have given it. So the original is run with all floats that
integers are computed of moved at random, by no more than the tolerance: an element that changes then is undecided.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from foldproof.engines import Engine, EngineError, OnnxRuntime, Runnable, Worker

from .comparison import RTOL

# A tie shows in each run with a probability of about one half.
_RUNS = 12
_FLOATS: dict[int, np.dtype[Any]] = {TensorProto.FLOAT: np.dtype(np.float32), TensorProto.DOUBLE: np.dtype(np.float64)}
_DISCRETE: set[int] = {
    TensorProto.BOOL, TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64,
    TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64,
}  # fmt: skip


class Margins:
    """Finds the undecided elements of a model's integer outputs, when somebody asks.

    Args:
        model: The original.
        proto: Its proto.
        engine: What runs it.
        worker: The process that onnxruntime runs in.
    """

    def __init__(self, model: Runnable, proto: onnx.ModelProto, engine: Engine, worker: Worker) -> None:
        self._model = model
        self._proto = proto
        self._engine = engine
        self._worker = worker
        self._moving: Engine | None = None
        self._tried = False

    def of(self, feed: Mapping[str, Any], outputs: Mapping[str, Any], seconds: float) -> dict[str, np.ndarray]:
        """For each output of integers or booleans, which elements are undecided.

        Args:
            feed: The inputs.
            outputs: What the model gives for them.
            seconds: The time limit of each run.
        """
        engine = self._loaded(seconds)
        if engine is None:
            return {}
        undecided: dict[str, np.ndarray] = {}
        for _ in range(_RUNS):
            try:
                again = dict(zip(engine.outputs, engine.run(feed, seconds), strict=True))
            except EngineError:
                break
            for name, value in outputs.items():
                other = again[name]
                if isinstance(value, np.ndarray) and value.dtype.kind in "iub" and value.shape == np.shape(other):
                    undecided[name] = undecided.get(name, False) | np.asarray(value != other)
        return undecided

    def _loaded(self, seconds: float) -> Engine | None:
        if not self._tried and isinstance(self._engine, OnnxRuntime):
            self._tried = True
            folder = None if isinstance(self._model, onnx.ModelProto) else self._model.parent
            moving = moved_before_integers(self._proto)
            if moving is not None:
                try:
                    self._moving = OnnxRuntime(moving, folder, self._worker, seconds=seconds)
                except EngineError:
                    self._moving = None  # no measure, no allowance
        return self._moving


def moved_before_integers(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """A model with all floats that integers are computed of moved at random, by no more than the tolerance.

    Args:
        proto: The model. It is not changed.

    Returns:
        The model; None where no node of the main graph makes integers of floats.
    """
    types = _types_of(proto)
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    del copy.graph.node[:]
    count = 0
    for node in proto.graph.node:
        moved = onnx.NodeProto()
        moved.CopyFrom(node)
        if any(types.get(name) in _DISCRETE for name in node.output):
            for place, name in enumerate(node.input):
                if types.get(name) in _FLOATS:
                    count += 1
                    prefix = f"{name}~moved{count}"
                    copy.graph.node.extend(_move(name, prefix, RTOL[_FLOATS[types[name]]], count))
                    moved.input[place] = prefix
        copy.graph.node.append(moved)
    return copy if count else None


def _move(name: str, result: str, rtol: float, seed: int) -> Iterator[onnx.NodeProto]:
    factor = f"{result}_factor"
    yield helper.make_node(
        "RandomUniformLike", [name], [factor], low=1.0 - rtol, high=1.0 + rtol, seed=float(seed), name=factor
    )
    yield helper.make_node("Mul", [name, factor], [result], name=result)


def _types_of(proto: onnx.ModelProto) -> dict[str, int]:
    """The element types of the values of the main graph, as far as they can be inferred without the weights."""
    light = onnx.ModelProto(ir_version=proto.ir_version)
    light.opset_import.extend(proto.opset_import)
    light.functions.extend(proto.functions)
    light.graph.name = "light"
    light.graph.node.extend(proto.graph.node)
    light.graph.input.extend(proto.graph.input)
    inputs = {each.name for each in proto.graph.input}
    for each in proto.graph.initializer:
        if each.name not in inputs:
            light.graph.input.append(helper.make_tensor_value_info(each.name, each.data_type, each.dims))
    light.graph.output.extend(proto.graph.output)
    light.graph.value_info.extend(proto.graph.value_info)
    with contextlib.suppress(onnx.shape_inference.InferenceError):  # what is declared will do
        light = onnx.shape_inference.infer_shapes(light)
    graph = light.graph
    return {each.name: each.type.tensor_type.elem_type for each in (*graph.input, *graph.value_info, *graph.output)}
