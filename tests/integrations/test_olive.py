"""The Olive pass, by Olive's own flow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.helpers import operators, parse

pytest.importorskip("olive", reason="olive-ai is not installed: .ci/integrations has it")

from olive.workflows import run

from foldproof.integrations.olive import package_config, write_package_config
from foldproof.options import Options

MODEL = """g (float[batch,3] x) => (float[batch,3] y, int64[2] t) {
    s = Shape(x) r = Reshape(x, s) i = Identity(r) y = Relu(i) t = Shape(y) }"""


@pytest.fixture
def workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLIVE_DISABLE_TELEMETRY", "1")
    onnx.save(parse(MODEL), "in.onnx")
    return tmp_path


def config_of(**options: Any) -> dict[str, Any]:
    return {
        "input_model": {"type": "ONNXModel", "model_path": "in.onnx"},
        "systems": {
            "local": {
                "type": "LocalSystem",
                "accelerators": [{"device": "cpu", "execution_providers": ["CPUExecutionProvider"]}],
            }
        },
        "host": "local",
        "target": "local",
        "passes": {"foldproof": {"type": "Foldproof", **options}},
        "cache_dir": "cache",
        "output_dir": "out",
    }


def output_of(**options: Any) -> onnx.ModelProto:
    (model,) = run(config_of(**options), package_config=package_config()).get_output_models()
    path = Path(model.model_path)
    return onnx.load(path / "model.onnx" if path.is_dir() else path)  # a folder where there is external data


def test_a_workflow_optimizes_a_model(workflow: Path) -> None:
    assert operators(output_of()) == {"Relu": 1, "Shape": 1}


def test_the_options_are_parameters_of_the_pass(workflow: Path) -> None:
    assert operators(output_of(set_dim={"batch": 2}, skip_rules=["identity"], exact=True)) == {"Relu": 1, "Identity": 1}


def test_an_option_that_is_not_there_is_refused(workflow: Path) -> None:
    with pytest.raises(ValueError, match="no option 'set_dims': did you mean 'set_dim'"):
        output_of(set_dims={"batch": 2})


def test_each_option_has_its_description() -> None:
    from olive.hardware import DEFAULT_CPU_ACCELERATOR

    from foldproof.integrations.olive import Foldproof

    parameters = Foldproof.default_config(DEFAULT_CPU_ACCELERATOR)
    assert {"set_dim", "exact", "external_data", "verify_seconds"} <= set(parameters) < set(vars(Options()))
    assert all(len(each.description) > 20 for each in parameters.values())
    assert parameters["level"].default_value == 2


def test_external_data_goes_along(workflow: Path) -> None:
    proto = parse("g (float[N,300] x) => (float[N,300] y) { i = Identity(x) y = Mul(i, w) }")
    weights = np.arange(300, dtype=np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(proto, "in.onnx", save_as_external_data=True, location="in.onnx.data", size_threshold=0)
    model = output_of()
    assert operators(model) == {"Mul": 1}
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(model.graph.initializer[0]), weights)


def test_the_command_runs_it(workflow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from olive.cli.launcher import main

    Path("run.json").write_text(json.dumps(config_of()))
    write_package_config("olive_config.json")
    monkeypatch.setattr("sys.argv", ["olive", "run", "--config", "run.json", "--package-config", "olive_config.json"])
    main()
    (found,) = Path("out").rglob("*.onnx")
    assert operators(onnx.load(found)) == {"Relu": 1, "Shape": 1}
