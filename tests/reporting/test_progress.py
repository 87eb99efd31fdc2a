from __future__ import annotations

import io

from foldproof.reporting.progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_each_step_and_nothing_at_the_end() -> None:
    stream = Terminal()
    with ProgressLine(stream) as progress:
        progress("all dims 1", 0, 3)
        progress("batch=0\x1b[2J", 2, 3)
    shown = stream.getvalue().split("\r\x1b[K")
    assert shown == ["", "verifying 1/3: all dims 1", "verifying 3/3: batch=0?[2J", ""]


def test_where_there_is_no_terminal_or_no_wish_nothing_is_shown() -> None:
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        with ProgressLine(stream, quiet=quiet) as progress:
            progress("all dims 1", 0, 3)
        assert stream.getvalue() == ""
