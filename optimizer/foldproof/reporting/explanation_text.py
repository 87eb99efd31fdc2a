"""Explanations in a terminal: all of one node, or a line for each of many."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from foldproof.reporting.terminal import safe

if TYPE_CHECKING:
    from foldproof.explaining import Explanation, Explanations, RuleExplanation
    from foldproof.provenance import Gone, Origin
    from foldproof.rewriting import Entry

MAX_WHOLE = 3
"""More nodes than these are summed up in a table, unless the person asks for all."""

MAX_ROWS = 12
"""Rows of that table."""

MAX_STEPS = 8
"""Steps of a derivation."""

MAX_NAMES = 6
"""Names in a row."""

_INDENT = 12


def show(found: Explanations, *, everything: bool = False, console: Console | None = None) -> None:
    """Prints explanations.

    Args:
        found: The explanations.
        everything: Print each of them whole.
        console: Where to; the standard output unless given.
    """
    console = console or Console(highlight=False)
    for gone in found.gone:
        for line in _gone_lines(gone):
            console.print(line, soft_wrap=True)
    if everything or len(found.found) <= MAX_WHOLE:
        for number, each in enumerate(found.found):
            if number or found.gone:
                console.print()
            _show_whole(each, found, everything, console)
    else:
        _show_table(found, console)
    if not found.found and not found.gone:
        console.print("the model has no such node")


def show_rule(found: RuleExplanation, *, everything: bool = False, console: Console | None = None) -> None:
    """Prints where a rule applies, and where it does not and why."""
    console = console or Console(highlight=False)
    console.print(f"[bold]{safe(found.rule)}[/]: {safe(found.equation)}", soft_wrap=True)
    if found.note:
        console.print(f"it was not tried: {safe(found.note)}")
        return
    console.print(f"applies {_times(len(found.applied))}")
    shown = found.applied if everything else found.applied[:MAX_STEPS]
    for entry in shown:
        console.print(f"  {safe(_entry_text(entry))}", soft_wrap=True)
    if len(found.applied) > len(shown):
        console.print(f"  {len(found.applied) - len(shown)} more; --all shows them")
    for reason, places in found.refused.items():
        console.print(f"does not apply {_times(len(places))}: {safe(reason)}", soft_wrap=True)
        console.print(f"  at {_names(places, everything)}", soft_wrap=True)
    if found.silent:
        nodes = "node" if found.silent == 1 else "nodes"
        console.print(f"does not match what is around {found.silent} more {nodes} of its operators")


def _show_whole(told: Explanation, found: Explanations, everything: bool, console: Console) -> None:
    name = f", named {told.name}" if told.name and told.name != told.value else ""
    console.print(
        f"[bold]{safe(told.value)}[/] = {safe(told.source)}, in {safe(told.graph)}{safe(name)}", soft_wrap=True
    )
    for label, line in _parts(told, found, everything):
        console.print(f"[dim]{label:{_INDENT}}[/]{line}", soft_wrap=True)


def _parts(told: Explanation, found: Explanations, everything: bool) -> Iterator[tuple[str, str]]:
    for number, (name, text) in enumerate(told.known.items()):
        yield "known" if number == 0 else "", safe(text if len(told.known) == 1 else f"{name}: {text}")
    yield from _labelled("because", _derivation_lines(told, everything))
    if told.calls:
        calls = list(told.calls.items())
        lines = [safe(f"{text} in {call}") for call, text in (calls if everything else calls[:MAX_STEPS])]
        yield from _labelled("calls", lines)
    if told.origin is not None:
        yield "made of", safe(_origin_text(told.origin))
    if told.outcome != "no node":
        yield "optimize", safe(_outcome_text(told))
    yield from _labelled("rules", _reason_lines(told))
    suggestion = told.suggestion
    if suggestion is not None:
        yield "to fold it", f"[bold]{safe(_command(found, suggestion.arguments))}[/]"
        runs = ", at which the model runs" if suggestion.model_runs else ""
        sizes = f"; the sizes are examples{runs}" if suggestion.set_dim else ""
        yield "", safe(f"tried in memory: then it is {suggestion.value}{sizes}")
    elif told.why_not is not None:
        what = (
            "no size of a dim makes it constant: " if not told.why_not.startswith(("it is constant", "with ")) else ""
        )
        yield "to fold it", safe(f"{what}{told.why_not}")
    if told.static_shape:
        dims = ", ".join(f"{name}={size}" for name, size in told.static_shape.items())
        yield "", safe(f"its shape would be static with --set-dim {dims}".replace(", ", " --set-dim "))


def _labelled(label: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines):
        yield label if number == 0 else "", line


def _derivation_lines(told: Explanation, everything: bool) -> Iterator[str]:
    derivation = told.derivation
    steps = [step for step in derivation.steps if step.known]
    shown = steps if everything else steps[:MAX_STEPS]
    for step in shown:
        what = "is" if step.aspect == "elements" else "has the shape"
        nodes = "node" if step.skipped == 1 else "nodes"
        by = f", like {_plain_names(step.by)}, {step.skipped} {nodes} further up" if step.skipped else ""
        yield safe(f"{step.value} {what} {step.known}: {step.source}{by}")
    if len(steps) > len(shown):
        ends = [*derivation.inputs, *derivation.initializers]
        rest = f"; in the end it rests on {_plain_names(ends)}" if ends else ""
        yield safe(f"{len(steps) - len(shown)} more steps, which --all shows{rest}")
    if not derivation.is_complete:
        yield "and so on: it is a long way back"


def _outcome_text(told: Explanation) -> str:
    if told.outcome == "stays":
        return "leaves it"
    verb = {"folded": "folds it", "removed": "takes it away", "replaced": "replaces it"}[told.outcome]
    if told.entry is None:
        return f"{verb}, with what is around it"
    added = "; ".join(told.entry.added)
    return f"{verb}: {told.entry.rule}" + (f" puts {added} in its place" if added else "")


def _reason_lines(told: Explanation) -> Iterator[str]:
    width = max(map(len, told.reasons), default=0)
    for rule, reason in told.reasons.items():
        yield f"{safe(rule):{width}}  no: {safe(reason)}"
    if told.silent:
        rules = f"{'more ' if told.reasons else ''}{'rules' if told.silent > 1 else 'rule'}"
        yield f"{told.silent} {rules} for its operator: no match with what is around it"


def _show_table(found: Explanations, console: Console) -> None:
    counts = Counter((each.operator, each.outcome) for each in found.found if each.operator)
    title = ", ".join(f"{safe(operator)} {_VERBS[outcome]}: {n}" for (operator, outcome), n in sorted(counts.items()))
    rows = [each for each in found.found if each.outcome not in ("folded", "removed")]
    if rows:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left", title_style="")
        for column in ("node", "is", "to fold it"):
            table.add_column(column, overflow="fold")
        for each in rows[:MAX_ROWS]:
            table.add_row(safe(each.value), safe(next(iter(each.known.values()), "")), safe(_short(each)))
        if len(rows) > MAX_ROWS:
            table.add_row(f"{len(rows) - MAX_ROWS} more", "", "--all tells all of each")
        console.print(table)
    else:
        console.print(title)
    for arguments, number in Counter(
        tuple(each.suggestion.arguments) for each in rows if each.suggestion is not None
    ).most_common(MAX_STEPS):
        console.print(f"{safe(_command(found, arguments))}", style="bold", soft_wrap=True)
        console.print(f"  folds {number} of {len(rows)}, as tried in memory")
    console.print("--node NAME tells all of one; --all of each")


_VERBS = {"folded": "folded", "removed": "gone", "replaced": "replaced", "stays": "left", "no node": ""}


def _short(told: Explanation) -> str:
    if told.suggestion is not None:
        return " ".join(told.suggestion.arguments)
    return told.why_not or "nothing"


def _gone_lines(gone: Gone) -> Iterator[str]:
    name = f", named {gone.name}" if gone.name and gone.name != gone.output else ""
    where = f"the {gone.operator} of the original, in {gone.graph}{name}"
    yield f"[bold]{safe(gone.output)}[/]: {safe(where)}, is gone"
    if gone.rules:
        yield f"  by  {safe(', '.join(gone.rules))}"
    now = [value for value in gone.now if value]
    if now:
        yield f"  now {_names(now)} has its place"
    elif gone.into:
        yield f"  now {_names(gone.into)} has the place of what read it"
    else:
        yield "  nothing is in its place: nothing read it, or it went with the body or function that held it"


def _origin_text(origin: Origin) -> str:
    return f"{_plain_names(origin.nodes)} of the original" + (f", by {', '.join(origin.rules)}" if origin.rules else "")


def _entry_text(entry: Entry) -> str:
    return f"{'; '.join(entry.removed)} => {'; '.join(entry.added) or 'nothing'}"


def _command(found: Explanations, arguments: Sequence[str]) -> str:
    return shlex.join(["foldproof", "optimize", found.model, *found.given, *arguments])


def _names(names: Sequence[str], everything: bool = False) -> str:
    return safe(_plain_names(names, everything))


def _plain_names(names: Sequence[str], everything: bool = False) -> str:
    shown = names if everything or len(names) <= MAX_NAMES + 1 else names[:MAX_NAMES]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return ", ".join(shown) + more


def _times(count: int) -> str:
    return {0: "nowhere", 1: "once", 2: "twice"}.get(count, f"{count} times")
