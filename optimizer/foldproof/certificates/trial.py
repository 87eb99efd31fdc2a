"""Runs both sides of a claim on instances of it, and compares what they give bit for bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from foldproof.certificates.claim import Claim, model_of
from foldproof.certificates.expressions import ExpressionError
from foldproof.certificates.instances import Instance, instances
from foldproof.engines import Engine, EngineError, TimedOut, Worker, load_engine
from foldproof.verification.comparison import Comparison, Errors
from foldproof.verification.half import computes_in_half

SECONDS = 4.0
"""A run of one side is stopped after this time."""

Status = Literal["holds", "differs", "untried"]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How the trial of a claim ended.

    Attributes:
        status: `holds`: both sides gave the same at all instances at which the first one ran, and that was at least
            one; `differs`; `untried`: the first side ran at no instance.
        instances: At how many instances both sides ran.
        detail: What differs and where, or why nothing ran.
    """

    status: Status
    instances: int = 0
    detail: str = ""


def attempt(
    claim: Claim,
    worker: Worker,
    stored: Mapping[str, onnx.TensorProto],
    recorded: Sequence[Mapping[str, int]] = (),
) -> Outcome:
    """Runs a claim.

    Args:
        claim: The claim.
        worker: The process that onnxruntime runs in.
        stored: The large constants that it reads, by their names in the claim.
        recorded: Bindings at which the whole model ran.
    """
    try:
        before, after = (model_of(side, dict(stored)) for side in (claim.before, claim.after))
        first = load_engine(before, worker=worker, seconds=SECONDS)
    except DecodeError:
        return Outcome("untried", detail="it holds no model")
    except EngineError as error:
        return Outcome("untried", detail=f"the side before can't be loaded: {error.brief}")
    try:
        second = load_engine(after, like=first, worker=worker, seconds=SECONDS)
    except EngineError as error:
        return Outcome("differs", detail=f"the side after can't be loaded: {error.brief}")
    # onnxruntime rounds float16 where it happens to cast; and two engines round differently.
    half = computes_in_half(before) or computes_in_half(after)
    comparison = Comparison(exact=not half and first.name == second.name, half=half)
    return _compared(claim, first, second, comparison, recorded)


def _compared(
    claim: Claim, first: Engine, second: Engine, comparison: Comparison, recorded: Sequence[Mapping[str, int]]
) -> Outcome:
    count, reason = 0, "no instance of it can be made"
    endless: set[str] = set()  # styles that make a Loop run for ever
    try:
        for instance in instances(claim, recorded):
            if instance.style in endless:
                continue
            try:
                expected = first.run(instance.feeds, SECONDS)
                found = _difference(instance, expected, second, comparison)
            except TimedOut:
                endless.add(instance.style)
                reason = "it was stopped at the time limit"
                continue
            except EngineError as error:  # the model does not admit such values
                reason = f"the side before ran at no instance: {error.brief}"
                continue
            if found is not None:
                return Outcome("differs", count, f"at {instance}: {found}")
            count += 1
    except (ExpressionError, ValueError, TypeError) as error:  # what is known of the boundary is nonsense
        return Outcome("untried", count, f"no instance can be made: {error}")
    return Outcome("holds", count) if count else Outcome("untried", detail=reason)


def _difference(instance: Instance, expected: Sequence[Any], second: Engine, comparison: Comparison) -> str | None:
    try:
        got = second.run(instance.feeds, SECONDS)
    except TimedOut:
        raise
    except EngineError as error:
        return f"the side before runs, the side after fails: {error.brief}"
    if len(got) != len(expected):
        return f"the side before has {len(expected)} outputs, the side after {len(got)}"
    for number, (one, other) in enumerate(zip(expected, got, strict=True)):
        for difference in comparison.differences(f"output {number}", one, other, Errors()):
            return f"{difference.output}: {difference.detail}"
    return None
