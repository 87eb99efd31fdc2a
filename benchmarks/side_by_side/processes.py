"""A process, and what it took: seconds, CPU, memory."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence

# How often the memory of a process is looked at, in seconds. Its own peak is kept by the kernel, so that a look shortly
# before it ends is enough.
_PAUSE = 0.02


@dataclasses.dataclass(frozen=True)
class Ended:
    """What is known of a process that has ended.

    Attributes:
        status: Its exit status; that of a signal is negative.
        timed_out: Whether it was stopped because its time was up.
        wall: Seconds from its start to its end.
        cpu: Seconds of CPU, user and system, with those of its children that it waited for.
        peak_mib: The greatest resident memory of the process plus that of each of those descendants that were there at
            the same time, in MiB. Where there is no /proc, that of the largest of them alone.
        own_mib: The greatest resident memory of the process alone; 0 where there is no /proc.
        output: What it wrote to its standard output.
        errors: What it wrote to its standard error.
    """

    status: int
    timed_out: bool
    wall: float
    cpu: float
    peak_mib: float
    own_mib: float
    output: str
    errors: str

    @property
    def complaint(self) -> str:
        """The last line that it wrote to its standard error, or how it ended."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        if self.timed_out:
            return f"stopped after {self.wall:.0f} s"
        if self.status < 0:
            return f"ended by {signal.Signals(-self.status).name}"
        return lines[-1][:300] if lines else f"exit status {self.status}"


def run(command: Sequence[str], timeout: float, env: Mapping[str, str] | None = None) -> Ended:
    """Runs a process to its end.

    Args:
        command: The program and its arguments.
        timeout: After so many seconds it is stopped, and with it all that it started.
        env: The environment; that of this process if it is None.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=env, start_new_session=True)
        watch = _Watch(process.pid, start + timeout)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            wall = time.perf_counter() - start
            watch.stop()
            _end_group(process.pid)  # what it left behind, or all of it if this process was interrupted
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        return Ended(
            process.returncode,
            watch.timed_out,
            wall,
            usage.ru_utime + usage.ru_stime,
            watch.peak_mib or usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10),
            watch.own_mib,
            output.read().decode(errors="replace"),
            errors.read().decode(errors="replace"),
        )


class _Watch:
    """Looks at a process from a thread: how much memory it takes, and whether its time is up."""

    def __init__(self, pid: int, deadline: float) -> None:
        self.timed_out = False
        self._pid = pid
        self._deadline = deadline
        self._peaks: dict[str, int] = {}
        self._together: set[frozenset[str]] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def peak_mib(self) -> float:
        """The greatest sum of the peaks of processes that were there together; 0 where nothing tells of them."""
        sums = (sum(self._peaks[pid] for pid in pids) for pids in self._together)
        return max(sums, default=0) / 2**10

    @property
    def own_mib(self) -> float:
        """The peak of the process alone; 0 where nothing tells of it."""
        return self._peaks.get(str(self._pid), 0) / 2**10

    def stop(self) -> None:
        """Ends the watch, after the process has ended."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_PAUSE):
            self._together.add(frozenset(self._look(str(self._pid))))
            if time.perf_counter() > self._deadline and not self.timed_out:
                self.timed_out = True
                _end_group(self._pid)

    def _look(self, pid: str) -> Iterator[str]:
        """Those of a process and its descendants that are there."""
        folder = pathlib.Path("/proc", pid)
        try:
            status = (folder / "status").read_text()
            children = [child for file in folder.glob("task/*/children") for child in file.read_text().split()]
        except OSError:  # it has ended, or there is no /proc
            return
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                # The last look counts, not the greatest: before it runs its own program, a new process shows the memory
                # of the one that it was made from.
                self._peaks[pid] = int(line.split()[1])
                yield pid
        for child in children:
            yield from self._look(child)


def _end_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # nothing is left of it
        return
