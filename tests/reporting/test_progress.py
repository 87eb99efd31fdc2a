from __future__ import annotations

import io
import re
import time

import pytest

import foldproof
from foldproof.reporting.progress import ProgressDisplay
from tests.helpers import parse


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _a_usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def shown(stream: io.StringIO, *, wait: bool = True) -> str:
    """What stands in the terminal when a few steps are told; after the display has begun, if it is to be waited for."""
    with ProgressDisplay(stream, delay=0.0 if wait else 60.0) as progress:
        progress("verifying at all dims 1", 0, 4)
        end = time.monotonic() + 10
        while wait and "verifying" not in stream.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
        progress.under("verifying at")("batch=0\x1b[2J", 3, 4)
    return stream.getvalue()


def test_a_terminal_shows_what_is_done_and_how_much_of_it_was() -> None:
    text = shown(Terminal())
    assert "verifying at all dims 1" in text
    assert "verifying at batch=0\\x1b[2J" in text
    assert "75%" in text
    assert text.endswith(("\x1b[1A\x1b[2K", "\x1b[2K"))  # the line is gone in the end


def test_what_takes_no_second_shows_nothing() -> None:
    assert shown(Terminal(), wait=False) == ""


def test_without_colors_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    colors = re.compile(r"\x1b\[[0-9;]*3[0-9][;m]|\x1b\[38")
    assert colors.search(shown(Terminal()))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colors.search(shown(Terminal()))


def test_where_there_is_no_terminal_or_no_wish_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        with ProgressDisplay(stream, quiet=quiet, delay=0.0) as progress:
            progress("verifying at all dims 1", 0, 3)
            time.sleep(0.1)
        assert stream.getvalue() == ""
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with ProgressDisplay(stream, delay=0.0) as progress:
        progress("verifying at all dims 1", 0, 3)
        time.sleep(0.3)
    assert stream.getvalue() == ""


def test_a_run_tells_of_all_its_stages() -> None:
    told: list[tuple[str, int, int]] = []
    model = parse("g (float[N,3] x) => (float[N,3] y) { a = Identity(x) y = Relu(a) }")
    optimizer = foldproof.Optimizer(foldproof.Options(), progress=lambda *step: told.append(step))
    optimizer.run(model)
    words = [step[0] for step in told]
    assert words[0] == "reading the model"
    assert "proving facts" in words
    assert any(each.startswith("optimizing: ") for each in words)
    assert any(each.startswith("verifying at ") for each in words)
    assert all(0 <= done <= steps for _, done, steps in told)
