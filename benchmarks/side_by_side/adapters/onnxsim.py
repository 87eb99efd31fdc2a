"""onnxsim with its defaults."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

DISTRIBUTIONS = ("onnxsim", "onnx")


def prepare(source: str, target: str, external: bool) -> Callable[[], object]:
    """Imports; what comes back loads, optimizes and writes."""
    import onnx
    import onnxsim

    def run() -> None:
        model, _ = onnxsim.simplify(onnx.load(source))
        onnx.save(model, target, save_as_external_data=external, location=pathlib.Path(target).name + ".data")

    return run
