"""A report as a notebook shows it: a small piece of HTML without scripts, in the notebook's own colours."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from foldproof.reporting.visible import visible

if TYPE_CHECKING:
    from foldproof.reporting.report import Report

MAX_ROWS = 8
"""Operators that are shown one by one."""

_CELL = 'style="text-align:right;padding:1px 10px"'
_NAME = 'style="text-align:left;padding:1px 10px"'


def fragment(report: Report) -> str:
    """The verdict, the numbers, and the operators that changed."""
    from foldproof.reporting.html.numbers import numbers_of
    from foldproof.reporting.html.report_page import VERDICTS, operator_rows, sentence

    word, _, sign = VERDICTS[report.verdict]
    numbers = [(n.title, n.before, n.after, n.change) for n in numbers_of(report)]
    changed = [row for row in operator_rows(report) if row[1] != row[2]]
    operators = [(name, str(before), str(after), f"{after - before:+d}") for name, before, after in changed[:MAX_ROWS]]
    rest = f"<p>and {len(changed) - MAX_ROWS} more operators</p>" if len(changed) > MAX_ROWS else ""
    notices = [*map(str, report.taken_back), *report.warnings]
    return (
        f"<div><p><strong>{sign} {escape(word)}.</strong> {_text(sentence(report))}</p>"
        f"{_table(('', 'before', 'after', 'change'), numbers)}"
        f"{_table(('operator', 'before', 'after', 'change'), operators) if operators else ''}{rest}"
        f"<p>{len(report.ledger)} rewrites{_written(report)}</p>"
        f"{''.join(f'<p>⚠ {_text(each)}</p>' for each in notices[:MAX_ROWS])}</div>"
    )


def _written(report: Report) -> str:
    return "" if report.output is None else f"; written: <code>{_text(report.output)}</code>"


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    titles = "".join(f'<th scope="col" {_CELL}>{escape(title)}</th>' for title in head)
    lines = "".join(
        f'<tr><th scope="row" {_NAME}>{_text(name)}</th>'
        f"{''.join(f'<td {_CELL}>{_text(text)}</td>' for text in texts)}</tr>"
        for name, *texts in rows
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>"


def _text(text: str) -> str:
    return escape(visible(text))
