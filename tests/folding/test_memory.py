"""Of large weights, memory holds those of one batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from foldproof import model_file
from foldproof.facts import Facts
from foldproof.folding import Folder, batch, evaluation
from foldproof.rewriting import Rewriter
from foldproof.rewriting.packs import installed

WEIGHTS = 12
SIDE = 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model with weights of 40,000 bytes in a data file, whose signs are taken away."""
    value = helper.make_tensor_value_info
    rng = np.random.default_rng(0)
    nodes = [helper.make_node("Abs", [f"w{k}"], [f"t{k}"]) for k in range(WEIGHTS)]
    nodes += [helper.make_node("Einsum", ["x", f"t{k}"], [f"y{k}"], equation="ij,jk->ik") for k in range(WEIGHTS)]
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.FLOAT, ["N", SIDE])],
        [value(f"y{k}", TensorProto.FLOAT, ["N", SIDE]) for k in range(WEIGHTS)],
        [numpy_helper.from_array(rng.standard_normal((SIDE, SIDE), np.float32), f"w{k}") for k in range(WEIGHTS)],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(proto, tmp_path / "in.onnx", save_as_external_data=True, location="in.data", size_threshold=0)
    return tmp_path / "in.onnx"


def test_each_batch_lets_go_of_its_weights(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foldproof.folding.folder.BATCH_BYTES", 250_000)
    monkeypatch.setattr("foldproof.large_tensors.SPILLED_FROM", 10_000)
    model = model_file.read(path).model
    weights = [value.const_value for value in model.graph.initializers.values()]
    assert all(isinstance(each, ir.ExternalTensor) for each in weights)
    mapped: list[int] = []
    fed: list[int] = []

    def write(*arguments: Any) -> batch.Batch:
        written = batch.write(*arguments)
        mapped.append(sum(each.raw is not None for each in weights))
        fed.append(sum(array.nbytes for array in written.feeds.values()))
        return written

    monkeypatch.setattr(evaluation, "batch", type("Module", (), {"write": staticmethod(write)}))
    facts = Facts(model)
    folder = Folder(model, facts)
    Rewriter(model, facts, [rule for rule in installed() if rule.name == "same_initializer"], folder=folder).run()
    assert not any(node.op_type == "Abs" for node in model.graph)
    assert folder.sessions == 4
    assert mapped == [3, 3, 3, 3]
    assert fed == [120_000] * 4
    assert all(each.raw is None for each in weights)
    results = [model.graph.initializers[f"t{k}"].const_value for k in range(WEIGHTS)]
    assert all(isinstance(each, ir.LazyTensor) for each in results)
    assert all(np.array_equal(new.numpy(), np.abs(old.numpy())) for new, old in zip(results, weights, strict=True))
