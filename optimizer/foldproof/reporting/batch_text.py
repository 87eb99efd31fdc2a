"""What became of the models of a batch, for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from foldproof.reporting.terminal import bytes_text, safe

if TYPE_CHECKING:
    from foldproof.batch.outcome import Outcome

_COLORS = {"done": "green", "unverified": "yellow"}


class BatchDisplay:
    """Prints a line for each model when it has ended, and a table of all in the end.

    Args:
        count: How many models there are.
        verbose: Show all warnings, and also what earlier runs did.
        console: Where to; the standard output unless given.
    """

    def __init__(self, count: int, *, verbose: bool = False, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._count = count
        self._number = 0
        self._verbose = verbose

    def show(self, outcome: Outcome) -> None:
        """Prints what became of one model."""
        self._number += 1
        if outcome.kept and not self._verbose:
            return
        number = f"{self._number:>{len(str(self._count))}}/{self._count}"
        status = f"[{_COLORS.get(outcome.status, 'red')}]{outcome.status:<10}[/]"
        facts = ", ".join(_facts(outcome))
        self._print(f"{number}  {status}  {safe(outcome.name)}{'  ' if facts else ''}{facts}")
        if outcome.error is not None:
            self._print(f"{' ' * len(number)}  {safe(outcome.error)}")
        for warning in outcome.warnings if self._verbose else ():
            self._print(f"{' ' * len(number)}  [yellow]warning:[/] {safe(warning)}")

    def show_sum(self, outcomes: Sequence[Outcome]) -> None:
        """Prints how many models ended how, and what all of them gained."""
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
        for name in ("outcome", "models", "kept", "nodes", "bytes", "seconds"):
            table.add_column(name, justify="left" if name == "outcome" else "right")
        for status, count in Counter(each.status for each in outcomes).most_common():
            ended = [each for each in outcomes if each.status == status]
            table.add_row(
                f"[{_COLORS.get(status, 'red')}]{status}[/]",
                str(count),
                str(sum(each.kept for each in ended)),
                _gain([each.nodes for each in ended]),
                _gain([each.bytes for each in ended], in_bytes=True),
                f"{sum(each.seconds for each in ended):.1f}",
            )
        self._console.print()
        self._console.print(table)
        warnings = sum(bool(each.warnings) for each in outcomes)
        if warnings and not self._verbose:
            self._print(f"models with warnings: {warnings}; -v shows them, and so does --json")

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)


def _facts(outcome: Outcome) -> list[str]:
    """What a line tells besides the outcome."""
    found = ["an earlier run did it"] if outcome.kept else []
    if outcome.nodes is not None:
        found.append(f"{outcome.nodes[0]} -> {outcome.nodes[1]} nodes")
    if outcome.bytes is not None:
        found.append(f"{bytes_text(outcome.bytes[0])} -> {bytes_text(outcome.bytes[1])}")
    return [*found, f"{outcome.seconds:.1f} s"]


def _gain(pairs: Sequence[tuple[int, int] | None], *, in_bytes: bool = False) -> str:
    """A number of all models, before and after."""
    known = [pair for pair in pairs if pair is not None]
    if not known:
        return ""
    before, after = (sum(pair[side] for pair in known) for side in (0, 1))
    return f"{bytes_text(before)} -> {bytes_text(after)}" if in_bytes else f"{before} -> {after}"
