"""The verification itself: bindings, feeds, both models run, outputs compared."""

from __future__ import annotations

import dataclasses
import pathlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx

from .bindings import Goal, Search, goals
from .comparison import Comparison, Errors
from .engines import Engine, EngineError, Runnable, TimedOut, load_engine, require_onnxruntime
from .evaluation import Evaluator
from .instrumentation import Probe, find_probes
from .feed_files import binding_of, read_feeds
from .feeds import Plan, TooLarge, make_feeds
from .hints import find_hints
from .protos import load_proto
from .randomness import random_outputs
from .results import Difference, Evaluation, NotAdmitted, Run, Verification
from .signature import inputs_of, keys_of, output_names

# How many plans are tried for one goal, how many more when one was admitted that is not all that was wanted, and the share of the
# time that the search for bindings may take.
_ATTEMPTS = 160
_MORE_ATTEMPTS = 12
_SEARCH_SHARE = 0.5
# How many refusals the result lists for each goal.
_LISTED = 3


def verify(
    original: Runnable,
    optimized: Runnable,
    *,
    exact: bool = True,
    seed: int = 0,
    feeds: pathlib.Path | None = None,
    evaluate: Sequence[Probe] | None = None,
    seconds: float = 60,
) -> Verification:
    """Run both models at several bindings and compare all that they hand out.

    Args:
        original: The model to hold the other one to; a path where it has external data. It is not changed.
        optimized: The model to be verified, likewise.
        exact: Floats must be equal bit for bit; else within a tolerance, see `foldproof.verification.comparison`.
        seed: The seed of the inputs that are made up. The same seed gives the same inputs.
        feeds: A folder of inputs to run as well, see `foldproof.verification.feed_files`.
        evaluate: The `Size` and `Shape` nodes of the optimized model to compute by the reference kernels as well. None: all of its
            `Size` nodes.
        seconds: The time limit of the whole.

    Raises:
        UnverifiedError: onnxruntime is not installed.
        UsageError: The folder of inputs does not fit the model.
        ModelError: A file can't be read.
    """
    require_onnxruntime()
    return _Verifier(original, optimized, exact, seed, feeds, evaluate, seconds).result()


@dataclasses.dataclass(frozen=True)
class _Feed:
    """Inputs for one run, and where they came from."""

    binding: dict[str, int]
    values: dict[str, Any]
    source: str
    seed: int


class _Verifier:
    """One verification in progress."""

    def __init__(
        self,
        original: Runnable,
        optimized: Runnable,
        exact: bool,
        seed: int,
        folder: pathlib.Path | None,
        evaluate: Sequence[Probe] | None,
        seconds: float,
    ) -> None:
        self.started = time.monotonic()
        self.deadline = self.started + seconds
        self.seconds = seconds
        self.models = original, optimized
        self.protos = load_proto(original), load_proto(optimized)
        self.exact = exact
        self.seed = seed
        self.inputs = inputs_of(self.protos[0])
        self.given = read_feeds(folder, self.inputs) if folder is not None else []
        self.evaluate = evaluate
        self.runs: list[Run] = []
        self.differences: list[Difference] = []
        self.not_admitted: list[NotAdmitted] = []
        self.evaluations: list[Evaluation] = []
        self.notes: list[str] = []
        self.random: frozenset[str] = frozenset()

    def result(self) -> Verification:
        """Verify."""
        try:
            self.original = load_engine(self.models[0])
        except EngineError as error:
            return self.finished(f"nothing can load the original: {error}")
        self.compare_signatures()
        try:
            self.optimized = self.load_optimized()
        except EngineError as error:
            self.differences.append(Difference("", "raised", f"the optimized model can't be loaded: {error.first_line}"))
            return self.finished()
        self.look_for_random_operators()
        evaluator = self.make_evaluator()
        for feed, outputs in self.admitted():
            self.compare(feed, outputs)
            if evaluator is not None and self.left() > 0:
                self.evaluate_at(evaluator, feed)
        if not self.runs and not self.differences:
            reason = self.not_admitted[-1].error if self.not_admitted else "the time limit"
            return self.finished(f"the original ran at no binding: {reason}")
        return self.finished()

    def finished(self, reason: str | None = None) -> Verification:
        wrong = bool(self.differences) or any(not each.agrees for each in self.evaluations)
        return Verification(
            status="different" if wrong else "unverified" if reason is not None else "same",
            runs=tuple(self.runs),
            differences=tuple(self.differences),
            not_admitted=tuple(self.not_admitted),
            notes=tuple(dict.fromkeys(self.notes)),
            reason=reason,
            evaluations=tuple(self.evaluations),
            seconds=time.monotonic() - self.started,
        )

    def left(self) -> float:
        """The seconds left."""
        return self.deadline - time.monotonic()

    def load_optimized(self) -> Engine:
        """The optimized model in the same engine as the original, or else in what can run it."""
        try:
            engine = type(self.original)(self.models[1])  # type: ignore[call-arg]
        except EngineError:
            engine = load_engine(self.models[1])
        if engine.name != self.original.name:
            self.notes.append(
                f"the original ran in {self.original.name}, the optimized model in {engine.name}: floats were compared by tolerance"
            )
        return engine

    def compare_signatures(self) -> None:
        """The names of inputs and outputs, in their order."""
        before, after = ([each.name for each in inputs_of(proto)] for proto in self.protos)
        if before != after:
            self.differences.append(
                Difference("", "missing", "the inputs differ in name or order", original=before, optimized=after)
            )
        names = [list(output_names(proto)) for proto in self.protos]
        if names[0] != names[1]:
            lost = [name for name in names[0] if name not in names[1]]
            detail = f"the optimized model has no output {lost[0]!r}" if lost else "the outputs differ in name or order"
            self.differences.append(
                Difference(lost[0] if lost else "", "missing", detail, original=names[0], optimized=names[1])
            )

    def look_for_random_operators(self) -> None:
        self.random = random_outputs(self.protos[0]) | random_outputs(self.protos[1])
        if self.random:
            self.notes.append(
                "contains random operators: of the outputs that they reach "
                f"({', '.join(sorted(self.random))}) only shapes and dtypes were compared"
            )

    def admitted(self) -> Iterator[tuple[_Feed, list[Any]]]:
        """The feeds at which the original runs, with what it hands out."""
        for source, values in self.given:
            feed = _Feed(binding_of(values, self.inputs), values, source, self.seed)
            try:
                yield feed, self.original.run(values, self.left())
            except EngineError as error:
                self.not_admitted.append(NotAdmitted(feed.binding, error.first_line, source))
        hints = find_hints(self.protos[0], self.inputs)
        planned = goals(self.inputs, hints, self.seed)
        until = time.monotonic() + self.left() * _SEARCH_SHARE
        known: Plan | None = None
        seen: list[dict[str, int]] = []
        for index, goal in enumerate(planned):
            share = time.monotonic() + max(until - time.monotonic(), 0) / (len(planned) - index)
            found = self.search(Search(self.inputs, goal, hints, known), hints, share, seen)
            if found is None:
                self.notes.append(f"no binding was admitted for: {_describe(goal)}")
                continue
            known, feed, outputs = found
            seen.append(feed.binding)
            yield feed, outputs
        keys = keys_of(self.inputs)
        if keys and seen and all(each == seen[0] for each in seen):
            self.notes.append("only one binding of the symbolic dims was admitted")
        elif seen and len(seen) > 1:
            fixed = [key for key in keys if len({each[key] for each in seen}) == 1]
            if fixed:
                self.notes.append(f"only one size was admitted of: {', '.join(fixed)}")

    def search(
        self, search: Search, hints: Any, until: float, seen: list[dict[str, int]]
    ) -> tuple[Plan, _Feed, list[Any]] | None:
        """The best feed that the original runs, of those tried within the limits."""
        best: tuple[tuple[int, float], Plan, _Feed, list[Any]] | None = None
        limit = _ATTEMPTS
        refused: list[NotAdmitted] = []
        for attempt, plan in enumerate(search):
            if attempt >= limit or (attempt and time.monotonic() > until):
                break
            try:
                values = make_feeds(self.inputs, plan, hints)
                outputs = self.original.run(values, self.left())
            except (TooLarge, NotImplementedError) as error:
                refused.append(NotAdmitted(dict(plan.dims), str(error)))
                continue
            except TimedOut:
                self.notes.append(f"a run of the original was stopped at the time limit, at {dict(plan.dims)}")
                break
            except EngineError as error:
                refused.append(NotAdmitted(dict(plan.dims), error.first_line))
                search.failed(plan, str(error))
                continue
            score = _novelty(dict(plan.dims), seen), _meaning(outputs)
            if best is None or score > best[0]:
                if best is None:
                    limit = attempt + _MORE_ATTEMPTS
                source = "generated" if not plan.override else "generated, overridable initializers too"
                best = score, plan, _Feed(dict(plan.dims), values, source, plan.seed), outputs
            if best[0] == (len(plan.dims), 1.0):
                break
        self.not_admitted += refused[:_LISTED]
        return None if best is None else best[1:]

    def compare(self, feed: _Feed, outputs: list[Any]) -> None:
        """Run the optimized model on a feed and compare."""
        try:
            others = self.optimized.run(feed.values, max(self.left(), 1.0))
        except TimedOut:
            self.notes.append(f"a run of the optimized model was stopped at the time limit, at {feed.binding}")
            return
        except EngineError as error:
            self.add([Difference("", "raised", error.first_line)], feed)
            return
        same_engine = self.original.name == self.optimized.name
        errors = Errors()
        by_name = dict(zip(self.optimized.outputs, others))
        values = 0
        for name, one in zip(self.original.outputs, outputs):
            if name not in by_name:
                continue  # Found by compare_signatures.
            comparison = Comparison(self.exact and same_engine, name not in self.random, True)
            values += comparison.values
            found = list(comparison.differences(name, one, by_name[name], errors))
            if found and not self.reproducible(feed, name, one):
                continue
            self.add(found, feed)
        self.runs.append(
            Run(
                feed.binding,
                feed.source,
                feed.seed,
                self.original.name,
                self.optimized.name,
                values,
                errors.absolute,
                errors.relative,
            )
        )

    def reproducible(self, feed: _Feed, name: str, value: Any) -> bool:
        """Whether the original gives the same output once more: what differs from itself proves nothing."""
        try:
            again = dict(zip(self.original.outputs, self.original.run(feed.values, max(self.left(), 1.0))))
        except EngineError:
            return True
        comparison = Comparison(self.exact, name not in self.random, True)
        if not list(comparison.differences(name, value, again[name], Errors())):
            return True
        self.notes.append(f"the original itself gives another {name} at each run: it was not compared")
        return False

    def add(self, found: list[Difference], feed: _Feed) -> None:
        self.differences += [dataclasses.replace(each, binding=feed.binding, feeds=feed.source) for each in found]

    def make_evaluator(self) -> Evaluator | None:
        probes = self.evaluate
        if probes is None:
            probes = [each for each in find_probes(self.protos[1]) if each.op_type == "Size"]
        if not probes:
            return None
        model = self.models[1]
        try:
            evaluator = Evaluator(self.protos[1], probes, model.parent if isinstance(model, pathlib.Path) else None)
        except EngineError as error:
            self.notes.append(f"the nodes left could not be evaluated: {error.first_line}")
            return None
        for each in evaluator.unreachable:
            self.notes.append(f"{each.op_type} node of {each.output!r} in {each.place}: its values can't be handed out")
        return evaluator

    def evaluate_at(self, evaluator: Evaluator, feed: _Feed) -> None:
        try:
            self.evaluations += evaluator.run(feed.values, feed.binding, max(self.left(), 1.0))
        except EngineError as error:
            self.notes.append(f"the nodes left could not be evaluated at {feed.binding}: {error.first_line}")


def _describe(goal: Goal) -> str:
    words = {"ones": "all dims 1", "distinct": "each dim its own number", "static": "the static dims"}[goal.name]
    pinned = ", ".join(f"{name} = {value}" for name, value in goal.values.items())
    return words + (f", {pinned}" if pinned else "") + (", overridable initializers changed" if goal.override else "")


def _novelty(binding: dict[str, int], seen: list[dict[str, int]]) -> int:
    """How many dims have a size that no earlier binding had."""
    return sum(all(other.get(key) != size for other in seen) for key, size in binding.items())


def _meaning(outputs: list[Any]) -> float:
    """1.0 where each float output has a finite element; 0.0 where all are NaN or infinite, and compare as equal whatever was computed."""
    floats = [each for each in outputs if isinstance(each, np.ndarray) and each.dtype.kind == "f" and each.size]
    if not floats:
        return 1.0
    return sum(bool(np.isfinite(each).any()) for each in floats) / len(floats)


