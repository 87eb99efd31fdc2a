"""All tools on one model: in turn, several rounds, each run in a process of its own, and a verdict on each result."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.side_by_side.judging import Request, judge
from benchmarks.side_by_side.models import Description, Model, describe
from benchmarks.side_by_side.processes import run
from benchmarks.side_by_side.tools import Tool
from foldproof.errors import ModelError

Say = Callable[[str], object]
_TOOL_PROCESS = pathlib.Path(__file__).with_name("tool_process.py")


@dataclasses.dataclass(frozen=True)
class Limits:
    """How long things may take, in seconds.

    Attributes:
        run: One run of a tool.
        timing: Loading and running the original and a result in turn; 0 for not at all.
    """

    run: float
    timing: float


def measure(
    model: Model, tools: Sequence[Tool], turn: int, limits: Limits, skipped: Mapping[str, str], say: Say
) -> dict[str, Any]:
    """Runs all tools on a model.

    Args:
        model: The model.
        tools: The tools, all of them installed.
        turn: Whose turn it is to be the first; the next one's in the next round.
        limits: How long things may take.
        skipped: Tools that don't run on this model, and why.
        say: Is told of each tool.

    Returns:
        `family`, `original` (what the model holds) and `runs` by tool, as results.schema.json describes them.
    """
    before = describe(model.path)
    runs: dict[str, dict[str, Any]] = {
        tool.name: {"status": "skipped", "reason": skipped[tool.name]}
        if tool.name in skipped
        else {"status": "right", "wall": [], "cpu": [], "seconds": [], "peak_mib": []}
        for tool in tools
    }
    results: dict[str, pathlib.Path] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(max(tool.rounds for tool in tools)):
            first = (turn + number) % len(tools)
            for tool in (*tools[first:], *tools[:first]):
                if number >= tool.rounds or runs[tool.name]["status"] != "right":
                    continue
                folder = pathlib.Path(scratch, f"{tool.name}_{number}")
                folder.mkdir()
                _run_once(model, tool, before, folder, limits.run, runs[tool.name])
                if results.setdefault(tool.name, folder / "out.onnx").parent != folder:
                    shutil.rmtree(folder)  # the first result is judged; the others may be gigabytes
        _judge(model, before, {name: path for name, path in results.items() if path.is_file()}, limits, runs)
    for tool in tools:
        say(_line(model, before, tool, runs[tool.name]))
    original = {"nodes": before.nodes, "constants": before.constants, "bytes": before.size}
    return {"family": model.family, "original": original, "runs": runs}


def _run_once(
    model: Model, tool: Tool, before: Description, folder: pathlib.Path, timeout: float, into: dict[str, Any]
) -> None:
    """One run of a tool; what it took is added to what is known of its runs, or why it failed."""
    target, seconds = folder / "out.onnx", folder / "seconds"
    command = [tool.python, str(_TOOL_PROCESS), str(tool.adapter), str(model.path.resolve()), str(target), str(seconds)]
    # What a tool remembers from run to run it doesn't remember here.
    env = {**os.environ, "PYTHONWARNINGS": "ignore", "XDG_CACHE_HOME": str(folder / "cache")}
    ended = run([*command, *(["external"] if before.external else [])], timeout, env)
    if ended.timed_out or ended.status:
        into |= {"status": "timeout" if ended.timed_out else "crash", "reason": ended.complaint}
        return
    if not target.is_file():
        into |= {"status": "crash", "reason": "it wrote no model"}
        return
    into["wall"].append(round(ended.wall, 4))
    into["cpu"].append(round(ended.cpu, 4))
    into["seconds"].append(round(float(seconds.read_text()), 5))
    into["peak_mib"].append(round(ended.peak_mib, 1))


def _judge(
    model: Model,
    before: Description,
    results: Mapping[str, pathlib.Path],
    limits: Limits,
    runs: dict[str, dict[str, Any]],
) -> None:
    """Adds to the runs what their results hold, and whether they are right."""
    judged: dict[str, pathlib.Path] = {}
    for name, path in results.items():
        if runs[name]["status"] != "right":
            continue
        try:
            after = describe(path)
        except ModelError as error:
            runs[name] |= {"status": "broken", "reason": str(error)[:300]}
            continue
        runs[name] |= {
            "nodes": after.nodes,
            "constants": after.constants,
            "bytes": after.size,
            "foreign": sorted(set(after.foreign) - set(before.foreign)),
            "signature_kept": after.signature == before.signature,
        }
        judged[name] = path
    request = Request(model.path.resolve(), list(judged.values()), model.feeds, model.random, limits.timing)
    _, verdicts = judge(request, limits.run * (1 + len(judged)))
    for name, verdict in zip(judged, verdicts, strict=True):
        runs[name] |= verdict


def _line(model: Model, before: Description, tool: Tool, entry: Mapping[str, Any]) -> str:
    """What is said of a tool on a model."""
    if not entry.get("wall"):
        figures = ""
    else:
        wall, seconds = min(entry["wall"]), min(entry["seconds"])
        figures = f"{wall:7.2f} s, {seconds:7.3f} in process  {max(entry['peak_mib']):6.0f} MiB"
    left = f"{before.nodes:6d} -> {entry.get('nodes', '-'):>6} nodes"
    return (
        f"{model.name:30} {tool.name:14} {entry['status']:9} {left}  {figures}  {entry.get('reason', '')[:80]}".rstrip()
    )
