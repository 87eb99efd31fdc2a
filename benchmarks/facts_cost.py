"""What all facts of a model cost: against onnxruntime's symbolic shape inference, and as the model grows.

`python -m benchmarks.facts_cost` prints a table. Seconds are the least of several runs in one process.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import sys
import time
from collections.abc import Callable

import onnx
import onnx_ir as ir

from benchmarks.scaling import MODELS
from foldproof.facts import Facts
from foldproof.gc_pause import gc_paused


def seconds_of(prepare: Callable[[], object], run: Callable[[object], object], rounds: int) -> float:
    """The least time of several runs, each on a fresh argument whose making is not counted."""
    best = float("inf")
    for _ in range(rounds):
        argument = prepare()
        start = time.perf_counter()
        run(argument)
        best = min(best, time.perf_counter() - start)
    return best


def all_facts(model: object) -> None:
    """Infers each value of a model."""
    assert isinstance(model, ir.Model)
    with gc_paused():  # as a run of the optimizer does
        facts = Facts(model)
        for node in model.graph:
            for output in node.outputs:
                facts.of(output)


def symbolic(model: object) -> None:
    """Onnxruntime's symbolic shape inference of a model."""
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    with contextlib.redirect_stdout(io.StringIO()):
        SymbolicShapeInference.infer_shapes(model, auto_merge=True)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 50_000], help="nodes")
    parser.add_argument(
        "--against", type=int, default=10_000, help="the largest size that is also given to onnxruntime"
    )
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    sys.stdout.write(
        "| model | nodes | facts, s | us a node | onnxruntime, s | ratio |\n| --- | --- | --- | --- | --- | --- |\n"
    )
    for name, build in MODELS.items():
        for size in arguments.sizes:
            proto = build(size)
            nodes = len(proto.graph.node)
            mine = seconds_of(lambda proto=proto: ir.from_proto(proto), all_facts, arguments.rounds)
            row = f"| {name} | {nodes} | {mine:.3f} | {mine / nodes * 1e6:.0f} |"
            if size <= arguments.against:
                copy = onnx.ModelProto.FromString(proto.SerializeToString())
                theirs = seconds_of(lambda copy=copy: copy, symbolic, 1)
                row += f" {theirs:.2f} | {mine / theirs:.3f} |"
            else:
                row += " | |"
            sys.stdout.write(row + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
