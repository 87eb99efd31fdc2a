"""SARIF 2.1.0, the form of OASIS for the results of static analysis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from foldproof import __version__
from foldproof.configuration.place import shown
from foldproof.gating.outcome import CHECKS, Gated, Outcome

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(models: Sequence[Gated]) -> dict[str, Any]:
    """The log, for JSON."""
    names = list(CHECKS)
    rules = [
        {"id": name, "shortDescription": {"text": text}, "defaultConfiguration": {"level": "error"}}
        for name, text in CHECKS.items()
    ]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "foldproof", "semanticVersion": __version__, "rules": rules}},
                "artifacts": [{"location": {"uri": _uri(gated.model)}} for gated in models],
                "results": [
                    _result(gated, outcome, names.index(outcome.check))
                    for gated in models
                    for outcome in gated.failures
                ],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }


def _result(gated: Gated, outcome: Outcome, rule: int) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(outcome.place.path)},
            # A model has no lines; some readers show only what has one.
            "region": {"startLine": outcome.place.line or 1},
        }
    }
    if outcome.nodes:
        location["logicalLocations"] = [{"name": name, "kind": "node"} for name in outcome.nodes]
    return {
        "ruleId": outcome.check,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": f"{shown(gated.model)}: {outcome.text}."},
        "locations": [location],
        "relatedLocations": [
            {"id": 0, "physicalLocation": {"artifactLocation": {"uri": _uri(gated.model)}}},
        ],
        # The same finding of the next run is this one, whatever its numbers are.
        "partialFingerprints": {"modelAndCheck/v1": f"{shown(gated.model)}#{outcome.check}"},
    }


def _uri(path: Path) -> str:
    """Relative to the working folder, where it lies in that."""
    text = Path(shown(path))
    return text.as_uri() if text.is_absolute() else quote(text.as_posix(), errors="surrogateescape")
