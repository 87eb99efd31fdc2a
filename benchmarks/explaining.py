"""Whether `foldproof explain` has an answer for each `Size` and `Shape` that is left, and whether its suggestions work.

`python -m benchmarks.explaining FOLDER` optimizes each model of a folder, and has the result explained. Each `Size` and
`Shape` in it must come with a suggestion, or with the reason why none would do. Each suggestion is then applied, as a
person would, and the node must be gone. What does not hold is printed, and the exit status is 1.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import click
import onnx

import foldproof
from foldproof import model_file
from foldproof.errors import FoldproofError
from foldproof.explaining import Explanation, explain
from foldproof.graphs import all_graphs


@dataclasses.dataclass(frozen=True)
class Answers:
    """What was said of the nodes of a model.

    Attributes:
        applied: How many suggestions were applied and did what they say.
        reasons: How many nodes nothing would fold, with the reason.
        faults: What does not hold.
    """

    applied: int
    reasons: int
    faults: tuple[str, ...]


def check(path: Path) -> Answers:
    """Optimizes a model, has the result explained, and applies what is suggested."""
    faults = []
    reasons = 0
    suggested: dict[tuple[tuple[tuple[str, int], ...], bool], list[Explanation]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        optimized, again = Path(folder) / "optimized.onnx", Path(folder) / "again.onnx"
        foldproof.optimize_file(path, optimized, verify=False)
        for told in explain(optimized).found:
            if told.suggestion is not None:
                suggested[tuple(told.suggestion.set_dim.items()), told.suggestion.inline_functions].append(told)
            elif told.why_not is not None:
                reasons += 1
            else:
                faults.append(f"{told.value}: no answer, and optimize has {told.outcome} it")
        applied = 0
        for (dims, inline), nodes in suggested.items():
            foldproof.optimize_file(
                optimized, again, force=True, verify=False, set_dim=dict(dims), inline_functions=inline
            )
            left = outputs(again, {told.operator for told in nodes})
            faults += [f"{told.value}: still there with {dims}" for told in nodes if told.value in left]
            applied += sum(told.value not in left for told in nodes)
    return Answers(applied, reasons, tuple(faults))


def outputs(path: Path, operators: set[str]) -> set[str]:
    """The names of what the nodes of some operators make."""
    graphs = all_graphs(model_file.from_proto(onnx.load(path, load_external_data=False)).model)
    return {str(node.outputs[0].name) for graph in graphs for node in graph if node.op_type in operators}


def main() -> int:
    """Checks the models of a folder."""
    applied = reasons = failed = 0
    for path in sorted(Path(sys.argv[1]).rglob("*.onnx")):
        try:
            answers = check(path)
        except FoldproofError as error:
            click.echo(f"{path.name}: {error}")
            continue
        applied, reasons, failed = applied + answers.applied, reasons + answers.reasons, failed + len(answers.faults)
        told = f"{path.name}: {answers.applied} suggestions work, {answers.reasons} reasons"
        click.echo("\n  ".join([told, *answers.faults]))
    click.echo(f"{applied} suggestions work, {failed} don't hold, {reasons} nodes that nothing would fold")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
