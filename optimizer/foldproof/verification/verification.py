"""The verification itself: both models run on every admitted feed, and all that they hand out compared."""

from __future__ import annotations

import dataclasses
import pathlib
import time
from collections.abc import Iterable, Sequence
from typing import Any

from foldproof.engines import Engine, EngineError, Runnable, TimedOut, load_engine, require_onnxruntime
from foldproof.protos import load_proto

from .admission import Admission, Admitted, Feed
from .comparison import Comparison, Errors
from .declarations import changed_declarations, missing_values
from .evaluation import Evaluator
from .feed_files import read_feeds
from .half import computes_in_half
from .hints import find_hints
from .noise import FACTOR, Noise
from .probes import Probe, find_probes
from .randomness import Reached, random_outputs
from .results import Difference, Evaluation, Run, Verification
from .signature import inputs_of

# A run that was begun may take this long (seconds), also where the time limit is nearer.
_GRACE = 2.0


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
        exact: Floats must be equal bit for bit; else within a tolerance, see
            `foldproof.verification.comparison`.
        seed: The seed of the inputs that are made up. The same seed gives the same inputs.
        feeds: A folder of inputs to run as well, see `foldproof.verification.feed_files`.
        evaluate: The `Size` and `Shape` nodes of the optimized model to compute by the reference kernels as
            well. None: all of its `Size` nodes.
        seconds: The time limit of the whole.

    Raises:
        UnverifiedError: onnxruntime is not installed.
        UsageError: The folder of inputs does not fit the model.
        ModelError: A file can't be read.
    """
    require_onnxruntime()
    return _Verifier(original, optimized, exact, time.monotonic() + seconds).verify(feeds, seed, evaluate)


class _Verifier:
    """One verification in progress.

    Args:
        original: The original.
        optimized: The optimized model.
        exact: Whether floats must be equal bit for bit.
        deadline: When all is over, by `time.monotonic`.
    """

    def __init__(self, original: Runnable, optimized: Runnable, exact: bool, deadline: float) -> None:
        self.started = time.monotonic()
        self.deadline = deadline
        self.models = original, optimized
        self.protos = load_proto(original), load_proto(optimized)
        self.exact = exact
        self.runs: list[Run] = []
        self.differences: list[Difference] = []
        self.evaluations: list[Evaluation] = []
        self.notes: list[str] = []
        self.admission: Admission | None = None

    def verify(self, folder: pathlib.Path | None, seed: int, probes: Sequence[Probe] | None) -> Verification:
        """See the function `verify`."""
        inputs = inputs_of(self.protos[0])
        given = read_feeds(folder, inputs) if folder is not None else []
        try:
            self.original = load_engine(self.models[0])
        except EngineError as error:
            return self.finished(f"nothing can load the original: {error}")
        self.noise = Noise(self.models[0], self.original)
        self.differences += missing_values(*self.protos)
        self.notes += changed_declarations(*self.protos)
        try:
            self.optimized = self.load_optimized()
        except EngineError as error:
            detail = f"the optimized model can't be loaded: {error.brief}"
            self.differences.append(Difference("", "raised", detail))
            return self.finished()
        self.random = self.find_random()
        self.half = computes_in_half(self.protos[0])
        if self.half and self.exact:
            self.notes.append("computes in float16, which onnxruntime rounds at will: floats are compared by tolerance")
        evaluator = self.make_evaluator(probes)
        hints = find_hints(self.protos[0], inputs)
        self.admission = Admission(self.original, inputs, hints, seed, self.deadline)
        for source in (self.admission.given(given), self.admission.generated()):
            for admitted in source:
                self.compare(admitted)
                if evaluator is not None:
                    self.evaluate(evaluator, admitted.feed)
        if self.runs or self.differences:
            return self.finished()
        refused = self.admission.refused
        reason = refused[-1].error if refused else "the time limit was reached"
        return self.finished(f"the original ran on no feed: {reason}")

    def finished(self, reason: str | None = None) -> Verification:
        admission = self.admission
        return Verification(
            status="different" if self.differences else "unverified" if reason is not None else "same",
            runs=tuple(self.runs),
            differences=tuple(self.differences),
            not_admitted=tuple(admission.refused if admission is not None else ()),
            notes=tuple(dict.fromkeys([*self.notes, *(admission.notes if admission is not None else ())])),
            reason=reason,
            evaluations=tuple(self.evaluations),
            seconds=time.monotonic() - self.started,
        )

    def left(self) -> float:
        """The seconds that a run may take."""
        return max(self.deadline - time.monotonic(), _GRACE)

    def load_optimized(self) -> Engine:
        """The optimized model in the same engine as the original, or else in what can run it."""
        engine = load_engine(self.models[1], like=self.original)
        if engine.name != self.original.name:
            self.notes.append(
                f"the original ran in {self.original.name}, the optimized model in {engine.name}: "
                "floats were compared by tolerance"
            )
        return engine

    def compare(self, admitted: Admitted) -> None:
        """Run the optimized model on a feed and compare."""
        feed = admitted.feed
        try:
            outputs = dict(zip(self.optimized.outputs, self.optimized.run(feed.values, self.left()), strict=True))
        except TimedOut:
            self.notes.append(f"the optimized model was stopped at the time limit, at {feed.binding}")
            return
        except EngineError as error:
            self.add([Difference("", "raised", f"the optimized model fails: {error.brief}")], feed)
            return
        errors = Errors()
        compared = 0
        for name, value in zip(self.original.outputs, admitted.outputs, strict=True):
            if name not in outputs:
                continue  # `missing_values` found it.
            found = list(self.comparison(name).differences(name, value, outputs[name], errors))
            if found and not self.comparison(name).exact:
                found = self.beyond_noise(admitted, name, outputs[name])
            if found and not self.is_reproducible(feed, name, value):
                continue
            compared += name not in self.random.values
            self.add(found, feed)
        self.runs.append(
            Run(
                binding=feed.binding,
                feeds=feed.source,
                seed=feed.seed,
                original_engine=self.original.name,
                optimized_engine=self.optimized.name,
                outputs=compared,
                max_absolute_error=errors.absolute,
                max_relative_error=errors.relative,
            )
        )

    def find_random(self) -> Reached:
        reached = random_outputs(self.protos[0]) | random_outputs(self.protos[1])
        if reached.values:
            self.notes.append(
                "contains random operators: only shapes and dtypes were compared of the outputs that they "
                f"reach ({', '.join(sorted(reached.values))})"
            )
        if reached.shapes:
            names = ", ".join(sorted(reached.shapes))
            self.notes.append(f"random values decide on the shapes of {names}: of these only dtypes were compared")
        return reached

    def comparison(self, name: str) -> Comparison:
        """How to compare the output of that name."""
        # Two engines round differently.
        exact = self.exact and self.original.name == self.optimized.name and not self.half
        return Comparison(exact, name not in self.random.values, name not in self.random.shapes, half=self.half)

    def beyond_noise(self, admitted: Admitted, name: str, optimized: Any) -> list[Difference]:
        """The differences of an output that the original's own noise does not account for."""
        outputs = dict(zip(self.original.outputs, admitted.outputs, strict=True))
        noise = self.noise.of(admitted.feed.values, outputs, self.left())
        comparison = dataclasses.replace(self.comparison(name), slack=FACTOR * noise.get(name, 0.0))
        return list(comparison.differences(name, outputs[name], optimized, Errors()))

    def is_reproducible(self, feed: Feed, name: str, value: Any) -> bool:
        """Whether the original gives that output once more: what differs from itself proves nothing."""
        try:
            values = self.original.run(feed.values, self.left())
        except EngineError:
            return True
        again = dict(zip(self.original.outputs, values, strict=True))[name]
        if not any(self.comparison(name).differences(name, value, again, Errors())):
            return True
        self.notes.append(f"the original itself gives another {name} at each run: it was not compared")
        return False

    def add(self, found: Iterable[Difference], feed: Feed) -> None:
        self.differences += [dataclasses.replace(each, binding=feed.binding, feeds=feed.source) for each in found]

    def make_evaluator(self, probes: Sequence[Probe] | None) -> Evaluator | None:
        if probes is None:
            probes = [each for each in find_probes(self.protos[1]) if each.op_type == "Size"]
        if not probes:
            return None
        model = self.models[1]
        try:
            evaluator = Evaluator(self.protos[1], probes, model.parent if isinstance(model, pathlib.Path) else None)
        except EngineError as error:
            self.notes.append(f"the nodes left could not be evaluated: {error.brief}")
            return None
        for each in evaluator.unreachable:
            self.notes.append(f"{each.op_type} of {each.output!r} in {each.place}: its values can't be handed out")
        return evaluator

    def evaluate(self, evaluator: Evaluator, feed: Feed) -> None:
        try:
            found = evaluator.run(feed.values, feed.binding, self.left())
        except EngineError as error:
            self.notes.append(f"the nodes left could not be evaluated at {feed.binding}: {error.brief}")
            return
        self.evaluations += found
        for each in found:
            if not each.agrees:
                detail = f"{each.op_type} gives {each.got}, its reference kernel {each.expected}"
                wrong = Difference(each.output, "value", detail, original=each.expected, optimized=each.got)
                self.add([wrong], feed)
