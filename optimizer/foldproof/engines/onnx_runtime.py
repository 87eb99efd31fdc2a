"""onnxruntime, as it runs a model by itself, in a process of its own."""

from __future__ import annotations

import importlib.util
import pathlib
import weakref
from collections.abc import Collection
from typing import Any

import numpy as np

from foldproof.engines.engine import EngineError, Feeds, Runnable
from foldproof.engines.worker import Settings
from foldproof.engines.worker_process import Worker
from foldproof.errors import UnverifiedError


def has_onnxruntime() -> bool:
    """Whether onnxruntime is installed. It is not imported before something has to be run."""
    return importlib.util.find_spec("onnxruntime") is not None


def require_onnxruntime() -> None:
    """Refuse to go on where no onnxruntime is installed.

    Raises:
        UnverifiedError: There is none; the hint says what to install.
    """
    if not has_onnxruntime():
        raise UnverifiedError(
            "onnxruntime is not installed, so nothing can run the model",
            hint="Install foldproof[onnxruntime] (or foldproof[onnxruntime-gpu]), "
            "or go on without verification (--no-verify)",
        )


class OnnxRuntime:
    """A session of onnxruntime, with its own optimizations off.

    Where the process of the worker has died since, the model is loaded again.

    Args:
        model: A model, or the path of its file. A model is not copied: it must stay as it is.
        data_folder: The folder of the external data of a model that is given as a proto.
        worker: The process to run it in; unless given, one that was lent, or one of its own.
        optimizing: Switch its own optimizations on.
        provider: The execution provider to use before the CPU, such as `CUDAExecutionProvider`.
        seconds: The time limit for loading it.

    Attributes:
        provider: The execution provider before the CPU.

    Raises:
        EngineError: onnxruntime can't load the model.
        TimedOut: It takes too long.
        Died: It takes the worker's process with it.
    """

    def __init__(
        self,
        model: Runnable,
        data_folder: pathlib.Path | None = None,
        worker: Worker | None = None,
        *,
        optimizing: bool = False,
        provider: str | None = None,
        seconds: float | None = None,
    ) -> None:
        self._model = model
        self.provider = provider
        self._worker = worker or Worker.borrowed() or Worker()
        folder = None if data_folder is None else str(data_folder.resolve())
        self._settings = Settings(optimizing=optimizing, data_folder=folder, provider=provider)
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
            Died: It takes the worker's process with it.
        """
        wanted = frozenset(shapes_of)
        found = None
        while found is None:
            found = self._worker.run(self._key, self._generation, dict(feeds), seconds, wanted)
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
