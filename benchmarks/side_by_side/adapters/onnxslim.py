"""OnnxSlim with its defaults."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

DISTRIBUTIONS = ("onnxslim", "onnx")


def prepare(source: str, target: str, external: bool) -> Callable[[], object]:
    """Imports; what comes back loads, optimizes and writes."""
    import onnx
    import onnxslim

    def run() -> None:
        model = onnxslim.slim(onnx.load(source))
        onnx.save(model, target, save_as_external_data=external, location=pathlib.Path(target).name + ".data")

    return run
