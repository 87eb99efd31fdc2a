"""Verification: original and optimized model run at several bindings, and what they hand out compared."""

from __future__ import annotations

from foldproof.engines import Runnable

from .admission import Progress
from .instrumentation import instrument
from .probes import Probe, find_probes
from .proven import Proven, find_proven
from .results import Difference, Evaluation, NotAdmitted, Run, Verification
from .settings import Settings
from .trials import Trial
from .verification import Verifier, verify

__all__ = [
    "Difference",
    "Evaluation",
    "NotAdmitted",
    "Probe",
    "Progress",
    "Proven",
    "Run",
    "Runnable",
    "Settings",
    "Trial",
    "Verification",
    "Verifier",
    "find_probes",
    "find_proven",
    "instrument",
    "verify",
]
