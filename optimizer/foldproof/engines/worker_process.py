"""The child process that runs models: started when it is needed, ended at a time limit, replaced when it dies.

Native code can hang, or take its process with it: a division of integers by 0, an operator that can't stand a dim of 0.
So nothing of onnxruntime is loaded into the person's process. It is a process of its own and no fork: it works from
threads and notebooks, and a script needs no guard around its main part.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Any

from foldproof.engines import worker
from foldproof.engines.allowance import Allowance
from foldproof.engines.engine import Died, EngineError, Killed, OutOfMemory, TimedOut
from foldproof.memory import usable_memory

# A run that does not stop by itself at its time limit is ended so much later (seconds).
_GRACE = 1.0
# How long a new process may take until it can load a model (seconds).
_BEGINNING = 60.0
# The bytes that a pipe holds, where the platform lets that be chosen: fewer switches for large arrays.
_PIPE = 1 << 20
# How much of what a child said before it died is told.
_LAST_WORDS = 2000

# The signal by which the system ends a process where memory runs out; `signal` has no name for it everywhere.
_SIGKILL = 9

# What is raised for an answer that is none.
_ERRORS = {"failed": EngineError, "exhausted": OutOfMemory, "stopped": TimedOut}

_LENT: contextvars.ContextVar[Worker | None] = contextvars.ContextVar("_LENT", default=None)


class Worker:
    """A child process that runs models, for as long as the `with` statement lasts.

    It is started at the first request. Where it dies or is ended at a time limit, the request fails, and the next one
    starts another. One request is answered at a time; several threads may make them.

    Args:
        memory: The bytes that the child may have for its own, where the platform can limit that. None: three quarters
            of what is available when it is started.
        poison: A byte that fresh memory is filled with, where the C library can do that: what a model hands out without
            having written it shows by it.
        threads: How many threads a session computes with; unless given, as many as those of the process that was lent,
            or as there are cores.

    Attributes:
        allowance: What any model may take that is loaded or run from now on.
        generation: How many processes were started. What was loaded into an earlier one is gone.
    """

    def __init__(self, memory: int | None = None, poison: int | None = None, threads: int | None = None) -> None:
        lent = _LENT.get()
        self._threads: int | None = lent._threads if threads is None and lent is not None else threads
        self._poison = poison
        self._memory = memory
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed: subprocess.Popen[bytes] | None = None
        self._words: IO[bytes] | None = None
        self._owner = 0
        self._keys = 0
        self._released: list[int] = []
        self._finalizer: weakref.finalize[..., Worker] | None = None
        self.allowance = Allowance()
        self.generation = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if there is one. A later request would start another.

        A request that another thread has made is not waited for: it might never be answered. It fails as timed out.
        """
        self._closed = process = self._process
        if self._finalizer is not None:
            self._finalizer()
        with self._lock:
            if self._process is process:
                self._process = None

    @contextlib.contextmanager
    def lent(self) -> Iterator[Worker]:
        """Let all that runs models in the body use this process, where it is given no other."""
        token = _LENT.set(self)
        try:
            yield self
        finally:
            _LENT.reset(token)

    @staticmethod
    def borrowed() -> Worker | None:
        """The worker that was lent to what runs now; None where none was."""
        return _LENT.get()

    def new_key(self) -> int:
        """A key for one more model."""
        with self._lock:
            self._keys += 1
            return self._keys

    def release(self, key: int) -> None:
        """Let go of a model, when the next request is made."""
        self._released.append(key)

    def load(
        self, key: int, content: bytes | str, settings: worker.Settings, seconds: float | None = None
    ) -> tuple[str, tuple[str, ...], int]:
        """Load a model.

        Args:
            key: What later requests call it.
            content: Its bytes, or the path of its file.
            settings: How to load it.
            seconds: The time limit.

        Returns:
            The engine's name, the names of the outputs, and the generation of the process that holds it.

        Raises:
            EngineError: onnxruntime can't load it.
            TimedOut: The time is over.
            OutOfMemory: There is not enough memory; `Killed` where the system ends the process for that.
            Died: It takes the process with it.
        """
        with self._lock:
            # As a buffer it is not copied into the message.
            given = pickle.PickleBuffer(content) if isinstance(content, bytes) else content
            settings = {**settings, "threads": self._threads}
            memory = _least(settings["memory"], self.allowance.memory)
            if not self._is_alive():
                self._ask(("begin", self._taken(), settings["reference"]), _BEGINNING)
            name, outputs = self._ask(("load", self._taken(), key, memory, given, settings), seconds)
            return name, outputs, self.generation

    def run(
        self,
        key: int,
        generation: int,
        feeds: dict[str, Any],
        seconds: float | None,
        shapes_of: frozenset[str],
        memory: int | None,
    ) -> tuple[list[Any], dict[int, tuple[int, ...]]] | None:
        """Run a model.

        Args:
            key: Which.
            generation: That of the process that it was loaded into.
            feeds: The inputs.
            seconds: The time limit.
            shapes_of: Of these outputs only the shape is wanted.
            memory: How many bytes it may take beyond what the process has.

        Returns:
            The outputs, and the shapes of those of which only that is wanted, by their place. None: the process that
            the model was loaded into is no more.

        Raises:
            EngineError: The model fails at this feed.
            TimedOut: The time is over.
            OutOfMemory: There is not enough memory; `Killed` where the system ends the process for that.
            Died: It takes the process with it.
        """
        with self._lock:
            if generation != self.generation or not self._is_alive():
                return None
            memory = _least(memory, self.allowance.for_inputs(feeds))
            values, shapes = self._ask(("run", self._taken(), key, memory, feeds, seconds, shapes_of), seconds)
            return values, shapes

    def measure(
        self, contents: list[bytes | str], settings: worker.Settings, feeds: dict[str, Any], seconds: float
    ) -> list[tuple[list[float], list[float]]]:
        """Load and run models in turns, and see how long that takes.

        Args:
            contents: The models: their bytes, or the paths of their files.
            settings: How to load them.
            feeds: The inputs.
            seconds: After this time there is no further run.

        Returns:
            For each model how long each load took, and each run, in seconds.

        Raises:
            EngineError: One of them can't be loaded, or fails at these inputs.
            TimedOut: It takes 30 times as long: one of them hangs.
            OutOfMemory: There is not enough memory; `Killed` where the system ends the process for that.
            Died: One of them takes the process with it.
        """
        with self._lock:
            given = [pickle.PickleBuffer(each) if isinstance(each, bytes) else each for each in contents]
            (times,) = self._ask(("measure", self._taken(), given, settings, feeds, seconds), 30 * seconds)
            return list(times)

    def _taken(self) -> list[int]:
        taken, self._released = self._released, []
        return taken

    def _is_alive(self) -> bool:
        # After a fork the process is the parent's, not ours.
        return self._process is not None and self._owner == os.getpid() and self._process.poll() is None

    def _ask(self, request: tuple[Any, ...], seconds: float | None) -> tuple[Any, ...]:
        if not self._is_alive():
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with _ended_after(process, seconds) as ended:
                worker.send(process.stdin, request)
                kind, *answer = worker.receive(process.stdout)
        except (EOFError, OSError, ValueError) as error:
            if isinstance(error, ValueError) and process is not self._closed:  # not that of a closed stream
                self.close()
                raise
            process.wait()
            if ended.is_set():
                raise TimedOut("it was ended at the time limit") from error
            if process is self._closed:
                raise TimedOut("it was ended") from error
            cause = cause_of_death(process.returncode, self._words)
            if process.returncode == -_SIGKILL:  # and not by us
                raise Killed(cause) from error
            is_short = any(sign in cause for sign in worker.SIGNS_OF_NO_MEMORY)
            raise (OutOfMemory if is_short else Died)(cause) from error
        except MemoryError as error:  # here, not in the child: what is left of the answer has no reader
            self.close()
            raise OutOfMemory("what it hands out does not fit into memory") from error
        except BaseException:  # such as Ctrl-C: the answer would be taken for that to the next request
            self.close()
            raise
        if ended.is_set():
            process.wait()
        if kind == "exhausted" and self.allowance.memory is not None:
            self.close()  # What the session took it keeps, and the next run may take as much again.
        if kind in _ERRORS:
            raise _ERRORS[kind](answer[0])
        return tuple(answer)

    def _start(self) -> None:
        """Start a process.

        Raises:
            EngineError: There is no Python to start.
        """
        self.close()
        if not sys.executable:
            raise EngineError("there is no Python to start a process with: sys.executable is empty")
        self._words = tempfile.TemporaryFile(prefix="foldproof-")  # noqa: SIM115  it lives as long as the process
        # Builds of onnxruntime that report its use over the network don't, unless the person's environment says so.
        environment = {"ORT_DISABLE_TELEMETRY": "1", **os.environ}
        if self._poison is not None:
            environment["MALLOC_PERTURB_"] = str(self._poison)
        try:
            process = subprocess.Popen(
                [sys.executable, str(pathlib.Path(worker.__file__).resolve())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                env=environment,
                pipesize=_PIPE,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            raise EngineError(f"no process can be started: {error}") from error
        self._process = process
        self._owner = os.getpid()
        self._released = []
        self._finalizer = weakref.finalize(self, _end, process, self._words, self._owner)
        self.generation += 1
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # the request will find it dead
            limit = usable_memory() if self._memory is None else self._memory
            worker.send(process.stdin, (sys.path, limit))


def _least(*limits: int | None) -> int | None:
    return min((each for each in limits if each is not None), default=None)


def cause_of_death(status: int, words: IO[bytes] | None) -> str:
    """How a process ended, with the last line that it said.

    Args:
        status: Its exit status; negative for a signal.
        words: What it said; None where nobody listened.
    """
    said = ""
    if words is not None:
        size = words.seek(0, os.SEEK_END)
        words.seek(max(0, size - _LAST_WORDS))
        said = words.read().decode(errors="replace").strip()
    cause = f"it ended its process with {_status(status)}"
    return f"{cause}: {said.splitlines()[-1]}" if said else cause


def _status(status: int) -> str:
    if status >= 0:
        return f"status {status:#x}" if status > 255 else f"status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"{name}, perhaps for lack of memory" if status == -_SIGKILL else name


@contextlib.contextmanager
def _ended_after(process: subprocess.Popen[bytes], seconds: float | None) -> Iterator[threading.Event]:
    """End a process if the body takes too long; the event tells."""
    ended = threading.Event()
    if seconds is None:
        yield ended
        return

    def end() -> None:
        ended.set()
        process.kill()

    timer = threading.Timer(max(seconds, 0.0) + _GRACE, end)
    timer.daemon = True
    timer.start()
    try:
        yield ended
    finally:
        timer.cancel()


def _end(process: subprocess.Popen[bytes], words: IO[bytes], owner: int) -> None:
    if owner != os.getpid():
        return
    process.kill()  # it has nothing to lose
    for stream in (process.stdin, process.stdout, words):
        if stream is not None:
            with contextlib.suppress(OSError):  # what was not yet written can't be any more
                stream.close()
    process.wait()
