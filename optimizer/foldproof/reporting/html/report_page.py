"""The page of a run: the verdict first, then the numbers, then each rewrite with a picture of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from foldproof import __version__
from foldproof.dims import binding_text
from foldproof.reporting.html.numbers import numbers_of
from foldproof.reporting.html.page import page
from foldproof.reporting.html.story_data import story_data
from foldproof.reporting.report import Fate, Report
from foldproof.reporting.terminal import fate_value
from foldproof.rewriting import Rule
from foldproof.verification.results import Run

SCRIPTS = ("dagre", "dom", "table", "picture", "neighbourhood", "panel", "report")

VERDICTS = {
    "verified": ("Verified", "good", "✓"),
    "different": ("Different", "bad", "✗"),
    "unverified": ("Not verified", "warn", "!"),
    "not asked": ("Not verified", "warn", "!"),
}


def report_page(report: Report, rules: Iterable[Rule] = ()) -> str:
    """The page of a run, in HTML.

    Args:
        report: The run. Without its story the page has no pictures.
        rules: The rules, for their equations.
    """
    word, kind, sign = VERDICTS[report.verdict]
    name = Path(report.input).name if report.input else "a model in memory"
    verification = report.verification
    bindings = (
        [] if verification is None else list(dict.fromkeys(binding_text(run.binding) for run in verification.runs))
    )
    return page(
        "report.html.j2",
        title=f"{word}: {name}",
        scripts=SCRIPTS,
        data=_data(report, {rule.name: rule.equation for rule in rules}),
        context={
            "report": report,
            "name": name,
            "version": __version__,
            "verdict": {"word": word, "kind": kind, "sign": sign, "sentence": sentence(report)},
            "bindings": bindings,
            "verification": verification,
            "binding_text": binding_text,
            "numbers": numbers_of(report),
            "has_pictures": report.story is not None and bool(report.story.steps),
            "seconds": sum(report.seconds.values()),
        },
    )


def sentence(report: Report) -> str:
    """The verdict in a sentence: verified how, or why not."""
    verification = report.verification
    if report.verdict == "not asked" or verification is None:
        return "Verification was not asked for: nobody ran the two models against each other."
    if report.verdict == "unverified":
        return f"Nothing here can run the model: {verification.reason}"
    runs = len(verification.runs)
    if report.verdict == "different":
        count = len(verification.differences)
        return f"The two models differ: {count} difference{'' if count == 1 else 's'} were found. Nothing was written."
    error = max((run.max_absolute_error for run in verification.runs), default=0.0)
    equal = (
        "all outputs are equal bit for bit" if error == 0 else f"the largest difference of two floats is {error:.3g}"
    )
    engine = verification.runs[0].original_engine if verification.runs else "onnxruntime"
    return f"Both models ran on the same inputs {runs} times in {engine}, and {equal}."


def _data(report: Report, equations: Mapping[str, str]) -> dict[str, Any]:
    fired = {entry.rule for entry in report.ledger}
    verification = report.verification
    return {
        "ledger": [entry.to_dict() for entry in report.ledger],
        "rules": {name: equation for name, equation in equations.items() if name in fired},
        "operators": operator_rows(report),
        "fates": [_fate(fate) for fate in report.fates],
        "unfolded": [
            {**each.to_dict(), "count": len(each.nodes), "nodes": each.nodes[:50]} for each in report.unfolded
        ],
        "contradictions": [each.to_dict() for each in report.contradictions],
        "runs": [] if verification is None else [_run(run) for run in verification.runs],
        "story": None if report.story is None else story_data(report.story),
    }


def operator_rows(report: Report) -> list[tuple[str, int, int]]:
    """Operators with their numbers before and after, the largest changes first."""
    before, after = report.nodes_before, report.nodes_after
    rows = [(name, before.get(name, 0), after.get(name, 0)) for name in {*before, *after}]
    return sorted(rows, key=lambda row: (-abs(row[1] - row[2]), -row[1], row[0]))


def _fate(fate: Fate) -> dict[str, Any]:
    return {
        "node": fate.node,
        "operator": fate.operator,
        "outcome": fate.outcome,
        "shown": fate_value(fate),
        "why": fate.why,
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "binding": binding_text(run.binding),
        "feeds": run.feeds,
        "outputs": run.outputs,
        "error": "0" if run.max_absolute_error == 0 else f"{run.max_absolute_error:.3g}",
        "ulps": "0" if run.max_ulps == 0 else f"{run.max_ulps:.3g}",
    }
