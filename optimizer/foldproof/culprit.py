"""Finds the first rewrite with which a model is bad, as verification or a person's command tells."""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import Any

from foldproof import model_file
from foldproof.attempts import Attempts
from foldproof.bisection import Suspicion, first_bad
from foldproof.errors import UnverifiedError, UnverifiedWarning, UsageError, VerificationError
from foldproof.optimization import Plan
from foldproof.options import options_of
from foldproof.pipeline import Optimizer
from foldproof.reporting.report import Report, TakenBack
from foldproof.rewriting import Entry


def bisect_file(source: str | os.PathLike[str], command: str | None = None, **options: Any) -> TakenBack | Entry | None:
    """Finds the first rewrite with which a model is bad. Nothing is written but temporary files.

    Args:
        source: The model's file.
        command: A command that fails for a bad model, see `foldproof.bisection.Suspicion`. None: bad is what differs
            from the original, as verification tells.
        options: Those of the command, by name: see `foldproof.Options`.

    Returns:
        The rewrite, with the difference that it makes where there is no command; None where the optimized model is
        good.

    Raises:
        UsageError: The command can't be run, or fails for the original too.
        VerificationError: The models differ, and no rewrite is the reason.
        UnverifiedError: There is no command, and nothing here can run the model.
        FoldproofError: See `Optimizer.run`.
    """
    chosen_options = dataclasses.replace(options_of(options), strict=True, verify=command is None)
    if command is not None and chosen_options.save_repro is not None:
        raise UsageError(
            "--save-repro shows what verification finds, and --run asks your command instead",
            hint="Leave one of them out",
        )
    optimizer = Optimizer(chosen_options)
    if command is None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnverifiedWarning)  # it is an error here
                report = optimizer.run(source).report
        except VerificationError as error:
            guilty = error.report.taken_back if isinstance(error.report, Report) else ()
            if not guilty:
                raise
            return guilty[0]
        if report.verdict == "unverified":
            reason = None if report.verification is None else report.verification.reason
            raise UnverifiedError(
                f"nothing here can run the model, so nobody knows whether a rewrite does harm: {reason}",
                report=report,
                hint="Judge it by a command of your own, with --run",
            )
        return None
    with Attempts(optimizer.options, lambda: model_file.read(source)) as attempts:
        return _bisect_by(
            Suspicion(command), attempts, Plan(tuple(optimizer.rules), stop_after=options.get("stop_after"))
        )


def _bisect_by(suspicion: Suspicion, attempts: Attempts, plan: Plan) -> Entry | None:
    """The first rewrite with which a person's command fails."""
    with attempts.probe(plan) as whole:
        ledger = whole.report().ledger
        if not suspicion.blames(whole.write):
            return None

    def is_bad(length: int) -> bool:
        with attempts.probe(dataclasses.replace(plan, stop_after=length)) as run:
            return suspicion.blames(run.write)

    if is_bad(0):
        raise UsageError("the command fails for the original too", hint="Give one that succeeds where a model is good")
    return ledger[first_bad(len(ledger), is_bad) - 1]
