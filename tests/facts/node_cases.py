"""Valid instances of nearly all operators: the published backend node tests, with symbolic inputs and other feeds."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

SIZES = (0, 1, 2, 3, 5)
"""What the symbols of a variant are bound to, besides the published sizes."""

NOT_EMPTY = {
    "LSTM": "onnxruntime aborts at a batch of 0",
    "GRU": "onnxruntime aborts at a batch of 0",
    "RNN": "onnxruntime aborts at a batch of 0",
    "ConvTranspose": "onnxruntime crashes where a spatial dim is 0",
    "STFT": "onnxruntime divides by zero where the window is empty",
    "Unique": "onnxruntime aborts where a dim is 0",
}
"""Operators that are not run at size 0, each with the reason."""

PUBLISHED_SIZES_ONLY = {
    "Attention": "onnxruntime broadcasts Q to a mask of more heads, which the specification doesn't admit",
    "Concat": "onnxruntime leaves out what is empty, whatever its other dims, which the specification doesn't admit",
    "GatherND": "onnxruntime doesn't check that the batch dims are equal, as the specification demands",
    "NegativeLogLikelihoodLoss": "onnxruntime doesn't check the dims of the target where it has no elements",
    "PRelu": "onnxruntime broadcasts X to the slope, where the specification has it the other way only",
    "SoftmaxCrossEntropyLoss": "onnxruntime doesn't check the dims of the labels where they have no elements",
}
"""Operators that are not run at other sizes, each with the reason."""


@dataclasses.dataclass
class NodeCase:
    """A model, the values of its inputs, and, for the published inputs, those of its outputs."""

    name: str
    model: onnx.ModelProto
    feeds: dict[str, Any]
    outputs: dict[str, Any]


@functools.lru_cache(maxsize=1)
def published_cases() -> list[NodeCase]:
    """The backend node tests of the installed onnx package, those expanded into function bodies included."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collected = collect_testcases(None)
    cases = []
    for case in collected:
        inputs, outputs = case.data_sets[0]
        graph = case.model.graph
        feeds = dict(zip((value.name for value in graph.input), map(_array, inputs), strict=False))
        wanted = dict(zip((value.name for value in graph.output), map(_array, outputs), strict=False))
        cases.append(NodeCase(case.name, case.model, feeds, wanted))
    return cases


def _array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def variants(case: NodeCase, rng: np.random.Generator) -> Iterator[NodeCase]:
    """A case with some inputs made constants and some dims made symbols, at the published sizes and at others."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    model.ir_version = max(model.ir_version, 4)
    if rng.random() < 0.3:
        _make_older(model, rng)
    del model.graph.value_info[:]
    for output in model.graph.output:
        _forget_shape(output.type)
    feeds = dict(case.feeds)
    by_size, static = bool(rng.integers(2)), rng.choice([0.0, 0.3])
    constant = rng.choice([0.0, 0.5, 1.0])
    symbols: dict[tuple[str, int], str] = {}
    for value in list(model.graph.input):
        array = feeds.get(value.name)
        if not isinstance(array, np.ndarray) or not value.type.HasField("tensor_type"):
            continue
        if array.size <= 16 and array.ndim <= 1 and rng.random() < constant:
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, value.name))
            model.graph.input.remove(value)
            del feeds[value.name]
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if rng.random() >= static:
                dim.dim_param = f"s{array.shape[axis]}" if by_size else f"{value.name}_{axis}"
                symbols[value.name, axis] = dim.dim_param
    yield NodeCase(case.name, model, feeds, case.outputs)
    names, operators = sorted(set(symbols.values())), {node.op_type for node in model.graph.node}
    if not names or operators & PUBLISHED_SIZES_ONLY.keys():
        return
    sizes = SIZES[1:] if operators & NOT_EMPTY.keys() else SIZES
    for _ in range(2):
        changed = {name: int(rng.choice(sizes)) for name in names if rng.random() < 0.7}
        other = _resized(feeds, symbols, changed)
        if changed and is_admitted(model, other):
            yield NodeCase(case.name, model, other, {})


def is_admitted(model: onnx.ModelProto, feeds: dict[str, Any]) -> bool:
    """Whether onnx's strict inference has no objection to the sizes of the feeds.

    Where it has one the specification makes the run fail, so that anything may be claimed, even though a runtime
    may be lenient.
    """
    concrete = onnx.ModelProto()
    concrete.CopyFrom(model)
    for value in concrete.graph.input:
        array = feeds.get(value.name)
        if isinstance(array, np.ndarray):
            for dim, size in zip(value.type.tensor_type.shape.dim, array.shape, strict=True):
                dim.dim_value = size
    try:
        onnx.shape_inference.infer_shapes(concrete, strict_mode=True, data_prop=True)
    except Exception:  # noqa: BLE001  whichever of its errors
        return False
    return True


def _make_older(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Puts a model under an older version of the operators that admits it as it is, if there is one."""
    if len(model.graph.node) > 1 or len(model.opset_import) != 1 or model.opset_import[0].domain:
        return
    (node,) = model.graph.node
    older = model.opset_import[0]
    current = older.version
    since = sorted(
        {
            schema.since_version
            for schema in _schemas()
            if schema.name == node.op_type and schema.since_version < current
        }
    )
    if not since:
        return
    older.version = int(rng.choice(since))
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:  # noqa: BLE001  whichever of its errors: that version has another form
        older.version = current


@functools.lru_cache(maxsize=1)
def _schemas() -> list[onnx.defs.OpSchema]:
    return [schema for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain]


def _forget_shape(proto: onnx.TypeProto) -> None:
    while not proto.HasField("tensor_type"):
        kind = proto.WhichOneof("value")
        if kind not in ("sequence_type", "optional_type"):
            return
        proto = getattr(proto, kind).elem_type
    proto.tensor_type.ClearField("shape")


def _resized(feeds: dict[str, Any], symbols: dict[tuple[str, int], str], sizes: dict[str, int]) -> dict[str, Any]:
    """The feeds with other sizes: cut off, or repeated from the start."""
    resized = dict(feeds)
    for name, array in feeds.items():
        if not isinstance(array, np.ndarray):
            continue
        shape = tuple(sizes.get(symbols.get((name, axis), ""), size) for axis, size in enumerate(array.shape))
        if shape != array.shape:
            resized[name] = np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)
    return resized
