"""The command's way in, also as `python -m foldproof`.

What it imports takes a moment, in which nothing is begun: Ctrl-C ends it there without a word.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Runs the command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where whoever started us wants it ignored
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))
    from foldproof.cli import main as command
    from foldproof.cli.streams import guard_standard_streams, open_closed_streams

    open_closed_streams()
    guard_standard_streams()
    try:
        command()
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()  # at the very end an error would have a status of Python's own


if __name__ == "__main__":
    main()
