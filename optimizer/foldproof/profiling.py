"""Where the time of a run goes: `optimize --profile`. A run that is not profiled does not come past here."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.folding import Folder
from foldproof.rewriting import Constant, Outcome, Reason, Remove, Rule
from foldproof.rewriting.ledger import Entry
from foldproof.rewriting.listener import Listener

FACTS, CHANGES, FOLDING = "facts", "changes", "folding"
"""The names of the stages that take turns with the rules."""


@dataclasses.dataclass(frozen=True)
class RuleProfile:
    """What a rule took.

    Attributes:
        rule: Its name.
        asked: At how many nodes or initializers it was tried.
        applied: How many rewrites it did.
        seconds: The time that it took to answer; what was inferred for it, and the changes, are not part of it.
    """

    rule: str
    asked: int
    applied: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Profile:
    """Where the time of a run went; of its last attempt, where verification found something guilty.

    Attributes:
        seconds: By stage: `import`, `load`, `facts` (inference), `rules` (their answers), `changes` (of the graph),
            `folding` (what is constant, and the runtime that computes it), `rest` (of optimization), `verify`, `write`.
            No time is in two of them. Verification loads the original beside them.
        rules: The rules that were tried, the slowest first.
        inferred: How many nodes were inferred, again ones included.
    """

    seconds: Mapping[str, float]
    rules: tuple[RuleProfile, ...]
    inferred: int

    def with_import(self, seconds: float) -> Profile:
        """The same with the time that it took to import Foldproof."""
        return dataclasses.replace(self, seconds={"import": seconds, **self.seconds})

    def to_dict(self) -> dict[str, Any]:
        """The profile for JSON."""
        return {
            "seconds": {stage: round(seconds, 5) for stage, seconds in self.seconds.items()},
            "rules": [{**dataclasses.asdict(rule), "seconds": round(rule.seconds, 6)} for rule in self.rules],
            "inferred": self.inferred,
        }


class Stopwatch:
    """Measures what takes turns: while something inner goes on, the clock of the outer one stands still.

    Attributes:
        seconds: The time of each, by name.
    """

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._running: list[str] = []
        self._since = 0.0

    def start(self, name: str) -> None:
        """Starts a clock, and halts the one that runs."""
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since  # type: ignore[assignment]  # it counts floats too
        self._running.append(name)
        self._since = now

    def stop(self, name: str) -> None:
        """Stops a clock, with those in it that nobody stopped; without effect where it does not run."""
        stopped = None if name in self._running else name
        while stopped != name:
            now = time.perf_counter()
            stopped = self._running.pop()
            self.seconds[stopped] += now - self._since  # type: ignore[assignment]
            self._since = now

    @contextlib.contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Measures the body of the `with` statement."""
        self.start(name)
        try:
            yield
        finally:
            self.stop(name)


class Profiler(Listener):
    """Measures one rewriting of a model, by the parts that it hands out.

    Attributes:
        stopwatch: Has the times; those of the rules' answers under their names, behind `rule `.
        asked: How often each rule was tried.
        inferred: How many nodes were inferred.
    """

    def __init__(self) -> None:
        self.stopwatch = Stopwatch()
        self.asked: Counter[str] = Counter()
        self.inferred = 0

    def facts(self, model: ir.Model, overridable: Iterable[str]) -> Facts:
        """Facts that are measured."""
        with self.stopwatch.running(FACTS):
            return _Facts(self, model, overridable)

    def folder(self, *arguments: Any, **options: Any) -> Folder:
        """A folder that is measured."""
        return _Folder(self, *arguments, **options)

    def rules(self, rules: Iterable[Rule]) -> list[Rule]:
        """The same rules, measured."""
        return [dataclasses.replace(rule, apply=self._measured(rule)) for rule in rules]

    def _measured(self, rule: Rule) -> Callable[[Any, Facts], Outcome]:
        name = f"rule {rule.name}"

        def apply(subject: Any, facts: Facts) -> Outcome:
            self.stopwatch.stop(CHANGES)  # those of a rewrite that could not be done
            self.asked[rule.name] += 1
            with self.stopwatch.running(name):
                return rule.apply(subject, facts)

        return apply

    def begins(self, nodes: Sequence[ir.Node]) -> None:
        """A change begins."""
        self.stopwatch.stop(CHANGES)
        self.stopwatch.start(CHANGES)

    def written(self, entry: Entry) -> None:
        """It is done."""
        self.stopwatch.stop(CHANGES)

    def profile(self, ledger: Collection[Entry], seconds: Mapping[str, float]) -> Profile:
        """What was measured.

        Args:
            ledger: The rewrites that were done.
            seconds: The stages of the run, of which `optimize` is what was measured here.
        """
        taken = self.stopwatch.seconds
        applied = Counter(entry.rule for entry in ledger)
        names = dict.fromkeys([*self.asked, *applied])  # constant_folding is not asked
        rules = [RuleProfile(name, self.asked[name], applied[name], taken[f"rule {name}"]) for name in names]
        stages: dict[str, float] = {}
        for stage, total in seconds.items():
            if stage != "optimize":
                stages[stage] = total
                continue
            parts = {FACTS: taken[FACTS], "rules": sum(rule.seconds for rule in rules)}
            parts |= {name: taken[name] for name in (CHANGES, FOLDING)}
            stages |= {**parts, "rest": max(total - sum(parts.values()), 0.0)}
        return Profile(stages, tuple(sorted(rules, key=lambda rule: -rule.seconds)), self.inferred)


class _Facts(Facts):
    def __init__(self, profiler: Profiler, model: ir.Model, overridable: Iterable[str]) -> None:
        self._profiler = profiler
        super().__init__(model, overridable)

    def _infer_node(self, node: ir.Node) -> None:
        self._profiler.inferred += 1
        with self._profiler.stopwatch.running(FACTS):
            super()._infer_node(node)


class _Folder(Folder):
    def __init__(self, profiler: Profiler, *arguments: Any, **options: Any) -> None:
        self._stopwatch = profiler.stopwatch
        super().__init__(*arguments, **options)

    def fold(self, nodes: Iterable[ir.Node]) -> Iterator[tuple[ir.Node, Constant | Remove | Reason]]:
        found = super().fold(nodes)
        while True:
            with self._stopwatch.running(FOLDING):
                each = next(found, None)
            if each is None:
                return
            yield each
