"""The summary of a run in a terminal: it fits a screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foldproof.reporting.report import Fate, Report, TakenBack
from foldproof.reporting.rule_page import LOWERS, RulePage
from foldproof.rewriting.ledger import Entry
from foldproof.rewriting.rule import ANY, LAST_OPSET, Rule
from foldproof.verification.results import binding_text

if TYPE_CHECKING:
    from foldproof.verification import Verification

MAX_ROWS = 12
"""Rows of a table before the rest is summed up; `verbose` shows all."""

MAX_CONTRADICTIONS = 3
"""Declarations that inference disproves; `verbose` shows all."""


def show(report: Report, *, verbose: bool = False, console: Console | None = None) -> None:
    """Prints a run's summary.

    Args:
        report: The run.
        verbose: Show all operators, all nodes and the ledger.
        console: Where to; the standard output unless given.
    """
    console = console or Console(highlight=False)
    console.print(_nodes(report, verbose))
    if report.fates:
        console.print(_fates(report.fates, verbose))
    if verbose:
        for entry in report.ledger:
            text = f"{entry.number:>5}  {entry.rule}  {'; '.join(entry.removed)}"
            console.print(escape(text + (f"  =>  {'; '.join(entry.added)}" if entry.added else "")))
    for line in _lines(report, verbose):
        console.print(line)


def show_verification(verification: Verification, *, verbose: bool = False, console: Console | None = None) -> None:
    """Prints the result of comparing two models."""
    console = console or Console(highlight=False)
    for line in _verification_lines(verification, verbose):
        console.print(line)


def show_rules(rules: Sequence[Rule], *, console: Console | None = None) -> None:
    """Prints one line for each rule, by family."""
    console = console or Console(highlight=False)
    width = max((len(rule.name) for rule in rules), default=0)
    for family, members in groupby(sorted(rules, key=lambda rule: rule.family), key=lambda rule: rule.family):
        console.print(f"[bold]{safe(family)}[/]")
        for rule in members:
            line = f"  {safe(rule.name):{width}}  {_class_of(rule)}  {safe(rule.equation)}"
            console.print(line, soft_wrap=True)


def show_rule(page: RulePage, *, console: Console | None = None) -> None:
    """Prints all that there is to say of a rule."""
    console = console or Console(highlight=False)
    rule = page.rule
    lines = [f"[bold]{safe(rule.name)}[/], of the family {safe(rule.family)}", "", f"  [bold]{safe(rule.equation)}[/]"]
    if rule.explanation:
        lines += ["", safe_lines(rule.explanation)]
    kept = "each bit of the outputs stays the same" if rule.exact else "floats may round differently"
    rows = {"class": f"{_class_of(rule).strip()}: {kept}"}
    if not rule.of_initializers and rule.op_types:
        domain = f" of {rule.domain}" if rule.domain else ""
        rows["tried at"] = safe("any operator" if ANY in rule.op_types else ", ".join(rule.op_types) + domain)
    if rule.since > 1 or rule.until < LAST_OPSET:
        rows["opsets"] = f"{rule.since} and later" if rule.until == LAST_OPSET else f"{rule.since} to {rule.until}"
    rows["level"] = f"-O{rule.level}" + ("" if rule.level == 3 else " and higher")
    rows["benefit"] = f"{rule.benefit}: rules of one node are tried from the highest down"
    rows["lowers"] = LOWERS[rule.lowers]
    lines += ["", *(f"[dim]{name:9}[/] {text}" for name, text in rows.items())]
    if page.before:
        lines += ["", "[dim]before[/]", safe_lines(page.before), "", "[dim]after[/]", safe_lines(page.after)]
    for line in lines:
        console.print(line, soft_wrap=True)


def _class_of(rule: Rule) -> str:
    return "[green]exact[/]    " if rule.exact else "[yellow]tolerant[/] "


def safe_lines(text: str) -> str:
    """The same as `safe`, of a text whose lines stay."""
    return "\n".join(map(safe, text.splitlines()))


def show_guilty(found: TakenBack | Entry | None, *, console: Console | None = None) -> None:
    """Prints the rewrite that a bisection found."""
    console = console or Console(highlight=False)
    if found is None:
        console.print("no rewrite does harm: the optimized model is good")
        return
    console.print(f"[red]guilty:[/] rewrite {found.number}, the rule {safe(found.rule)!s} at {safe(found.place)}")
    if isinstance(found, TakenBack):
        first, where = found.difference, binding_text(found.difference.binding)
        console.print(safe(f"with it the output {first.output} differs at {where}: {first.detail}"))
    else:
        console.print(safe(f"{'; '.join(found.removed)} => {'; '.join(found.added) or 'nothing'}"))
    console.print(f"leave the rule out with --skip-rules {safe(found.rule)}")


def safe(text: object) -> str:
    """Text of the person's model, made harmless for a terminal: control characters escaped, no markup."""
    return escape("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text)))


def _nodes(report: Report, verbose: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("operator")
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right")
    before, after = report.nodes_before, report.nodes_after
    operators = sorted(
        {*before, *after}, key=lambda op: (-abs(before.get(op, 0) - after.get(op, 0)), -before.get(op, 0), op)
    )
    shown = operators if verbose else operators[:MAX_ROWS]
    for operator in shown:
        table.add_row(safe(operator), *_change(before.get(operator, 0), after.get(operator, 0)))
    rest = operators[len(shown) :]
    if rest:
        table.add_row(
            f"{len(rest)} more", *_change(sum(before.get(op, 0) for op in rest), sum(after.get(op, 0) for op in rest))
        )
    table.add_section()
    table.add_row("all nodes", *_change(sum(before.values()), sum(after.values())))
    return table


def _change(before: int, after: int) -> tuple[str, str, str]:
    return str(before), str(after), f"{after - before:+d}" if after != before else ""


def _fates(fates: Iterable[Fate], verbose: bool) -> Table:
    """The `Size` nodes one by one, and other kinds where a person asks for all."""
    chosen = [fate for fate in fates if verbose or fate.operator == "Size"]
    counts = Counter((fate.operator, fate.outcome) for fate in fates)
    title = ", ".join(f"{operator} {outcome}: {count}" for (operator, outcome), count in sorted(counts.items()))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", title_style="")
    for name in ("node", "outcome", "value", "why"):
        table.add_column(name)
    for fate in chosen if verbose else chosen[:MAX_ROWS]:
        table.add_row(safe(fate.node), fate.outcome, safe(fate_value(fate)), safe(fate.why))
    if not verbose and len(chosen) > MAX_ROWS:
        table.add_row(f"{len(chosen) - MAX_ROWS} more", "", "", "-v shows all")
    return table


def fate_value(fate: Fate) -> str:
    """The constant that a node became, or its values at the first bindings."""
    if fate.outcome == "folded":
        return str(fate.value)
    shown = dict.fromkeys(f"{value} at {binding_text(binding)}" for binding, value in fate.values)
    return ", ".join(list(shown)[:3])


def _lines(report: Report, verbose: bool) -> Iterable[str]:
    if report.bytes_before is not None and report.bytes_after is not None:
        yield f"file size: {bytes_text(report.bytes_before)} -> {bytes_text(report.bytes_after)}"
    if report.verification is not None:
        yield from _verification_lines(report.verification, verbose=False)
    elif report.verdict == "not asked":
        yield "verification: not asked for"
    for contradiction in report.contradictions if verbose else report.contradictions[:MAX_CONTRADICTIONS]:
        yield f"note: {safe(contradiction)}"
    hidden = len(report.contradictions) - MAX_CONTRADICTIONS
    if hidden > 0 and not verbose:
        yield f"note: {hidden} more declarations that inference disproves; -v shows all"
    for warning in report.warnings:
        yield f"[yellow]warning:[/] {safe(warning)}"
    stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in report.seconds.items())
    yield f"seconds: {sum(report.seconds.values()):.2f} ({stages})"
    if report.output is not None:
        yield f"written: {safe(report.output)}"


def _verification_lines(verification: Verification, verbose: bool) -> Iterable[str]:
    runs = verification.runs
    if verification.status == "same":
        bindings = list(dict.fromkeys(binding_text(run.binding) for run in runs))
        error = max((run.max_absolute_error for run in runs), default=0.0)
        equal = "bit for bit equal" if error == 0 else f"largest difference {error:.3g}"
        where = safe("; ".join(bindings))
        yield f"[green]verified:[/] {len(runs)} runs in {safe(runs[0].original_engine)}, {equal}; at {where}"
    elif verification.status == "unverified":
        yield f"[yellow]unverified:[/] {safe(verification.reason)}"
    else:
        count = len(verification.differences)
        yield f"[red]different:[/] {count} difference{'' if count == 1 else 's'}"
        for difference in verification.differences[: None if verbose else 5]:
            where = safe(binding_text(difference.binding))
            of = f"{safe(difference.output)}: " if difference.output else ""
            yield f"  {of}{safe(difference.detail)} (at {where})"
    for note in verification.notes:
        yield f"note: {safe(note)}"


def bytes_text(count: int) -> str:
    """A size as a person reads it: `1.26 kB`."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} bytes"
