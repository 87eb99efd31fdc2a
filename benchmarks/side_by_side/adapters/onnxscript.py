"""onnxscript: its optimizer, then its rewriter, with their defaults."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

DISTRIBUTIONS = ("onnxscript", "onnx", "onnx-ir")


def prepare(source: str, target: str, external: bool) -> Callable[[], object]:
    """Imports; what comes back loads, optimizes and writes."""
    import onnx_ir as ir
    import onnxscript.optimizer as optimizer
    import onnxscript.rewriter as rewriter

    def run() -> None:
        model = ir.load(source)
        optimizer.optimize_ir(model)
        rewriter.rewrite(model)
        ir.save(model, target, external_data=pathlib.Path(target).name + ".data" if external else None)

    return run
