"""Many random models, one after the other."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable

import onnx

from tests.fuzzing.checking import DifferenceError, check, options_of, rules
from tests.fuzzing.generator import make


@dataclasses.dataclass
class Tally:
    """What came of many models.

    Attributes:
        graphs: How many there were.
        nodes: How many nodes they had.
        runs: How many runs were compared.
        exact: How many models were compared bit for bit.
        doubtful: How many outputs differed no more than the original does from itself.
        rules: In how many models each rule fired.
        unrunnable: Why some could not be run.
        faults: The report of each fault, by seed.
    """

    graphs: int = 0
    nodes: int = 0
    runs: int = 0
    exact: int = 0
    doubtful: int = 0
    rules: Counter[str] = dataclasses.field(default_factory=Counter)
    unrunnable: Counter[str] = dataclasses.field(default_factory=Counter)
    faults: dict[int, str] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{self.graphs} graphs of {self.nodes / max(self.graphs, 1):.1f} nodes, {self.exact} compared bit for bit, "
            f"{self.runs} runs, {sum(self.unrunnable.values())} unrunnable, {self.doubtful} doubtful outputs, "
            f"{len(self.rules)} rules, {len(self.faults)} faults"
        )

    @property
    def silent_rules(self) -> list[str]:
        """The rules that did not fire."""
        return [rule.name for rule in rules() if rule.name not in self.rules]


def fuzz(seeds: Iterable[int]) -> Tally:
    """Checks the model of each seed."""
    tally = Tally()
    for seed in seeds:
        fuzz_one(seed, tally)
    return tally


def fuzz_one(seed: int, tally: Tally) -> None:
    """Checks the model of a seed, and counts it."""
    case = make(seed)
    tally.graphs += 1
    try:
        checked = check(case)
    except Exception as error:  # noqa: BLE001  whatever fails is a fault
        tally.faults[seed] = report(seed, error)
        return
    tally.nodes += checked.nodes
    tally.runs += checked.runs
    tally.exact += checked.exact and checked.runs > 0
    tally.doubtful += checked.doubtful
    tally.rules.update(set(checked.rules))
    if checked.unrunnable:
        tally.unrunnable[checked.unrunnable[:150]] += 1


def report(seed: int, error: Exception) -> str:
    """All that one needs to see a fault again."""
    from tests.fuzzing.checking import optimized

    text = onnx.printer.to_text(make(seed).model)
    name = "" if isinstance(error, DifferenceError) else f"{type(error).__name__}: "
    try:
        ledger = "\n".join(
            f"{e.number} {e.rule} at {e.place}: {', '.join(e.removed)} became {', '.join(e.added)}"
            for e in optimized(make(seed).model, **options_of(seed))[1].ledger
        )
    except Exception as failure:  # noqa: BLE001  it may be that which failed
        ledger = f"{type(failure).__name__}: {failure}"
    return f"seed {seed}, options {options_of(seed)}: {name}{error}\n{text}\n{ledger}"
