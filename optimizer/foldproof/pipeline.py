"""The road of a run, in its order: load, facts, rewrite, verify, write, report."""

from __future__ import annotations

import foldproof.lazy_sympy  # noqa: F401  before all that imports onnx_ir

# isort: split
import contextlib
import dataclasses
import functools
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import onnx
import onnx_ir as ir

from foldproof.any_model import AnyModel, loader_of, source_of
from foldproof.attempts import Attempts
from foldproof.destinations import (
    after_writing,
    check_destination,
    check_empty,
    check_report,
    write_json,
    write_text,
)
from foldproof.errors import UnverifiedError, UnverifiedWarning, UsageError, VerificationError
from foldproof.integrations.torch_program import Program, is_program, with_model
from foldproof.model_file import Source
from foldproof.model_file.formats import is_binary
from foldproof.optimization import Plan
from foldproof.options import Options, options_of
from foldproof.reporting.report import Report, TakenBack
from foldproof.rewriting import Rule
from foldproof.rewriting.packs import chosen, installed
from foldproof.rollback import Rollback
from foldproof.run import Run

if TYPE_CHECKING:
    from foldproof.verification import Progress


@dataclasses.dataclass(frozen=True)
class Result:
    """An optimized model with the report of how it came about.

    Attributes:
        model: A new model of the kind that was given, so a new `torch.onnx.ONNXProgram` for one; an `onnx_ir.Model`
            where a path was given.
        report: The report.
    """

    model: onnx.ModelProto | ir.Model | Program
    report: Report

    def _repr_html_(self) -> str:
        """The report in a notebook."""
        return self.report._repr_html_()


class Optimizer:
    """Optimizes models, all in the same way.

    Args:
        options: What to do.
        rules: The rules to choose from; those of all installed packs unless given.

    Raises:
        UsageError: The options name a rule that is not there.
    """

    def __init__(
        self, options: Options | None = None, rules: Sequence[Rule] | None = None, progress: Progress | None = None
    ) -> None:
        self.options = options or Options()
        self._progress = progress
        known = installed(self.options.rules_from) if rules is None else rules
        wanted = chosen(known, self.options.rules, self.options.skip_rules)
        self.rules = [
            rule
            for rule in wanted
            if rule.level <= self.options.level
            and (rule.exact or not self.options.exact)
            and (not rule.on_request or rule.name in self.options.requests)
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
        if self.options.certificate is not None:
            raise UsageError("a certificate is about files, and the result is not written", hint="Use optimize_file")
        self._check_page([Path(model)] if isinstance(model, (str, os.PathLike)) else [])
        with self._verified(lambda: source_of(model)) as run:
            if run.verdict == "unverified":
                message = f"the optimized model is not verified: {run.why_unverified}"
                warnings.warn(message, UnverifiedWarning, stacklevel=3)
            report = run.report()
            self._write_page(report)
            if isinstance(model, onnx.ModelProto):
                return Result(run.optimized_proto, report)
            return Result(with_model(model, run.source.model) if is_program(model) else run.source.model, report)

    def run_file(
        self,
        source: str | os.PathLike[str] | BinaryIO,
        destination: str | os.PathLike[str] | BinaryIO,
        *,
        force: bool = False,
    ) -> Report:
        """Optimizes a model's file into another, which is written whole or not at all, and only when it is verified.

        Args:
            source: The file to read, or a stream of a model in binary form. It is never written, save with `in_place`.
            destination: The file to write, or a stream.
            force: Overwrite a file that is not an earlier output.

        Raises:
            UsageError: The destination may not be written.
            ModelError: The model can't be read, or is invalid.
            VerificationError: The optimized model differs from the original. Nothing is written.
            UnverifiedError: Nothing here can run the model, and `allow_unverified` is not set. Nothing is written.
        """
        inputs = [Path(source)] if isinstance(source, (str, os.PathLike)) else []
        target = Path(destination) if isinstance(destination, (str, os.PathLike)) else None
        outputs = [] if target is None else [target]
        self._check_certificate(inputs, outputs, force=force)
        if target is not None:
            check_destination(target, inputs, force=force, in_place=self.options.in_place)
        elif self.options.in_place:
            raise UsageError("a stream can't be written in place", hint="Name a file, or leave out --in-place")
        self._check_page(inputs, outputs, force=force)
        try:
            report = self._written(loader_of(source), destination if target is None else target, force=force)
        except (UnverifiedError, VerificationError) as error:
            self._write_page(error.report)
            raise
        with contextlib.nullcontext() if target is None else after_writing(target):
            self._write_page(report)
        return report

    def _written(self, load: Callable[[], Source], target: Any, *, force: bool) -> Report:
        """The report of a run whose result is written to a path or a stream, see `run_file`."""
        path = target if isinstance(target, Path) else None
        with self._verified(load, path, force=force) as run:
            if run.verdict == "unverified" and not self.options.allow_unverified:
                raise UnverifiedError(
                    f"nothing here can run the model, so the result can't be verified: {run.why_unverified}",
                    report=run.report(),
                    hint="Nothing was written. Write it all the same with --allow-unverified",
                )
            run.restate()
            if path is None:
                run.write_stream(target)
                return run.report(output=Path("-"))
            run.commit()
            if self.options.certificate is not None:
                certificate = run.certificate()
                with after_writing(path):
                    write_json(certificate, self.options.certificate, what="certificate", option="--certificate")
            return run.report(output=path)

    def _check_certificate(self, read: Sequence[Path], written: Sequence[Path], *, force: bool) -> None:
        """Refuses a certificate that can't be made of these files, an input and an output."""
        certificate = self.options.certificate
        if certificate is None:
            return
        if not read or not written or not all(map(is_binary, (*read, *written))):
            raise UsageError("a certificate is about two files in binary form", hint="Leave out --certificate")
        check_report(certificate, read, written, force=force, what="certificate", option="--certificate")

    def _check_page(self, read: Iterable[Path], written: Iterable[Path] = (), *, force: bool = False) -> None:
        if self.options.report is not None:
            others = [self.options.certificate]
            check_report(self.options.report, read, written, force=force, others=others, option="--report")

    def _write_page(self, report: object) -> None:
        """Writes the page of a run, if the person wants one."""
        if self.options.report is not None and isinstance(report, Report):
            from foldproof.reporting.html.report_page import report_page

            write_text(report_page(report, self.rules), self.options.report)

    def _verified(self, load: Callable[[], Source], target: Path | None = None, *, force: bool = False) -> Run:
        """A run that is optimized, staged if it has a target, and verified.

        What verification finds guilty is taken back, unless the person wants that to be an error. Where nothing can run
        the model, exact rules alone are applied. All that runs models shares one process.
        """
        if self.options.save_repro is not None:
            check_empty(self.options.save_repro)
        plan = Plan(tuple(self.rules), stop_after=self.options.stop_after)

        def loaded() -> Source:
            model = load()
            for path, option in ((self.options.certificate, "--certificate"), (self.options.report, "--report")):
                if path is not None:  # where the model has no file, nobody could ask before
                    check_destination(path, model.data_files, force=force, option=option)
            return model

        with Attempts(self.options, loaded, target, force=force, progress=self._progress) as attempts:
            rollback = Rollback(attempts, functools.partial(self._save_repro, attempts))
            run = _strictly(attempts, rollback, plan) if self.options.strict else rollback.run(plan)
            if run.verdict == "unverified" and not run.is_exact:
                run.close()
                run = attempts.attempt(
                    dataclasses.replace(plan, rules=tuple(rule for rule in plan.rules if rule.exact))
                )
            if self.options.measure and run.verdict == "verified" and attempts.original is not None:
                run.measure(attempts.original, attempts.feed)
            return run

    def _save_repro(self, attempts: Attempts, plan: Plan, guilty: TakenBack) -> None:
        if self.options.save_repro is not None:
            from foldproof import reproduction

            reproduction.save(attempts, plan, guilty, self.options.save_repro)


def _strictly(attempts: Attempts, rollback: Rollback, plan: Plan) -> Run:
    """A run from which nothing is taken back: a difference is an error that names the guilty rewrite."""
    try:
        return attempts.attempt(plan)
    except VerificationError as error:
        guilty = rollback.find(plan, error)
        if guilty is not None and isinstance(error.report, Report):
            error.reason = f"{error.reason}. The guilty rewrite is {guilty.rule!r} at {guilty.place!r}"
            error.report = dataclasses.replace(error.report, taken_back=(guilty,))
        raise


def optimize(model: AnyModel, **options: Any) -> Any:
    """Optimizes a model and verifies the result.

    Args:
        model: An `onnx.ModelProto`, an `onnx_ir.Model`, a `torch.onnx.ONNXProgram`, or the path of a model's file. It
            is not changed.
        options: Those of the command, by name: see `foldproof.Options`. For example `verify=False`,
            `set_dim={"batch": 1}`.

    Returns:
        A new model of the same kind; an `onnx_ir.Model` where a path was given.

    Raises:
        FoldproofError: See `Optimizer.run`.
    """
    return Optimizer(options_of(options))._run(model).model


def optimize_file(
    source: str | os.PathLike[str] | BinaryIO,
    destination: str | os.PathLike[str] | BinaryIO,
    *,
    force: bool = False,
    **options: Any,
) -> Report:
    """Optimizes a model's file into another and verifies it before it is written.

    Args:
        source: The file to read, or a stream of a model in binary form.
        destination: The file to write, or a stream.
        force: Overwrite a file that is not an earlier output.
        options: Those of the command, by name: see `foldproof.Options`.

    Returns:
        The report.

    Raises:
        FoldproofError: See `Optimizer.run_file`.
    """
    return Optimizer(options_of(options)).run_file(source, destination, force=force)
