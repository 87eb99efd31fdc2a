"""The checks of rules, for a person."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from foldproof.checking.check import RuleCheck
from foldproof.checking.finding import Finding


def line_of(check: RuleCheck) -> str:
    """One rule in one line."""
    counts = f"{check.tried} tried, {check.fired} fired, {check.same} same"
    if check.cannot_run:
        counts += f", {check.cannot_run} that nothing here can run"
    return f"{'faulty' if check.findings else 'ok':6}  {check.rule}: {counts}"


def lines_of(finding: Finding) -> Iterator[str]:
    """A fault: what is wrong, and the model, the result and the inputs that show it."""
    yield f"  {finding.kind}: {finding.detail}"
    if finding.variations:
        yield f"  in its example, where {', '.join(finding.variations)}"
    for title, text in (("the model", finding.model), ("what becomes of it", finding.result)):
        if text:
            yield f"  {title}:"
            yield textwrap.indent(text.strip(), "    ")
    if finding.feed:
        yield "  the inputs:"
        yield from (f"    {name} = {value}" for name, value in finding.feed.items())


def summary_of(checks: Sequence[RuleCheck]) -> str:
    """The last line."""
    faulty = sum(bool(check.findings) for check in checks)
    return f"{len(checks)} rules, {faulty} of them faulty" if len(checks) > 1 else f"{'faulty' if faulty else 'ok'}"
