"""onnxruntime on the CPU, as it runs a model by itself."""

from __future__ import annotations

import ctypes
import importlib.util
import math
import pathlib
import threading
from collections.abc import Collection
from typing import Any

import ml_dtypes
import numpy as np
import onnx

from foldproof.engines.engine import EngineError, Feeds, Runnable, TimedOut
from foldproof.errors import UnverifiedError

# The element types that numpy lacks and onnxruntime's Python interface refuses, with the integers of the
# same width.
_NARROW: dict[int, tuple[Any, Any]] = {
    onnx.TensorProto.BFLOAT16: (ml_dtypes.bfloat16, np.uint16),
    onnx.TensorProto.FLOAT8E4M3FN: (ml_dtypes.float8_e4m3fn, np.uint8),
    onnx.TensorProto.FLOAT8E4M3FNUZ: (ml_dtypes.float8_e4m3fnuz, np.uint8),
    onnx.TensorProto.FLOAT8E5M2: (ml_dtypes.float8_e5m2, np.uint8),
    onnx.TensorProto.FLOAT8E5M2FNUZ: (ml_dtypes.float8_e5m2fnuz, np.uint8),
}
# Types of which an array can be read out, but not given in, with the number of elements in a byte. Those of 2 bits came
# with later versions of onnx.
_PACKED: dict[int, int] = {
    onnx.TensorProto.DataType.Value(name): count
    for name, count in (("INT4", 2), ("UINT4", 2), ("INT2", 4), ("UINT2", 4))
    if name in onnx.TensorProto.DataType.keys()  # noqa: SIM118  it is no dictionary
}
# Types that it can't take at all, and those that it can't give either.
_NOT_TAKEN = ("int4)", "int2)")
_NOT_HANDED_OVER = ("float4e2m1)", "float8e8m0)", "complex64)", "complex128)")
_NARROW_NUMPY = {np.dtype(narrow): code for code, (narrow, _) in _NARROW.items()}


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
    """A session of onnxruntime on the CPU, with its own optimizations off.

    Args:
        model: A model, or the path of its file.
        data_folder: The folder of the external data of a model that is given as a proto.
        optimizing: Switch its own optimizations on.

    Raises:
        EngineError: onnxruntime can't load the model.
    """

    def __init__(self, model: Runnable, data_folder: pathlib.Path | None = None, *, optimizing: bool = False) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimizing else levels.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.use_deterministic_compute = True
        options.enable_mem_pattern = False  # It pays only where the shapes stay the same.
        # A weight that folding makes constant would be packed, and a packed MatMul rounds differently.
        options.add_session_config_entry("session.disable_prepacking", "1")
        # Two or three sessions are alive at once: a thread that spins while it waits takes another's core.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if data_folder is not None:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(data_folder))
        self.name = f"onnxruntime {onnxruntime.__version__}"
        self._runtime = onnxruntime
        try:
            content = str(model) if isinstance(model, pathlib.Path) else model.SerializeToString()
            self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise EngineError(str(error)) from error
        self.outputs = tuple(each.name for each in self._session.get_outputs())
        taken = [each.type for each in self._session.get_inputs()]
        types = [*taken, *(each.type for each in self._session.get_outputs())]
        for each in types:
            if any(name in each for name in _NOT_HANDED_OVER) or (each in taken and any(n in each for n in _NOT_TAKEN)):
                raise EngineError(f"onnxruntime's Python interface can't hand over {each}")
        self._plain = not any(name in each for each in types for name in ("bfloat16", "float8", "int4)", "int2)"))

    def run(self, feeds: Feeds, seconds: float | None = None, shapes_of: Collection[str] = ()) -> list[Any]:
        """See `Engine.run`."""
        options = self._runtime.RunOptions()
        options.log_severity_level = 4
        stop = None
        if seconds is not None:
            stop = threading.Timer(max(seconds, 0.01), _terminate, [options])
            stop.daemon = True
            stop.start()
        try:
            # Sequences, maps and strings come in by the plain interface only.
            arrays = all(isinstance(each, np.ndarray) and each.dtype != object for each in feeds.values())
            if not arrays or (self._plain and not shapes_of):
                return list(self._session.run(None, dict(feeds), options))
            values = {name: self._to_runtime(value) for name, value in feeds.items()}
            found = self._session.run_with_ort_values(None, values, options)
            return [
                _stand_in(each) if name in shapes_of else _from_runtime(each)
                for name, each in zip(self.outputs, found, strict=True)
            ]
        except Exception as error:
            raise (TimedOut if options.terminate else EngineError)(str(error)) from error
        finally:
            if stop is not None:
                stop.cancel()

    def _to_runtime(self, value: np.ndarray) -> Any:
        code = _NARROW_NUMPY.get(value.dtype)
        if code is None:
            return self._runtime.OrtValue.ortvalue_from_numpy(value)
        raw = np.ascontiguousarray(value).view(_NARROW[code][1])
        return self._runtime.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, code)


def _terminate(options: Any) -> None:
    options.terminate = True


def _stand_in(value: Any) -> np.ndarray:
    return np.broadcast_to(np.zeros((), np.int8), tuple(value.shape()))


def _from_runtime(value: Any) -> Any:
    code = value.element_type() if value.is_tensor() else None
    if code not in _NARROW and code not in _PACKED:
        return value.numpy()
    shape = tuple(value.shape())
    count = math.prod(shape)
    size = -(-count // _PACKED[code]) if code in _PACKED else count * np.dtype(_NARROW[code][0]).itemsize
    content = ctypes.string_at(value.data_ptr(), size) if size else b""
    if code in _PACKED:
        tensor = onnx.TensorProto(data_type=code, dims=shape, raw_data=content)
        return onnx.numpy_helper.to_array(tensor)
    return np.frombuffer(content, _NARROW[code][0]).reshape(shape)
