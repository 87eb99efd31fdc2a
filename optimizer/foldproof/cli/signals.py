"""An end by a signal, such as Ctrl-C or `kill`, cleans up: no temporary file stays."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import click

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextlib.contextmanager
def ending_by_signal() -> Iterator[None]:
    """Makes these signals an exception, so that what was begun is undone. The exit status is 128 and their number.

    A signal that comes while that is done is left alone, and so is one that whoever started us wants to be ignored.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def end(number: int, frame: FrameType | None) -> None:
        for each in handled:
            signal.signal(each, signal.SIG_IGN)
        click.echo("foldproof: interrupted", err=True)
        sys.exit(128 + number)

    handled = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    try:
        for number in handled:
            signal.signal(number, end)
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])
