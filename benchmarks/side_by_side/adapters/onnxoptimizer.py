"""onnxoptimizer: all its passes that fuse or eliminate, until nothing changes."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

DISTRIBUTIONS = ("onnxoptimizer", "onnx")


def prepare(source: str, target: str, external: bool) -> Callable[[], object]:
    """Imports; what comes back loads, optimizes and writes."""
    import onnx
    import onnxoptimizer

    def run() -> None:
        passes = onnxoptimizer.get_fuse_and_elimination_passes()
        model = onnxoptimizer.optimize(onnx.load(source), passes, fixed_point=True)
        onnx.save(model, target, save_as_external_data=external, location=pathlib.Path(target).name + ".data")

    return run
