"""Rules that do to their process what a model may do: kill it, hang it, or wait for a file of the test."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Outcome, Reason, rule


@rule("Softsign", exact=True)
def killing(node: ir.Node, facts: Facts) -> Outcome:
    """It kills its process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return Reason("nobody gets here")


@rule("Selu", exact=True)
def eating(node: ir.Node, facts: Facts) -> Outcome:
    """It takes more memory than the test gives it."""
    return Reason("it has taken {} bytes", len(bytes(1 << 33)))


@rule("Softplus", exact=True)
def waiting(node: ir.Node, facts: Facts) -> Outcome:
    """It waits for the file that the environment names."""
    file = Path(os.environ["FOLDPROOF_TEST_FILE"])
    file.with_name(f"{file.name}.{os.getpid()}").touch()
    while not file.exists():
        time.sleep(0.02)
    return Reason("the file is there")
