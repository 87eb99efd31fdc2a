"""Libraries tell of a model in the model's own words: nothing of that reaches the terminal."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings
from pathlib import Path

import onnx
import pytest

from foldproof.cli.silence import silent_libraries

EVIL = "\x1b[31mEVIL\n::error::owned"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of which onnx_ir and onnx have something to say: a function that nothing calls, and a strange key."""
    proto = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 18, "my": 1]> g (float[2] x) => (float[2] y) { y = Add (x, w) }'
        '<domain: "my", opset_import: ["": 18]> f (p) => (q) { q = Neg (p) }'
    )
    proto.functions[0].node[0].input[0] = EVIL
    external = onnx.TensorProto.EXTERNAL
    weight = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[2], data_location=external)
    weight.external_data.add(key="location", value="w.bin")
    weight.external_data.add(key=EVIL, value="1")
    proto.graph.initializer.append(weight)
    (tmp_path / "w.bin").write_bytes(bytes(8))
    onnx.save(proto, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


@pytest.mark.parametrize(
    "arguments",
    [
        ["optimize", "model.onnx", "-o", "out.onnx"],
        ["explain", "model.onnx"],
        ["diff", "model.onnx", "model.onnx"],
        ["verify", "model.onnx", "model.onnx"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_names_in_what_libraries_say_are_not_printed(model, arguments):
    command = [sys.executable, "-m", "foldproof.cli", *arguments]
    done = subprocess.run(command, cwd=model.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert not any(line.startswith("::") for line in (done.stdout + done.stderr).splitlines())
    assert "EVIL" not in done.stderr


def test_what_was_before_is_again_afterwards(caplog):
    log = logging.getLogger("onnx_ir.serde")
    before = logging.getLogger("onnx_ir").handlers[:]
    with silent_libraries():
        log.warning("not seen")
        warnings.warn("not seen", stacklevel=1)
    log.warning("seen")
    assert [record.message for record in caplog.records] == ["seen"]
    assert logging.getLogger("onnx_ir").handlers == before
