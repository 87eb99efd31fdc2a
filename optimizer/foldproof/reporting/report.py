"""All that a run has to tell, for a person or a program."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from foldproof.facts.claims import Contradiction
from foldproof.rewriting.ledger import Entry

if TYPE_CHECKING:
    from foldproof.measuring import Measured
    from foldproof.profiling import Profile
    from foldproof.reporting.costs import Costs
    from foldproof.reporting.story import Story
    from foldproof.reporting.unfolded import Unfolded
    from foldproof.verification import Difference, Verification

FORMAT = 1
"""The version of the JSON form. It grows when a field changes its meaning or goes."""

Verdict = Literal["verified", "different", "unverified", "not asked"]
Outcome = Literal["folded", "removed", "replaced", "evaluated", "left"]


@dataclasses.dataclass(frozen=True)
class Fate:
    """What became of one node whose value a reference kernel can compute, such as a `Size`.

    Attributes:
        node: The name of the node's output.
        operator: Its operator.
        graph: Where it stands: the main graph's name, with the bodies' names behind it.
        outcome: `folded` into a constant, `removed` since nothing reads it, `replaced` by other nodes, `evaluated`: it
            stays, and kernel and runtime agree on its value in all runs; `left`: it stays, and no run reached it.
        why: The facts that it was folded by, or why it was not.
        value: The constant that it became.
        values: Its value at each binding: pairs of a binding and a value.
    """

    node: str
    operator: str
    graph: str
    outcome: Outcome
    why: str
    value: object = None
    values: tuple[tuple[Mapping[str, int], object], ...] = ()


@dataclasses.dataclass(frozen=True)
class TakenBack:
    """A rewrite that verification found guilty.

    Attributes:
        rule: The rule's name.
        exact: The rule's class.
        place: Where it was applied, as in the ledger.
        graph: The graph in which that is.
        number: Its number in the ledger of the run that failed.
        difference: The first difference that it makes: the output, the inputs, both values.
    """

    rule: str
    exact: bool
    place: str
    graph: str
    number: int
    difference: Difference

    def __str__(self) -> str:
        at = " ".join(f"{name}={size}" for name, size in self.difference.binding.items()) or "the static shapes"
        feeds = f", {self.difference.feeds} inputs" if self.difference.feeds else ""
        return (
            f"the rewrite {self.rule!r} at {self.place!r} was taken back: with it the output "
            f"{self.difference.output!r} differs, at {at}{feeds}: {self.difference.detail}"
        )


@dataclasses.dataclass(frozen=True)
class Report:
    """The result of a run.

    Attributes:
        verdict: Whether the two models were compared, and how that ended.
        input: The path of the model that was given, None for a model in memory.
        output: The path of the model that was written, None where none was.
        nodes_before: How many nodes of each operator there were, bodies and functions counted, `Constant` not.
        nodes_after: The same of the optimized model.
        bytes_before: The size of the model's file with its data files, in bytes.
        bytes_after: The same of the model that was written, linked weights too.
        fates: What became of each `Size` and `Shape`.
        ledger: All rewrites.
        verification: The runs and comparisons.
        seconds: Where the time went, by stage.
        contradictions: What the model declares of its own values, and inference disproves.
        warnings: What a person should know.
        taken_back: The rewrites that verification found guilty. They are not in the ledger.
        costs_before: The parameters and multiply-accumulates of the model as it was given.
        costs_after: The same of the optimized model.
        unfolded: What did not change, and why not.
        measured: How long both models take to load and to run, where that was asked for.
        profile: Where the time went, rule by rule, where that was asked for.
        story: Both graphs, and how one became the other, where a page was asked for. It is not part of the JSON form.
    """

    verdict: Verdict
    input: str | None
    output: str | None
    nodes_before: Mapping[str, int]
    nodes_after: Mapping[str, int]
    bytes_before: int | None
    bytes_after: int | None
    fates: tuple[Fate, ...]
    ledger: tuple[Entry, ...]
    verification: Verification | None
    seconds: Mapping[str, float]
    contradictions: tuple[Contradiction, ...] = ()
    warnings: tuple[str, ...] = ()
    taken_back: tuple[TakenBack, ...] = ()
    costs_before: Costs | None = None
    costs_after: Costs | None = None
    unfolded: tuple[Unfolded, ...] = ()
    measured: Measured | None = None
    profile: Profile | None = None
    story: Story | None = dataclasses.field(default=None, repr=False)

    def _repr_html_(self) -> str:
        """The report in a notebook."""
        from foldproof.reporting.html.fragment import fragment

        return fragment(self)

    def to_dict(self) -> dict[str, Any]:
        """The report for JSON."""
        from foldproof import __version__

        return {
            "format": FORMAT,
            "foldproof": __version__,
            "verdict": self.verdict,
            "input": self.input,
            "output": self.output,
            "nodes": {
                "before": dict(sorted(self.nodes_before.items())),
                "after": dict(sorted(self.nodes_after.items())),
            },
            "bytes": {"before": self.bytes_before, "after": self.bytes_after},
            "fates": [_fate(fate) for fate in self.fates],
            "ledger": [entry.to_dict() for entry in self.ledger],
            "verification": None if self.verification is None else self.verification.to_dict(),
            "seconds": {stage: round(seconds, 4) for stage, seconds in self.seconds.items()},
            "contradictions": [contradiction.to_dict() for contradiction in self.contradictions],
            "warnings": list(self.warnings),
            "taken_back": [_taken_back(each) for each in self.taken_back],
            "costs": {
                "before": None if self.costs_before is None else self.costs_before.to_dict(),
                "after": None if self.costs_after is None else self.costs_after.to_dict(),
            },
            "unfolded": [each.to_dict() for each in self.unfolded],
            "measured": None if self.measured is None else self.measured.to_dict(),
            "profile": None if self.profile is None else self.profile.to_dict(),
        }


def _fate(fate: Fate) -> dict[str, Any]:
    return {
        **{field.name: getattr(fate, field.name) for field in dataclasses.fields(fate)},
        "values": [{"binding": dict(binding), "value": value} for binding, value in fate.values],
    }


def _taken_back(guilty: TakenBack) -> dict[str, Any]:
    return {**dataclasses.asdict(guilty), "difference": guilty.difference.to_dict()}
