"""The summary of a run in a terminal: it fits a screen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foldproof.dims import binding_text
from foldproof.reporting.report import Fate, Report, TakenBack
from foldproof.reporting.rule_page import LOWERS, RulePage
from foldproof.reporting.visible import visible
from foldproof.rewriting.ledger import Entry
from foldproof.rewriting.rule import ANY, LAST_OPSET, Rule

if TYPE_CHECKING:
    from foldproof.measuring import Measured, Medians
    from foldproof.profiling import Profile
    from foldproof.verification import Verification

SCREEN = 22
"""The lines that a summary takes where it can: of the 24 of a terminal, the command and the next prompt take two."""

MIN_ROWS = 3
"""Operators that are shown one by one, however much else there is to say; `verbose` shows all."""

MAX_SIZES = 3
"""`Size` nodes that are shown one by one; `verbose` shows all, and other kinds too."""

MAX_RULES = 10
"""Rules of a profile that are shown one by one; `verbose` shows all."""

MAX_NOTES = 2
"""Notes and warnings of one kind, and bindings in a line; `verbose` shows all."""


_COMMAND = re.compile(r"::(?=[a-z-]+( .*)?::)|##(?=\[)")
"""How a command to GitHub Actions begins, which it takes from any line of a log: a name may be where a line is."""

UNCLEAR = "no clear difference"
"""Said of times where the pairs of runs don't agree on which model takes less."""


def show(report: Report, *, verbose: bool = False, console: Console | None = None) -> None:
    """Prints a run's summary.

    Args:
        report: The run.
        verbose: Show all operators, all nodes and the ledger.
        console: Where to; the standard output unless given.
    """
    console = console or Console(highlight=False)
    if verbose:
        console.print(_nodes(report))
        if report.fates:
            console.print(_fates(report.fates))
        for entry in report.ledger:
            text = f"{entry.number:>5}  {entry.rule}  {'; '.join(entry.removed)}"
            console.print(safe(text + (f"  =>  {'; '.join(entry.added)}" if entry.added else "")))
        for line in _lines(report, verbose):
            console.print(line)
        if report.profile is not None:
            console.print(_profile(report.profile, len(report.profile.rules)))
        return
    lines = list(_lines(report, verbose))
    sizes = sum(fate.operator == "Size" for fate in report.fates)
    room = SCREEN - sum(len(console.render_str(line).wrap(console, console.width)) for line in lines)
    if report.fates:
        room -= 3 + min(sizes, MAX_SIZES) + (sizes > MAX_SIZES)
    console.print(_nodes(report, max(room - 3, MIN_ROWS)))
    console.print()
    if report.fates:
        console.print(_counts(report.fates))
        for line in _sizes(report.fates):
            console.print(line, no_wrap=True, overflow="ellipsis")
        console.print()
    for line in lines:
        console.print(line)
    if report.profile is not None:
        console.print()
        console.print(_profile(report.profile, MAX_RULES))


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
    """Text of the person's model, made harmless for a terminal or a log: what is not seen is escaped, no markup."""
    return escape(_COMMAND.sub(lambda found: f"\\x{ord(found[0][0]):x}{found[0][1:]}", visible(text)))


def _nodes(report: Report, rows: int | None = None) -> Table:
    """The operators with their numbers, the largest changes first, in so many rows where that is given."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("operator")
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right")
    before, after = report.nodes_before, report.nodes_after
    operators = sorted(
        {*before, *after}, key=lambda op: (-abs(before.get(op, 0) - after.get(op, 0)), -before.get(op, 0), op)
    )
    shown = operators if rows is None or len(operators) <= rows else operators[: rows - 1]
    for operator in shown:
        table.add_row(safe(operator), *_change(before.get(operator, 0), after.get(operator, 0)))
    rest = operators[len(shown) :]
    if rest:
        table.add_row(
            f"{len(rest)} more", *_change(sum(before.get(op, 0) for op in rest), sum(after.get(op, 0) for op in rest))
        )
    table.add_row("all nodes", *_change(sum(before.values()), sum(after.values())), style="bold")
    return table


def _profile(profile: Profile, rows: int) -> Table:
    """Where the time went: the stages in their order, and in them the slowest rules."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    table.add_column("stage")
    for name in ("seconds", "asked", "rewrites"):
        table.add_column(name, justify="right")
    for stage, seconds in profile.seconds.items():
        asked = {"facts": profile.inferred, "rules": sum(rule.asked for rule in profile.rules)}.get(stage, "")
        applied = sum(rule.applied for rule in profile.rules) if stage == "rules" else ""
        table.add_row(safe(stage), f"{seconds:.3f}", str(asked), str(applied))
        if stage == "rules":
            for rule in profile.rules[:rows]:
                table.add_row(f"  {safe(rule.rule)}", f"{rule.seconds:.3f}", str(rule.asked), str(rule.applied))
            rest = profile.rules[rows:]
            if rest:
                counts = sum(rule.asked for rule in rest), sum(rule.applied for rule in rest)
                table.add_row(f"  {len(rest)} more", f"{sum(rule.seconds for rule in rest):.3f}", *map(str, counts))
    table.add_row("all", f"{sum(profile.seconds.values()):.3f}", style="bold")
    return table


def _change(before: int, after: int) -> tuple[str, str, str]:
    return str(before), str(after), f"{after - before:+d}" if after != before else ""


def _counts(fates: Iterable[Fate]) -> str:
    """What became of the nodes of each operator, in numbers."""
    counts = Counter((fate.operator, fate.outcome) for fate in fates)
    return ", ".join(f"{operator} {outcome}: {count}" for (operator, outcome), count in sorted(counts.items()))


def _sizes(fates: Iterable[Fate]) -> Iterable[str]:
    """The first `Size` nodes, a line each."""
    sizes = [fate for fate in fates if fate.operator == "Size"]
    for fate in sizes[:MAX_SIZES]:
        outcome = f"folded into {fate.value}" if fate.outcome == "folded" else fate.outcome
        yield f"  {safe(fate.node)}: {safe(outcome)}, {safe(fate.why)}"
    if sizes[MAX_SIZES:]:
        yield f"  {len(sizes) - MAX_SIZES} more; -v shows all"


def _fates(fates: Iterable[Fate]) -> Table:
    """All nodes one by one."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim", title=_counts(fates))
    table.title_justify, table.title_style = "left", ""
    for name in ("node", "outcome", "value", "why"):
        table.add_column(name)
    for fate in fates:
        table.add_row(safe(fate.node), fate.outcome, safe(fate_value(fate)), safe(fate.why))
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
        yield from _verification_lines(report.verification, verbose)
    elif report.verdict == "not asked":
        yield "verification: not asked for"
    if report.measured is not None:
        yield _measured(report.measured)
    yield from _some([f"note: {safe(each)}" for each in report.contradictions], "wrong declarations", verbose)
    yield from _some([f"[yellow]warning:[/] {safe(each)}" for each in report.warnings], "warnings", verbose)
    stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in report.seconds.items())
    yield f"seconds: {sum(report.seconds.values()):.2f} ({stages})"
    if report.output is not None:
        yield f"written: {safe(report.output)}"


def _measured(measured: Measured) -> str:
    load, latency = (_medians(each) for each in (measured.load, measured.latency))
    return f"measured: load {load}; latency {latency}; at {safe(binding_text(measured.binding))}"


def _medians(found: Medians) -> str:
    change = f"{100 * (found.after / found.before - 1):+.0f} %" if found.is_clear else UNCLEAR
    return f"{seconds_text(found.before)} -> {seconds_text(found.after)} ({change})"


def _some(lines: list[str], what: str, verbose: bool) -> Iterable[str]:
    """Lines of one kind, the first of them where not all are asked for."""
    shown = len(lines) if verbose or len(lines) == MAX_NOTES + 1 else MAX_NOTES
    yield from lines[:shown]
    if lines[shown:]:
        yield f"{len(lines) - shown} more {what}; -v shows all"


def _verification_lines(verification: Verification, verbose: bool) -> Iterable[str]:
    runs = verification.runs
    if verification.status == "same":
        bindings = list(dict.fromkeys(binding_text(run.binding) for run in runs))
        error = max((run.max_absolute_error for run in runs), default=0.0)
        equal = "bit for bit equal" if error == 0 else f"largest difference {error:.3g}"
        shown = len(bindings) if verbose else 2 * MAX_NOTES
        more = f"; and {len(bindings) - shown} more" if len(bindings) > shown else ""
        where = safe("; ".join(bindings[:shown]) + more)
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
    yield from _some([f"note: {safe(note)}" for note in verification.notes], "notes", verbose)


def bytes_text(count: int) -> str:
    """A size as a person reads it: `1.26 kB`."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} bytes"


def seconds_text(seconds: float) -> str:
    """A time as a person reads it: `1.25 ms`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
