"""Runs models in onnxruntime, and makes what they run on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import onnx
import onnxruntime

from tests.fuzzing.generator import Case
from tests.fuzzing.graph import Binding
from tests.fuzzing.values import Array

Feeds = dict[str, Array]

SPECIAL = (-0.0, -0.0, -0.0, 0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5, 1e-40, -1e-40, 3e38, -3e38, 7.0, 1e-7)
"""Floats at which a rewrite that is not exact shows."""


class Session:
    """A model in onnxruntime, without its optimizations."""

    def __init__(self, model: onnx.ModelProto) -> None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        # A weight that was computed before is packed ahead, and multiplied in another order, when it becomes a constant.
        options.add_session_config_entry("session.disable_prepacking", "1")
        # onnxruntime 1.32 may take the memory of one Slice for another of the same static rank, and then fails where one
        # of them is empty. A model whose ranks are known better meets this where the original does not.
        options.enable_mem_reuse = False
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self._run_options = onnxruntime.RunOptions()
        self._run_options.log_severity_level = 4

    def run(self, feeds: Mapping[str, Array]) -> list[Array]:
        return [np.asarray(each) for each in self._session.run(None, dict(feeds), self._run_options)]


def feeds_of(case: Case, *, special: bool) -> Iterator[Feeds]:
    """Inputs at each binding; at the first one twice, and once more with special floats if asked for."""
    for k, binding in enumerate(case.bindings):
        yield feeds_at(case, binding, seed=k, special=False)
    for k, binding in enumerate(case.bindings[: 3 if special else 1]):
        yield feeds_at(case, binding, seed=10 + k, special=special)


def feeds_at(case: Case, binding: Binding, *, seed: int, special: bool) -> Feeds:
    """Random inputs at a binding. What may be overridden is, for odd seeds."""
    rng = np.random.default_rng((case.seed, seed))
    defaults = {tensor.name for tensor in case.model.graph.initializer}
    feeds = {}
    for value in case.model.graph.input:
        if value.name in defaults and seed % 2 == 0:
            continue
        tensor = value.type.tensor_type
        shape = [binding[dim.dim_param] if dim.dim_param else dim.dim_value for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind == "b":
            feeds[value.name] = rng.integers(0, 2, shape).astype(bool)
        elif dtype.kind == "i":
            low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if special else (-9, 9)
            feeds[value.name] = rng.integers(low, high, shape, dtype, endpoint=True)
        else:
            array = np.asarray(rng.standard_normal(shape) * 2)
            if special:
                array = np.where(rng.random(shape) < 0.4, rng.choice(SPECIAL, shape), array)
            with np.errstate(over="ignore"):
                feeds[value.name] = array.astype(dtype)
    return feeds
