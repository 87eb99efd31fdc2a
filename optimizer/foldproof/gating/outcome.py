"""What the gate finds."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Literal, TypeAlias

from foldproof.configuration.place import Place, shown

Check: TypeAlias = Literal["readable", "optimized", "certificate", "nodes", "bytes", "latency"]

CHECKS: dict[Check, str] = {
    "readable": "The model can be read, and is valid.",
    "optimized": "`foldproof optimize` would not change the model.",
    "certificate": "The model has a certificate that holds, or needs none.",
    "nodes": "The model has no more nodes than its budget.",
    "bytes": "The model's files are no larger than its budget.",
    "latency": "A run of the model takes no longer than its budget.",
}
"""The checks, in their order, each with what it holds a model to."""

Status: TypeAlias = Literal["passed", "failed", "error"]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How one check of one model ended.

    Attributes:
        check: The check.
        status: `error`: it could not be made.
        message: What was found, as a sentence without its full stop.
        place: Where a person has to look: the line of the configuration, or a file.
        nodes: The nodes that it is about, by the names of their outputs.
        hint: What the person can do.
    """

    check: Check
    status: Status
    message: str
    place: Place
    nodes: tuple[str, ...] = ()
    hint: str | None = None

    @property
    def text(self) -> str:
        """The message, with the hint."""
        return self.message if self.hint is None else f"{self.message}. {self.hint}"

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        place = {"file": shown(self.place.path), "line": self.place.line}
        return {**dataclasses.asdict(self), "place": place, "nodes": list(self.nodes)}


@dataclasses.dataclass(frozen=True)
class Gated:
    """All that was found of one model.

    Attributes:
        model: The model's file.
        outcomes: The checks that were made.
        seconds: How long they took.
    """

    model: Path
    outcomes: tuple[Outcome, ...]
    seconds: float

    @property
    def failures(self) -> list[Outcome]:
        """What did not pass."""
        return [each for each in self.outcomes if each.status != "passed"]

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "model": shown(self.model),
            "passed": not self.failures,
            "seconds": round(self.seconds, 3),
            "checks": [each.to_dict() for each in self.outcomes],
        }


def exit_status(models: list[Gated]) -> int:
    """0 where all passed, 3 where a model could not be read, else 1."""
    failures = [failure for model in models for failure in model.failures]
    return 3 if any(each.check == "readable" for each in failures) else int(bool(failures))
