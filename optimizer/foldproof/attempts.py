"""Attempts to optimize one model: each begins with the model as it was given, and all are held to one original."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from foldproof.destinations import check_destination
from foldproof.engines import Worker
from foldproof.errors import UnverifiedError
from foldproof.model_file import Source
from foldproof.optimization import Plan
from foldproof.options import Options
from foldproof.run import Run

if TYPE_CHECKING:
    from foldproof.verification import Progress, Runnable, Verifier


class Attempts:
    """Makes attempts, for as long as the `with` statement lasts.

    The original is loaded once, in a process beside this one, while the first attempt rewrites. All that runs models
    shares that process.

    Args:
        options: What the person asked for.
        load: Gives the model anew, as a rewrite changes it.
        target: The file to write in the end; None where the result stays in memory.
        force: Overwrite a file that is not an earlier output.
        progress: Is told what is done next, and how much of how much was done; 0 of 0 where nobody knows.
    """

    def __init__(
        self,
        options: Options,
        load: Callable[[], Source],
        target: Path | None = None,
        *,
        force: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._options = options
        self._load = load
        self._target = target
        self._force = force
        self._progress = progress
        self._stack = contextlib.ExitStack()
        self._verifier: Verifier | None = None
        self._why_no_verifier = ""

    def __enter__(self) -> Attempts:
        if Worker.borrowed() is None:
            self._stack.enter_context(self._stack.enter_context(Worker(threads=self._options.jobs)).lent())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def attempt(self, plan: Plan) -> Run:
        """Optimizes by a plan, stages the result where there is a target, and verifies it.

        Raises:
            VerificationError: The models differ.
            FoldproofError: See `foldproof.Optimizer.run`.
        """
        return self._run(plan, self._target, None)

    def probe(self, plan: Plan, runs: Collection[int] | None = None) -> Run:
        """The same for what nobody keeps.

        Args:
            plan: The plan.
            runs: The numbers of the only feeds to run, as `Run.number` and `Difference.run` give them.
        """
        return self._run(plan, None, runs)

    def rewritten(self, plan: Plan, *, record: bool = False) -> Run:
        """What a plan makes of the model, not verified.

        Args:
            plan: The plan.
            record: See `Run.rewrite`.
        """
        run = self._begun(plan)
        try:
            run.bind()
            run.rewrite(record=record)
        except BaseException:
            run.close()
            raise
        return run

    @property
    def original(self) -> Runnable | None:
        """The original as verification runs it; None before the first attempt, or where there is no runtime."""
        return None if self._verifier is None else self._verifier.model

    def feed(self, number: int | None) -> dict[str, Any]:
        """The inputs of one run of the original, by name; none where there was no run."""
        if self._verifier is None or number is None:
            return {}
        return next((dict(trial.feed.values) for trial in self._verifier.trials([number])), {})

    def _run(self, plan: Plan, target: Path | None, runs: Collection[int] | None) -> Run:
        run = self._begun(plan)
        try:
            source = run.source
            inputs = [*source.data_files, *([source.path] if source.path is not None else [])]
            in_place = self._options.in_place
            if target is not None:
                check_destination(target, inputs, force=self._force, in_place=in_place)
            run.bind()
            self._begin_to_verify(run)
            run.rewrite()
            if target is not None:
                for path in run.stage(target):
                    check_destination(path, inputs, force=self._force, in_place=in_place)
            if self._options.verify:
                run.verify(self._verifier or self._why_no_verifier, runs)
        except BaseException:
            run.close()
            raise
        return run

    def _begun(self, plan: Plan) -> Run:
        start = time.perf_counter()
        if self._progress is not None:
            self._progress("reading the model", 0, 0)
        source = self._load()
        return Run(self._options, plan, source, seconds=time.perf_counter() - start, progress=self._progress)

    def _verifies(self, words: str, done: int, steps: int) -> None:
        if self._progress is not None:
            self._progress(f"verifying at {words}", done, steps)

    def _begin_to_verify(self, run: Run) -> None:
        """Begins to load the original, at the first attempt."""
        if not self._options.verify or self._verifier is not None or self._why_no_verifier:
            return
        limits = run.limits_before_loading()
        if limits.reason is not None:
            self._why_no_verifier = limits.reason
            return
        from foldproof.verification import Settings, Verifier

        options = self._options
        settings = Settings(options.seed, options.feeds, options.bind, options.verify_seconds, loading=limits.loading)
        try:
            verifier = Verifier(run.original(self._stack), settings, progress=self._verifies)
        except UnverifiedError as error:  # there is no runtime at all
            self._why_no_verifier = str(error).rstrip(".")
            return
        self._verifier = self._stack.enter_context(verifier)
        self._verifier.prepare()
