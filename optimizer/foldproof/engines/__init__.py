"""What can run a model: onnxruntime, or the ONNX reference evaluator, behind one small protocol."""

from __future__ import annotations

import pathlib

from foldproof.engines.allowance import Allowance
from foldproof.engines.engine import Died, Engine, EngineError, Feeds, Killed, OutOfMemory, Runnable, TimedOut
from foldproof.engines.onnx_runtime import OnnxRuntime, has_onnxruntime, require_onnxruntime
from foldproof.engines.reference import Reference, distrust
from foldproof.engines.worker_process import Worker

__all__ = [
    "Allowance",
    "Died",
    "Engine",
    "EngineError",
    "Feeds",
    "Killed",
    "OnnxRuntime",
    "OutOfMemory",
    "Reference",
    "Runnable",
    "TimedOut",
    "Worker",
    "distrust",
    "has_onnxruntime",
    "load_engine",
    "require_onnxruntime",
]


def load_engine(
    model: Runnable,
    data_folder: pathlib.Path | None = None,
    like: Engine | None = None,
    *,
    worker: Worker | None = None,
    provider: str | None = None,
    reference: bool = False,
    seconds: float | None = None,
) -> Engine:
    """The engine that runs a model.

    That is onnxruntime, or, where it lacks an operator or a type, the ONNX reference with our kernels.

    Args:
        model: A model, or the path of its file.
        data_folder: The folder of the external data of a model that is given as a proto.
        like: What ran the original, where this is the optimized model. What onnxruntime ran, it has to run
            again; what the reference ran, the reference had better run, as two engines round differently.
        worker: The process that onnxruntime runs in.
        provider: The execution provider that onnxruntime has to use; then nothing else will do.
        reference: Only the reference will do.
        seconds: The time limit for an engine to load it.

    Raises:
        EngineError: None of them can; the message is onnxruntime's, then the reference's.
        TimedOut: The time is over.
        OutOfMemory: The memory does not suffice.
    """
    kinds: list[type[OnnxRuntime] | type[Reference]] = [OnnxRuntime, Reference]
    if reference:
        kinds = [Reference]
    elif provider is not None or isinstance(like, OnnxRuntime):
        kinds = [OnnxRuntime]
    elif isinstance(like, Reference):
        kinds = [Reference, OnnxRuntime]
    errors = []
    for kind in kinds:
        try:
            if kind is Reference:
                return Reference(model, data_folder, worker, seconds=seconds)
            return OnnxRuntime(model, data_folder, worker, provider=provider, seconds=seconds)
        except (TimedOut, OutOfMemory):
            raise
        except EngineError as error:
            errors.append(error.brief)
    raise EngineError("; ".join(errors))
