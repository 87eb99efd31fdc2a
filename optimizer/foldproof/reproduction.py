"""Writes the smallest pair of models, with a feed, that shows what a guilty rewrite does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from foldproof.attempts import Attempts
from foldproof.certificates.claim import Claim, model_of
from foldproof.certificates.instances import instances
from foldproof.certificates.recorder import LEVELS
from foldproof.certificates.sides import Sides
from foldproof.certificates.tensors import NotRestated
from foldproof.destinations import write_json
from foldproof.engines import Engine, EngineError, load_engine
from foldproof.errors import UsageError
from foldproof.optimization import Plan
from foldproof.reporting.report import TakenBack
from foldproof.run import Run
from foldproof.verification.comparison import Comparison, Errors

SECONDS = 20.0
"""A run of one side is stopped after this time."""


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two models, and inputs at which they differ.

    Attributes:
        before: The model without the rewrite.
        after: The model with it.
        feed: The inputs by name.
        level: How many levels of producers around the rewrite they hold; None for the whole model.
    """

    before: onnx.ModelProto
    after: onnx.ModelProto
    feed: Mapping[str, Any]
    level: int | None


def save(attempts: Attempts, plan: Plan, guilty: TakenBack, folder: Path) -> None:
    """Writes `before.onnx`, `after.onnx`, the feed and `repro.json`.

    Args:
        attempts: The attempts of which one failed.
        plan: The plan that failed.
        guilty: The guilty rewrite.
        folder: Where to; it is made.

    Raises:
        UsageError: It can't be written.
    """
    with (
        attempts.rewritten(dataclasses.replace(plan, stop_after=guilty.number - 1)) as before,
        attempts.rewritten(dataclasses.replace(plan, stop_after=guilty.number), record=True) as after,
    ):
        feed = attempts.feed(guilty.difference.run)
        target = folder / guilty.place.replace("/", "_").strip("._") if folder.exists() else folder
        try:
            target.mkdir(parents=True)
            pair = _smallest(before, after, guilty, feed)
            if pair is None:
                before.write(target / "before.onnx")
                after.write(target / "after.onnx")
            else:
                onnx.save(pair.before, target / "before.onnx")
                onnx.save(pair.after, target / "after.onnx")
            _save_feed(feed if pair is None else pair.feed, _input_names(target / "before.onnx"), target)
            write_json(_description(guilty, pair, target), target / "repro.json")
        except OSError as error:
            raise UsageError(f"the reproduction can't be written to {target}: {error.strerror}") from error


def _smallest(before: Run, after: Run, guilty: TakenBack, feed: Mapping[str, Any]) -> Pair | None:
    """The rewrite with as little around it as it takes to differ; None where only the whole model does."""
    certifier = after.certifier
    snapshot = next((each for each in certifier.recorder.snapshots if each.entry.number == guilty.number), None)
    certifier.tensors.add_output(after.source.model)
    for each in () if snapshot is None else (snapshot, snapshot.enclosing):
        for level in range(LEVELS + 1 if each is not None else 0):
            assert each is not None
            sides = Sides(each, level, certifier.tensors, int(after.source.model.ir_version), stores=True)
            try:
                claim = sides.claim()
            except NotRestated:
                continue
            stored = {constant.name: certifier.tensors.proto(constant) for constant in claim.stored}
            models = model_of(claim.before, dict(stored)), model_of(claim.after, dict(stored))
            captured = _captured(before, sides.boundary, feed)
            found = _differing(models, _feeds(claim, captured), exact=guilty.exact) if captured is not None else None
            if found is not None:
                return Pair(*models, found, level)
    return None


def _feeds(claim: Claim, captured: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What to run both sides on: what they read in the run that differed, then smaller instances of it."""
    yield captured
    try:
        yield from (instance.feeds for instance in instances(claim))
    except (ValueError, TypeError):  # no instance can be made
        return


def _differing(
    models: tuple[onnx.ModelProto, onnx.ModelProto], feeds: Iterator[Mapping[str, Any]], *, exact: bool
) -> Mapping[str, Any] | None:
    """The smallest inputs at which two models differ, among some; the first of these has to be one."""
    try:
        first, second = (load_engine(model, seconds=SECONDS) for model in models)
    except EngineError:
        return None
    smallest: Mapping[str, Any] | None = None
    for number, feed in enumerate(feeds):
        if number and (smallest is None or _size(feed) >= _size(smallest)):
            continue
        if _differ(first, second, feed, exact=exact):
            smallest = feed
        elif number == 0:
            return None
    return smallest


def _differ(first: Engine, second: Engine, feed: Mapping[str, Any], *, exact: bool) -> bool:
    try:
        expected = first.run(dict(feed), SECONDS)
    except EngineError:
        return False
    try:
        got = second.run(dict(feed), SECONDS)
    except EngineError:
        return True
    comparison = Comparison(exact)
    pairs = enumerate(zip(expected, got, strict=True))
    return any(True for number, (a, b) in pairs for _ in comparison.differences(str(number), a, b, Errors()))


def _size(feed: Mapping[str, Any]) -> int:
    return sum(np.size(value) for value in feed.values())


def _captured(run: Run, boundary: Mapping[str, str], feed: Mapping[str, Any]) -> dict[str, Any] | None:
    """What values of a model are for a feed; None where they can't be handed out."""
    try:
        engine = load_engine(run.exposing(boundary.values()), seconds=SECONDS)
        handed_out = dict(zip(engine.outputs, engine.run(dict(feed), SECONDS), strict=True))
    except (EngineError, KeyError):
        return None
    values = {**feed, **handed_out}
    return (
        {name: values[value] for name, value in boundary.items()} if set(boundary.values()) <= values.keys() else None
    )


def _input_names(path: Path) -> list[str]:
    return [value.name for value in onnx.load(path, load_external_data=False).graph.input]


def _save_feed(feed: Mapping[str, Any], names: Sequence[str], folder: Path) -> None:
    """Writes a feed as ONNX's own test data is written."""
    data = folder / "test_data_set_0"
    data.mkdir()
    for number, name in enumerate(names):
        if name not in feed:  # an initializer that may be overridden
            continue
        value = feed[name]
        is_array = isinstance(value, (np.ndarray, np.generic))
        proto = numpy_helper.from_array(np.asarray(value), name) if is_array else numpy_helper.from_list(value, name)
        (data / f"input_{number}.pb").write_bytes(proto.SerializeToString())


def _description(guilty: TakenBack, pair: Pair | None, folder: Path) -> dict[str, Any]:
    exact = " --exact" if guilty.exact else ""
    return {
        "rule": guilty.rule,
        "class": "exact" if guilty.exact else "tolerant",
        "place": guilty.place,
        "graph": guilty.graph,
        "number": guilty.number,
        "models": "the whole model" if pair is None else f"the rewrite with {pair.level} levels of producers",
        "difference": guilty.difference.to_dict(),
        "see": f"foldproof verify before.onnx after.onnx --feeds .{exact}",
    }
