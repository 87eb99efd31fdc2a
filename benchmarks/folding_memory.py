"""How much memory folding takes: that of one batch, however many weights there are.

`python -m benchmarks.folding_memory [WEIGHTS]` optimizes a model with as many weights of 16 MiB (one with 4, one with
40, unless given), each behind a Transpose that folds, and prints the largest resident memory of the process and of its
child. The weights are in a data file. Linux only: it reads `/proc`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

SIDE = 2048
MEASURED = """
import os, sys, threading, time
import foldproof.pipeline

def peak(process):
    with open(f"/proc/{process}/status") as file:
        return next((int(line.split()[1]) >> 10 for line in file if line.startswith("VmHWM")), 0)  # 0: it has ended

def watch():
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            peaks.update((process, peak(process)) for process in file.read().split())
        time.sleep(0.05)

peaks = {}
before = peak("self")
threading.Thread(target=watch, daemon=True).start()
foldproof.optimize_file(sys.argv[1], sys.argv[2], verify=False)
print(before, peak("self"), max(peaks.values()))
"""


def write_model(path: Path, weights: int) -> None:
    """Writes a model that adds up the products of its input with transposed weights.

    Args:
        path: Where to; the weights go beside it.
        weights: How many.
    """
    data = path.with_suffix(".data")
    tensors, nodes = [], []
    with data.open("wb") as file:
        for k in range(weights):
            tensor = TensorProto(name=f"w{k}", data_type=TensorProto.FLOAT, dims=[SIDE, SIDE])
            tensor.data_location = TensorProto.EXTERNAL
            content = np.random.default_rng(k).normal(size=(SIDE, SIDE)).astype(np.float32).tobytes()
            for key, value in (("location", data.name), ("offset", file.tell()), ("length", len(content))):
                tensor.external_data.add(key=key, value=str(value))
            file.write(content)
            tensors.append(tensor)
            nodes.append(helper.make_node("Transpose", [f"w{k}"], [f"t{k}"]))
            nodes.append(helper.make_node("MatMul", ["x", f"t{k}"], [f"p{k}"]))
    nodes.append(helper.make_node("Sum", [f"p{k}" for k in range(weights)], ["y"]))
    shape = ["N", SIDE]
    declared = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", declared[:1], declared[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)


def peaks(weights: int) -> tuple[int, int, int]:
    """The MiB of the process before and during a run, and those of its child."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        write_model(path, weights)
        command = [sys.executable, "-c", MEASURED, str(path), str(Path(folder) / "out.onnx")]
        before, after, child = map(int, subprocess.check_output(command, text=True).split())
        left = [node.op_type for node in onnx.load(Path(folder) / "out.onnx", load_external_data=False).graph.node]
        assert "Transpose" not in left, left
    return before, after, child


def main() -> None:
    """Prints the memory for each number of weights."""
    for weights in [int(sys.argv[1])] if len(sys.argv) > 1 else [4, 40]:
        before, after, child = peaks(weights)
        size = weights * SIDE * SIDE * 4 >> 20
        sys.stdout.write(f"{weights} weights, {size} MiB: {before} MiB before, at most {after}; child {child}\n")


if __name__ == "__main__":
    main()
