"""The road of a run, in its order: load, facts, rewrite, verify, write, report."""

from __future__ import annotations

import dataclasses
import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import onnx
import onnx_ir as ir

from foldproof import earlier_output, model_file
from foldproof.destinations import check_destination
from foldproof.errors import UnverifiedError, UnverifiedWarning, UsageError, VerificationError
from foldproof.model_file import Source
from foldproof.options import Options
from foldproof.reporting.report import Report
from foldproof.rewriting import Rule
from foldproof.rewriting.packs import chosen, installed
from foldproof.rollback import Rollback
from foldproof.run import Plan, Run
from foldproof.verification import Runnable, Verification
from foldproof.verification import verify as compare

AnyModel: TypeAlias = "onnx.ModelProto | ir.Model | str | os.PathLike[str]"
"""A model in memory, or the path of its file."""

_Model = TypeVar("_Model", onnx.ModelProto, ir.Model)


@dataclasses.dataclass(frozen=True)
class Result:
    """An optimized model with the report of how it came about.

    Attributes:
        model: A new model of the kind that was given; an `onnx_ir.Model` where a path was given.
        report: The report.
    """

    model: onnx.ModelProto | ir.Model
    report: Report


class Optimizer:
    """Optimizes models, all in the same way.

    Args:
        options: What to do.
        rules: The rules to choose from; those of all installed packs unless given.

    Raises:
        UsageError: The options name a rule that is not there.
    """

    def __init__(self, options: Options | None = None, rules: Sequence[Rule] | None = None) -> None:
        self.options = options or Options()
        wanted = chosen(installed() if rules is None else rules, self.options.rules, self.options.skip_rules)
        self.rules = [
            rule for rule in wanted if rule.level <= self.options.level and (rule.exact or not self.options.exact)
        ]

    def run(self, model: AnyModel) -> Result:
        """Optimizes a model, which is not changed.

        Args:
            model: The model, or the path of its file.

        Raises:
            ModelError: The model can't be read, or is invalid.
            VerificationError: The optimized model differs from the original.
            UsageError: An option makes no sense for this model.

        Warns:
            UnverifiedWarning: Nothing here can run the model: only exact rules were applied.
        """
        return self._run(model)

    def _run(self, model: AnyModel) -> Result:
        with self._verified(lambda: _source_of(model)) as run:
            if run.verdict == "unverified":
                message = f"the optimized model is not verified: {run.why_unverified}"
                warnings.warn(message, UnverifiedWarning, stacklevel=3)
            return Result(run.optimized_proto if isinstance(model, onnx.ModelProto) else run.source.model, run.report())

    def run_file(
        self, source: str | os.PathLike[str], destination: str | os.PathLike[str], *, force: bool = False
    ) -> Report:
        """Optimizes a model's file into another, which is written whole or not at all, and only when it is verified.

        Args:
            source: The file to read. It is never written.
            destination: The file to write.
            force: Overwrite a file that is not an earlier output.

        Raises:
            UsageError: The destination may not be written.
            ModelError: The model can't be read, or is invalid.
            VerificationError: The optimized model differs from the original. Nothing is written.
            UnverifiedError: Nothing here can run the model, and `allow_unverified` is not set. Nothing is written.
        """
        target = Path(destination)
        check_destination(target, [Path(source)], force=force)
        with self._verified(lambda: model_file.read(source), target, force=force) as run:
            if run.verdict == "unverified" and not self.options.allow_unverified:
                raise UnverifiedError(
                    f"nothing here can run the model, so the result can't be verified: {run.why_unverified}",
                    report=run.report(),
                    hint="Nothing was written. Write it all the same with --allow-unverified",
                )
            for path in run.commit():
                earlier_output.remember(path)
            return run.report(output=target)

    def _verified(self, load: Callable[[], Source], target: Path | None = None, *, force: bool = False) -> Run:
        """A run that is optimized, staged if it has a target, and verified.

        What verification finds guilty is taken back, unless the person wants that to be an error. Where nothing can run
        the model, exact rules alone are applied.
        """

        def attempt(plan: Plan) -> Run:
            return self._attempt(load, target, force, plan)

        def probe(plan: Plan) -> Run:
            return self._attempt(load, None, force, plan)

        plan = Plan(tuple(self.rules), stop_after=self.options.stop_after)
        rollback = Rollback(attempt, probe)
        run = self._strictly(rollback, attempt, plan) if self.options.strict else rollback.run(plan)
        if run.verdict == "unverified" and not run.is_exact:
            run.close()
            run = attempt(dataclasses.replace(plan, rules=tuple(rule for rule in plan.rules if rule.exact)))
        return run

    def _strictly(self, rollback: Rollback, attempt: Callable[[Plan], Run], plan: Plan) -> Run:
        """A run from which nothing is taken back: a difference is an error that names the guilty rewrite."""
        try:
            return attempt(plan)
        except VerificationError as error:
            guilty = rollback.find(plan, error)
            if guilty is not None and isinstance(error.report, Report):
                error.reason = f"{error.reason}. The guilty rewrite is {guilty.rule!r} at {guilty.place!r}"
                error.report = dataclasses.replace(error.report, taken_back=(guilty,))
            raise

    def _attempt(self, load: Callable[[], Source], target: Path | None, force: bool, plan: Plan) -> Run:
        start = time.perf_counter()
        source = load()
        run = Run(self.options, plan, source, seconds=time.perf_counter() - start)
        try:
            inputs = [*source.data_files, *([source.path] if source.path is not None else [])]
            if target is not None:
                check_destination(target, inputs, force=force)
            run.rewrite()
            if target is not None:
                for path in run.stage(target):
                    check_destination(path, inputs, force=force)
            run.verify()
        except BaseException:
            run.close()
            raise
        return run


def optimize(model: AnyModel, **options: Any) -> Any:
    """Optimizes a model and verifies the result.

    Args:
        model: An `onnx.ModelProto`, an `onnx_ir.Model`, or the path of a model's file. It is not changed.
        options: Those of the command, by name: see `foldproof.Options`. For example `verify=False`,
            `set_dim={"batch": 1}`.

    Returns:
        A new model of the same kind; an `onnx_ir.Model` where a path was given.

    Raises:
        FoldproofError: See `Optimizer.run`.
    """
    return Optimizer(_options(options))._run(model).model


def optimize_file(
    source: str | os.PathLike[str], destination: str | os.PathLike[str], *, force: bool = False, **options: Any
) -> Report:
    """Optimizes a model's file into another and verifies it before it is written.

    Args:
        source: The file to read.
        destination: The file to write.
        force: Overwrite a file that is not an earlier output.
        options: Those of the command, by name: see `foldproof.Options`.

    Returns:
        The report.

    Raises:
        FoldproofError: See `Optimizer.run_file`.
    """
    return Optimizer(_options(options)).run_file(source, destination, force=force)


def verify(
    a: AnyModel, b: AnyModel, *, exact: bool = False, seed: int = 0, feeds: str | os.PathLike[str] | None = None
) -> Verification:
    """Compares two models: the same inputs through both, at several bindings of the symbolic dims.

    Args:
        a: The original.
        b: The model that should do the same.
        exact: Compare floats bit for bit.
        seed: The seed of the generated inputs.
        feeds: A folder with the person's own inputs (`.npz`, `.npy`).

    Returns:
        The verification. Its status is `same`, `different`, or `unverified` where nothing can run `a`.

    Raises:
        ModelError: A model can't be read, or is invalid.
        UsageError: The feeds don't fit the models.
        UnverifiedError: onnxruntime is not installed.
    """
    options = Options(seed=seed, feeds=None if feeds is None else Path(feeds))
    return compare(_runnable(a), _runnable(b), exact=exact, seed=options.seed, feeds=options.feeds)


def _options(options: dict[str, Any]) -> Options:
    known = {field.name for field in dataclasses.fields(Options)}
    for name in options:
        if name not in known:
            raise UsageError(f"there is no option {name!r}", hint=f"There are: {', '.join(sorted(known))}")
    return Options(**options)


def _source_of(model: AnyModel) -> Source:
    if isinstance(model, onnx.ModelProto):
        return model_file.from_proto(model)
    if isinstance(model, ir.Model):
        return model_file.from_ir(model)
    if isinstance(model, (str, os.PathLike)):
        return model_file.read(model)
    raise UsageError(
        f"{type(model).__name__} is no model", hint="Give an onnx.ModelProto, an onnx_ir.Model or the path of a file"
    )


def _runnable(model: AnyModel) -> Runnable:
    """A model as verification takes it, after a look at whether it is one."""
    source = _source_of(model)
    if source.path is not None and source.data_files:
        return source.path
    return source.proto if source.proto is not None else model_file.to_proto(source.model, source)
