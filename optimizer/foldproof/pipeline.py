"""The road of a run, in its order: load, facts, rewrite, verify, write, report."""

from __future__ import annotations

import foldproof.lazy_sympy  # noqa: F401  before all that imports onnx_ir

# isort: split
import contextlib
import dataclasses
import functools
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypeVar

import onnx
import onnx_ir as ir

from foldproof import model_file
from foldproof.attempts import Attempts
from foldproof.bisection import Suspicion, first_bad
from foldproof.destinations import (
    after_writing,
    check_destination,
    check_empty,
    check_report,
    write_json,
    write_text,
)
from foldproof.errors import UnverifiedError, UnverifiedWarning, UsageError, VerificationError
from foldproof.facts import Facts
from foldproof.integrations.torch_program import Program, is_program, with_model
from foldproof.model_file import Source
from foldproof.model_file.formats import is_binary
from foldproof.optimization import Plan, overridable_names
from foldproof.options import Options
from foldproof.reporting.report import Report, TakenBack
from foldproof.rewriting import Entry, Rule
from foldproof.rewriting.packs import chosen, installed
from foldproof.rollback import Rollback
from foldproof.run import Run

if TYPE_CHECKING:
    from foldproof.verification import Progress, Runnable, Verification

AnyModel: TypeAlias = "onnx.ModelProto | ir.Model | Program | str | os.PathLike[str]"
"""A model in memory, be it in a `torch.onnx.ONNXProgram`, or the path of its file."""

_Model = TypeVar("_Model", onnx.ModelProto, ir.Model)


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
        with self._verified(lambda: _source_of(model)) as run:
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
            report = self._written(_loader(source), destination if target is None else target, force=force)
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
    return Optimizer(_options(options))._run(model).model


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
    return Optimizer(_options(options)).run_file(source, destination, force=force)


def verify(
    a: AnyModel,
    b: AnyModel,
    *,
    exact: bool = False,
    seed: int = 0,
    feeds: str | os.PathLike[str] | None = None,
    bind: Mapping[str, Sequence[int]] | None = None,
    verify_seconds: float = 60.0,
    trust_model: bool = False,
    provider: str | None = None,
    reference: bool = False,
    progress: Progress | None = None,
) -> Verification:
    """Compares two models: the same inputs through both, at several bindings of the symbolic dims.

    Args:
        a: The original.
        b: The model that should do the same.
        exact: Compare floats bit for bit.
        seed: The seed of the generated inputs.
        feeds: A folder with the person's own inputs (`.npz`, `.npy`, or ONNX test data).
        bind: Sizes of symbolic dims to run at, by name: all combinations, and no other sizes of these dims.
        verify_seconds: The time limit, from after the first run of both models.
        trust_model: Run them without the limits that keep models from harm that are made to do some.
        provider: The execution provider that onnxruntime has to use, such as `CUDAExecutionProvider`.
        reference: Run both models by the ONNX reference, which is slow, and not by onnxruntime.
        progress: Is told what is done next, and how many of how many steps were done.

    Returns:
        The verification. Its status is `same`, `different`, or `unverified` where nothing can run `a`.

    Raises:
        ModelError: A model can't be read, or is invalid.
        UsageError: The feeds or the sizes don't fit the models.
        UnverifiedError: onnxruntime is not installed.
    """
    from foldproof.verification import Verification
    from foldproof.verification import verify as compare
    from foldproof.verification.limits import Limits, limits_of

    options = Options(
        seed=seed, feeds=None if feeds is None else Path(feeds), bind=bind or {}, verify_seconds=verify_seconds
    )
    with contextlib.ExitStack() as temporary:
        sources = [_source_of(a), _source_of(b)]
        limits = Limits()
        if not trust_model:
            for each in sources:
                limits |= limits_of(each.model, Facts(each.model, overridable_names(each.model, options)))
        if limits.reason is not None:
            return Verification("unverified", reason=limits.reason)
        return compare(
            *(_runnable(each, temporary) for each in sources),
            exact=exact,
            seed=options.seed,
            feeds=options.feeds,
            bindings=options.bind,
            seconds=options.verify_seconds,
            provider=provider,
            reference=reference,
            progress=progress,
            allowance=limits.allowance,
            loading=limits.loading,
        )


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
    chosen_options = dataclasses.replace(_options(options), strict=True, verify=command is None)
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


def _options(options: dict[str, Any]) -> Options:
    known = {field.name for field in dataclasses.fields(Options)}
    for name in options:
        if name not in known:
            raise UsageError(f"there is no option {name!r}", hint=f"There are: {', '.join(sorted(known))}")
    return Options(**options)


def _loader(source: str | os.PathLike[str] | BinaryIO) -> Callable[[], Source]:
    """What gives the model anew each time: a stream is read only once."""
    if isinstance(source, (str, os.PathLike)):
        return functools.partial(model_file.read, source)
    return functools.partial(model_file.from_proto, model_file.read_stream(source))


def _source_of(model: AnyModel) -> Source:
    if isinstance(model, onnx.ModelProto):
        return model_file.from_proto(model)
    if isinstance(model, ir.Model):
        return model_file.from_ir(model)
    if isinstance(model, (str, os.PathLike)):
        return model_file.read(model)
    if is_program(model):
        return model_file.from_ir(model.model)
    raise UsageError(
        f"{type(model).__name__} is no model",
        hint="Give an onnx.ModelProto, an onnx_ir.Model, a torch.onnx.ONNXProgram or the path of a file",
    )


def _runnable(source: Source, temporary: contextlib.ExitStack) -> Runnable:
    """A model as verification takes it.

    Args:
        source: The model.
        temporary: Removes what has to be written for it.
    """
    if source.data_files and source.path is not None:
        if source.file is not None:
            return source.file
        path = Path(temporary.enter_context(tempfile.TemporaryDirectory(prefix="foldproof-"))) / "model.onnx"
        model_file.write(source.model, source, path, is_output=False)
        return path
    return source.proto if source.proto is not None else model_file.to_proto(source.model, source)
