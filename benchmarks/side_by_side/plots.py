"""The two plots: ratios on the corpus, and growth on the scaling models, as SVG and PNG."""

from __future__ import annotations

import math
import pathlib
import sys
from typing import Any

from benchmarks.side_by_side import figures
from benchmarks.side_by_side.figures import Results, geometric_mean
from benchmarks.side_by_side.tools import OURS

# Colours that are told apart whatever one's eyes are (Okabe and Ito), each with a marker of its own.
_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
_MARKERS = "osD^vPX*"
_SHOWN = ("whole process", "in process", "CPU", "peak memory", "nodes", "bytes", "load", "latency")


def draw(results: Results, folder: pathlib.Path) -> list[pathlib.Path]:
    """Draws what there is to draw.

    Args:
        results: The results.
        folder: Where to write `ratios` and `growth`.

    Returns:
        The files; none, and a word about it on standard error, without matplotlib.
    """
    try:
        import matplotlib
    except ImportError:
        sys.stderr.write("no plots: matplotlib is not installed; pip install 'foldproof[bench]' brings it\n")
        return []
    folder.mkdir(parents=True, exist_ok=True)
    # Texts stay texts in SVG, and the same results give the same file.
    settings: dict[str, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "foldproof",
        "font.size": 9,
        "axes.spines.top": False,
    }
    written = []
    with matplotlib.rc_context(settings):
        for name, figure in (("ratios", _ratios(results)), ("growth", _growth(results))):
            if figure is None:
                continue
            for suffix in ("svg", "png"):
                path = folder / f"{name}.{suffix}"
                metadata = {"Date": None} if suffix == "svg" else {"Software": None}
                figure.savefig(path, dpi=110, metadata=metadata)
                written.append(path)
    return written


def _ratios(results: Results) -> Any:
    """A panel for each measure, a row for each peer: a dot for each model, a bar at the geometric mean."""
    from matplotlib.figure import Figure

    peers = figures.peers(results)
    if OURS not in figures.tools(results) or not peers or not figures.models(results):
        return None
    shown = [m for m in _SHOWN if any(figures.ratios(results, m, OURS, peer) for peer in peers)]
    if not shown:
        return None
    columns = min(4, len(shown))
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(3.1 * columns + 0.8, rows * (0.36 * len(peers) + 1.1)), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).flat
    for panel, measure in zip(panels, shown, strict=False):
        for row, peer in enumerate(peers):
            found = list(figures.ratios(results, measure, OURS, peer).values())
            colour = _COLOURS[(row + 1) % len(_COLOURS)]
            heights = [
                row + 0.5 * ((k * 0.618) % 1 - 0.5) for k in range(len(found))
            ]  # side by side, not one on another
            panel.scatter(found, heights, s=7, color=colour, alpha=0.5, linewidths=0)
            mean = geometric_mean(found)
            if mean is not None:
                panel.plot([mean, mean], [row - 0.38, row + 0.38], color="black", linewidth=1.8)
                text = panel.annotate(f"{mean:.2f}", (mean, row - 0.38), ha="center", va="bottom", fontsize=7.5)
                text.set_bbox({"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5})
        panel.axvline(1, color="0.6", linewidth=0.8, zorder=0)
        panel.set_xscale("log")
        panel.set_title(measure)
        panel.set_yticks(range(len(peers)), peers)
        panel.set_ylim(len(peers) - 0.4, -0.7)
        _mark(panel.xaxis)
    for panel in list(panels):
        panel.set_visible(False)
    figure.suptitle(
        "Foldproof's figure divided by the peer's, model by model; left of 1, Foldproof takes or leaves less"
    )
    return figure


def _growth(results: Results) -> Any:
    """A panel for each scaling model, a line for each tool: microseconds in process for each node."""
    from matplotlib.figure import Figure

    families = figures.families(results)
    tools = figures.tools(results)
    if not families:
        return None
    columns = min(4, len(families))
    rows = -(-len(families) // columns)
    figure = Figure(figsize=(3.0 * columns + 0.6, 2.5 * rows + 0.8), layout="constrained")
    panels = iter(figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat)
    for family, panel in zip(families, panels, strict=False):
        for number, tool in enumerate(tools):
            found = figures.growth(results, family, tool, "in process")
            panel.plot(
                list(found),
                [seconds * 1e6 for seconds in found.values()],
                color=_COLOURS[number % len(_COLOURS)],
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=4,
                linewidth=2.2 if tool == OURS else 1.1,
                label=tool,
            )
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_title(family.replace("_", " "))
        panel.grid(color="0.9")
        panel.set_axisbelow(True)
    for panel in figure.axes:  # they share their axes, so that all have to be drawn on first
        _mark(panel.xaxis)
        _mark(panel.yaxis)
    for panel in panels:
        panel.set_visible(False)
    figure.supxlabel("nodes")
    figure.supylabel("microseconds a node, in process")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def _mark(axis: Any) -> None:
    """Writes plain numbers at a logarithmic axis, as many as there is room for."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axis.get_view_interval()
    decades = math.log10(high / low)
    marks = (
        (1, 2, 3, 4, 5, 6, 7, 8, 9)
        if decades < 0.6
        else (1, 2, 5)
        if decades < 1.7
        else (1, 3)
        if decades < 3
        else (1,)
    )
    axis.set_major_locator(LogLocator(subs=marks, numticks=50))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda number, _: f"{number:,.10g}")
