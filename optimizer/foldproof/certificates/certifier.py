"""What a run keeps for its certificate, and makes of it in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import onnx_ir as ir

from foldproof.certificates.recorder import Recorder
from foldproof.certificates.restating import Claims, restate
from foldproof.certificates.statement import statement
from foldproof.certificates.tensors import Tensors
from foldproof.facts import Facts
from foldproof.options import Options
from foldproof.reporting.report import Report
from foldproof.rewriting import Ledger, Rule


class Certifier:
    """Makes the certificate of a run.

    Args:
        model: The model, before it is rewritten.
        facts: What is proven of it.
        every: Whether tolerant rewrites are recorded too.

    Attributes:
        tensors: The constants of the model.
        recorder: Listens to the rewriter.
        claims: The rewrites, restated.
    """

    def __init__(self, model: ir.Model, facts: Facts, *, every: bool = False) -> None:
        self.tensors = Tensors(model)
        self.recorder = Recorder(model, facts, every=every)
        self.claims = Claims((), ())

    def restate(self, ledger: Ledger, optimized: ir.Model, bindings: Sequence[Mapping[str, int]]) -> None:
        """Restates the rewrites as claims.

        Args:
            ledger: The rewrites.
            optimized: The model, rewritten.
            bindings: Bindings at which it was verified.
        """
        self.tensors.add_output(optimized)
        self.claims = restate(ledger.entries, self.recorder, self.tensors, int(optimized.ir_version), bindings)

    def certificate(
        self,
        report: Report,
        rules: Iterable[Rule],
        options: Options,
        *,
        read: Sequence[Path],
        written: Sequence[Path],
    ) -> dict[str, Any]:
        """The certificate, for JSON. See `statement`."""
        finished = datetime.now(timezone.utc)
        return statement(report, self.claims, rules, options, read=read, written=written, finished=finished)
