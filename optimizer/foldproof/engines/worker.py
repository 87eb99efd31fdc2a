"""What runs in the child process: onnxruntime, and a loop that answers one request after the other.

The parent runs this file as a script, see `worker_process.py`. It imports onnxruntime and numpy only when it is asked
for a model, and of this package only what the ONNX reference takes, when that is asked for: to start a process takes
longer than all the rest that it does.

Requests and answers are tuples, pickled, with the content of arrays beside the pickle:

| request | answer |
| --- | --- |
| `("begin", released, reference)` | `("begun",)` |
| `("load", released, key, memory, content, settings)` | `("loaded", name, outputs)` |
| `("run", released, key, memory, feeds, seconds, shapes_of)` | `("values", values, shapes)` |
| `("measure", released, contents, settings, feeds, seconds)` | `("measured", times)` |

`released` are the keys of models that nobody needs any more, `memory` is how many bytes it may take beyond what the
process has, None for as many as the process may have. Instead of an answer there is `("failed", words)`,
`("exhausted", words)` where there was not enough memory, or `("stopped", words)` where the run was stopped at its time
limit. When the parent goes away, so does the child.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import pathlib
import pickle
import queue
import signal
import struct
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import IO, Any, TypedDict


class _Process(TypedDict, total=False):
    """What holds for all models of a process.

    Attributes:
        threads: How many threads a session computes with; None for as many as there are cores.
    """

    threads: int | None


class Settings(_Process):
    """How a model is loaded.

    Attributes:
        optimizing: Whether onnxruntime's own optimizations are on.
        data_folder: The folder of the external data of a model that is given as bytes.
        provider: The execution provider before the CPU; None for the CPU alone.
        reference: Whether the ONNX reference runs it, and not onnxruntime.
        memory: How many bytes it may take beyond what the process has; None for as many as the process may have.
    """

    optimizing: bool
    data_folder: str | None
    provider: str | None
    reference: bool
    memory: int | None


def send(stream: IO[bytes], message: object) -> None:
    """Write a message that `receive` reads.

    Raises:
        OSError: Nobody reads any more.
    """
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    raw = [each.raw() for each in buffers]
    stream.write(struct.pack(f"<{len(raw) + 2}Q", len(raw), len(content), *(each.nbytes for each in raw)))
    stream.write(content)
    for each in raw:
        stream.write(each)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read a message that `send` wrote. Only what this package's other process wrote may be read: it is unpickled.

    Raises:
        EOFError: There is none any more.
    """
    (count,) = struct.unpack("<Q", _read(stream, 8))
    sizes = struct.unpack(f"<{count + 1}Q", _read(stream, 8 * (count + 1)))
    content = _read(stream, sizes[0])
    return pickle.loads(content, buffers=[_read(stream, size) for size in sizes[1:]])


def _read(stream: IO[bytes], size: int) -> bytearray:
    content = bytearray(size)
    view = memoryview(content)
    done = 0
    while done < size:
        count = stream.readinto(view[done:])  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the other process has ended")
        done += count
    return content


# onnxruntime ---------------------------------------------------------------------------------------------------------

# The element types that numpy lacks and onnxruntime's Python interface refuses, by their number in `TensorProto`: their
# name in `ml_dtypes`, and the number of elements in a byte. Of those with more than one to a byte, an array can be read
# out, but not given in.
_NARROW = {
    16: ("bfloat16", 0),
    17: ("float8_e4m3fn", 1),
    18: ("float8_e4m3fnuz", 1),
    19: ("float8_e5m2", 1),
    20: ("float8_e5m2fnuz", 1),
    21: ("uint4", 2),
    22: ("int4", 2),
    25: ("uint2", 4),
    26: ("int2", 4),
}
SIGNS_OF_NO_MEMORY = ("bad_alloc", "Failed to allocate memory", "Memory allocation")
"""What native code says where it gets no memory."""

# How often a model is loaded and run to measure it, and how often at least where the time limit is over.
_LOADS, _RUNS, _LEAST_RUNS = 9, 200, 3
# Types that it can't take at all, and those that it can't give either.
_NOT_TAKEN = ("int4)", "int2)")
_NOT_HANDED_OVER = ("float4e2m1)", "float8e8m0)", "complex64)", "complex128)")


class Failed(Exception):
    """A model that can't be loaded, or that fails at a feed."""


class Stopped(Exception):
    """A run that was stopped at the time limit."""


class Session:
    """A model, loaded into onnxruntime.

    Args:
        content: The model's bytes, or the path of its file.
        settings: How to load it.
        in_use: Load it as it is loaded in use, for speed, and not so that what it computes can be compared.

    Raises:
        Failed: onnxruntime can't load it.
    """

    def __init__(self, content: bytearray | str, settings: Settings, *, in_use: bool = False) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = levels.ORT_ENABLE_ALL if settings["optimizing"] else levels.ORT_DISABLE_ALL
        options.log_severity_level = 4
        if not in_use:
            options.use_deterministic_compute = True
            options.enable_mem_pattern = False  # It pays only where the shapes stay the same.
            options.enable_cpu_mem_arena = False  # It never gives back what a large binding or a failure took.
            # A weight that folding makes constant would be packed, and a packed MatMul rounds differently.
            options.add_session_config_entry("session.disable_prepacking", "1")
        # Two or three sessions are alive at once: a thread that spins while it waits takes another's core.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.intra_op_num_threads = settings.get("threads") or 0
        folder, provider = settings["data_folder"], settings["provider"]
        if folder is not None:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        self.name = f"onnxruntime {onnxruntime.__version__}"
        providers = ["CPUExecutionProvider"]
        if provider is not None and provider not in providers:
            there = onnxruntime.get_available_providers()
            if provider not in there:  # onnxruntime would only warn, and take the CPU
                raise Failed(f"this onnxruntime has no {provider}; it has {', '.join(there)}")
            self.name += f" ({provider})"
            providers.insert(0, provider)
        self._runtime = onnxruntime
        try:
            given = content if isinstance(content, str) else bytes(content)
            self._session = onnxruntime.InferenceSession(given, options, providers=providers)
        except Exception as error:
            raise Failed(str(error)) from error
        self.outputs = tuple(each.name for each in self._session.get_outputs())
        taken = [each.type for each in self._session.get_inputs()]
        types = [*taken, *(each.type for each in self._session.get_outputs())]
        for each in types:
            if any(name in each for name in _NOT_HANDED_OVER) or (each in taken and any(n in each for n in _NOT_TAKEN)):
                raise Failed(f"onnxruntime's Python interface can't hand over {each}")
        self._plain = not any(name in each for each in types for name in ("bfloat16", "float8", "int4)", "int2)"))

    def run(
        self, feeds: Mapping[str, Any], seconds: float | None, shapes_of: Collection[str]
    ) -> tuple[list[Any], dict[int, tuple[int, ...]]]:
        """Run the model.

        Args:
            feeds: The inputs by name.
            seconds: The time limit, which onnxruntime looks at between nodes.
            shapes_of: Of these outputs only the shape is wanted.

        Returns:
            The outputs, and by their place the shapes of those of which only that is wanted; these are None.

        Raises:
            Failed: The model fails at this feed.
            Stopped: The time is over.
        """
        import numpy as np

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
                return list(self._session.run(None, dict(feeds), options)), {}
            values = {name: self._to_runtime(value) for name, value in feeds.items()}
            found = self._session.run_with_ort_values(None, values, options)
            shapes = {
                place: tuple(each.shape())
                for place, (name, each) in enumerate(zip(self.outputs, found, strict=True))
                if name in shapes_of
            }
            return [None if place in shapes else _from_runtime(each) for place, each in enumerate(found)], shapes
        except Exception as error:
            raise (Stopped if options.terminate else Failed)(str(error)) from error
        finally:
            if stop is not None:
                stop.cancel()

    def seconds_of_a_run(self, feeds: Mapping[str, Any]) -> float:
        """Run the model, and tell how long that takes.

        Raises:
            Failed: The model fails at this feed.
        """
        import numpy as np

        arrays = all(isinstance(each, np.ndarray) and each.dtype != object for each in feeds.values())
        given = {name: self._to_runtime(value) if arrays else value for name, value in feeds.items()}
        run = self._session.run_with_ort_values if arrays else self._session.run
        start = time.perf_counter()
        try:
            run(None, given)
        except Exception as error:
            raise Failed(str(error)) from error
        return time.perf_counter() - start

    def _to_runtime(self, value: Any) -> Any:
        import numpy as np

        codes = {name: code for code, (name, _) in _NARROW.items()}
        code = codes.get(value.dtype.name)
        if code is None:
            return self._runtime.OrtValue.ortvalue_from_numpy(value)
        raw = np.ascontiguousarray(value).view(np.uint16 if value.dtype.itemsize == 2 else np.uint8)
        return self._runtime.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, code)


def _terminate(options: Any) -> None:
    options.terminate = True


def _from_runtime(value: Any) -> Any:
    code = value.element_type() if value.is_tensor() else None
    if code not in _NARROW:
        return value.numpy()
    import ml_dtypes
    import numpy as np

    name, packed = _NARROW[code]
    dtype = np.dtype(getattr(ml_dtypes, name))
    shape = tuple(value.shape())
    count = math.prod(shape)
    size = -(-count // packed) if packed else count * dtype.itemsize
    content = ctypes.string_at(value.data_ptr(), size) if size else b""
    if packed < 2:
        return np.frombuffer(content, dtype).reshape(shape)
    bits = 8 // packed
    lanes = np.frombuffer(content, np.uint8)[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)
    numbers = (lanes & (2**bits - 1)).reshape(-1)[:count].astype(np.int8)
    if not name.startswith("u"):
        numbers[numbers >= 2 ** (bits - 1)] -= 2**bits
    return numbers.astype(dtype).reshape(shape)


# The process ---------------------------------------------------------------------------------------------------------


def main() -> None:
    """Answer requests until the parent goes away."""
    # The streams of the requests are for them alone: what native code prints must not get into them.
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, who ends the child.
    sys.path[:], limit = receive(incoming)
    limit_memory(limit)
    requests: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=[incoming, requests], daemon=True).start()
    sessions: dict[int, Any] = {}
    while True:
        request = requests.get()
        with _at_most(request[3] if request[0] in ("load", "run") else None):
            answer = _answer(request, sessions)
        send(outgoing, answer)


def _listen(incoming: IO[bytes], requests: queue.Queue[Any]) -> None:
    """Read requests, also while a model runs: the end of the parent ends the process whatever it is at."""
    try:
        while True:
            requests.put(receive(incoming))
    except EOFError:
        os._exit(0)
    except BaseException as error:  # noqa: BLE001  the other thread would wait for ever
        os.write(2, f"{type(error).__name__}: {error}".encode(errors="replace"))
        os._exit(1)


def _answer(request: Any, sessions: dict[int, Any]) -> tuple[Any, ...]:
    kind, released, key, *arguments = request
    for each in released:
        sessions.pop(each, None)
    try:
        if kind == "begin":
            _begin(reference=key)
            return ("begun",)
        if kind == "measure":
            return "measured", _measured(key, *arguments)
        if kind == "load":
            session = sessions[key] = _loaded(*arguments[1:])
            return "loaded", session.name, session.outputs
        return "values", *sessions[key].run(*arguments[1:])
    except (Stopped, TimeoutError) as error:
        return "stopped", str(error)
    except (Failed, MemoryError, RuntimeError) as error:
        words = str(error) or type(error).__name__
        is_short = isinstance(error, MemoryError) or any(sign in words for sign in SIGNS_OF_NO_MEMORY)
        return "exhausted" if is_short else "failed", words


def _begin(*, reference: bool) -> None:
    """Import what loading a model takes, which may be slow from a cold disk, and is no fault of the model."""
    with contextlib.suppress(ImportError):  # the first model that is loaded tells of it
        import numpy  # noqa: F401

        if not reference:
            import onnxruntime  # noqa: F401


def _loaded(content: bytearray | str, settings: Settings, *, in_use: bool = False) -> Any:
    with _told_in_utf8(content, settings) as (given, told):
        if not settings["reference"]:
            return Session(given, told, in_use=in_use)
        from foldproof.engines.reference_session import ReferenceSession

        return ReferenceSession(given, told["data_folder"])


@contextlib.contextmanager
def _told_in_utf8(content: bytearray | str, settings: Settings) -> Iterator[tuple[bytearray | str, Settings]]:
    """The same model without a path that is not UTF-8: onnxruntime and onnx take none.

    Its folder is opened instead, and called by the name that Linux, where paths may be any bytes, gives what is open.

    Raises:
        Failed: The folder or the file can't be opened.
    """
    path = content if isinstance(content, str) else settings["data_folder"]
    if path is None or _is_utf8(path):
        yield content, settings
        return
    folder, name = os.path.split(path) if isinstance(content, str) else (path, "")
    with contextlib.ExitStack() as closing:
        try:
            descriptor = os.open(folder, os.O_RDONLY)
            closing.callback(os.close, descriptor)
            if isinstance(content, str) and not _is_utf8(name):
                content = bytearray(pathlib.Path(content).read_bytes())
        except OSError as error:
            raise Failed(f"it can't be read: {error}") from error
        opened = f"/proc/self/fd/{descriptor}"
        if isinstance(content, str):
            yield f"{opened}/{name}", settings
        else:
            yield content, {**settings, "data_folder": opened}


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _measured(
    contents: Sequence[bytearray | str], settings: Settings, feeds: Mapping[str, Any], seconds: float
) -> list[tuple[list[float], list[float]]]:
    """How long each load and each run of some models took, in seconds, all of them in turns.

    Every other round goes backwards: what comes second finds warm caches, and is a little faster for that alone.

    Raises:
        Failed: One of them can't be loaded or run.
    """
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in contents]
    sessions: dict[int, Session] = {}
    order = list(range(len(contents)))
    end = time.perf_counter() + seconds
    for number in range(_LOADS):
        if number > 0 and time.perf_counter() > end:
            break
        sessions.clear()
        for k in order:
            start = time.perf_counter()
            sessions[k] = _loaded(contents[k], settings, in_use=True)
            times[k][0].append(time.perf_counter() - start)
        order.reverse()
    for session in sessions.values():  # the first run takes memory that the later ones have
        session.seconds_of_a_run(feeds)
    end = time.perf_counter() + seconds
    for number in range(_RUNS):
        if number >= _LEAST_RUNS and time.perf_counter() > end:
            break
        for k in order:
            times[k][1].append(sessions[k].seconds_of_a_run(feeds))
        order.reverse()
    return times


@contextlib.contextmanager
def _at_most(more: int | None) -> Iterator[None]:
    """Let the process take no more than so many bytes beyond those that it has, where the platform can limit that."""
    if more is None:
        yield
        return
    try:
        import resource

        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[5])
        before = resource.getrlimit(resource.RLIMIT_DATA)
        limit = pages * resource.getpagesize() + more
        if before[0] == resource.RLIM_INFINITY or limit < before[0]:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    except (ImportError, ValueError, OSError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def limit_memory(limit: int | None) -> None:
    """Let the process have so many bytes of its own, and be the first to be ended where the system runs out of them."""
    if limit is None:
        return
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on this platform, or lower already
        import resource

        # Not the address space: threads and runtimes reserve much more of that than they use.
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    main()
