"""Compares what two models hand out.

It is not the comparison of `foldproof.verification`: a fault that both share would go unseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import onnx
from onnx import numpy_helper

from tests.fuzzing.generator import Case
from tests.fuzzing.running import Feeds, Session
from tests.fuzzing.values import Array

DRAWS = 20
"""So many runs of the original on inputs and weights that are a little different tell how much its outputs are worth."""

HALF, SINGLE, DOUBLE = 1e-3, 1.2e-7, 2.3e-16
"""What rounding to each type of floats costs, at most."""


def rounding(model: onnx.ModelProto) -> float:
    """What rounding to the least precise type of floats in a model costs."""
    types = {value.type.tensor_type.elem_type for value in model.graph.input}
    types |= {int(tensor.data_type) for tensor in model.graph.initializer}
    types |= set(_types(model.graph.node)).union(*(_types(function.node) for function in model.functions))
    if onnx.TensorProto.FLOAT16 in types:
        return HALF
    return SINGLE if onnx.TensorProto.FLOAT in types else DOUBLE


def _types(nodes: Iterable[onnx.NodeProto]) -> Iterator[int]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype"):
                yield attribute.i
            elif attribute.HasField("t"):
                yield attribute.t.data_type
            elif attribute.HasField("g"):
                yield from _types(attribute.g.node)


def differing(before: Array, after: Array, epsilon: float | None) -> Array:
    """Which elements differ: in a bit where no epsilon is given, else by more than a first, narrow look lets pass."""
    if before.dtype.kind != "f":
        return np.asarray(before != after)
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    if epsilon is None:
        return np.asarray(~same | ((np.signbit(before) != np.signbit(after)) & ~np.isnan(before)))
    with np.errstate(all="ignore"):
        # Where the original overflows or is not a number, equal in real arithmetic says nothing.
        close = np.abs(before - after) <= 16 * epsilon * np.maximum(np.abs(before), np.abs(after))
    return np.asarray(~(same | close | ~np.isfinite(before)))


def told(before: Array, after: Array, wrong: Array) -> str:
    where = tuple(int(axis) for axis in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    return (
        f"{int(wrong.sum())} of {wrong.size} elements, the first at {where}: {before[where]!r} became {after[where]!r}"
    )


def spread_of(case: Case, feeds: Feeds, expected: Sequence[Array], epsilon: float) -> list[tuple[Array, Array]]:
    """The least and the greatest of each element, over runs of the original on almost the same inputs and weights."""
    low, high = [np.array(each) for each in expected], [np.array(each) for each in expected]
    for draw in range(DRAWS):
        rng = np.random.default_rng((case.seed, draw, 99))
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        _perturb_constants(model.graph.node, model.graph.initializer, rng, epsilon)
        for function in model.functions:
            _perturb_constants(function.node, (), rng, epsilon)
        moved = {name: _perturbed(array, rng, epsilon) for name, array in feeds.items()}
        for k, array in enumerate(Session(model).run(moved)):
            if array.shape == low[k].shape and array.dtype.kind in "fiub":
                low[k], high[k] = np.minimum(low[k], array), np.maximum(high[k], array)
    return list(zip(low, high, strict=True))


def _perturbed(array: Array, rng: np.random.Generator, epsilon: float) -> Array:
    if array.dtype.kind != "f":
        return array
    size = 8 * epsilon
    return np.asarray(array * (1 + size * rng.uniform(-1, 1, array.shape))).astype(array.dtype)


def _perturb_constants(
    nodes: Iterable[onnx.NodeProto], initializers: Iterable[onnx.TensorProto], rng: np.random.Generator, epsilon: float
) -> None:
    nodes = list(nodes)
    # The factors of a Resize are not for moving: they must suit the sizes.
    fixed = {name for node in nodes if node.op_type in ("Resize", "Upsample") for name in node.input}
    tensors = [tensor for tensor in initializers if tensor.name not in fixed]
    for node in nodes:
        if fixed.intersection(node.output):
            continue
        for attribute in node.attribute:
            if attribute.HasField("t"):
                tensors.append(attribute.t)
            if attribute.HasField("g"):
                _perturb_constants(attribute.g.node, attribute.g.initializer, rng, epsilon)
    for tensor in tensors:
        array = numpy_helper.to_array(tensor)
        if array.dtype.kind == "f":
            tensor.CopyFrom(numpy_helper.from_array(_perturbed(array, rng, epsilon), tensor.name))


def exceeds(before: Array, after: Array, spread: tuple[Array, Array], epsilon: float) -> bool:
    """Whether an element is farther from the original than that is from itself, or the whole is from rounding."""
    low, high = spread
    if not before.size:
        return False
    if before.dtype.kind != "f":
        return bool(((after != before) & (low == high)).any())
    with np.errstate(all="ignore"):
        # Where a run on almost the same inputs overflows, nothing can be said.
        finite = np.isfinite(before) & np.isfinite(low) & np.isfinite(high)
        largest = np.max(np.abs(before), where=finite, initial=0)
        spread_ = np.where(np.isfinite(high - low), high - low, 0)
        # What is nothing but noise is as loud at one element as at the next.
        room = (
            4 * spread_ + np.quantile(spread_, 0.8) + 8 * epsilon * np.maximum(np.abs(before), 0.05 * largest) + 1e-37
        )
        far = ~(np.abs(after - before) <= room) & finite & (after != before)
        return bool(far.any())
