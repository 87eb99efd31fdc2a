"""Foldproof with its defaults, verification off."""

from __future__ import annotations

from collections.abc import Callable

DISTRIBUTIONS = ("foldproof", "onnx", "onnx-ir", "onnxruntime", "numpy")


def prepare(source: str, target: str, external: bool) -> Callable[[], object]:
    """Imports; what comes back loads, optimizes and writes."""
    import foldproof

    return lambda: foldproof.optimize_file(source, target, verify=False)
