"""What a check found, for a person."""

from __future__ import annotations

import click

from foldproof.certificates.checker import Checked
from foldproof.reporting.visible import visible

_SHOWN = 5


def show(checked: Checked) -> None:
    """Prints what a check found."""
    for problem in checked.problems:
        click.echo(f"differs: {visible(problem)}")
    for line in lines(checked):
        click.echo(visible(line))
    click.echo("the certificate holds" if checked.holds else "the certificate does not hold")


def lines(checked: Checked) -> list[str]:
    """What was checked, line by line."""
    found = [f"files: {checked.files} with the digests of the certificate"]
    if checked.verification is None:
        return [*found, "nothing else was checked"]
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(checked.entries.items())) or "none"
    found.append(f"rewrites: {counts}")
    found.append(f"claims: {checked.claims} hold, at {checked.instances} instances")
    found += _some("not restated", checked.not_restated)
    runs = checked.verification.runs
    found.append(f"both models: {checked.verification.status}, {len(runs)} runs")
    return [*found, *_some("note", checked.notes)]


def _some(word: str, texts: tuple[str, ...]) -> list[str]:
    more = [f"{word}: ... and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    return [*(f"{word}: {text}" for text in texts[:_SHOWN]), *more]
