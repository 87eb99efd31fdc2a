"""Runs a model before and after a rewrite, and compares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from tests.helpers import operators, parse, rewrite

Feeds = Mapping[str, Any]

SPECIAL = (-0.0, 0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5, 1e-40, -1e-40, 3e38, -3e38, 65504.0, 7.0, 1e-7)
"""Floats at which a rewrite that is not exact shows."""


def assert_same(original: onnx.ModelProto, rewritten: onnx.ModelProto, feeds: Feeds, *, exact: bool = True) -> None:
    """Asserts that both models give the same outputs.

    Both run in onnxruntime with its optimizations off; both in the reference evaluator where onnxruntime lacks what
    the original holds.

    Args:
        original: The model as it was.
        rewritten: What became of it.
        feeds: An array for each graph input.
        exact: Whether floats have to be the same bit for bit, NaN payloads aside; else they have to be close, and NaN
            and the infinities where they were.
    """
    expected, actual = _run(original, rewritten, feeds)
    for output, before, after in zip(original.graph.output, expected, actual, strict=True):
        _compare(output.name, np.asarray(before), np.asarray(after), exact)


def feeds_at(
    model: onnx.ModelProto, binding: Mapping[str, int], *, special: bool = True, seed: int = 0
) -> dict[str, np.ndarray[Any, Any]]:
    """Random feeds of a model at a binding of its symbolic dims; every other float is special if asked for."""
    rng = np.random.default_rng(seed)
    return {
        value.name: _random(rng, value.type.tensor_type, binding, special)
        for value in model.graph.input
        if value.name not in {tensor.name for tensor in model.graph.initializer}
    }


def bindings(model: onnx.ModelProto, sizes: Sequence[int] = (0, 1, 2, 5)) -> Iterator[dict[str, int]]:
    """Bindings of a model's symbolic dims: each size for all of them, and one with different sizes."""
    symbols = sorted({dim.dim_param for value in model.graph.input for dim in value.type.tensor_type.shape.dim} - {""})
    for size in sizes if symbols else (1,):
        yield dict.fromkeys(symbols, size)
    if len(symbols) > 1:
        yield {symbol: k + 2 for k, symbol in enumerate(symbols)}


def assert_same_everywhere(original: onnx.ModelProto, rewritten: onnx.ModelProto, *, exact: bool = True) -> None:
    """Asserts it at several bindings, 0 and 1 among them; special floats are fed where exactness is claimed."""
    for binding in bindings(original):
        for seed in range(3):
            assert_same(original, rewritten, feeds_at(original, binding, special=exact, seed=seed), exact=exact)


def assert_becomes(
    body: str,
    left: Mapping[str, int] | None,
    *names: str,
    exact: bool = True,
    opset: int = 18,
    overridable: Sequence[str] = (),
) -> onnx.ModelProto:
    """Asserts what rules leave of a graph, that it computes the same, and that a second run changes nothing.

    Args:
        body: The graph in ONNX's text form.
        left: How many nodes of each operator are left; None for whatever is.
        names: The rules, beside those that clean up.
        exact: See `assert_same`.
        opset: The opset of the graph.
        overridable: Initializers that the caller may override.

    Returns:
        The rewritten model.
    """
    original = parse(body, opset=opset)
    names = (*names, "dead_node", "unused_initializer")
    model, _ = rewrite(original, *names, overridable=overridable)
    assert left is None or operators(model) == left
    assert_same_everywhere(original, model, exact=exact)
    again, rewriter = rewrite(model, *names, overridable=overridable)
    assert (len(rewriter.ledger), again) == (0, model)
    return model


def assert_stays(body: str, *names: str, opset: int = 18, overridable: Sequence[str] = ()) -> None:
    """Asserts that none of some rules does anything to a graph."""
    _, rewriter = rewrite(parse(body, opset=opset), *names, overridable=overridable)
    assert [entry.rule for entry in rewriter.ledger.entries] == []


def _run(original: onnx.ModelProto, rewritten: onnx.ModelProto, feeds: Feeds) -> tuple[list[Any], list[Any]]:
    # onnxruntime is behind the newest IR version and opset, and says so by these.
    errors = onnxruntime.capi.onnxruntime_pybind11_state
    lacking = (errors.NotImplemented, errors.Fail)
    try:
        expected = _session(original).run(None, dict(feeds))
    except lacking:
        return [ReferenceEvaluator(model).run(None, dict(feeds)) for model in (original, rewritten)]  # type: ignore[return-value]
    return expected, _session(rewritten).run(None, dict(feeds))


def _session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _random(
    rng: np.random.Generator, tensor: onnx.TypeProto.Tensor, binding: Mapping[str, int], special: bool
) -> np.ndarray[Any, Any]:
    shape = [binding[dim.dim_param] if dim.dim_param else dim.dim_value for dim in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    array = rng.standard_normal(shape) * 3
    if special:
        array = np.where(rng.random(shape) < 0.5, rng.choice(SPECIAL, shape), array)
    with np.errstate(over="ignore"):
        return array.astype(dtype)


def _compare(name: str, before: np.ndarray[Any, Any], after: np.ndarray[Any, Any], exact: bool) -> None:
    assert (before.dtype, before.shape) == (after.dtype, after.shape), f"{name}: {before.dtype}{before.shape}"
    if before.dtype.kind != "f":
        np.testing.assert_array_equal(after, before, err_msg=name)
    elif exact:
        np.testing.assert_array_equal(after, before, err_msg=name)
        number = ~np.isnan(before)
        np.testing.assert_array_equal(np.signbit(after[number]), np.signbit(before[number]), err_msg=name)
    else:
        tolerance = 2.0 ** (4 - np.finfo(before.dtype).nmant)
        np.testing.assert_allclose(after, before, rtol=tolerance, atol=tolerance, err_msg=name)
