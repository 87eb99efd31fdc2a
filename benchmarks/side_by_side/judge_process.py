"""What runs in a process of its own: a model and what tools made of it, run in onnxruntime and compared.

`python -m benchmarks.side_by_side.judge_process REQUEST`: the request is a pickled
`judging.Request`. A line of JSON is written for the original, then one for each result: where the runtime crashes on
one of them, the verdicts before it stand.
"""

from __future__ import annotations

import functools
import json
import pathlib
import pickle
import re
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime

from benchmarks.side_by_side.judging import CHAOS, DRIFTS, NUDGE, TOLERANCE, Request

_LOADS = 3
_RUNS = 15


def load(path: pathlib.Path, optimized: bool) -> onnxruntime.InferenceSession:
    """A session of one thread, with all of onnxruntime's own optimizations or with none."""
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def accepted(session: onnxruntime.InferenceSession, feed: Mapping[str, Any]) -> dict[str, Any]:
    """What of a feed a session has inputs for."""
    names = {each.name for each in (*session.get_inputs(), *session.get_overridable_initializers())}
    return {name: value for name, value in feed.items() if name in names}


def difference(a: Any, b: Any, random: bool) -> float | str:
    """How far an output is off, relative to the largest number of the original's; in words where no number says it."""
    if a is None or b is None:
        return 0.0 if a is b else "an optional value came or went"
    if isinstance(a, dict) and isinstance(b, dict):
        return difference([*a.items()], [*b.items()], random)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            return f"{len(a)} elements became {len(b)}"
        return worst_of([difference(x, y, random) for x, y in zip(a, b, strict=True)])
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}"
    if random or not a.size:
        return 0.0
    if a.dtype.kind not in "fcV":  # V: the small floats that numpy has no type for
        return 0.0 if np.array_equal(a, b) else "integers, booleans or strings differ"
    wide = complex if a.dtype.kind == "c" else float
    a, b = a.astype(wide), b.astype(wide)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.abs(a[np.isfinite(a)])
    with np.errstate(invalid="ignore"):
        error = float(np.max(np.where(same, 0.0, np.abs(a - b))))
    return error / max(1.0, float(np.max(finite, initial=0.0))) if np.isfinite(error) else "NaN or infinity differs"


def worst_of(differences: Sequence[float | str]) -> float | str:
    """The first that is told in words, or else the largest number."""
    words = [each for each in differences if isinstance(each, str)]
    return words[0] if words else max((each for each in differences if not isinstance(each, str)), default=0.0)


def timed(request: Request, result: pathlib.Path, feed: Mapping[str, Any]) -> dict[str, float]:
    """How long the original and the result take to load and to run, one after the other, each the median."""
    end = time.perf_counter() + request.timing
    paths = (request.original, result)
    loads = _in_turn([functools.partial(load, path, optimized=True) for path in paths], _LOADS, end)
    sessions = [load(path, optimized=True) for path in paths]
    feeds = [accepted(session, feed) for session in sessions]
    runs = [functools.partial(session.run, None, own) for session, own in zip(sessions, feeds, strict=True)]
    for run in runs:
        run()
    latencies = _in_turn(runs, _RUNS, end)
    return {
        "original_load_seconds": loads[0],
        "load_seconds": loads[1],
        "original_latency_seconds": latencies[0],
        "latency_seconds": latencies[1],
    }


def _in_turn(calls: Sequence[Callable[[], object]], times: int, end: float) -> list[float]:
    """The median seconds of each call; each is called once at least, and no more after the end."""
    seconds: list[list[float]] = [[] for _ in calls]
    for number in range(times):
        if number and time.perf_counter() > end:
            break
        for call, own in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call()
            own.append(time.perf_counter() - start)
    return [statistics.median(own) for own in seconds]


def drift(session: onnxruntime.InferenceSession, outputs: Sequence[str], feed: Mapping[str, Any]) -> float:
    """How far the original's own outputs move when each float that goes in is moved by a few roundings."""
    given = accepted(session, feed)
    signs = np.random.default_rng(0)  # up and down: many a model doesn't see it where all floats are scaled alike
    moved = {
        name: (value * (1 + NUDGE * signs.choice([-1, 1], np.shape(value)))).astype(value.dtype)
        if np.asarray(value).dtype.kind == "f"
        else value
        for name, value in given.items()
    }
    found = worst_of(
        [
            difference(a, b, random=False)
            for a, b in zip(session.run(outputs, given), session.run(outputs, moved), strict=True)
        ]
    )
    return 0.0 if isinstance(found, str) else found


def judge(request: Request, result: pathlib.Path, wanted: Mapping[str, Sequence[Any]], limit: float) -> dict[str, Any]:
    """The verdict on one result: `right`, `wrong`, `broken` or `unjudged`, with the reason.

    Args:
        request: What is to be judged.
        result: The result.
        wanted: What the original hands out, by output: a value for each feed.
        limit: How far floats may be off.
    """
    try:
        session = load(result, optimized=False)
        got = [session.run(list(wanted), accepted(session, feed)) for feed in request.feeds]
    except Exception as error:  # noqa: BLE001  whatever onnxruntime has against a tool's result is the verdict on it
        return {"status": "broken", "reason": _short(error)}
    del session
    worst = worst_of(
        [
            difference(a, b, request.random)
            for want, have in zip(wanted.values(), zip(*got, strict=True), strict=True)
            for a, b in zip(want, have, strict=True)
        ]
    )
    if isinstance(worst, str):
        return {"status": "wrong", "reason": worst}
    if worst > TOLERANCE and limit > CHAOS:
        reason = f"floats are off by {worst:.2g} of the output's scale, but so are the original's after a few roundings"
        return {"status": "unjudged", "reason": reason, "error": worst}
    if worst > limit:
        return {"status": "wrong", "reason": f"floats are off by {worst:.2g} of the output's scale", "error": worst}
    verdict: dict[str, Any] = {"status": "right", "error": worst}
    if request.timing:
        try:
            verdict |= timed(request, result, request.feeds[0])
        except Exception as error:  # noqa: BLE001  right without onnxruntime's optimizations, and not with them
            verdict["reason"] = f"not timed: {_short(error)}"
    return verdict


def _short(error: Exception) -> str:
    """What onnxruntime says, on one line, without the path of the file, which is gone soon."""
    return re.sub(r"\S*/out\.onnx", "the result", " ".join(str(error).split()))[:300]


def main() -> None:
    """Judges what the request names."""
    request: Request = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())
    try:
        session = load(request.original, optimized=False)
        outputs = [each.name for each in session.get_outputs()]
        runs = [session.run(outputs, accepted(session, feed)) for feed in request.feeds]
        limit = max([TOLERANCE, *(DRIFTS * drift(session, outputs, feed) for feed in request.feeds)])
    except Exception as error:  # noqa: BLE001  nothing can be said of what is made of a model that doesn't run
        _tell({"status": "unrun", "reason": _short(error)})
        return
    del session
    if not request.feeds:
        _tell({"status": "unrun", "reason": "nothing to feed it is known"})
        return
    _tell({"status": "right"})
    wanted = dict(zip(outputs, zip(*runs, strict=True), strict=True))
    for result in request.results:
        _tell(judge(request, result, wanted, limit))


def _tell(verdict: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(verdict) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
