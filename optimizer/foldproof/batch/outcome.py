"""What became of one model of a batch."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, get_args

from foldproof import __version__
from foldproof.errors import FoldproofError

FORMAT = 1
"""The version of the report's form: see `docs/batch.schema.json`."""

Status: TypeAlias = Literal[
    "done", "unverified", "refused", "invalid", "different", "failed", "died", "time limit", "memory"
]
"""`done`: written. `refused`: an option or a path makes no sense for it. `failed`: a fault of Foldproof or of a rule
pack. `died`: it took its process with it. The others are named after what happened."""

_EXIT_STATUS: dict[Status, int] = {"done": 0, "unverified": 4, "refused": 2, "invalid": 3, "different": 1}
_FAULT = 5
_BY_EXIT_STATUS: dict[int, Status] = {status: name for name, status in _EXIT_STATUS.items()}
_FROM_BAD_TO_WORSE = (0, 4, 2, 3, 1, _FAULT)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one model.

    Attributes:
        name: Its path from the folder of inputs, and that of the output from the folder of outputs.
        model: Where it lies.
        status: How it ended.
        output: Where the result lies; None where nothing was written.
        error: Why it is not done, with what the person can do.
        nodes: How many nodes it had and has, those of bodies and functions counted; None where nobody knows.
        bytes: The same of its files.
        rewrites: How many rewrites were done.
        warnings: What the person should know.
        measured: What `--measure` found, as the report of `optimize` has it.
        seconds: How long it took.
        kept: Whether an earlier run did it.
    """

    name: str
    model: str
    status: Status
    output: str | None = None
    error: str | None = None
    nodes: tuple[int, int] | None = None
    bytes: tuple[int, int] | None = None
    rewrites: int | None = None
    warnings: tuple[str, ...] = ()
    measured: dict[str, Any] | None = None
    seconds: float = 0.0
    kept: bool = False

    @property
    def exit_status(self) -> int:
        """That of `foldproof optimize` for this model."""
        return _EXIT_STATUS.get(self.status, _FAULT)

    @property
    def lacked_memory(self) -> bool:
        """Whether there was not enough memory, as far as one can tell: the system kills for that without a word."""
        may_be = self.status in ("died", "unverified") and re.search("SIGKILL|memory|alloc", self.error or "")
        return self.status == "memory" or bool(may_be)

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        pairs = {
            name: None if pair is None else {"before": pair[0], "after": pair[1]}
            for name, pair in (("nodes", self.nodes), ("bytes", self.bytes))
        }
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**fields, **pairs, "warnings": list(self.warnings), "seconds": round(self.seconds, 3)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Outcome:
        """Reads what `to_dict` gives.

        Raises:
            KeyError, TypeError, ValueError: It is something else.
        """
        if content["status"] not in get_args(Status):
            raise ValueError(content["status"])
        pairs = {
            name: None if content[name] is None else (int(content[name]["before"]), int(content[name]["after"]))
            for name in ("nodes", "bytes")
        }
        return cls(**{**content, **pairs, "warnings": tuple(content["warnings"])})


def status_of(error: FoldproofError) -> Status:
    """How a model ended that raised this."""
    return _BY_EXIT_STATUS.get(error.exit_status, "failed")


def worst(outcomes: Iterable[Outcome]) -> int:
    """The exit status of a batch: that of the model that ended worst."""
    return max((each.exit_status for each in outcomes), key=_FROM_BAD_TO_WORSE.index, default=0)


def document(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The report of a batch, for JSON."""
    counts = Counter(each.status for each in outcomes)
    return {
        "format": FORMAT,
        "foldproof": __version__,
        "exit_status": worst(outcomes),
        "counts": {"models": len(outcomes), "kept": sum(each.kept for each in outcomes), "by_status": dict(counts)},
        "models": [each.to_dict() for each in outcomes],
    }
