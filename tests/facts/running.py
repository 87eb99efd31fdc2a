"""Runs a model so that each value of its main graph is seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx

Feeds = Mapping[str, Any]


class CannotRunError(Exception):
    """No runtime at hand runs the model with these feeds."""


def symbol_values(model: onnx.ModelProto, feeds: Feeds) -> dict[str, int]:
    """What the feeds bind the symbols of the contract to; an unnamed dim is called as in `x:0`.

    Raises:
        ValueError: If the feeds contradict the declared dims: such a run is outside the contract.
    """
    bound: dict[str, int] = {}
    for value in model.graph.input:
        if value.name not in feeds or not value.type.tensor_type.HasField("shape"):
            continue
        actual = np.shape(feeds[value.name])
        declared = value.type.tensor_type.shape.dim
        if len(actual) != len(declared):
            raise ValueError(f"{value.name} is fed with rank {len(actual)}, declared {len(declared)}")
        for axis, (dim, size) in enumerate(zip(declared, actual, strict=True)):
            if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0:
                expected = dim.dim_value
            else:
                expected = bound.setdefault(dim.dim_param or f"{value.name}:{axis}", size)
            if expected != size:
                raise ValueError(f"{value.name} is fed with {actual}, but dim {axis} must be {expected}")
    return bound


def run_all(model: onnx.ModelProto, feeds: Feeds, *, reference: bool = True) -> tuple[dict[str, Any], str]:
    """Runs a model with each value of its main graph made an output.

    Args:
        model: The model.
        feeds: The values of the graph inputs.
        reference: Whether the reference evaluator may stand in where onnxruntime doesn't load the model. (Where it
            loads it and refuses the run, the reference never does: it takes many an input that the specification
            doesn't admit.)

    Returns:
        The values by name, and the runtime that computed them.

    Raises:
        CannotRunError: If neither runtime does.
    """
    symbol_values(model, feeds)
    names = [name for node in model.graph.node for name in node.output if name]
    try:
        session = _session(model, names)
    except Exception as error:
        if not reference:
            raise CannotRunError(f"onnxruntime: {error}") from error
        try:
            return _run_reference(model, names, feeds), "onnx.reference"
        except Exception as second:
            why = f"onnxruntime: {error}\nonnx.reference: {type(second).__name__}: {second}"
            raise CannotRunError(why) from second
    try:
        return _run_onnxruntime(session, feeds), "onnxruntime"
    except Exception as error:
        raise CannotRunError(f"onnxruntime: {error}") from error


def _session(model: onnx.ModelProto, names: Iterable[str]) -> Any:
    """An onnxruntime session of the model with the named values as outputs."""
    import onnxruntime

    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.value_info[:]  # claims: they are not to steer the oracle
    declared = {value.name for value in bare.graph.output}
    bare.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in declared)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(bare.SerializeToString(), options, providers=["CPUExecutionProvider"])
    if any("bfloat16" in output.type for output in session.get_outputs()):
        raise TypeError("onnxruntime doesn't hand out bfloat16")
    return session


def _run_onnxruntime(session: Any, feeds: Feeds) -> dict[str, Any]:
    import onnxruntime

    run_options = onnxruntime.RunOptions()
    run_options.log_severity_level = 4
    outputs = {output.name: output.type for output in session.get_outputs()}
    taken = {i.name for i in (*session.get_inputs(), *session.get_overridable_initializers())}
    given = {name: feed for name, feed in feeds.items() if name in taken}
    arrays = session.run(list(outputs), given, run_options)
    return {name: _viewed(array, outputs[name]) for name, array in zip(outputs, arrays, strict=True)}


def _viewed(value: Any, type_: str) -> Any:
    """A value as its type says: onnxruntime gives types that numpy lacks as their bits."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "u" and type_.startswith("tensor("):
        name = type_.removeprefix("tensor(").removesuffix(")").upper()
        number = getattr(onnx.TensorProto, name, None)
        if number is not None:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(number)
            return value.view(dtype) if dtype != value.dtype and dtype.itemsize == value.dtype.itemsize else value
    return value


def _run_reference(model: onnx.ModelProto, names: Iterable[str], feeds: Feeds) -> dict[str, Any]:
    from onnx.reference import ReferenceEvaluator

    results = ReferenceEvaluator(model).run(None, dict(feeds), intermediate=True)
    return {name: results[name] for name in names if name in results}
