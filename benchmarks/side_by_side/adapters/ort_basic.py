"""onnxruntime's basic optimizations, done offline."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

DISTRIBUTIONS = ("onnxruntime",)


def prepare(source: str, target: str, external: bool) -> Callable[[], object]:
    """Imports; what comes back loads, optimizes and writes."""
    import onnxruntime

    def run() -> None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = target
        options.log_severity_level = 3
        if external:
            key = "session.optimized_model_external_initializers_"
            options.add_session_config_entry(key + "file_name", pathlib.Path(target).name + ".data")
            options.add_session_config_entry(key + "min_size_in_bytes", "1024")
        onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])

    return run
