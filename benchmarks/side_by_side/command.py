"""`python -m benchmarks`: the command line, and the order of the work."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.scaling import MODELS
from benchmarks.side_by_side import figures, machine
from benchmarks.side_by_side.measuring import Limits, measure
from benchmarks.side_by_side.models import CorpusError, Model, corpus, describe, scaling
from benchmarks.side_by_side.report import summary, write_report
from benchmarks.side_by_side.tools import OURS, Tool, UnknownTool, built_in, find_tool
from foldproof.errors import FoldproofError

_ROOT = pathlib.Path(__file__).parents[2]
_FORMAT = 1
_DESCRIPTION = """\
Runs Foldproof and its peers side by side and compares what they take and what they leave.

Each run is a process of its own; the tools take turns, and another one is the first in each round. All results are run
in onnxruntime, with its optimizations off, on the same inputs as the original. OUT/results/results.json gets all
figures, OUT/RESULTS.md and the plots beside the JSON what follows from them. benchmarks/README.md says more."""
_EXAMPLES = """\
examples:
  python -m benchmarks --quick
  python -m benchmarks --corpus DIR --tools foldproof,onnxsim,onnxslim,onnxscript:1 --peers-python peers/bin/python
  python -m benchmarks --corpus none --scaling transformer --sizes 5000,50000
  python -m benchmarks --report benchmarks/results/results.json --out benchmarks

exit status: 0; 1 where what Foldproof made is wrong or broken, or where it crashed; 2 for wrong usage"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: What stands on the command line; that of this process if it is None.

    Returns:
        The exit status.
    """
    options = _parser().parse_args(arguments)
    if options.quick:
        options.rounds, options.timing, options.sizes = 1, 0.0, options.sizes or [1_000]
    try:
        results = _run(options) if options.report is None else _read(options.report)
    except KeyboardInterrupt:
        sys.stderr.write("stopped; --resume goes on with what is left\n")
        return 130
    except (UnknownTool, CorpusError, FoldproofError, OSError, ValueError) as error:
        sys.stderr.write(f"python -m benchmarks: {error}\n")
        return 2
    written = write_report(results, options.out)
    sys.stdout.write(json.dumps(results) + "\n" if options.json else summary(results))
    for path in written:
        sys.stderr.write(f"written: {path}\n")
    bad = [model["runs"].get(OURS, {}).get("status") for model in results["models"].values()]
    return int(any(status in ("wrong", "broken", "crash") for status in bad))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--corpus",
        default=str(_ROOT / "models"),
        metavar="DIR",
        help="a folder with a manifest.json, or with .onnx files; `none` for no corpus (default: the sample models)",
    )
    add("--only", type=_words, default=[], metavar="NAME,...", help="only these models of the corpus")
    add(
        "--tools",
        type=_words,
        default=built_in(),
        metavar="TOOL[:ROUNDS],...",
        help=f"what to run (default: {','.join(built_in())}); a path is an adapter of your own",
    )
    add("--rounds", type=_at_least_one, default=3, metavar="N", help="runs of each tool on each model (default: 3)")
    add("--peers-python", default=sys.executable, metavar="PATH", help="the interpreter that has the peers")
    add(
        "--scaling",
        type=_families,
        default=[],
        metavar="NAME,...",
        help=f"scaling models: `all`, or some of {', '.join(MODELS)}",
    )
    add("--sizes", type=_sizes, default=None, metavar="N,...", help="their nodes (default: 1000,5000,10000,50000)")
    add("--timeout", type=float, default=120.0, metavar="SECONDS", help="the limit of one run (default: 120)")
    add(
        "--timing",
        type=float,
        default=2.0,
        metavar="SECONDS",
        help="how long, at most, each result of the corpus is loaded and run beside its original; 0: not (default: 2)",
    )
    add("--quick", action="store_true", help="one round, no timing of results, scaling models of 1000 nodes")
    add(
        "--out",
        type=pathlib.Path,
        default=pathlib.Path("benchmark-out"),
        metavar="DIR",
        help="where results go (default: benchmark-out)",
    )
    add("--resume", action="store_true", help="keep the models that OUT/results/results.json has, run the others")
    add("--json", action="store_true", help="print all results as JSON, not the summary")
    add("--report", type=pathlib.Path, metavar="FILE", help="run nothing: write the report of these results again")
    return parser


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _at_least_one(text: str) -> int:
    return max(int(text), 1)


def _sizes(text: str) -> list[int]:
    return [_at_least_one(word) for word in _words(text)]


def _families(text: str) -> list[str]:
    names = list(MODELS) if text == "all" else _words(text) if text != "none" else []
    for name in names:
        if name not in MODELS:
            raise argparse.ArgumentTypeError(f"no scaling model {name}: there are {', '.join(MODELS)}")
    return names


def _run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures all, and writes the results after each model."""
    tools = [find_tool(text, options.rounds, options.peers_python) for text in options.tools]
    path = options.out / "results" / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {
        "format": _FORMAT,
        "machine": machine.facts(),
        "settings": {"timeout": options.timeout, "timing": options.timing},
        "tools": {
            tool.name: {
                "python": tool.python_version,
                "versions": {name: version for name, version in tool.versions.items() if version is not None},
                "missing": tool.missing,
                "rounds": tool.rounds,
            }
            for tool in tools
        },
        "models": {},
    }
    if options.resume and path.is_file():
        before = _read(path)
        if any(before[key] != results[key] for key in ("tools", "settings")):
            raise ValueError(
                f"{path} was made with other tools, versions or limits: take another --out, or no --resume"
            )
        results["models"] = before["models"]
    installed = [tool for tool in tools if not tool.missing]
    for tool in tools:
        if tool.missing:
            _say(f"{tool.name} is left out: {', '.join(tool.missing)} is not installed for {tool.python}")
    if not installed:
        raise UnknownTool("none of the tools is installed")
    with tempfile.TemporaryDirectory() as folder:
        warm = all(tool.rounds == 1 for tool in installed)  # one round is but a look
        for turn, model in enumerate(_models(options, pathlib.Path(folder))):
            if model.name in results["models"]:
                continue
            if not warm:  # files that no run has read yet would be charged to whoever reads them first
                once = [Tool(**{**vars(tool), "rounds": 1}) for tool in installed]
                measure(model, once, 0, Limits(options.timeout, 0), {}, lambda _: None)
                warm = True
            skipped = _too_slow(results, model, installed, options.timeout)
            timing = options.timing if model.family is None else 0.0
            limits = Limits(options.timeout, timing)
            results["models"][model.name] = measure(model, installed, turn, limits, skipped, _say)
            _write(path, results)
    return results


def _read(path: pathlib.Path) -> dict[str, Any]:
    """Results of an earlier run.

    Raises:
        ValueError: The file holds something else.
    """
    results = json.loads(path.read_text())
    if not isinstance(results, dict) or results.get("format") != _FORMAT:
        raise ValueError(f"{path} holds no results of python -m benchmarks, or those of another version of it")
    return results


def _models(options: argparse.Namespace, folder: pathlib.Path) -> Iterator[Model]:
    """The models of the corpus, then the scaling models."""
    listed = iter(()) if options.corpus == "none" else corpus(pathlib.Path(options.corpus), options.only)
    return itertools.chain(listed, scaling(options.scaling, options.sizes or [1_000, 5_000, 10_000, 50_000], folder))


def _too_slow(results: Mapping[str, Any], model: Model, tools: Sequence[Tool], timeout: float) -> dict[str, str]:
    """The tools for which a scaling model is too large, going by the smaller ones of its family."""
    found: dict[str, str] = {}
    if model.family is None:
        return found
    smaller = {name: each for name, each in results["models"].items() if each["family"] == model.family}
    nodes = describe(model.path).nodes
    for tool in tools:
        points = []
        for name, each in smaller.items():
            run = each["runs"].get(tool.name, {})
            if run.get("status") in ("timeout", "crash", "skipped"):
                found[tool.name] = f"{run['status']} on {name}"
            elif run.get("seconds"):
                points.append((each["original"]["nodes"], max(run["seconds"])))
        expected = figures.expected_seconds(points, nodes)
        if expected > timeout:
            found.setdefault(tool.name, f"would take about {expected:.0f} s, as its time grows")
    return found


def _write(path: pathlib.Path, results: Mapping[str, Any]) -> None:
    """Replaces the file whole: an interrupted run leaves what it had."""
    beside = path.with_suffix(".part")
    beside.write_text(_text(results))
    os.replace(beside, path)  # noqa: PTH105  of a file by one beside it


def _text(results: Mapping[str, Any]) -> str:
    """JSON with a line for each tool on each model, so that results can be compared by lines."""
    head = {key: part for key, part in results.items() if key != "models"}
    lines = [json.dumps(head, indent=1).removesuffix("\n}") + ',\n "models": {']
    last = len(results["models"]) - 1
    for number, (name, model) in enumerate(results["models"].items()):
        runs = ",\n".join(f"    {json.dumps(tool)}: {json.dumps(run)}" for tool, run in model["runs"].items())
        rest = json.dumps({key: part for key, part in model.items() if key != "runs"}).removesuffix("}")
        lines.append(f'  {json.dumps(name)}: {rest},\n   "runs": {{\n{runs}}}}}' + ("," if number < last else ""))
    return "\n".join([*lines, " }\n}\n"])


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
