"""Verification: original and optimized model run at several bindings, and what they hand out compared."""

from __future__ import annotations

from foldproof.engines import Runnable

from .instrumentation import instrument
from .probes import Probe, find_probes
from .results import Difference, Evaluation, NotAdmitted, Run, Verification
from .verification import verify

__all__ = [
    "Difference",
    "Evaluation",
    "NotAdmitted",
    "Probe",
    "Run",
    "Runnable",
    "Verification",
    "find_probes",
    "instrument",
    "verify",
]
