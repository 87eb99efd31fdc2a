"""Writes down what a run did: an in-toto statement about the files that it wrote."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldproof import __version__
from foldproof.certificates.digests import FileDigest, digests_of, environment, sha256_of, versions
from foldproof.certificates.document import PREDICATE_TYPE, STATEMENT_TYPE, claim_to_dict, self_digest
from foldproof.certificates.restating import Claims, Restated
from foldproof.options import Options
from foldproof.reporting.report import Report
from foldproof.rewriting import Rule
from foldproof.rewriting.rule_modules import is_path

if TYPE_CHECKING:
    from foldproof.verification import Verification


def statement(
    report: Report,
    claims: Claims,
    rules: Iterable[Rule],
    options: Options,
    *,
    read: Sequence[Path],
    written: Sequence[Path],
    finished: datetime,
) -> dict[str, Any]:
    """The certificate of a run, for JSON. The same run gives the same one, but for the time.

    Args:
        report: What the run has to tell.
        claims: Its rewrites, restated.
        rules: The rules that were applied, for their equations.
        options: What the person asked for.
        read: The input's files, the model first.
        written: The output's files, the model first.
        finished: When that was.
    """
    verification = report.verification
    equations = {rule.name: rule.equation for rule in rules}
    document: dict[str, Any] = {
        "_type": STATEMENT_TYPE,
        "subject": [each.to_dict() for each in digests_of(written[0], written[1:])],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "input": [each.to_dict() for each in digests_of(read[0], read[1:])],
            "tool": {"name": "foldproof", "version": __version__},
            "packages": versions(rule_packs()),
            "environment": environment(),
            "options": deciding_options(options),
            "verdict": report.verdict,
            "ledger": [_entry(each, equations) for each in claims.entries],
            "claims": [claim_to_dict(each) for each in claims.claims],
            "taken_back": report.to_dict()["taken_back"],
            "verification": {
                "exact": all(each.exact for each in report.ledger),
                "feeds": {
                    "generator": "foldproof.verification.feeds",
                    "seed": options.seed,
                    "files": [each.to_dict() for each in feed_digests(options.feeds)],
                },
                **_results(verification),
            },
            "finished": finished.isoformat(timespec="seconds"),
        },
    }
    document["predicate"]["digest"] = {"sha256": self_digest(document)}
    return document


def feed_digests(folder: Path | None) -> list[FileDigest]:
    """The digests of the files in a folder of the person's own inputs, by their paths in it."""
    if folder is None:
        return []
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [FileDigest(path.relative_to(folder).as_posix(), sha256_of(path)) for path in paths]


def rule_packs() -> set[str]:
    """The names of the packages that bring rules."""
    points = metadata.entry_points(group="foldproof.rules")
    return {point.dist.name for point in points if point.dist is not None and point.dist.name != "foldproof"}


def deciding_options(options: Options) -> dict[str, Any]:
    """The options that decide on the result. No path of this machine is one: of a file of rules its name is."""
    fields = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    fields["rules_from"] = [Path(each).name if is_path(each) else each for each in options.rules_from]
    return {name: _plain(value) for name, value in fields.items() if not isinstance(value, Path)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (tuple, list, frozenset)) else value


def _entry(restated: Restated, equations: Mapping[str, str]) -> dict[str, Any]:
    return {
        **{name: _plain(value) for name, value in restated.entry.to_dict().items()},
        "equation": equations.get(restated.entry.rule, ""),
        "kind": restated.kind,
        "claim": restated.claim,
        "reason": restated.reason or None,
    }


def _results(verification: Verification | None) -> dict[str, Any]:
    """What verification found. The times and the values of single nodes are for the report."""
    if verification is None:
        return {"status": "not asked", "runs": [], "differences": [], "not_admitted": [], "notes": [], "reason": None}
    found = verification.to_dict()
    return {name: found[name] for name in ("status", "runs", "differences", "not_admitted", "notes", "reason")}
