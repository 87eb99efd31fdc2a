"""Restates rewrites as claims: tries how much of the graph around a rewrite it takes until both sides agree."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import onnx

from foldproof.certificates.claim import Claim
from foldproof.certificates.recorder import LEVELS, Recorder, Snapshot
from foldproof.certificates.sides import Sides
from foldproof.certificates.tensors import NotRestated, Tensors
from foldproof.certificates.trial import Outcome, attempt
from foldproof.engines import Worker
from foldproof.rewriting import Entry

Kind = Literal["claim", "unread", "tolerant", "not restated"]

UNREAD = "nothing reads what it takes away, so that it changes no output"
TOLERANT = "tolerant: it is held to its class by the verification of the whole"


@dataclasses.dataclass(frozen=True)
class Restated:
    """What became of one entry of the ledger.

    Attributes:
        entry: The entry.
        kind: Whether there is a claim for it, or why there is none.
        claim: The position of its claim in `Claims.claims`; equal rewrites share one.
        reason: Why there is no claim.
    """

    entry: Entry
    kind: Kind
    claim: int | None = None
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class Claims:
    """The rewrites of a run, restated.

    Attributes:
        claims: The claims, each once.
        entries: What became of each entry of the ledger, in its order.
    """

    claims: tuple[Claim, ...]
    entries: tuple[Restated, ...]


def restate(
    ledger: Iterable[Entry],
    recorder: Recorder,
    tensors: Tensors,
    ir_version: int,
    recorded: Sequence[Mapping[str, int]] = (),
    worker: Worker | None = None,
) -> Claims:
    """Restates all exact rewrites of a run.

    A claim is a rewrite with as little as possible of the graph around it. Of a rewrite that rests on what is farther
    up, such as `Slice(Concat(x, y)) = x`, the node alone would claim too much: then its producers are taken in too,
    level by level, until both sides agree on all instances.

    Args:
        ledger: The entries.
        recorder: What was kept of them.
        tensors: The constants of the two models.
        ir_version: The model's IR version.
        recorded: Bindings at which the whole model was verified.
        worker: The process to run them in; one of its own unless given.
    """
    snapshots = {each.entry.number: each for each in recorder.snapshots}
    with _Trials(tensors, recorded, worker) as trials:
        claims: dict[Claim, int] = {}
        entries = []
        for entry in ledger:
            snapshot = snapshots.get(entry.number)
            if not entry.exact or snapshot is None:
                entries.append(Restated(entry, "tolerant", reason=TOLERANT))
            elif not snapshot.replaced:
                entries.append(Restated(entry, "unread", reason=UNREAD))
            else:
                found = _restated(snapshot, tensors, ir_version, trials)
                if isinstance(found, str):
                    entries.append(Restated(entry, "not restated", reason=found))
                else:
                    entries.append(Restated(entry, "claim", claims.setdefault(found, len(claims))))
    return Claims(tuple(claims), tuple(entries))


def _restated(snapshot: Snapshot, tensors: Tensors, ir_version: int, trials: _Trials) -> Claim | str:
    """The first candidate that holds, or why none does: what the largest one that ran says."""
    reasons: dict[bool, str] = {}
    for claim in _candidates(snapshot, tensors, ir_version):
        outcome = Outcome("untried", detail=claim) if isinstance(claim, str) else trials.outcome(claim)
        if outcome.status == "holds" and isinstance(claim, Claim):
            return claim
        reasons[outcome.status == "differs"] = outcome.detail
    return reasons.get(True) or reasons[False]


def _candidates(snapshot: Snapshot, tensors: Tensors, ir_version: int) -> Iterator[Claim | str]:
    """Claims of a rewrite from the smallest on, or why one can't be made."""
    seen: set[Claim] = set()
    for each in (snapshot, snapshot.enclosing):
        for level in range(LEVELS + 1 if each is not None else 0):
            for stores in (False, True):
                assert each is not None
                try:
                    claim = Sides(each, level, tensors, ir_version, stores=stores).claim()
                except NotRestated as error:
                    yield str(error)
                    continue
                if claim not in seen:
                    seen.add(claim)
                    yield claim


class _Trials:
    """Tries claims, each once."""

    def __init__(self, tensors: Tensors, recorded: Sequence[Mapping[str, int]], worker: Worker | None) -> None:
        self._tensors = tensors
        self._recorded = recorded
        self._worker = worker or Worker()
        self._owns_worker = worker is None
        self._outcomes: dict[Claim, Outcome] = {}

    def __enter__(self) -> _Trials:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owns_worker:
            self._worker.close()

    def outcome(self, claim: Claim) -> Outcome:
        if claim not in self._outcomes:
            stored: dict[str, onnx.TensorProto] = {each.name: self._tensors.proto(each) for each in claim.stored}
            self._outcomes[claim] = attempt(claim, self._worker, stored, self._recorded)
        return self._outcomes[claim]
