"""Running the original once more: what differs from itself, or fails by chance, proves nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldproof.engines import Allowance, Engine, EngineError, OnnxRuntime, OutOfMemory, Runnable, TimedOut, Worker

_POISON = 0xA5


class Repetition:
    """Runs a model again: as before, and in a process in which fresh memory has other content.

    Some operators hand out memory that they never wrote, at dims of 0 for one. Such a result may well be the same twice
    in a row, and is no result.

    Args:
        model: The original.
        engine: What runs it.
        allowance: What it may take.
    """

    def __init__(self, model: Runnable, engine: Engine, allowance: Allowance) -> None:
        self._model = model
        self._engine = engine
        self._worker = Worker(poison=_POISON)
        self._worker.allowance = allowance
        self._poisoned: Engine | None = None

    def close(self) -> None:
        """End the other process, if there is one."""
        self._worker.close()

    def of(self, feed: Mapping[str, Any], seconds: float) -> Iterator[dict[str, Any] | None]:
        """What the model hands out each time, by name: None where it fails, nothing where it lacks time or memory.

        Args:
            feed: The inputs.
            seconds: The time limit of each run.
        """
        for load in (lambda: self._engine, self._in_other_memory):
            try:
                engine = load()
            except EngineError:  # such as a process that can't be started, which says nothing of the model
                continue
            if engine is None:
                continue
            try:
                values = engine.run(feed, seconds)
            except (TimedOut, OutOfMemory):
                continue
            except EngineError:
                yield None
            else:
                yield dict(zip(engine.outputs, values, strict=True))

    def _in_other_memory(self) -> Engine | None:
        if self._poisoned is None and isinstance(self._engine, OnnxRuntime):
            self._poisoned = OnnxRuntime(self._model, worker=self._worker, provider=self._engine.provider)
        return self._poisoned
