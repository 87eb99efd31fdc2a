"""Small models with random weights, and what rules make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tests.helpers import operators, parse, rewrite
from tests.rules.checking import assert_same, bindings, feeds_at

CLEANING = ("dead_node", "unused_initializer")


def tensor(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray[Any, Any]:
    """Random weights of a size that keeps the rounding of sums small."""
    return (np.random.default_rng((seed, *shape)).standard_normal(shape) / 2).astype(dtype)


def positive(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Random weights from 0.5 to 1.5, such as variances."""
    return (np.random.default_rng(shape).random(shape) + 0.5).astype(dtype)


def weighted(body: str, weights: Mapping[str, Any], *, opset: int = 18) -> onnx.ModelProto:
    """A model from its graph as text, with initializers."""
    model = parse(body, opset=opset)
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(each), name) for name, each in weights.items()
    )
    return model


def becomes(
    body: str,
    left: Mapping[str, int],
    *names: str,
    weights: Mapping[str, Any],
    opset: int = 18,
    sizes: Sequence[int] = (0, 1, 2, 5),
    overridable: Sequence[str] = (),
) -> onnx.ModelProto:
    """Asserts what rules leave of a graph, that it computes the same, and that a second run changes nothing.

    Args:
        body: The graph in ONNX's text form.
        left: How many nodes of each operator are left.
        names: The rules, beside those that clean up.
        weights: The initializers.
        opset: The opset of the graph.
        sizes: What its symbolic dims are bound to.
        overridable: Initializers that the caller may override.

    Returns:
        The rewritten model.
    """
    original = weighted(body, weights, opset=opset)
    model, _ = rewrite(original, *names, *CLEANING, overridable=overridable)
    assert operators(model) == left
    for binding in bindings(original, sizes):
        for seed in range(2):
            assert_same(original, model, feeds_at(original, binding, special=False, seed=seed), exact=False)
    again, rewriter = rewrite(model, *names, *CLEANING, overridable=overridable)
    assert (len(rewriter.ledger), again) == (0, model)
    return model


def stays(
    body: str, *names: str, weights: Mapping[str, Any], opset: int = 18, overridable: Sequence[str] = ()
) -> list[str]:
    """Asserts that none of some rules does anything to a graph.

    Returns:
        The reasons that they give.
    """
    _, rewriter = rewrite(weighted(body, weights, opset=opset), *names, overridable=overridable)
    assert [entry.rule for entry in rewriter.ledger.entries] == []
    return [str(reason) for reasons in rewriter.reasons.values() for reason in reasons.values()]
