"""The numbers of a run, before and after, as a page shows them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Literal

from foldproof.dims import binding_text
from foldproof.reporting.report import Report
from foldproof.reporting.terminal import UNCLEAR, bytes_text, seconds_text


@dataclasses.dataclass(frozen=True)
class Number:
    """One number.

    Attributes:
        title: What it is.
        before: Of the model as it was given.
        after: Of the optimized model.
        change: The change in words, such as `-31 %`.
        kind: Whether that is good.
        note: What else there is to say.
    """

    title: str
    before: str
    after: str
    change: str = ""
    kind: Literal["better", "worse", "same"] = "same"
    note: str = ""


MAX_EXPRESSION = 48
"""A longer expression is not shown."""

MINUS = "\u2212"
_RAISED = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def numbers_of(report: Report) -> list[Number]:
    """All numbers that are known of a run."""
    return list(_numbers(report))


def _numbers(report: Report) -> Iterator[Number]:
    yield _count("nodes", sum(report.nodes_before.values()), sum(report.nodes_after.values()))
    before, after = report.costs_before, report.costs_after
    if before is not None and after is not None:
        yield _count("parameters", before.parameters, after.parameters)
    if report.bytes_before is not None and report.bytes_after is not None:
        change, kind = _change(report.bytes_before, report.bytes_after)
        yield Number("file size", bytes_text(report.bytes_before), bytes_text(report.bytes_after), change, kind)
    if before is not None and after is not None and before.macs is not None:
        unknown = before.macs_unknown
        note = f"{unknown} {'layer is' if unknown == 1 else 'layers are'} not counted" if unknown else ""
        if isinstance(before.macs, int) and isinstance(after.macs, int):
            yield dataclasses.replace(_count("multiply-accumulates", before.macs, after.macs), note=note)
        else:
            same = str(before.macs) == str(after.macs)
            text = "none known" if after.macs is None else _symbolic(after.macs)
            yield Number(
                "multiply-accumulates", _symbolic(before.macs), text, "unchanged" if same else "", "same", note
            )
    if report.measured is not None:
        yield from _times(report)


def _times(report: Report) -> Iterator[Number]:
    measured = report.measured
    assert measured is not None
    pairs, binding = len(measured.original.runs), binding_text(measured.binding)
    notes = "in onnxruntime, median", f"median at {binding}; less in {measured.faster} of {pairs} pairs of runs"
    for title, found, note in zip(("load time", "latency"), (measured.load, measured.latency), notes, strict=True):
        change, kind = _change(found.before, found.after) if found.is_clear else (UNCLEAR, "same")
        yield Number(title, seconds_text(found.before), seconds_text(found.after), change, kind, note)


def _count(title: str, before: int, after: int) -> Number:
    change, kind = _change(before, after)
    return Number(title, _grouped(before), _grouped(after), change, kind)


def _change(before: float, after: float) -> tuple[str, Literal["better", "worse", "same"]]:
    if before == after:
        return "unchanged", "same"
    kind: Literal["better", "worse"] = "better" if after < before else "worse"
    if before == 0:
        return f"+{after:g}", kind
    percent = 100 * (after - before) / before
    if abs(percent) < 0.01:
        return f"{MINUS if percent < 0 else '+'} less than 0.01 %", "same"
    digits = f"{abs(percent):.0f}" if abs(percent) >= 9.5 else f"{abs(percent):.1g}"
    return f"{MINUS if percent < 0 else '+'}{digits} %", kind


def _grouped(number: int) -> str:
    if number >= 10**10:
        return f"{number / 10**9:,.1f} G"
    if number >= 10**7:
        return f"{number / 10**6:,.1f} M"
    return f"{number:,}"


def _symbolic(macs: int | str) -> str:
    return _grouped(macs) if isinstance(macs, int) else _written(macs)


def _written(expression: str) -> str:
    """An expression as a person writes it: `3*n**2` as `3·n²`; of one that is too long only that it varies."""
    if len(expression) > MAX_EXPRESSION:
        return "varies with the dims"
    powers = re.sub(r"\*\*([0-9]+)", lambda power: power[1].translate(_RAISED), expression)
    return re.sub(r"\d{5,}", lambda number: f"{int(number[0]):,}", powers).replace("*", "·")
