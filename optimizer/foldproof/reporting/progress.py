"""A live line in a terminal that says what is done, where that takes longer than a moment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from foldproof.reporting.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

DELAY = 1.0
"""What takes no longer than this shows nothing (seconds)."""


class ProgressDisplay:
    """Shows the last thing that it was told, with a bar, and nothing any more when the `with` statement ends.

    Args:
        stream: Where to; the standard error output unless given.
        quiet: Show nothing.
        delay: When it first shows, in seconds.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False, delay: float = DELAY) -> None:
        self._stream: TextIO | None = stream or sys.stderr  # None where whoever started us closed it
        self._is_wanted = not quiet and self._stream is not None and self._stream.isatty()
        self._delay = delay
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._last: tuple[str, int, int] = ("", 0, 0)

    def __enter__(self) -> ProgressDisplay:
        if self._is_wanted:
            self._timer = threading.Timer(self._delay, self._begin)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            self._is_wanted = False
            if self._bar is not None:
                self._bar.stop()

    def __call__(self, words: str, done: int, steps: int) -> None:
        """Show what is done now, and how much of how much was done; 0 of 0 where nobody knows."""
        self._last = words, done, steps
        if self._bar is not None:
            with self._lock:
                self._show()

    def under(self, stage: str) -> Callable[[str, int, int], None]:
        """The same for what says nothing of the stage that it is part of."""
        return lambda words, done, steps: self(f"{stage} {words}", done, steps)

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        words = TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True))
        columns = SpinnerColumn(), words, BarColumn(16), TaskProgressColumn(), TimeElapsedColumn()
        console = Console(file=self._stream)
        with self._lock:
            if not self._is_wanted or console.is_dumb_terminal:
                return
            bar = Progress(*columns, console=console, transient=True, expand=True, redirect_stdout=False)
            self._task = bar.add_task("", total=None)
            self._bar = bar
            self._show()
            bar.start()

    def _show(self) -> None:
        assert self._bar is not None
        assert self._task is not None
        words, done, steps = self._last
        self._bar.tasks[0].total = steps or None  # `update` takes None for no change
        self._bar.update(self._task, description=visible(words), completed=done)
