"""Finds the first rewrite of a run with which something goes wrong that the person can test."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from foldproof.errors import UsageError

CANNOT_RUN = (126, 127)
"""The exit statuses by which a shell tells that a command is not there, or is no program."""


def first_bad(length: int, is_bad: Callable[[int], bool]) -> int:
    """The shortest prefix of a ledger that is bad.

    Args:
        length: The length of the ledger, which is bad as a whole, where an empty one is good.
        is_bad: Tells whether a prefix is bad. It is asked about log2(length) times.

    Returns:
        The length of the prefix: the number of the rewrite that makes it bad.
    """
    good, bad = 0, length
    while bad - good > 1:
        middle = (good + bad) // 2
        if is_bad(middle):
            bad = middle
        else:
            good = middle
    return bad


class Suspicion:
    """A person's command that tells a good model from a bad one, by its exit status.

    Args:
        command: The command as in a shell; `{}` stands for the path of the model, which is else put at its end.

    Raises:
        UsageError: It is no command.
    """

    def __init__(self, command: str) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"{command!r} is no command: {error}") from error
        if not self._words:
            raise UsageError("the command is empty", hint="Give one that fails where the model is bad")

    def blames(self, write: Callable[[Path], object]) -> bool:
        """Whether the command fails for a model.

        Args:
            write: Writes the model, and its data, to the path that it is given.

        Raises:
            UsageError: The command can't be run.
        """
        with tempfile.TemporaryDirectory(prefix="foldproof-") as folder:
            path = Path(folder) / "model.onnx"
            write(path)
            words = [word.replace("{}", str(path)) for word in self._words]
            if words == self._words:
                words.append(str(path))
            try:
                status = subprocess.run(words, check=False, stdout=subprocess.DEVNULL).returncode
            except OSError as error:
                raise UsageError(f"the command {words[0]!r} can't be run: {error.strerror}") from error
        if status in CANNOT_RUN:
            raise UsageError(f"the command {words[0]!r} can't be run: it ended with {status}")
        return status != 0
