"""The standard streams of the command: what becomes of text that can't be encoded, and of what can't be written."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TextIO

from foldproof.errors import WriteError

NOBODY_READS = 128 + getattr(signal, "SIGPIPE", 13)
"""The exit status where whoever read the standard output has closed it: that of programs which the signal ends."""


def guard_standard_streams() -> None:
    """Lets nothing that is printed make a run end as another.

    Characters that a stream's encoding lacks are escaped. A standard output that nobody reads any more ends the command
    without a word, one that can't be written for another reason with a message; of the standard error output nothing
    depends. For the command's own process alone, and once: where a program that runs the command in its own process has
    put another stream there, that one stays.
    """
    if _is_own(sys.stdout, sys.__stdout__):
        sys.stdout = _guarded(sys.stdout, _end)
    if _is_own(sys.stderr, sys.__stderr__):
        sys.stderr = _guarded(sys.stderr, lambda error: None)


def open_closed_streams() -> None:
    """Opens the null device in the place of each standard stream that whoever started us closed.

    A file that is opened next would have its number, and get what a process that we start prints.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # it gets the lowest number that is free: this one
            os.set_inheritable(null, True)


def _is_own(stream: TextIO | None, own: TextIO | None) -> bool:
    return stream is not None and stream is own


class _Guard(io.BufferedWriter):
    """Bytes on their way to a stream.

    Args:
        raw: The stream.
        fail: Is told of an error, after which what is written is lost.
    """

    def __init__(self, raw: io.RawIOBase, fail: Callable[[OSError], None]) -> None:
        super().__init__(raw)
        self._fail = fail

    def write(self, data: Any) -> int:
        """Takes bytes, and passes on as many as there is no room for."""
        try:
            return super().write(data)
        except OSError as error:
            self._lose(error)
            return memoryview(data).nbytes

    def flush(self) -> None:
        """Passes on all bytes."""
        try:
            super().flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        null = os.open(os.devnull, os.O_WRONLY)  # what waits to be written goes there when the process ends
        os.dup2(null, self.fileno())
        os.close(null)
        self._fail(error)


def _guarded(stream: TextIO, fail: Callable[[OSError], None]) -> TextIO:
    stream.flush()
    raw: Any = getattr(stream.buffer, "raw", stream.buffer)  # by `python -u` there is no buffer before it
    return io.TextIOWrapper(
        _Guard(raw, fail),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=getattr(stream, "line_buffering", False),
        write_through=getattr(stream, "write_through", False),
    )


def _end(error: OSError) -> NoReturn:
    if isinstance(error, BrokenPipeError):
        sys.exit(NOBODY_READS)
    if sys.stderr is not None:
        sys.stderr.write(f"foldproof: error: the standard output can't be written: {error.strerror or error}\n")
    sys.exit(WriteError.exit_status)
