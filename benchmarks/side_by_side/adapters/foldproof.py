"""Foldproof with its defaults, verification off.

It imports its parts where they are first used. Here they are imported first, as the others import theirs with
themselves, so that the seconds in process are those of the work.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

DISTRIBUTIONS = ("foldproof", "onnx", "onnx-ir", "onnxruntime", "numpy")


def prepare(source: str, target: str, external: bool) -> Callable[[], object]:
    """Imports; what comes back loads, optimizes and writes."""
    import foldproof

    optimize_file = foldproof.optimize_file
    importlib.import_module("foldproof.rewriting.packs").installed()
    return lambda: optimize_file(source, target, verify=False)
