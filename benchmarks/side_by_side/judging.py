"""Whether what a tool made of a model is right, and what it costs to run: asked of onnxruntime in another process."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import pickle
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.side_by_side.processes import run

_ROOT = pathlib.Path(__file__).parents[2]

TOLERANCE = 1e-3
"""How far floats may be off, relative to the largest number of the output."""
NUDGE = 1e-6
"""By what part of itself each float that goes in is moved, to see how far the original's own outputs move."""
DRIFTS = 30
"""Floats may be off by so many times as far, if that is more than `TOLERANCE`."""
CHAOS = 0.1
"""Where that is more than this, the floats of the model tell nothing, and a result that is off can't be judged."""

Verdict = dict[str, Any]
"""`status`, `reason` where there is one, and what was measured."""


@dataclasses.dataclass(frozen=True)
class Request:
    """What is to be judged.

    Attributes:
        original: The model.
        results: What tools made of it.
        feeds: What all are run on: a value for each input.
        random: Whether only shapes and types are compared.
        timing: For how many seconds, at most, the original and a result are loaded and run in turn; 0 for not at all.
    """

    original: pathlib.Path
    results: Sequence[pathlib.Path]
    feeds: Sequence[Mapping[str, Any]]
    random: bool
    timing: float


def judge(request: Request, timeout: float) -> tuple[Verdict, list[Verdict]]:
    """Verdicts on the original and on each result.

    The original's is `right`, or `unrun` where it can't be run: then so are those of all results. A result is `right`,
    `wrong` (it hands out something else), `broken` (onnxruntime refuses it, or crashes on it) or `unjudged` (the time
    was up, or the model makes so much of roundings that its floats tell nothing).

    Args:
        request: What is to be judged.
        timeout: Seconds for all of it.
    """
    verdicts: list[Verdict] = []
    while True:
        left = dataclasses.replace(request, results=request.results[len(verdicts) :])
        first, found, died = _ask(left, timeout)
        verdicts += found
        if first["status"] != "right":
            return first, [*verdicts, *[first] * (len(request.results) - len(verdicts))]
        if died is not None and len(verdicts) < len(request.results):
            verdicts.append(died)
        if len(verdicts) >= len(request.results):
            return first, verdicts


def _ask(request: Request, timeout: float) -> tuple[Verdict, list[Verdict], Verdict | None]:
    """The verdicts that one process gets to, and what is to be said of the result that it dies of."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "request.pickle")
        path.write_bytes(pickle.dumps(request))
        command = [sys.executable, "-m", "benchmarks.side_by_side.judge_process", str(path)]
        search = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")]))
        ended = run(command, timeout, {**os.environ, "PYTHONPATH": search, "PYTHONWARNINGS": "ignore"})
    lines = [json.loads(line) for line in ended.output.splitlines() if line.startswith("{")]
    if not lines:
        return {"status": "unrun", "reason": ended.complaint}, [], None
    if ended.status == 0:
        return lines[0], lines[1:], None
    status = "unjudged" if ended.timed_out else "broken"
    return lines[0], lines[1:], {"status": status, "reason": f"onnxruntime: {ended.complaint}"}
