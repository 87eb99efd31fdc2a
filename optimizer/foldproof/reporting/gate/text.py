"""What the gate found, for a person."""

from __future__ import annotations

from collections.abc import Sequence

import click

from foldproof.configuration.place import shown
from foldproof.gating.outcome import Gated, Outcome
from foldproof.reporting.visible import visible


def show(gated: Gated) -> None:
    """Prints what was found of one model."""
    failures = gated.failures
    click.echo(f"{'FAILED' if failures else 'passed'}  {visible(shown(gated.model))}")
    for outcome in gated.outcomes:
        mark = {"passed": "ok", "failed": "FAILED", "error": "ERROR"}[outcome.status]
        click.echo(f"  {mark:<6}  {outcome.check}: {visible(outcome.text if outcome in failures else outcome.message)}")
        if outcome in failures:
            click.echo(f"          at {visible(where(outcome))}")


def show_sum(models: Sequence[Gated]) -> None:
    """Prints how many models passed."""
    passed = sum(not each.failures for each in models)
    click.echo(f"{passed} of {len(models)} models passed")


def where(outcome: Outcome) -> str:
    """The place of an outcome, with the first of its nodes."""
    first = f", node {outcome.nodes[0]!r}" if outcome.nodes else ""
    more = f" and {len(outcome.nodes) - 1} more" if len(outcome.nodes) > 1 else ""
    return f"{outcome.place}{first}{more}"
