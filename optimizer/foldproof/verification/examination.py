"""One candidate, compared with the original at each trial."""

from __future__ import annotations

import dataclasses
import pathlib
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import onnx

from foldproof.dims import binding_text
from foldproof.engines import Engine, EngineError, OnnxRuntime, OutOfMemory, Runnable, TimedOut, Worker, load_engine
from foldproof.protos import load_proto

from .admission import Admission, Feed
from .clock import Clock
from .comparison import Comparison, Errors
from .declarations import changed_declarations, false_dims, missing_values
from .draws import settled
from .evaluation import Evaluator
from .half import computes_in_half
from .margins import Margins
from .noise import FACTOR, Noise
from .probes import Probe, find_probes
from .proven import Proven
from .randomness import Reached, random_outputs
from .repetition import Repetition
from .results import Difference, Evaluation, Run, Verification
from .specials import Special
from .trials import Trial, Trials


@dataclasses.dataclass(frozen=True)
class Original:
    """The original, loaded, and what is known of it.

    Attributes:
        model: The model.
        proto: Its proto, without external data.
        engine: What runs it.
        admission: Which feeds it refused, and what there is to say of that.
        trials: The feeds at which it runs.
        noise: How far its own outputs move.
        margins: Which of its integers are undecided.
        repetition: Runs it again.
    """

    model: Runnable
    proto: onnx.ModelProto
    engine: Engine
    admission: Admission
    trials: Trials
    noise: Noise
    margins: Margins
    repetition: Repetition


class Examination:
    """One comparison in progress.

    Args:
        original: The original.
        model: The model to be compared with it.
        exact: Whether floats must be equal bit for bit.
        clock: How much time there is.
        worker: The process that onnxruntime runs in.
    """

    def __init__(self, original: Original, model: Runnable, exact: bool, clock: Clock, worker: Worker) -> None:
        self._original = original
        self._model = model
        self._exact = exact
        self._clock = clock
        self._worker = worker
        self._proto = load_proto(model)
        self._runs: list[Run] = []
        self._differences: list[Difference] = []
        self._evaluations: list[Evaluation] = []
        self._notes: list[str] = []
        self._unsteady_at: dict[int, set[str]] = {}
        self._lack = ""
        self._has_tossed = False

    def run(
        self, probes: Sequence[Probe] | None, proven: Sequence[Proven], only: Collection[int] | None
    ) -> Verification:
        """See `Verifier.compare`."""
        original = self._original
        self._differences += missing_values(original.proto, self._proto)
        self._notes += changed_declarations(original.proto, self._proto)
        try:
            self._engine = self._load()
        except (TimedOut, OutOfMemory) as error:
            return self._finished(f"the optimized model can't be loaded: {error.brief}")
        except EngineError as error:
            detail = f"the optimized model can't be loaded: {error.brief}"
            self._differences.append(Difference("", "raised", detail))
            return self._finished()
        self._random = self._find_random()
        self._half = computes_in_half(original.proto)
        if self._half and self._exact:
            note = "computes in float16, which onnxruntime rounds at will: floats are compared by tolerance"
            self._notes.append(note)
        evaluator = self._make_evaluator(probes, proven)
        for trial in original.trials.again(self._clock.for_a_run, only):
            if not self._is_fair(trial.feed.special):
                continue
            if self._clock.is_out_of_patience:
                self._notes.append("too many runs came to nothing, so no more were made")
                break
            try:
                self._compare(trial)
                self._clock.ran()
                self._find_settled(trial)
                if evaluator is not None and trial.feed.special == "no":
                    self._evaluate(evaluator, trial)
            except MemoryError:
                self._lack = f"there is not enough memory to compare the outputs{_at(trial.feed)}"
                self._notes.append(self._lack)
        if self._runs or self._differences:
            return self._finished()
        if self._lack:
            return self._finished(self._lack)
        refused = original.admission.refused
        reason = refused[-1].error if refused else "the time limit was reached"
        return self._finished(f"the original ran on no feed: {reason}")

    def _finished(self, reason: str | None = None) -> Verification:
        admission = self._original.admission
        return Verification(
            status="different" if self._differences else "unverified" if reason is not None else "same",
            runs=tuple(self._runs),
            differences=tuple(self._differences),
            not_admitted=tuple(admission.refused),
            notes=tuple(dict.fromkeys([*self._notes, *admission.notes])),
            reason=reason,
            evaluations=tuple(self._evaluations),
            seconds=self._clock.taken,
        )

    def _load(self) -> Engine:
        """The model in the same engine as the original, or else in what can run it."""
        like = self._original.engine
        provider = like.provider if isinstance(like, OnnxRuntime) else None
        engine = load_engine(
            self._model, like=like, worker=self._worker, provider=provider, seconds=self._clock.for_loading
        )
        if engine.name != like.name:
            self._notes.append(
                f"the original ran in {like.name}, the optimized model in {engine.name}: "
                "floats were compared by tolerance, and no special numbers among them"
            )
        return engine

    def _compare(self, trial: Trial) -> None:
        """Run the model on a feed and compare."""
        began = time.monotonic()
        try:
            values = self._engine.run(trial.feed.values, self._clock.for_a_run)
        except (TimedOut, OutOfMemory) as error:
            self._clock.lost(time.monotonic() - began, error)
            what = "was stopped at the time limit" if isinstance(error, TimedOut) else "ran out of memory"
            self._lack = f"the optimized model {what}{_at(trial.feed)}"
            self._notes.append(self._lack)
            return
        except EngineError as error:
            if not self._unsteady(trial):
                self._add([Difference("", "raised", f"the optimized model fails: {error.brief}")], trial)
            else:
                self._lack = f"the original itself does not do the same at each run{_at(trial.feed)}"
                self._notes.append(f"{self._lack}, where the optimized model fails: {error.brief}")
            return
        outputs = dict(zip(self._engine.outputs, values, strict=True))
        self._add(false_dims(self._original.proto, self._proto, outputs), trial)
        errors = Errors()
        compared = 0
        for name, value in trial.outputs.items():
            if name not in outputs:
                continue  # `missing_values` found it.
            found = list(self._comparison(name).differences(name, value, outputs[name], errors))
            if found and not self._comparison(name).exact:
                found = self._beyond_noise(trial, name, outputs[name])
            if found and name in self._unsteady(trial):
                told = f"the original itself does not give the same {name} at each run{_at(trial.feed)}"
                self._notes.append(f"{told}: it was not compared")
                continue
            compared += name not in self._random.values
            self._add(found, trial)
        self._runs.append(
            Run(
                binding=trial.feed.binding,
                feeds=trial.feed.source,
                seed=trial.feed.seed,
                original_engine=self._original.engine.name,
                optimized_engine=self._engine.name,
                outputs=compared,
                max_absolute_error=errors.absolute,
                max_relative_error=errors.relative,
                number=trial.number,
                max_ulps=errors.ulps,
            )
        )

    def _find_settled(self, trial: Trial) -> None:
        """Finds outputs that were random and are no more, at the first feed that has room for it."""
        names = self._random.values & set(trial.outputs) & set(self._engine.outputs)
        if not names or self._has_tossed or not any(np.size(trial.outputs[name]) for name in names):
            return
        self._has_tossed = True

        def outputs_of(engine: Engine) -> dict[str, Any]:
            if self._clock.left < 0:
                raise EngineError("the time limit was reached")
            return dict(zip(engine.outputs, engine.run(trial.feed.values, self._clock.for_a_run), strict=True))

        try:
            found = settled(names, lambda: outputs_of(self._original.engine), lambda: outputs_of(self._engine))
        except EngineError as error:
            self._notes.append(f"whether {', '.join(sorted(names))} are random was not found out: {error.brief}")
            return
        detail = "it is random, and became the same in each run"
        for name, (before, after) in found.items():
            self._add([Difference(name, "value", detail, original=str(before), optimized=str(after))], trial)

    def _find_random(self) -> Reached:
        reached = random_outputs(self._original.proto) | random_outputs(self._proto)
        if reached.values:
            self._notes.append(
                "contains random operators: only shapes and dtypes were compared of the outputs that they "
                f"reach ({', '.join(sorted(reached.values))})"
            )
        if reached.shapes:
            names = ", ".join(sorted(reached.shapes))
            self._notes.append(f"random values decide on the shapes of {names}: of these only dtypes were compared")
        return reached

    def _comparison(self, name: str) -> Comparison:
        """How to compare the output of that name."""
        # Two engines round differently.
        exact = self._exact and self._original.engine.name == self._engine.name and not self._half
        return Comparison(exact, name not in self._random.values, name not in self._random.shapes, half=self._half)

    def _is_fair(self, special: Special) -> bool:
        """Whether the two models have to agree on feeds with such numbers."""
        if special == "no":
            return True
        # Equal in real arithmetic need not be equal where that overflows.
        return self._original.engine.name == self._engine.name and (self._exact or special != "largest")

    def _beyond_noise(self, trial: Trial, name: str, optimized: Any) -> list[Difference]:
        """The differences of an output that neither the original's own noise nor a near tie accounts for."""
        noise = self._original.noise.of(trial.feed.values, trial.outputs, self._clock.for_a_run)
        slack, unreal = FACTOR * noise.get(name, 0.0), not self._exact and trial.feed.special != "no"
        comparison = dataclasses.replace(self._comparison(name), slack=slack, unreal=unreal)
        value = trial.outputs[name]
        if isinstance(value, np.ndarray) and value.dtype.kind in "iub" and trial.feed.special == "no":
            undecided = self._original.margins.of(trial.feed.values, trial.outputs, self._clock.for_a_run)
            comparison = dataclasses.replace(comparison, undecided=undecided.get(name))
        return list(comparison.differences(name, trial.outputs[name], optimized, Errors()))

    def _unsteady(self, trial: Trial) -> set[str]:
        """The outputs that the original gives otherwise when it runs again, or not at all: they prove nothing."""
        if trial.number not in self._unsteady_at:
            names: set[str] = set()
            for again in self._original.repetition.of(trial.feed.values, self._clock.for_a_run):
                names |= {
                    name
                    for name, value in trial.outputs.items()
                    if again is None or any(self._comparison(name).differences(name, value, again[name], Errors()))
                }
                if self._clock.left <= 0:
                    break
            self._unsteady_at[trial.number] = names
        return self._unsteady_at[trial.number]

    def _add(self, found: Iterable[Difference], trial: Trial) -> None:
        feed = trial.feed
        self._differences += [
            dataclasses.replace(each, binding=feed.binding, feeds=feed.source, run=trial.number) for each in found
        ]

    # What is left of shape arithmetic ---------------------------------------------------------------------------------

    def _make_evaluator(self, probes: Sequence[Probe] | None, proven: Sequence[Proven]) -> Evaluator | None:
        if probes is None:
            probes = [each for each in find_probes(self._proto) if each.op_type == "Size"]
        if not probes and not proven:
            return None
        folder = self._model.parent if isinstance(self._model, pathlib.Path) else None
        try:
            evaluator = Evaluator(self._proto, probes, proven, folder, self._worker)
        except EngineError as error:
            self._notes.append(f"the nodes left could not be evaluated: {error.brief}")
            return None
        for each in evaluator.unreachable:
            self._notes.append(f"{each.op_type} of {each.output!r} in {each.place}: its values can't be handed out")
        return evaluator

    def _evaluate(self, evaluator: Evaluator, trial: Trial) -> None:
        feed = trial.feed
        try:
            found, wrong = evaluator.run(feed.values, feed.binding, self._clock.for_a_run)
        except EngineError as error:
            self._notes.append(f"the nodes left could not be evaluated at {binding_text(feed.binding)}: {error.brief}")
            return
        self._evaluations += found
        for each in found:
            if not each.agrees:
                detail = f"{each.op_type} gives {each.got}, its reference kernel {each.expected}"
                self._add([Difference(each.output, "value", detail, original=each.expected, optimized=each.got)], trial)
        self._add(wrong, trial)


def _at(feed: Feed) -> str:
    return f" at {binding_text(feed.binding)}" if feed.binding else ""
