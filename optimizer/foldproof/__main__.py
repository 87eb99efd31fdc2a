"""The command's way in, also as `python -m foldproof`.

What it imports takes a moment, in which nothing is begun: Ctrl-C ends it there without a word.
"""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Runs the command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where whoever started us wants it ignored
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))
    from foldproof.cli import main as command

    command()


if __name__ == "__main__":
    main()
