"""A model that is loaded and run in the worker's process."""

from __future__ import annotations

import pathlib
import weakref
from collections.abc import Collection
from typing import Any

import numpy as np

from foldproof.engines.engine import EngineError, Feeds, Runnable
from foldproof.engines.worker import Settings
from foldproof.engines.worker_process import Worker


class Remote:
    """A model in the worker's process. Where that has died since, the model is loaded again.

    Args:
        model: A model, or the path of its file. A model is not copied: it must stay as it is.
        settings: How to load it.
        worker: The process to run it in; unless given, one that was lent, or one of its own.
        seconds: The time limit for loading it.

    Attributes:
        name: The engine's name and version.
        outputs: The names of the outputs, in order.

    Raises:
        EngineError: It can't be loaded.
        TimedOut: It takes too long.
        OutOfMemory: There is not enough memory.
        Died: It takes the worker's process with it.
    """

    def __init__(self, model: Runnable, settings: Settings, worker: Worker | None, seconds: float | None) -> None:
        self._model = model
        self._worker = worker or Worker.borrowed() or Worker()
        self._settings = settings
        self._key = self._worker.new_key()
        self._load(seconds)
        weakref.finalize(self, self._worker.release, self._key)

    def _load(self, seconds: float | None) -> None:
        if isinstance(self._model, pathlib.Path):
            # Links stay: onnxruntime looks for the data beside a link too, as a cache of downloads has it.
            content: bytes | str = str(self._model.absolute())
        else:
            try:
                content = self._model.SerializeToString()
            except ValueError as error:  # protobuf's limit
                raise EngineError(f"the model can't be handed over: {error}") from error
        found = self._worker.load(self._key, content, self._settings, seconds)
        self.name, self.outputs, self._generation = found

    def run(self, feeds: Feeds, seconds: float | None = None, shapes_of: Collection[str] = ()) -> list[Any]:
        """See `Engine.run`.

        Raises:
            EngineError: The model fails at this feed.
            TimedOut: The time is over.
            OutOfMemory: There is not enough memory.
            Died: It takes the worker's process with it.
        """
        wanted, memory = frozenset(shapes_of), self._settings["memory"]
        found = None
        while found is None:
            found = self._worker.run(self._key, self._generation, dict(feeds), seconds, wanted, memory)
            if found is None:
                self._load(seconds)
        values, shapes = found
        for place, shape in shapes.items():
            values[place] = np.broadcast_to(np.zeros((), np.int8), shape)
        return values

    def release(self) -> None:
        """Let go of the session. A later run would load the model again."""
        self._worker.release(self._key)
        self._generation = 0
