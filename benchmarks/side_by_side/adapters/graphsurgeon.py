"""onnx-graphsurgeon: constants folded, what nothing reads taken away."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

DISTRIBUTIONS = ("onnx-graphsurgeon", "onnx")


def prepare(source: str, target: str, external: bool) -> Callable[[], object]:
    """Imports; what comes back loads, optimizes and writes."""
    import onnx
    import onnx_graphsurgeon

    def run() -> None:
        graph = onnx_graphsurgeon.import_onnx(onnx.load(source)).fold_constants().cleanup().toposort()
        model = onnx_graphsurgeon.export_onnx(graph)
        onnx.save(model, target, save_as_external_data=external, location=pathlib.Path(target).name + ".data")

    return run
