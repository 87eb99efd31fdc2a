"""Foldproof optimizes exported ONNX models before deployment, and proves that nothing changed but the cost."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from foldproof.comparing import verify
    from foldproof.errors import (
        FoldproofError,
        ModelError,
        OriginalUsedWarning,
        RuleError,
        UnverifiedError,
        UnverifiedWarning,
        UsageError,
        VerificationError,
    )
    from foldproof.options import Options
    from foldproof.pipeline import Optimizer, Result, optimize, optimize_file
    from foldproof.reporting.report import Report
    from foldproof.sessions import load_session
    from foldproof.verification import Verification

_HOMES = {
    "foldproof.comparing": ("verify",),
    "foldproof.errors": (
        "FoldproofError",
        "ModelError",
        "OriginalUsedWarning",
        "RuleError",
        "UnverifiedError",
        "UnverifiedWarning",
        "UsageError",
        "VerificationError",
    ),
    "foldproof.options": ("Options",),
    "foldproof.pipeline": ("Optimizer", "Result", "optimize", "optimize_file"),
    "foldproof.reporting.report": ("Report",),
    "foldproof.sessions": ("load_session",),
    "foldproof.verification": ("Verification",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "FoldproofError",
    "ModelError",
    "Optimizer",
    "Options",
    "OriginalUsedWarning",
    "Report",
    "Result",
    "RuleError",
    "UnverifiedError",
    "UnverifiedWarning",
    "UsageError",
    "Verification",
    "VerificationError",
    "load_session",
    "optimize",
    "optimize_file",
    "verify",
]


def __getattr__(name: str) -> Any:
    # The public names load what they need at their first use, so that the command answers --help at once.
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)
