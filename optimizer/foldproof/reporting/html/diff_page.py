"""The page of the differences of two models."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldproof import __version__
from foldproof.reporting.diff_story import story_of
from foldproof.reporting.html.page import page
from foldproof.reporting.html.story_data import story_data

if TYPE_CHECKING:
    from foldproof.diffing import Comparison, Difference
    from foldproof.diffing.difference import Change, ConstantChange, ConstantRef

SCRIPTS = ("dagre", "dom", "table", "picture", "neighbourhood", "panel", "diff")


def diff_page(compared: Comparison) -> str:
    """The page, in HTML."""
    found, story = compared.difference, story_of(compared)
    rows = list(_rows(found))
    renamed = [
        *(["value", a, b] for a, b in found.renamed_values),
        *(["node", a, b] for a, b in found.renamed_nodes),
    ]
    word, kind, sign = ("Equal", "good", "✓") if found.is_equal else ("Different", "warn", "≠")
    return page(
        "diff.html.j2",
        title=f"{word}: {Path(found.a).name} and {Path(found.b).name}",
        scripts=SCRIPTS,
        data={
            "differences": rows,
            "operators": _operators(found),
            "names": renamed,
            "story": story_data(story) if story.steps else None,
        },
        context={
            "diff": found,
            "first": Path(found.a).name,
            "second": Path(found.b).name,
            "version": __version__,
            "verdict": {"word": word, "kind": kind, "sign": sign, "sentence": _sentence(found)},
            "rows": len(rows),
            "has_pictures": bool(story.steps),
            "renamed": len(renamed),
        },
    )


def _sentence(found: Difference) -> str:
    if found.is_equal:
        return "Nothing differs" + (" but the names of nodes and inner values." if found.is_renamed else ".")
    before, after = sum(found.operators_a.values()), sum(found.operators_b.values())
    return (
        f"{before} nodes in the first, {after} in the second. {len(found.nodes_removed)} are only in the first, "
        f"{len(found.nodes_added)} only in the second, and {len(found.nodes_changed)} have other inputs or attributes."
    )


def _operators(found: Difference) -> list[tuple[str, int, int]]:
    before, after = found.operators_a, found.operators_b
    rows = [(name, before.get(name, 0), after.get(name, 0)) for name in {*before, *after}]
    return sorted(rows, key=lambda row: (-abs(row[1] - row[2]), -row[1], row[0]))


def _rows(found: Difference) -> Iterator[dict[str, Any]]:
    """All differences in one form: the kind, the graph, what it is, and how it is in both."""
    for kind, changes in (
        ("signature", found.signature),
        ("opset", found.opsets),
        ("function", found.functions),
    ):
        yield from _changed(kind, changes)
    steps = itertools.count(1)  # in the order of the story's
    for node in found.nodes_removed:
        yield _row("node only in the first", node.graph, node.output, node.text, "", next(steps))
    for node in found.nodes_added:
        yield _row("node only in the second", node.graph, node.output, "", node.text, next(steps))
    for pair in found.nodes_changed:
        step = next(steps)
        for change in pair.changes:
            what = f"{pair.before.text}: {change.what}"
            yield _row("node changed", pair.before.graph, what, change.before or "", change.after or "", step)
    yield from _changed("output made by another node", found.outputs)
    for kind, constants in (
        ("constant only in the first", found.constants_removed),
        ("constant stored once more in the first", found.constants_merged),
    ):
        for each in constants:
            yield _row(kind, each.graph, each.name, _stored(each), "")
    for kind, constants in (
        ("constant only in the second", found.constants_added),
        ("constant stored once more in the second", found.constants_copied),
    ):
        for each in constants:
            yield _row(kind, each.graph, each.name, "", _stored(each))
    yield from _exchanged("constant with another content", found.constants_changed)
    yield from _exchanged("constant stored in another way", found.constants_moved)
    yield from _changed("declaration", found.declared)
    yield from _changed("metadata", found.metadata)


def _changed(kind: str, changes: Iterable[Change]) -> Iterator[dict[str, Any]]:
    for change in changes:
        yield _row(kind, "", change.what, change.before or "", change.after or "")


def _exchanged(kind: str, changes: Iterable[ConstantChange]) -> Iterator[dict[str, Any]]:
    for change in changes:
        yield _row(kind, change.before.graph, change.before.name, _stored(change.before), _stored(change.after))


def _stored(constant: ConstantRef) -> str:
    return f"{constant.name}: {constant.type}, {constant.kind}"


def _row(kind: str, graph: str, what: str, before: str, after: str, step: int = 0) -> dict[str, Any]:
    where = graph or "the whole model"
    return {"kind": kind, "graph": where, "what": what, "before": before, "after": after, "step": step}
