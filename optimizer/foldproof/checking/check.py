"""Checks a rule: its example, variations of that, and the examples of other rules."""

from __future__ import annotations

import dataclasses
import itertools
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import onnx

from foldproof.checking import roles, shapes, types, values
from foldproof.checking.finding import Finding
from foldproof.checking.shrinking import fewest
from foldproof.checking.trial import Court, Status, Trial
from foldproof.checking.variation import Variation, varied
from foldproof.engines import Worker
from foldproof.reporting.rule_page import CLEAN_UP
from foldproof.rewriting import Rule
from foldproof.rewriting.examples import example_of

NEWEST = 23
"""The last opset that is tried: the runtime is behind ONNX."""

MAX_FINDINGS = 3
"""So many faults of one rule are shown."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much is tried of each rule.

    Attributes:
        singles: How many models that differ from the example in one thing; None for all that there are.
        pairs: How many that differ in two to four.
        elsewhere: How many examples of other rules; None for all.
        fired: After the rule fired in so many, no more is tried; None for no such limit.
        reference: Run in the ONNX reference too.
    """

    singles: int | None = 60
    pairs: int = 10
    elsewhere: int | None = 6
    fired: int | None = 24
    reference: bool = False


THOROUGH = Effort(singles=None, pairs=200, elsewhere=None, fired=None, reference=True)
"""All that there is to try."""


@dataclasses.dataclass(frozen=True)
class RuleCheck:
    """The result of checking a rule.

    Attributes:
        rule: The rule's name.
        tried: How many models were tried.
        fired: In how many the rule did something.
        same: In how many of these both sides gave the same.
        cannot_run: How many of these nothing here can run.
        findings: The faults.
    """

    rule: str
    tried: int
    fired: int
    same: int
    cannot_run: int
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return dataclasses.asdict(self)


def check_rule(
    rule: Rule,
    others: Sequence[Rule] = (),
    effort: Effort | None = None,
    *,
    seed: int = 0,
    worker: Worker | None = None,
) -> RuleCheck:
    """Tries a rule at many models, and runs each before and after it.

    Args:
        rule: The rule. It must have an example.
        others: Rules whose examples it is tried at too, those that clean up among them.
        effort: How much to try.
        seed: The seed of what is chosen, and of the inputs.
        worker: The process that models run in; one of its own unless given.

    Raises:
        UsageError: The example is no model.
        UnverifiedError: onnxruntime is not installed.
    """
    effort = effort or Effort()
    with Worker() if worker is None else _Borrowed(worker) as process:
        return _Check(rule, others, effort, seed, process).run()


class _Borrowed:
    """A worker that is not ended here."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def __enter__(self) -> Worker:
        return self._worker

    def __exit__(self, *_: object) -> None:
        pass


class _Check:
    def __init__(self, rule: Rule, others: Sequence[Rule], effort: Effort, seed: int, worker: Worker) -> None:
        self._rule = rule
        self._others = others
        self._effort = effort
        self._random = random.Random(zlib.crc32(f"{rule.name} {seed}".encode()))
        clean_up = [each for each in others if each.name in CLEAN_UP]
        self._court = Court(rule, worker, clean_up, seed, reference=effort.reference)
        self._counts: Counter[Status] = Counter()
        self._findings: list[Finding] = []

    def run(self) -> RuleCheck:
        example = example_of(self._rule)
        if example is None:
            detail = "it has no example: write a model under `Example:` at the end of its docstring"
            self._findings.append(Finding("does not fire", detail, (), ""))
        else:
            trial = self._try(example, ())
            if trial.status == "idle":
                detail = "the rule does nothing in its own example"
                self._findings.append(Finding("does not fire", detail, (), onnx.printer.to_text(example)))
            for variations in self._choose(example):
                if self._is_enough():
                    break
                model = varied(example, variations, self._court.loads)
                if model is not None:
                    self._try(example, variations, model)
        for model in self._elsewhere():
            self._try(model, ())
        counts = self._counts
        return RuleCheck(
            self._rule.name,
            tried=counts.total() - counts["invalid"],
            fired=counts["same"] + counts["can't run"] + counts["faulty"],
            same=counts["same"],
            cannot_run=counts["can't run"],
            findings=tuple(self._findings[:MAX_FINDINGS]),
        )

    def _is_enough(self) -> bool:
        limit = self._effort.fired
        return len(self._findings) >= MAX_FINDINGS or (limit is not None and self._counts["same"] >= limit)

    def _try(
        self, example: onnx.ModelProto, variations: Sequence[Variation], model: onnx.ModelProto | None = None
    ) -> Trial:
        trial = self._court.try_at(example if model is None else model)
        self._counts[trial.status] += 1
        known = {(each.kind, each.variations) for each in self._findings}
        if trial.finding is not None and len(self._findings) < MAX_FINDINGS:
            needed, smallest, found = fewest(example, variations, trial.finding.kind, self._court)
            words = tuple(each.words for each in needed)
            if found.finding is not None and (found.finding.kind, words) not in known:
                text = onnx.printer.to_text(smallest)
                self._findings.append(dataclasses.replace(found.finding, variations=words, model=text))
        return trial

    def _choose(self, example: onnx.ModelProto) -> Iterator[tuple[Variation, ...]]:
        """Some of the variations of the example, each kind in turn; then several at once."""
        kinds: list[list[Variation]] = []
        makers: tuple[Callable[[onnx.ModelProto], Iterator[Variation]], ...] = (
            shapes.variations,
            lambda model: types.variations(model, NEWEST),
            lambda model: values.variations(model, extreme=self._rule.exact),
            roles.variations,
        )
        for make in makers:
            kind = list(make(example))
            self._random.shuffle(kind)
            kinds.append(kind)
        mixed = [each for several in itertools.zip_longest(*kinds) for each in several if each is not None]
        for each in mixed[: self._effort.singles]:
            yield (each,)
        for _ in range(self._effort.pairs if len(mixed) > 1 else 0):
            yield tuple(self._random.sample(mixed, min(self._random.choice((2, 2, 3, 4)), len(mixed))))

    def _elsewhere(self) -> Iterator[onnx.ModelProto]:
        """The examples of some other rules: a place that has nothing to do with this one."""
        others = [rule for rule in self._others if rule.name != self._rule.name and rule.example]
        count = len(others) if self._effort.elsewhere is None else self._effort.elsewhere
        for rule in self._random.sample(others, min(count, len(others))):
            model = example_of(rule)
            if model is not None:
                yield model
