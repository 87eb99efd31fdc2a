"""Each rule's own example: it is a model, the rule fires in it, and the result computes the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.rewriting import Rule
from foldproof.rewriting.examples import example_of
from foldproof.rewriting.packs import installed
from tests.helpers import needs_recent_onnxruntime
from tests.rules.checking import assert_same, bindings, feeds_at

RULES = installed()
CLEAN_UP = ("dead_node", "unused_initializer")


def rewritten(rule: Rule) -> tuple[onnx.ModelProto, onnx.ModelProto, list[str]]:
    """A rule's example, what the rule and the clean-up alone make of it, and the rules that were applied."""
    example = example_of(rule)
    assert example is not None
    options = Options(verify=False, level=3, rules=[rule.name, *CLEAN_UP])
    result = Optimizer(options, RULES).run(example)
    assert isinstance(result.model, onnx.ModelProto)
    return example, result.model, [entry.rule for entry in result.report.ledger]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_rule_fires_in_its_example_and_leaves_nothing_to_do(rule: Rule) -> None:
    example, model, fired = rewritten(rule)
    onnx.checker.check_model(example, full_check=True)
    onnx.checker.check_model(model, full_check=True)
    assert rule.name in fired
    assert set(fired) <= {rule.name, *CLEAN_UP}
    again = Optimizer(Options(verify=False, level=3, rules=[rule.name, *CLEAN_UP]), RULES).run(model)
    assert again.report.ledger == ()


@pytest.mark.parametrize(
    "rule",
    [pytest.param(rule, marks=needs_recent_onnxruntime if rule.since > 23 else ()) for rule in RULES],
    ids=lambda rule: rule.name,
)
def test_the_example_computes_the_same_before_and_after(rule: Rule) -> None:
    example, model, _ = rewritten(rule)
    sizes = list(runnable(example))
    assert sizes
    for binding in sizes:
        for seed in range(3):
            assert_same(example, model, feeds(example, binding, special=rule.exact, seed=seed), exact=rule.exact)


def feeds(
    example: onnx.ModelProto, binding: dict[str, int], *, special: bool, seed: int
) -> dict[str, np.ndarray[Any, Any]]:
    """Random feeds. An integer by itself is small: it is how often a Loop runs."""
    arrays = feeds_at(example, binding, special=special, seed=seed)
    alone = [name for name, array in arrays.items() if array.shape == () and array.dtype.kind in "iu"]
    return {**arrays, **{name: np.array(2 * seed, arrays[name].dtype) for name in alone}}


def runnable(example: onnx.ModelProto) -> Iterator[dict[str, int]]:
    """The bindings at which an example runs: a dim of 0 is not for every operator."""
    errors = onnxruntime.capi.onnxruntime_pybind11_state
    try:
        session = onnxruntime.InferenceSession(example.SerializeToString(), providers=["CPUExecutionProvider"])
    except errors.NotImplemented:  # then the reference evaluator computes both
        yield from bindings(example)
        return
    for binding in bindings(example):
        try:
            session.run(None, feeds(example, binding, special=False, seed=0))
        except (errors.Fail, errors.InvalidArgument, errors.RuntimeException):
            assert 0 in binding.values()
            continue
        yield binding


def test_what_is_said_of_a_rule_does_not_hold_its_example() -> None:
    for rule in RULES:
        assert "Example:" not in rule.explanation
        assert "Example:" not in rule.equation
