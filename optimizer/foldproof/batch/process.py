"""One task in a process of its own. Whatever it does, takes or waits for, it harms no other."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType

from foldproof.batch import child
from foldproof.batch.outcome import Outcome
from foldproof.batch.task import Task
from foldproof.engines.worker_process import cause_of_death
from foldproof.errors import UsageError

_GRACE = 5.0
"""How long a process has to take away its temporary files (seconds), before it is killed."""

_POLL = 0.05


class TaskProcess:
    """A process that does a task. It is started at once, and ended by `close` if it has not ended by itself.

    It has no terminal's signals, and it ends itself where the process that started it is no more.

    Args:
        task: The task.
        memory: The bytes that it may have for its own, where the platform can limit that.

    Raises:
        UsageError: The system lets no further process start.
    """

    def __init__(self, task: Task, memory: int | None = None) -> None:
        self.task = task
        self._start = time.monotonic()
        self._folder = tempfile.TemporaryDirectory(prefix="foldproof-")
        self._answer = Path(self._folder.name) / "outcome.json"
        self._words = (Path(self._folder.name) / "words").open("w+b")
        try:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(child.__file__).resolve())],
                stdin=subprocess.PIPE,
                stdout=self._words,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a group of its own: with it ends all that it has started
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise UsageError(f"no process can be started: {error}", hint="Try fewer with --workers") from error
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it is dead already, which `outcome` will find
            for part in (sys.path, (str(self._answer), memory, task)):
                pickle.dump(part, self._process.stdin)
            self._process.stdin.flush()  # it stays open: its end is how the process knows of ours

    def __enter__(self) -> TaskProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def outcome(self) -> Outcome | None:
        """What became of the task; None while it goes on. A process that is beyond its time limit is ended."""
        seconds = time.monotonic() - self._start
        if self._has_ended():
            return self._told(seconds)
        if self.task.seconds is None or seconds < self.task.seconds:
            return None
        self.close()
        hint = "Give it more with --time-limit"
        return self.task.ended("time limit", f"it took longer than {self.task.seconds:g} seconds. {hint}.", seconds)

    def wait(self) -> Outcome:
        """Waits for the outcome."""
        while (outcome := self.outcome()) is None:
            time.sleep(_POLL)
        return outcome

    def terminate(self) -> None:
        """Asks the process to end. It takes away its temporary files first."""
        with contextlib.suppress(OSError):
            self._process.terminate()

    def close(self) -> None:
        """Ends the process and all that it has started. Temporary files of it are taken away."""
        if self._process.returncode is None:
            self._end()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._words.close()
        self._folder.cleanup()

    def _has_ended(self) -> bool:
        """Whether it has ended. It is not yet let go, so that its number is still its own."""
        if hasattr(os, "waitid"):
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return self._process.poll() is not None

    def _end(self) -> None:
        if not self._has_ended():
            self.terminate()
            deadline = time.monotonic() + _GRACE
            while not self._has_ended() and time.monotonic() < deadline:
                time.sleep(_POLL)
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing of it is left
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()

    def _told(self, seconds: float) -> Outcome:
        """What the process told before it ended."""
        self._end()
        try:
            return Outcome.from_dict(json.loads(self._answer.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            cause = cause_of_death(self._process.returncode, self._words)
            return self.task.ended("died", cause, seconds)
        finally:
            self.close()


def perform_apart(task: Task) -> Outcome:
    """Does a task in a process of its own, and waits for it."""
    with TaskProcess(task) as process:
        return process.wait()
