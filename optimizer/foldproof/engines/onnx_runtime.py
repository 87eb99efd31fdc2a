"""onnxruntime, as it runs a model by itself, in a process of its own."""

from __future__ import annotations

import importlib.util
import pathlib

from foldproof.engines.engine import Runnable
from foldproof.engines.remote import Remote
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


class OnnxRuntime(Remote):
    """A session of onnxruntime, with its own optimizations off.

    Where the process of the worker has died since, the model is loaded again.

    Args:
        model: A model, or the path of its file. A model is not copied: it must stay as it is.
        data_folder: The folder of the external data of a model that is given as a proto.
        worker: The process to run it in; unless given, one that was lent, or one of its own.
        optimizing: Switch its own optimizations on.
        provider: The execution provider to use before the CPU, such as `CUDAExecutionProvider`.
        memory: How many bytes it may take beyond what the process has, as far as the platform can limit that.
        seconds: The time limit for loading it.

    Attributes:
        provider: The execution provider before the CPU.

    Raises:
        EngineError: onnxruntime can't load the model.
        TimedOut: It takes too long.
        OutOfMemory: There is not enough memory.
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
        memory: int | None = None,
        seconds: float | None = None,
    ) -> None:
        self.provider = provider
        folder = None if data_folder is None else str(data_folder.resolve())
        settings = Settings(
            optimizing=optimizing, data_folder=folder, provider=provider, reference=False, memory=memory
        )
        super().__init__(model, settings, worker, seconds)
