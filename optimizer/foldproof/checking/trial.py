"""One model before and after a rule: is what the rule did right?"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import onnx
import onnx_ir as ir

from foldproof.checking.costs import costs
from foldproof.checking.finding import Finding, Kind
from foldproof.engines import EngineError, OnnxRuntime, Worker
from foldproof.errors import FoldproofError, ModelError, RuleError
from foldproof.facts import Facts
from foldproof.facts.dim import TooComplexError
from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.rewriting import Constant, Cost, Entry, Forward, Reason, Remove, Replace, Rule
from foldproof.verification import Settings, Verifier

Status = Literal["invalid", "idle", "can't run", "same", "faulty"]
"""How a trial ends: Foldproof refuses the model, the rule does nothing, nothing runs the model, both give the same, or
the rule is at fault."""

SECONDS = 1.0
"""How long the runs of one small model may take."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """How one model went.

    Attributes:
        status: How it ended.
        finding: The fault, if there is one. The model is not yet named in it.
    """

    status: Status
    finding: Finding | None = None


class _NoOutcome(Exception):
    """A rule gave something that is no outcome."""


class Court:
    """Tries one rule at one model after the other.

    Args:
        rule: The rule.
        worker: The process that models run in.
        clean_up: Rules that take away what it leaves without a reader.
        seed: The seed of the feeds.
        reference: Run both models in the ONNX reference too, where it is known to be right.
    """

    def __init__(
        self, rule: Rule, worker: Worker, clean_up: Sequence[Rule] = (), seed: int = 0, *, reference: bool = False
    ) -> None:
        self._rule = rule
        self._worker = worker
        self._seed = seed
        self._reference = reference
        self._raised: Exception | None = None
        rules = [dataclasses.replace(rule, apply=self._ask), *(each for each in clean_up if each.name != rule.name)]
        self._optimizer = Optimizer(Options(verify=False, level=3, rules=[each.name for each in rules]), rules)

    def _ask(self, subject: Any, facts: Facts) -> Any:
        try:
            outcome = self._rule.apply(subject, facts)
        except Exception as error:  # the rewriter may find an excuse in the model, where a runtime finds none
            self._raised = error
            raise
        if outcome is not None and not isinstance(outcome, (Constant, Forward, Remove, Replace, Reason)):
            raise _NoOutcome(f"it gives {outcome!r}")
        str(outcome) if isinstance(outcome, Reason) else None
        return outcome

    def try_at(self, model: onnx.ModelProto) -> Trial:
        """Applies the rule to a valid model, and looks at what came out.

        Args:
            model: The model. It is not changed.
        """
        self._raised = None
        try:
            result, ledger = self._rewritten(model)
        except RuleError as error:
            if isinstance(error.__cause__, _NoOutcome):
                return _faulty("no outcome", str(error.__cause__))
            return _faulty("raises", error.reason)
        except (ModelError, onnx.checker.ValidationError):
            return Trial("invalid")
        except FoldproofError as error:
            return _faulty("raises", str(error))
        if not self._fired(ledger):
            raised = self._raised
            is_fault = raised is not None and not isinstance(raised, TooComplexError) and self._runs(model)
            return _faulty("raises", f"{type(raised).__name__}: {raised}") if is_fault else Trial("idle")
        found = self._structure(model, result, ledger)
        if found is None:
            return self._compared(model, result)
        return found if self._runs(model) else Trial("invalid")

    def _fired(self, ledger: Sequence[Entry]) -> Entry | None:
        """The first rewrite by the rule."""
        return next((entry for entry in ledger if entry.rule == self._rule.name), None)

    def loads(self, model: onnx.ModelProto) -> bool:
        """Whether onnxruntime can load a model, in its own process."""
        try:
            OnnxRuntime(model, worker=self._worker, seconds=SECONDS)
        except EngineError:
            return False
        return True

    def _runs(self, model: onnx.ModelProto) -> bool:
        """Whether anything here runs the model: inference overlooks much of what is invalid."""
        settings = Settings(seed=self._seed, seconds=SECONDS)
        return self._compared_by(model, model, settings).status == "same"

    def _rewritten(self, model: onnx.ModelProto) -> tuple[onnx.ModelProto, tuple[Entry, ...]]:
        result = self._optimizer.run(model)
        assert isinstance(result.model, onnx.ModelProto)
        return result.model, result.report.ledger

    def _structure(self, model: onnx.ModelProto, result: onnx.ModelProto, ledger: tuple[Entry, ...]) -> Trial | None:
        """What can be said of a rewrite without running anything."""
        text = onnx.printer.to_text(result)
        try:
            onnx.checker.check_model(result, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            return _faulty("invalid result", str(error).strip(), text)
        again, _ = self._rewritten(model)
        if again.SerializeToString(deterministic=True) != result.SerializeToString(deterministic=True):
            return _faulty("not deterministic", "the second time it makes another model", text)
        _, further = self._rewritten(result)
        if entry := self._fired(further):
            detail = f"at {entry.place!r} it replaces {', '.join(entry.removed)} in what it has made"
            return _faulty("not finished", detail, text)
        rise = self._cost(model, result, ledger)
        return None if rise is None else _faulty("raises a cost", rise, text)

    def _cost(self, model: onnx.ModelProto, result: onnx.ModelProto, ledger: tuple[Entry, ...]) -> str | None:
        """What is wrong with the costs; None where the one that the rule declares falls, and none before it rises."""
        before, after = costs(ir.from_proto(model)), costs(ir.from_proto(result))
        changes = {cost: after[cost] - before[cost] for cost in before if after[cost] != before[cost]}
        declared = self._rule.lowers
        risen = [cost for cost, change in changes.items() if cost < declared and change > 0]
        if risen:
            return f"it raises {risen[0].name} by {changes[risen[0]]}, which stands before {declared.name}"
        falls = declared is Cost.FORM or any(cost <= declared and change < 0 for cost, change in changes.items())
        # What nothing reads counts for none but the last one.
        if falls or changes.get(Cost.STORED, 0) < 0:
            return None
        return f"{declared.name} does not fall in {len(ledger)} rewrites"

    def _compared(self, model: onnx.ModelProto, result: onnx.ModelProto) -> Trial:
        trial = self._compared_by(model, result, Settings(seed=self._seed, seconds=SECONDS))
        if trial.status == "faulty" or not self._reference:
            return trial
        settings = Settings(seed=self._seed, seconds=SECONDS, reference=True)
        other = self._compared_by(model, result, settings)
        return other if other.status == "faulty" else trial

    def _compared_by(self, model: onnx.ModelProto, result: onnx.ModelProto, settings: Settings) -> Trial:
        with Verifier(model, settings, worker=self._worker) as verifier:
            verification = verifier.compare(result, exact=self._rule.exact, evaluate=())
            if verification.status == "unverified":
                return Trial("can't run")
            if verification.status == "same":
                return Trial("same")
            # The reference fails at inputs that the specification admits: only what it computes is held against a rule.
            found = (each for each in verification.differences if not (settings.reference and each.kind == "raised"))
            first = next(found, None)
            if first is None:
                return Trial("can't run")
            feed = {}
            if first.run is not None:
                try:
                    feed = next((each.feed.values for each in verifier.trials([first.run])), {})
                except EngineError:
                    feed = {}
        where = f"{first.output}: " if first.output else ""
        trial = _faulty("differs", f"{where}{first.detail}", onnx.printer.to_text(result))
        assert trial.finding is not None
        return Trial("faulty", dataclasses.replace(trial.finding, feed={name: _text(feed[name]) for name in feed}))


def _faulty(kind: Kind, detail: str, result: str = "") -> Trial:
    return Trial("faulty", Finding(kind, detail, (), "", result))


def _text(value: Any) -> str:
    """A value of a feed, so that it can be pasted."""
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()!r}, {str(value.dtype)!r})"
    return repr(value)
