"""Checks a certificate against the two models, and takes nothing of rewriter, rules, folding or facts."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx

from foldproof.certificates import document
from foldproof.certificates.claim import Claim
from foldproof.certificates.constants import Constants
from foldproof.certificates.digests import FileDigest, sha256_of, versions
from foldproof.certificates.document import Certificate, LedgerEntry
from foldproof.certificates.trial import attempt
from foldproof.engines import Worker
from foldproof.errors import ModelError
from foldproof.verification import Verification, verify


@dataclasses.dataclass(frozen=True)
class Checked:
    """What a check found.

    Attributes:
        problems: What differs from what the certificate says; none where it holds.
        files: How many files have the digest that it states.
        entries: How many entries of the ledger there are, by kind.
        claims: How many claims hold.
        instances: At how many instances their two sides were run.
        not_restated: The exact rewrites without a claim, each with why.
        verification: How the two models compared; None where that was not reached.
        notes: What a person should know to judge the result.
    """

    problems: tuple[str, ...]
    files: int = 0
    entries: dict[str, int] = dataclasses.field(default_factory=dict)
    claims: int = 0
    instances: int = 0
    not_restated: tuple[str, ...] = ()
    verification: Verification | None = None
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether all that was checked is as the certificate says."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {
            **{name: list(value) if isinstance(value, tuple) else value for name, value in own.items()},
            "holds": self.holds,
            "verification": None if self.verification is None else self.verification.to_dict(),
        }


def check(certificate: Path, input: Path, output: Path, *, feeds: Path | None = None) -> Checked:
    """Checks a certificate.

    First the digests of all files; where one differs, nothing else is looked at. Then each claim is instantiated at
    several sizes of its symbols, with special numbers among the values, and its two sides are run. At last the two
    models are run against each other as it was done when the certificate was made.

    Args:
        certificate: The certificate's file.
        input: The model that was optimized.
        output: The model that came out.
        feeds: The folder of the person's own inputs, if there were any.

    Raises:
        CertificateError: It is no certificate, or it was changed.
        ModelError: A model is not there, or can't be read.
        UsageError: A file can't be read.
        UnverifiedError: onnxruntime is not installed.
    """
    made = document.read(certificate)
    for model in (input, output):
        if not model.is_file():
            raise ModelError(f"there is no file {model}", hint="Check the path")
    files = [*_located(made.input, input), *_located(made.subject, output)]
    problems = list(_changed(files))
    if feeds is not None:
        problems += _changed((each, feeds / each.name) for each in made.feed_files)
    if problems:
        return Checked(tuple(problems), len(files) - len(problems))
    claims, instances = 0, 0
    for outcome in _claims(made, {"input": Constants(input), "output": Constants(output)}):
        if isinstance(outcome, str):
            problems.append(outcome)
        else:
            claims, instances = claims + 1, instances + outcome
    verification = verify(
        input, output, exact=made.exact, seed=made.seed, feeds=feeds, evaluate=(), bindings=made.sizes
    )
    problems += _disagreements(made, verification)
    return Checked(
        problems=tuple(problems),
        files=len(files),
        entries=dict(Counter(each.kind for each in made.ledger)),
        claims=claims,
        instances=instances,
        not_restated=tuple(f"{_text(each)}: {each.reason}" for each in made.ledger if each.kind == "not restated"),
        verification=verification,
        notes=tuple(_notes(made, verification, feeds)),
    )


def _located(files: Sequence[FileDigest], model: Path) -> list[tuple[FileDigest, Path]]:
    """Where the files of a model are: the model where the person says, its data files as seen from there."""
    return [(each, model.parent / each.name if number else model) for number, each in enumerate(files)]


def _changed(files: Iterable[tuple[FileDigest, Path]]) -> Iterator[str]:
    for each, path in files:
        if not path.is_file():
            yield f"{path} is not there"
        elif (found := sha256_of(path)) != each.sha256:
            yield f"{path} is not the file {each.name!r} of the certificate: its sha256 is {found}, not {each.sha256}"


def _claims(made: Certificate, files: dict[str, Constants]) -> Iterator[str | int]:
    """For each claim how many instances of it were run, or what is wrong with it."""
    users: dict[int, list[LedgerEntry]] = {}
    for entry in made.ledger:
        if entry.claim is not None:
            users.setdefault(entry.claim, []).append(entry)
    with Worker() as worker:
        for number, claim in enumerate(made.claims):
            found = _tried(claim, files, worker, made.bindings)
            entries = users.get(number, [])
            others = f" and {len(entries) - 1} more" if len(entries) > 1 else ""
            whose = f" ({_text(entries[0])}{others})" if entries else ""
            yield f"claim {number}{whose} {found}" if isinstance(found, str) else found


def _tried(claim: Claim, files: dict[str, Constants], worker: Worker, bindings: Sequence[dict[str, int]]) -> str | int:
    stored: dict[str, onnx.TensorProto] = {}
    for each in claim.stored:
        tensor = files[each.file].find(each)
        if tensor is None:
            return f"rests on a constant {each.source!r} that the {each.file} does not hold"
        stored[each.name] = tensor
    outcome = attempt(claim, worker, stored, bindings)
    if outcome.status == "holds":
        return outcome.instances
    return f"{'does not hold' if outcome.status == 'differs' else 'can not be checked'}: {outcome.detail}"


def _text(entry: LedgerEntry) -> str:
    return f"rewrite {entry.number}, {entry.rule} at {entry.place!r}"


def _disagreements(made: Certificate, verification: Verification) -> Iterator[str]:
    """What the two models, run once more, say against the certificate."""
    for each in verification.differences:
        sizes = " ".join(f"{name}={size}" for name, size in each.binding.items()) or "the static dims"
        yield f"the models differ at {sizes}: {each.output}: {each.detail}"
    if verification.status == "unverified" and made.verdict == "verified":
        yield f"the models were verified, but can not be run here: {verification.reason}"
    if made.exact and not all(entry.exact for entry in made.ledger):
        yield "the models are said to have been compared bit for bit, but not all rewrites are exact"


def _notes(made: Certificate, verification: Verification, feeds: Path | None) -> Iterator[str]:
    now = versions(made.packages)
    for name in sorted({*made.packages, *now}):
        if made.packages.get(name) != now.get(name):
            yield f"{name} is {now.get(name, 'not here')}, and was {made.packages.get(name, 'not there')}"
    if made.feed_files and feeds is None:
        yield f"{len(made.feed_files)} files of inputs were verified too, and are not given here (--feeds)"
    if made.verdict != "verified":
        yield f"the verdict of the certificate is {made.verdict!r}"
    if verification.status == "unverified":
        yield f"nothing here can run the models: {verification.reason}"
    again = [(run.binding, run.feeds) for run in verification.runs]
    missing = [binding for binding, source in made.runs if (binding, source) not in again]
    if missing and not (made.feed_files and feeds is None):
        yield f"{len(missing)} of {len(made.runs)} runs were not repeated, the first at {missing[0]}"
