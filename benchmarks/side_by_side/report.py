"""What the results say, for a person: RESULTS.md, and the summary on the terminal."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.side_by_side import figures, plots
from benchmarks.side_by_side.figures import MEASURES, Results, geometric_mean
from benchmarks.side_by_side.judging import CHAOS, DRIFTS, NUDGE, TOLERANCE
from benchmarks.side_by_side.tools import OURS

_OUTCOMES = ("right", "wrong", "broken", "crash", "timeout", "unrun", "unjudged", "skipped")
_LEFT = ("nodes", "bytes", "load", "latency")
_LIMIT = 1.2
_GROWTH = (5_000, 50_000)
"""The numbers of nodes between which growth is told, or those nearest to them that were run."""

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def write_report(results: Results, folder: pathlib.Path) -> list[pathlib.Path]:
    """Writes RESULTS.md and the plots.

    Args:
        results: The results.
        folder: Where to; the plots go into its folder `results`.

    Returns:
        The files.
    """
    drawn = plots.draw(results, folder / "results")
    path = folder / "RESULTS.md"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(_report(results, [each.name for each in drawn if each.suffix == ".svg"]))
    return [path, *drawn]


def summary(results: Results) -> str:
    """The report without what it says of each model, as plain text."""
    parts = [_aligned(_outcomes(results))]
    if figures.models(results) and OURS in figures.tools(results) and figures.peers(results):
        parts += ["Foldproof's figure divided by each peer's, geometric means", _aligned(_against_peers(results))]
        parts += _against_the_faster(results)
    if _growth(results)[1]:
        parts += ["Time and memory of a node, as their number grows", _aligned(_growth(results))]
    return "\n\n".join(parts) + "\n"


def _report(results: Results, drawn: Sequence[str]) -> str:
    parts = [
        "# Foldproof and its peers, side by side",
        "Written by `python -m benchmarks`; [README.md](README.md) says how it is measured and how to make it again.",
        _conditions(results),
        "## Outcomes",
        _OUTCOMES_TEXT,
        _markdown(_outcomes(results)),
    ]
    has_peers = OURS in figures.tools(results) and bool(figures.peers(results))
    if figures.models(results):
        if has_peers:
            parts += ["## Foldproof against each peer", _AGAINST_TEXT, _markdown(_against_peers(results))]
            parts += _image("ratios", drawn, "The ratios of each model")
            parts += _against_the_faster(results)
        parts += ["## What is left of the originals", _LEFT_TEXT, _markdown(_left(results))]
    if figures.families(results):
        parts += ["## Growth", _GROWTH_TEXT, *([_markdown(_growth(results))] if _growth(results)[1] else [])]
        parts += _image("growth", drawn, "Time in process for each node, by the number of nodes")
    parts += ["## Each model", _EACH_TEXT]
    parts += ["### Nodes left", _markdown(_nodes(results)), "### Seconds", _SECONDS_TEXT, _markdown(_seconds(results))]
    return "\n\n".join(parts) + "\n"


_OUTCOMES_TEXT = f"""\
`right`: the result hands out what the original does, in onnxruntime with its optimizations off: floats to within
{TOLERANCE:g} of the output's largest number (or {DRIFTS} times what moving the inputs by {NUDGE:g} of themselves
does to the original, if that is more), all else equal. `wrong`: it doesn't. `broken`: onnxruntime refuses it or crashes
on it. `unrun`: nor does the original run. `unjudged`: the time for judging was up, or the floats are off and the
original makes so much of roundings (more than {CHAOS:g}) that they tell nothing. `skipped`: not tried, as smaller
models took too long. `signature`: results with a name, type or dim of an input or output changed; `foreign`: results
with operators of a domain that the original doesn't use. Models of the corpus and scaling models are counted
together."""
_AGAINST_TEXT = """\
Foldproof's figure divided by the peer's, of medians, geometric means over those models of the corpus on which both are
`right` (or can't be judged); below 1, Foldproof takes or leaves less. `in process`: from load to save, imports
done. `load`, `latency`: what onnxruntime, with all its optimizations, needs to load and to run the result."""
_LEFT_TEXT = "The result's figure divided by the original's, geometric means over the corpus, right results only."
_GROWTH_TEXT = """\
Time in process for each node, and memory for each node beyond what the smallest model takes, at two sizes; `ratio`: the
larger one's divided by the smaller one's. A line is missing where a tool failed or was too slow at one of the two."""
_EACH_TEXT = "`s`: the signature changed; `f`: operators of another domain put in."
_SECONDS_TEXT = "Medians: whole process / in process."


def _conditions(results: Results) -> str:
    machine, settings = results["machine"], results["settings"]
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}; "
        f"{machine['load_at_start']} processes at work when it began. "
        f"Limit of one run: {settings['timeout']:.0f} s. Verification is off.",
        "",
    ]
    for name, tool in results["tools"].items():
        versions = ", ".join(f"{key} {version}" for key, version in tool["versions"].items())
        if tool["missing"]:
            lines.append(f"- {name}: not run, {', '.join(tool['missing'])} is not installed")
        else:
            rounds = f"{tool['rounds']} round" + "s" * (tool["rounds"] != 1)
            lines.append(f"- {name}: {versions}; Python {tool['python']}; {rounds}")
    return "\n".join(lines)


def _outcomes(results: Results) -> Table:
    rows = []
    for tool in figures.tools(results):
        runs = [model["runs"][tool] for model in results["models"].values() if tool in model["runs"]]
        count = Counter(run["status"] for run in runs)
        right = [run for run in runs if run["status"] == "right"]
        rows.append(
            [
                tool,
                *(str(count[status]) for status in _OUTCOMES),
                str(sum(not run["signature_kept"] for run in right)),
                str(sum(bool(run["foreign"]) for run in right)),
            ]
        )
    return ["tool", *_OUTCOMES, "signature", "foreign"], rows


def _against_peers(results: Results) -> Table:
    rows = []
    for peer in figures.peers(results):
        found = {measure: figures.ratios(results, measure, OURS, peer) for measure in MEASURES}
        large = {
            name: ratio
            for name, ratio in found["in process"].items()
            if results["models"][name]["original"]["nodes"] >= figures.MANY_NODES
        }
        means = {measure: geometric_mean(each.values()) for measure, each in found.items()}
        means[f"in process, {figures.MANY_NODES} nodes or more"] = geometric_mean(large.values())
        rows.append([peer, str(len(found["whole process"])), *map(_ratio, means.values())])
    return ["peer", "models", *MEASURES, f"in process, {figures.MANY_NODES} nodes or more"], rows


def _against_the_faster(results: Results) -> list[str]:
    peers = [peer for peer in figures.FAST_PEERS if peer in figures.tools(results)]
    lines = []
    for measure in ("whole process", "CPU") if peers else ():
        found = figures.ratios_to_the_faster(results, measure, peers)
        slow = sorted(((ratio, name) for name, ratio in found.items() if ratio > _LIMIT), reverse=True)
        listed = ", ".join(f"{name} {ratio:.2f}" for ratio, name in slow) or "none"
        lines.append(
            f"Against {' or '.join(peers)}, whichever takes less on a model, {measure}: geometric mean "
            f"{_ratio(geometric_mean(found.values()))} over {len(found)} models, at most "
            f"{_ratio(max(found.values(), default=None))}; above {_LIMIT} on {len(slow)}: {listed}."
        )
    return lines


def _left(results: Results) -> Table:
    rows = []
    for tool in figures.tools(results):
        found = [figures.to_original(results, measure, tool) for measure in _LEFT]
        rows.append([tool, str(len(found[0])), *(_ratio(geometric_mean(each.values())) for each in found)])
    return ["tool", "models", *_LEFT], rows


def _growth(results: Results) -> Table:
    rows = []
    for family in figures.families(results):
        for tool in figures.tools(results):
            time = figures.growth(results, family, tool, "in process")
            memory = figures.growth(results, family, tool, "peak memory")
            sizes = _two_sizes(time)
            if sizes is None:
                continue
            small, large = sizes
            row = [family, tool, str(small), str(large)]
            row += [f"{time[small] * 1e6:.0f}", f"{time[large] * 1e6:.0f}", _ratio(time[large] / time[small])]
            if small in memory and memory[small] > 0:
                row += [f"{memory[small] * 1024:.2f}", f"{memory[large] * 1024:.2f}"]
                row.append(_ratio(memory[large] / memory[small]))
            else:
                row += ["", f"{memory[large] * 1024:.2f}" if large in memory else "", ""]
            rows.append(row)
    return [
        "model",
        "tool",
        "nodes",
        "nodes, large",
        "us a node",
        "large",
        "ratio",
        "KiB a node",
        "large",
        "ratio",
    ], rows


def _two_sizes(found: Mapping[int, float]) -> tuple[int, int] | None:
    """The sizes between which growth is told; None where there are no two."""
    wanted, most = _GROWTH
    large = min(found, key=lambda nodes: abs(nodes - most), default=0)
    smaller = [nodes for nodes in found if nodes < large]
    return (min(smaller, key=lambda nodes: abs(nodes - wanted)), large) if smaller else None


def _nodes(results: Results) -> Table:
    names = figures.tools(results)
    rows = [
        [name, str(model["original"]["nodes"]), *(_left_of(model["runs"].get(tool)) for tool in names)]
        for name, model in results["models"].items()
    ]
    return ["model", "original", *names], rows


def _left_of(run: Mapping[str, Any] | None) -> str:
    if run is None:
        return ""
    if run["status"] not in figures.COUNTED:
        return str(run["status"])
    marks = "s" * (not run["signature_kept"]) + "f" * bool(run["foreign"])
    return f"{run['nodes']} {marks}".rstrip()


def _seconds(results: Results) -> Table:
    names = figures.tools(results)
    rows = []
    for name, model in results["models"].items():
        row = [name]
        for tool in names:
            wall, inside = (figures.value(model["runs"].get(tool), key) for key in ("whole process", "in process"))
            row.append("" if wall is None or inside is None else f"{wall:.2f} / {inside:.3f}")
        rows.append(row)
    return ["model", *names], rows


def _image(name: str, drawn: Sequence[str], text: str) -> list[str]:
    return [f"![{text}](results/{name}.svg)"] if f"{name}.svg" in drawn else []


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3f}" if ratio < 0.1 else f"{ratio:.2f}"


def _markdown(table: Table) -> str:
    head, rows = table
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _aligned(table: Table) -> str:
    head, rows = table
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(each))
        for each in (list(zip(line, widths, strict=True)) for line in lines)
    )
