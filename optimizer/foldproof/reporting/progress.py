"""One line in a terminal that says what verification is at. Nothing where the output is no terminal."""

from __future__ import annotations

import shutil
import sys
from types import TracebackType
from typing import TextIO

_CLEAR = "\r\x1b[K"


class ProgressLine:
    """Shows the last thing that it was told, and nothing any more when the `with` statement ends.

    Args:
        stream: Where to; the standard error output unless given.
        quiet: Show nothing.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._is_shown = not quiet and self._stream.isatty()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._is_shown:
            self._stream.write(_CLEAR)
            self._stream.flush()

    def __call__(self, words: str, done: int, steps: int) -> None:
        """Show what is done next, and how many of how many steps were done."""
        if not self._is_shown:
            return
        text = "".join(c if c.isprintable() else "?" for c in f"verifying {done + 1}/{steps}: {words}")
        self._stream.write(_CLEAR + text[: shutil.get_terminal_size().columns - 1])
        self._stream.flush()
