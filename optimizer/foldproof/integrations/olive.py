"""An Olive pass. Olive finds it by a package configuration: see `package_config`.

    from foldproof.integrations.olive import package_config
    from olive.workflows import run

    run({"input_model": ..., "passes": {"foldproof": {"type": "Foldproof"}}}, package_config=package_config())

From the shell: `olive run --config run.json --package-config olive_config.json`, with the file that
`write_package_config("olive_config.json")` writes.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
import os
import re
import typing
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from olive.hardware.accelerator import AcceleratorSpec
from olive.model import ONNXModelHandler
from olive.model.utils import resolve_onnx_path
from olive.package_config import OlivePackageConfig
from olive.passes import Pass
from olive.passes.pass_config import BasePassConfig, PassConfigParam
from pydantic import model_validator

from foldproof.errors import UsageError
from foldproof.options import FILE_OPTIONS, Options
from foldproof.pipeline import Optimizer

logger = logging.getLogger(__name__)


class Foldproof(Pass):
    """Optimizes an ONNX model and verifies the result. The parameters are those of `foldproof.Options`."""

    @classmethod
    def _default_config(cls, accelerator_spec: AcceleratorSpec) -> dict[str, PassConfigParam]:
        types = typing.get_type_hints(Options)
        descriptions = _descriptions()
        return {
            field.name: PassConfigParam(
                type_=types[field.name], default_value=_default(field), description=descriptions[field.name]
            )
            for field in _fields()
        }

    @classmethod
    def _validators(cls) -> dict[str, Any]:
        def check_names(given: Any) -> Any:
            """Olive passes over parameters that are not there: a wrong name would change what is done."""
            for name in given if isinstance(given, dict) else ():
                if name not in [field.name for field in _fields()]:
                    near = get_close_matches(name, [field.name for field in _fields()], 1)
                    raise ValueError(f"there is no option {name!r}" + (f": did you mean {near[0]!r}?" if near else ""))
            return given

        return {"check_names": model_validator(mode="before")(check_names)}

    def _run_for_config(
        self, model: ONNXModelHandler, config: type[BasePassConfig], output_model_path: str
    ) -> ONNXModelHandler:
        if not isinstance(model, ONNXModelHandler):
            raise UsageError(f"{type(model).__name__} is no ONNX model", hint="Put a conversion pass before this one")
        if model.external_initializers_path or model.constant_inputs_path:
            raise UsageError(
                "the model's weights are given to it from a file of Olive's own", hint="Put this pass before that one"
            )
        source = Path(model.model_path)
        target = Path(resolve_onnx_path(output_model_path, source.name))
        chosen = {field.name: getattr(config, field.name) for field in _fields()}
        report = Optimizer(Options(**chosen)).run_file(source, target, force=True)
        logger.info("foldproof: %d rewrites, %s", len(report.ledger), report.verdict)
        # Olive takes a model with data files for a folder.
        has_data = any(path.is_file() and path != target for path in target.parent.iterdir())
        return ONNXModelHandler(
            model_path=str(target.parent if has_data else target),
            onnx_file_name=target.name if has_data else None,
            inference_settings=model.inference_settings,
        )


def package_config() -> dict[str, Any]:
    """Olive's own package configuration with this pass in it, for `olive.workflows.run` and `OlivePackageConfig`."""
    config: dict[str, Any] = json.loads(Path(OlivePackageConfig.get_default_config_path()).read_text(encoding="utf-8"))
    config["passes"][Foldproof.__name__] = {
        "module_path": f"{__name__}.{Foldproof.__name__}",
        "supported_providers": ["*"],
        "supported_accelerators": ["*"],
        "supported_precisions": ["*"],
    }
    return config


def write_package_config(path: str | os.PathLike[str]) -> None:
    """Writes `package_config` to a new file, for `olive run --package-config`.

    Raises:
        UsageError: There is such a file already, or it can't be written.
    """
    try:
        with Path(path).open("x", encoding="utf-8") as file:
            json.dump(package_config(), file, indent=2)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}", hint="Name a new file") from error


def _fields() -> list[dataclasses.Field[Any]]:
    """The options that are parameters of the pass."""
    return [field for field in dataclasses.fields(Options) if field.name not in FILE_OPTIONS]


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _descriptions() -> dict[str, str]:
    """What the docstring of `Options` says of each."""
    section = inspect.cleandoc(Options.__doc__ or "").partition("Attributes:\n")[2]
    found = re.findall(r"^    (\w+): (.*(?:\n     +.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}
