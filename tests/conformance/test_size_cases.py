"""The Size and Shape cases: folded, kept or refused as the decided semantics say, and right on every feed.

A case is a folder: `model.onnx`, `case.json`, the inputs and the outputs that numpy computed. Its kind says what must
become of it: `fold`, `mayfold` (also kept), `mayexpr` (at most these operators are left), `keep` (never a constant),
`untouched` (another domain's `Size`), `error` (refused, or handed back unchanged).
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

import foldproof
from tests.helpers import needs_recent_onnxruntime, operators

CASES = sorted(path.parent for path in (Path(__file__).parent / "size").glob("*/case.json"))
assert len(CASES) > 100


def load(path: Path) -> np.ndarray:
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def optimized(model: onnx.ModelProto) -> onnx.ModelProto:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", foldproof.UnverifiedWarning)
        return foldproof.optimize(model)


def called(model: onnx.ModelProto) -> dict[str, int]:
    """The operators of the main graph, and of the functions where one is called."""
    counts = operators(model)
    names = {f"{function.domain}::{function.name}" for function in model.functions}
    if not names & set(counts):
        rest = onnx.ModelProto()
        rest.CopyFrom(model)
        del rest.functions[:]
        counts = operators(rest)
    return dict(counts)


def constants(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """The outputs that are constants."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    fed = {value.name for value in model.graph.input} if model.ir_version >= 4 else set()
    return {value.name: stored[value.name] for value in model.graph.output if value.name in stored.keys() - fed}


def check_outputs(case: dict, folder: Path, model: onnx.ModelProto) -> None:
    known = constants(model)
    for feed in case["feeds"]:
        want = {name: load(folder / file) for name, file in (feed.get("want") or {}).items()}
        inputs = {
            name: load(folder / each["file"]) if isinstance(each, dict) and "file" in each else each
            for name, each in feed["inputs"].items()
        }
        if set(want) <= set(known):
            got = known
        elif case["ort"] and not any(isinstance(each, dict) for each in inputs.values()):
            session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            names = [value.name for value in model.graph.output]
            got = dict(zip(names, session.run(names, inputs), strict=True))
        else:
            continue
        for name, value in want.items():
            assert got[name].dtype == value.dtype
            np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "folder",
    [pytest.param(each, marks=needs_recent_onnxruntime if each.name == "opset_28_dyn" else ()) for each in CASES],
    ids=lambda folder: folder.name,
)
def test_case(folder: Path) -> None:
    case = json.loads((folder / "case.json").read_text())
    original = onnx.load(folder / "model.onnx", load_external_data=False)
    if original.ir_version > onnx.IR_VERSION:
        pytest.skip(f"this onnx does not know IR version {original.ir_version} yet")
    before = original.SerializeToString(deterministic=True)
    try:
        model = optimized(original)
    except foldproof.FoldproofError:
        assert case["kind"] == "error"
        return
    assert original.SerializeToString(deterministic=True) == before
    if case["kind"] == "error":
        assert list(model.graph.node) == list(original.graph.node)
        return
    if case["kind"] == "untouched":
        assert all(node in model.graph.node for node in original.graph.node if node.op_type == "Size")
        return
    if case["checker"] in ("full", "plain") and not any(tensor.external_data for tensor in model.graph.initializer):
        onnx.checker.check_model(model, full_check=case["checker"] == "full")
    if case["kind"] == "keep":
        assert not constants(model) or case["feeds"]
    check_outputs(case, folder, model)
    if case["kind"] in ("fold", "mayexpr"):
        left = called(model)
        assert all(count <= case["ops"].get(operator, 0) for operator, count in left.items()), left
