"""A model of 3 GB, whose data file has little but holes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import foldproof
from foldproof.errors import UsageError
from foldproof.model_file import differences

SIDE = 16384
GIB = 1 << 30
MEASURED = """
import sys
from pathlib import Path
import foldproof
foldproof.optimize_file(sys.argv[1], sys.argv[2], link_weights=True, verify=False)
# Not ru_maxrss, which begins with that of the process that started this one.
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


@pytest.fixture
def big(tmp_path) -> Path:
    path = tmp_path / "big.onnx"
    weights, nodes = [], []
    for k in range(3):
        weight = TensorProto(name=f"w{k}", data_type=TensorProto.FLOAT, dims=[SIDE, SIDE])
        weight.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "big.bin"), ("offset", k * GIB), ("length", GIB)):
            weight.external_data.add(key=key, value=str(value))
        weights.append(weight)
        nodes.append(helper.make_node("MatMul", [f"x{k}", f"w{k}"], [f"x{k + 1}"]))
    nodes.append(helper.make_node("Size", ["w2"], ["n"]))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", SIDE]) for name in ("x0", "x3"))
    n = helper.make_tensor_value_info("n", TensorProto.INT64, [])
    graph = helper.make_graph(nodes, "g", [x], [y, n], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate(3 * GIB)
        for k in range(3):  # so that no two are compared as a whole
            file.seek(k * GIB)
            file.write(np.float32(k + 1).tobytes())
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere, and holes take room")
def test_it_takes_less_than_200_mib(big):
    out = big.with_name("out.onnx")
    command = [sys.executable, "-c", MEASURED, str(big), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200 << 10
    optimized = onnx.load(out, load_external_data=False)
    assert {node.op_type for node in optimized.graph.node} <= {"MatMul", "Constant"}
    assert out.stat().st_size < 4096


def test_nothing_changes_without_rules(big):
    foldproof.optimize_file(big, big.with_name("out.onnx"), rules=(), link_weights=True, verify=False)
    pair = [onnx.load(path, load_external_data=False) for path in (big, big.with_name("out.onnx"))]
    assert list(differences(*pair)) == []


def test_it_does_not_fit_into_one_file(big):
    with pytest.raises(UsageError, match="2 GB"):
        foldproof.optimize_file(big, big.with_name("out.onnx"), rules=(), external_data="never", verify=False)
    assert sorted(path.name for path in big.parent.iterdir()) == ["big.bin", "big.onnx"]
