"""`torch.onnx.ONNXProgram`, as torch's exporter gives it."""

from __future__ import annotations

import sys
import types
from typing import Any

import onnx
import onnx_ir as ir
import pytest

import foldproof
from tests.helpers import operators, parse


class StandIn:
    """What a program has, for where torch is not installed."""

    def __init__(self, model: ir.Model, exported_program: Any) -> None:
        self.model = model
        self.exported_program = exported_program


def test_a_program_becomes_a_new_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.onnx", types.SimpleNamespace(ONNXProgram=StandIn))
    given = StandIn(ir.from_proto(parse("g (float[N] x) => (float[N] y) { i = Identity(x) y = Relu(i) }")), "exported")
    made = foldproof.optimize(given)
    assert isinstance(made, StandIn)
    assert made is not given
    assert operators(ir.to_proto(made.model)) == {"Relu": 1}
    assert operators(ir.to_proto(given.model)) == {"Relu": 1, "Identity": 1}
    assert made.exported_program == "exported"
    assert foldproof.verify(given, made).status == "same"


def test_what_has_only_the_looks_of_a_program_is_refused() -> None:
    with pytest.raises(foldproof.UsageError, match="StandIn is no model"):
        foldproof.optimize(StandIn(ir.from_proto(parse("g (float[N] x) => (float[N] y) { y = Relu(x) }")), None))


def test_the_exporters_program_runs_as_before() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: .ci/integrations has it")

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            y = self.linear(x).reshape(x.shape[0], -1)
            return y, y + x.shape[0]

    x = torch.randn(2, 4)
    program = torch.onnx.export(
        Module().eval(), (x,), dynamo=True, optimize=False, dynamic_shapes=({0: torch.export.Dim("batch")},)
    )
    before = ir.to_proto(program.model).SerializeToString(deterministic=True)
    optimized = foldproof.optimize(program, exact=True)
    assert isinstance(optimized, torch.onnx.ONNXProgram)
    assert ir.to_proto(program.model).SerializeToString(deterministic=True) == before
    assert sum(operators(optimized.model_proto).values()) < sum(operators(program.model_proto).values())
    for size in (2, 5):
        inputs = torch.randn(size, 4)
        for expected, found in zip(program(inputs), optimized(inputs), strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    onnx.checker.check_model(optimized.model_proto, full_check=True)
