"""The differences of two models in a terminal: they fit a screen, unless the person asks for all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from foldproof.reporting.terminal import safe

if TYPE_CHECKING:
    from foldproof.diffing import Difference
    from foldproof.diffing.difference import Change, ConstantChange, ConstantRef, NodeChange, NodeRef

SCREEN = 40
"""About so many lines are printed unless the person asks for all."""

MAX_LINES = 6
"""Lines of one kind before the rest is summed up, at most."""

MAX_TEXT = 160
"""Longer texts, such as metadata, are cut off."""


def show(found: Difference, *, everything: bool = False, console: Console | None = None) -> None:
    """Prints the differences.

    Args:
        found: The differences.
        everything: Print each of them, and all of each.
        console: Where to; the standard output unless given.
    """
    console = console or Console(highlight=False)
    for line in _lines(found, everything):
        console.print(line, soft_wrap=True)


def _lines(found: Difference, everything: bool) -> Iterator[str]:
    if found.is_equal:
        yield "[green]equal[/]" + (": nothing differs but names" if found.is_renamed else "")
    else:
        before, after = sum(found.operators_a.values()), sum(found.operators_b.values())
        yield f"[yellow]different[/]: {before} nodes in {safe(found.a)}, {after} in {safe(found.b)}"
    sections: Sequence[tuple[str, Sequence[str]]] = (
        ("signature", _changes(found.signature, everything)),
        ("opsets", _changes(found.opsets, everything)),
        ("functions", _changes(found.functions, everything)),
        ("nodes only in the first", [_node(node) for node in found.nodes_removed]),
        ("nodes only in the second", [_node(node) for node in found.nodes_added]),
        ("nodes changed", [_node_change(change, everything) for change in found.nodes_changed]),
        ("outputs that another node makes", _changes(found.outputs, everything)),
        ("constants only in the first", [_constant(each) for each in found.constants_removed]),
        ("constants only in the second", [_constant(each) for each in found.constants_added]),
        ("constants with another content", [_constant_change(each) for each in found.constants_changed]),
        ("constants stored in another way", [_constant_change(each, kind=True) for each in found.constants_moved]),
        ("constants stored once more in the first", [_constant(each) for each in found.constants_merged]),
        ("constants stored once more in the second", [_constant(each) for each in found.constants_copied]),
        ("declared types and shapes of inner values", _changes(found.declared, everything)),
        ("metadata", _changes(found.metadata, everything)),
    )
    full = [(title, lines) for title, lines in sections if lines]
    limit = max(2, min(MAX_LINES, SCREEN // max(len(full), 1) - 2))
    for title, lines in full:
        yield f"[bold]{title}[/]: {len(lines)}"
        yield from _shown(lines, _MARKS.get(title, " "), everything, limit)
    if found.is_renamed:
        yield f"names, which don't count: {len(found.renamed_values)} of values, {len(found.renamed_nodes)} of nodes"
        renamed = [f"{a} => {b}" for a, b in (*found.renamed_values, *found.renamed_nodes)]
        yield from _shown([safe(text) for text in renamed], " ", everything, limit=2)


_MARKS = {
    "nodes only in the first": "[red]-[/]",
    "nodes only in the second": "[green]+[/]",
    "constants only in the first": "[red]-[/]",
    "constants only in the second": "[green]+[/]",
}


def _shown(lines: Sequence[str], mark: str, everything: bool, limit: int) -> Iterator[str]:
    shown = lines if everything or len(lines) <= limit + 1 else lines[:limit]
    for line in shown:
        yield f"  {mark} {line}"
    if len(shown) < len(lines):
        yield f"    {len(lines) - len(shown)} more; --all shows them"


def _node(node: NodeRef) -> str:
    return safe(node.text if "/" not in node.graph else f"{node.text}, in {node.graph}")


def _node_change(change: NodeChange, everything: bool) -> str:
    what = "; ".join(_change(each, everything) for each in change.changes)
    return f"{_node(change.before)}: {what}"


def _changes(changes: Iterable[Change], everything: bool) -> list[str]:
    return [_change(change, everything) for change in changes]


def _change(change: Change, everything: bool) -> str:
    before, after = (_cut(text, everything) for text in (change.before, change.after))
    if change.before is None:
        return safe(f"{change.what}: only in the second, {after}")
    if change.after is None:
        return safe(f"{change.what}: only in the first, {before}")
    return safe(f"{change.what}: {before} => {after}")


def _cut(text: str | None, everything: bool) -> str:
    if text is None or everything or len(text) <= MAX_TEXT:
        return text or ""
    return f"{text[:MAX_TEXT]}..."


def _constant(each: ConstantRef) -> str:
    return safe(f"{each.name}: {each.type}, {each.kind}")


def _constant_change(change: ConstantChange, *, kind: bool = False) -> str:
    before, after = change.before, change.after
    if kind:
        return safe(f"{before.name}: {before.type}, {before.kind} => {after.kind}")
    names = before.name if before.name == after.name else f"{before.name} => {after.name}"
    return safe(f"{names}: {before.type}" + (f" => {after.type}" if before.type != after.type else ""))
