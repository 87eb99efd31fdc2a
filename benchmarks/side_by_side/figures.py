"""What follows from the results: medians, ratios, their geometric means, growth."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benchmarks.side_by_side.tools import OURS

Results = Mapping[str, Any]
Run = Mapping[str, Any]

COUNTED = ("right", "unrun", "unjudged")
"""Whose figures count: a result that is known to be wrong is no achievement, however fast."""
FAST_PEERS = ("onnxsim", "onnxslim")
"""The peers that Foldproof's speed is held against."""
MANY_NODES = 1_000


def _paired(key: str) -> Callable[[Run], float | None]:
    return lambda run: run[key] / run[f"original_{key}"] if run.get(f"original_{key}") else None


def _median(key: str) -> Callable[[Run], float | None]:
    return lambda run: statistics.median(run[key]) if run.get(key) else None


def _number(key: str) -> Callable[[Run], float | None]:
    return lambda run: max(run[key], 1) if key in run else None


MEASURES: dict[str, Callable[[Run], float | None]] = {
    "whole process": _median("wall"),
    "CPU": _median("cpu"),
    "in process": _median("seconds"),
    "peak memory": _median("peak_mib"),
    "nodes": _number("nodes"),
    "bytes": _number("bytes"),
    "load": _paired("load_seconds"),
    "latency": _paired("latency_seconds"),
}
"""What is compared; of `load` and `latency`, the part of the original's that is left."""


def value(run: Run | None, measure: str) -> float | None:
    """The figure of a tool on a model; None where there is none that counts."""
    return MEASURES[measure](run) if run is not None and run["status"] in COUNTED else None


def ratios(results: Results, measure: str, tool: str, peer: str, corpus: bool = True) -> dict[str, float]:
    """A tool's figure divided by a peer's, by model, where both have one.

    Args:
        results: The results.
        measure: One of `MEASURES`.
        tool: The tool.
        peer: The peer.
        corpus: Whether the models of the corpus are meant, or the scaling models.
    """
    found = {}
    for name, model in models(results, corpus).items():
        ours, theirs = (value(model["runs"].get(each), measure) for each in (tool, peer))
        if ours is not None and theirs:
            found[name] = ours / theirs
    return found


def ratios_to_the_faster(results: Results, measure: str, peers: Sequence[str] = FAST_PEERS) -> dict[str, float]:
    """Foldproof's figure divided by the lowest of the peers', by model of the corpus."""
    each = [ratios(results, measure, OURS, peer) for peer in peers]
    names = [name for name in models(results) if any(name in found for found in each)]
    return {name: max(found[name] for found in each if name in found) for name in names}


def to_original(results: Results, measure: str, tool: str) -> dict[str, float]:
    """What a tool leaves of the original's nodes, bytes, load time or latency, by model of the corpus."""
    found = {}
    for name, model in models(results).items():
        left = value(model["runs"].get(tool), measure)
        if left is not None:
            found[name] = left / max(model["original"].get(measure, 1), 1)
    return found


def models(results: Results, corpus: bool = True) -> dict[str, Any]:
    """The models of the corpus, or else the scaling models."""
    return {name: model for name, model in results["models"].items() if (model["family"] is None) == corpus}


def tools(results: Results) -> list[str]:
    """The tools that were run."""
    return [name for name, tool in results["tools"].items() if not tool["missing"]]


def peers(results: Results) -> list[str]:
    """The tools that were run, save Foldproof."""
    return [name for name in tools(results) if name != OURS]


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean; None of nothing."""
    logarithms = [math.log(each) for each in values]
    return math.exp(statistics.fmean(logarithms)) if logarithms else None


def growth(results: Results, family: str, tool: str, measure: str) -> dict[int, float]:
    """What a node of a scaling model costs, by the number of nodes: seconds, or MiB.

    Memory is counted from what the smallest model of the family takes: most of that is the interpreter and the imports,
    which would make the memory of a node look as if it fell with their number.
    """
    points = {}
    for model in models(results, corpus=False).values():
        if model["family"] == family:
            found = value(model["runs"].get(tool), measure)
            if found is not None:
                points[model["original"]["nodes"]] = found
    if measure != "peak memory" or not points:
        return {nodes: found / nodes for nodes, found in sorted(points.items())}
    least = min(points)
    return {nodes: (points[nodes] - points[least]) / (nodes - least) for nodes in sorted(points) if nodes != least}


def expected_seconds(points: Sequence[tuple[int, float]], nodes: int) -> float:
    """What a model is expected to take, going by smaller ones of its family.

    Args:
        points: The nodes of these, in rising order, and the seconds in process.
        nodes: Those of the model.

    Returns:
        The seconds, if they go on growing as between the last two: at least with the nodes, at most with their square.
        0 where nothing is known.
    """
    if not points:
        return 0.0
    last, seconds = points[-1]
    power = 1.0
    if len(points) > 1 and points[-2][0] < last:
        before, least = points[-2]
        power = min(max(math.log(seconds / least) / math.log(last / before), 1.0), 2.0)
    return float(seconds * (nodes / last) ** power)


def families(results: Results) -> list[str]:
    """The scaling models that were run."""
    return list(dict.fromkeys(model["family"] for model in models(results, corpus=False).values()))
