"""Optimizes a random model, runs it before and after, and compares."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import onnx

import foldproof
from foldproof.errors import FoldproofError, RuleError
from foldproof.facts import Facts
from foldproof.facts.dim import TooComplexError
from foldproof.rewriting import Rule
from foldproof.rewriting.packs import installed
from tests.fuzzing.comparing import HALF, differing, exceeds, rounding, spread_of, told
from tests.fuzzing.generator import Case
from tests.fuzzing.running import Feeds, Session, feeds_of
from tests.fuzzing.values import Array


class DifferenceError(AssertionError):
    """The optimized model is not what the original is."""


@dataclasses.dataclass
class Checked:
    """What came of a case.

    Attributes:
        rules: How often each rule fired.
        runs: How many runs were compared.
        exact: Whether bits were compared.
        epsilon: The distance from 1 to the next number of the least precise type in the model.
        unrunnable: Why the original runs at no binding.
        nodes: How many nodes the original has.
        doubtful: How many outputs differed no more than the original does from itself.
    """

    rules: Counter[str] = dataclasses.field(default_factory=Counter)
    runs: int = 0
    exact: bool = True
    epsilon: float = 0.0
    unrunnable: str = ""
    nodes: int = 0
    doubtful: int = 0


def options_of(seed: int) -> dict[str, Any]:
    """How the model of a seed is optimized: levels 2 and 3 in turn, some with exact rules alone, some without growth."""
    return {
        "level": 1 if seed % 17 == 0 else 3 if seed % 2 else 2,
        "exact": seed % 5 == 0,
        "max_growth": 0 if seed % 7 == 0 else None,
        "fold_quantized_weights": seed % 3 == 0,
    }


@functools.cache
def rules() -> tuple[Rule, ...]:
    return tuple(map(_without_excuse, installed()))


def _without_excuse(rule: Rule) -> Rule:
    """A rule whose failures are faults: the rewriter would look for an excuse in the model, and here all are valid."""

    def apply(subject: Any, facts: Facts) -> Any:
        try:
            return rule.apply(subject, facts)
        except (FoldproofError, TooComplexError):
            raise
        except Exception as error:
            raise RuleError(f"the rule {rule.name!r} failed with {type(error).__name__}: {error}") from error

    return dataclasses.replace(rule, apply=apply)


def optimized(model: onnx.ModelProto, **options: Any) -> tuple[onnx.ModelProto, Any]:
    """The optimized model and its report, unverified."""
    optimizer = foldproof.Optimizer(foldproof.Options(verify=False, **options), rules())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = optimizer.run(model)
    assert isinstance(result.model, onnx.ModelProto)
    return result.model, result.report


def check(case: Case, **more: Any) -> Checked:
    """Checks a case.

    Args:
        case: The case.
        more: Options that replace those of its seed.

    Raises:
        DifferenceError: The optimized model differs.
    """
    checked = Checked(nodes=len(case.model.graph.node))
    original = case.model
    try:
        session = Session(original)
    except Exception as error:  # noqa: BLE001  onnxruntime has many classes of errors
        checked.unrunnable = f"it does not load: {_brief(error)}"
        return checked
    options = {**options_of(case.seed), **more}
    result, report = optimized(original, **options)
    checked.rules = Counter(entry.rule for entry in report.ledger)
    # onnxruntime computes float16 in float32, and leaves out some of the roundings between.
    checked.epsilon = rounding(original)
    checked.exact = all(entry.exact for entry in report.ledger) and checked.epsilon < HALF
    _assert_contract(original, result)
    again, second = optimized(result, **options)
    if again.SerializeToString(deterministic=True) != result.SerializeToString(deterministic=True):
        raise DifferenceError(f"a second run changes it, by {Counter(entry.rule for entry in second.ledger)}")
    _assert_valid(original, result)
    try:
        rewritten = Session(result)
    except Exception as error:
        raise DifferenceError(f"the optimized model does not load: {_brief(error)}") from error
    for feeds in feeds_of(case, special=checked.exact):
        try:
            expected = session.run(feeds)
        except Exception as error:  # noqa: BLE001
            checked.unrunnable = checked.unrunnable or f"it does not run: {_brief(error)}"
            continue
        at = {name: array.shape for name, array in feeds.items()}
        try:
            actual = rewritten.run(feeds)
        except Exception as error:
            raise DifferenceError(f"the optimized model fails at {at}: {_brief(error)}") from error
        checked.runs += 1
        _compare_all(case, session, feeds, expected, actual, checked)
    if checked.runs:
        checked.unrunnable = ""
    return checked


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _compare_all(
    case: Case, session: Session, feeds: Feeds, expected: Sequence[Array], actual: Sequence[Array], checked: Checked
) -> None:
    doubted: list[tuple[int, str]] = []
    for k, (output, before, after) in enumerate(zip(case.model.graph.output, expected, actual, strict=True)):
        if (before.dtype, before.shape) != (after.dtype, after.shape):
            at = {name: array.shape for name, array in feeds.items()}
            what = f"{after.dtype}{after.shape} for {before.dtype}{before.shape}"
            raise DifferenceError(f"the output {output.name} is {what} at {at}")
        if output.name in case.random_outputs or before.dtype.kind not in "fiub":
            continue
        wrong = differing(before, after, None if checked.exact else checked.epsilon)
        if wrong.any():
            doubted.append((k, told(before, after, wrong)))
    if not doubted:
        return
    spread = None if checked.exact else spread_of(case, feeds, expected, checked.epsilon)
    for k, what in doubted:
        if spread is None or exceeds(expected[k], actual[k], spread[k], checked.epsilon):
            at = {name: array.shape for name, array in feeds.items()}
            raise DifferenceError(f"the output {case.model.graph.output[k].name} differs at {at}: {what}")
        checked.doubtful += 1


# The rest of the contract ---------------------------------------------------------------------------------------------


def _assert_contract(original: onnx.ModelProto, result: onnx.ModelProto) -> None:
    for what in ("input", "output"):
        if list(getattr(original.graph, what)) != list(getattr(result.graph, what)):
            raise DifferenceError(f"the declared {what}s changed")
    for field in ("opset_import", "ir_version", "metadata_props", "producer_name", "doc_string"):
        if getattr(original, field) != getattr(result, field):
            raise DifferenceError(f"{field} changed")
    if [_interface(each) for each in original.functions] != [_interface(each) for each in result.functions]:
        raise DifferenceError("the functions changed")
    inputs = {value.name for value in original.graph.input}
    before, after = (
        {t.name: t.SerializeToString() for t in model.graph.initializer if t.name in inputs}
        for model in (original, result)
    )
    if before != after:
        raise DifferenceError("an initializer that may be overridden changed")


def _interface(function: onnx.FunctionProto) -> tuple[Any, ...]:
    """What those who call a function see of it."""
    return function.domain, function.name, list(function.input), list(function.output), list(function.attribute)


def _assert_valid(original: onnx.ModelProto, result: onnx.ModelProto) -> None:
    try:
        onnx.checker.check_model(result, full_check=True)
    except Exception as error:
        try:
            onnx.checker.check_model(original, full_check=True)
        except Exception:  # noqa: BLE001  it is no worse than it was
            return
        raise DifferenceError(f"the optimized model is invalid: {_brief(error)}") from error
