"""What is done for one model, by whichever engine: fetch it, optimize it, put the result back, write that down.

A task can be pickled. It runs in a process of its own, see `foldproof.batch.process`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from foldproof import earlier_output
from foldproof.batch import record
from foldproof.batch.folders import Folder, LocalFolder, RemoteFolder, make_folder
from foldproof.batch.outcome import Outcome, Status, status_of
from foldproof.batch.record import Record, beside
from foldproof.certificates.digests import sha256_of
from foldproof.errors import FoldproofError, ModelError, UnverifiedError, UsageError, VerificationError
from foldproof.model_file.data_tensors import home_of
from foldproof.model_file.external_data import locate
from foldproof.model_file.parsing import parse
from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.protos import external_locations
from foldproof.reporting.report import Report


@dataclasses.dataclass(frozen=True)
class Task:
    """A model, and what to do with it.

    Attributes:
        source: The folder that it is looked for in: a path or a URL.
        name: Its path from there, and that of the result from `target`.
        target: The folder of results.
        options: Those of `optimize`. `certificate` and `report` are names of files beside the result.
        fingerprint: That of the options and versions.
        force: Overwrite a result that is not an earlier output.
        seconds: The time limit; None for none.
        memory: The bytes that it is expected to take.
    """

    source: str
    name: str
    target: str
    options: Options
    fingerprint: str
    force: bool = False
    seconds: float | None = None
    memory: int = 0

    @property
    def extras(self) -> tuple[str, ...]:
        """The names of the files besides the model that were asked for."""
        return tuple(str(each) for each in (self.options.certificate, self.options.report) if each is not None)

    def ended(self, status: Status, error: str, seconds: float = 0.0) -> Outcome:
        """The outcome of a task that told none itself."""
        return Outcome(self.name, Folder.of(self.source).at(self.name), status, error=error, seconds=seconds)


def perform(task: Task) -> Outcome:
    """Does a task. What a model is at fault for is told by the outcome, and so is a lack of memory."""
    start = time.perf_counter()
    outcome = task.ended("failed", "")
    try:
        outcome = _performed(task, start)
    except FoldproofError as error:
        status: Status = "memory" if _lacks_memory(error) else status_of(error)
        outcome = dataclasses.replace(outcome, status=status, error=str(error))
        if isinstance(error, (UnverifiedError, VerificationError)) and isinstance(error.report, Report):
            outcome = _with_report(outcome, error.report)
    except MemoryError as error:
        outcome = dataclasses.replace(outcome, status="memory", error=f"there is not enough memory: {error}")
    except Exception as error:  # noqa: BLE001  a fault of ours with one model is none of the others
        outcome = dataclasses.replace(outcome, error=f"an internal fault, {type(error).__name__}: {error}")
    return dataclasses.replace(outcome, seconds=time.perf_counter() - start)


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether a lack of memory is the cause of an error, however far back."""
    while error is not None and not isinstance(error, MemoryError):
        error = error.__cause__ or error.__context__
    return error is not None


def _performed(task: Task, start: float) -> Outcome:
    """Does a task, and writes down that it is done.

    Raises:
        FoldproofError: See `Optimizer.run_file`.
    """
    source, target = Folder.of(task.source), Folder.of(task.target)
    with contextlib.ExitStack() as stack:
        model = _here(source, task.name, stack)
        result = _result(task, target, stack)
        stamps = _stamps(_files_of(model))
        report = Optimizer(_placed(task.options, result)).run_file(model, result, force=task.force)
        outcome = _with_report(Outcome(task.name, source.at(task.name), "done", target.at(task.name)), report)
        inputs = _files_of(model)  # only now: the model could have named any file, which reading it has refused
        digests = {name: sha256_of(path) if path.is_file() else None for name, path in inputs.items()}
        outputs = {**_files_of(result), **{name: result.parent / name for name in task.extras}}
        written = {name: sha256_of(path) for name, path in outputs.items() if path.is_file()}
        outcome = dataclasses.replace(outcome, seconds=time.perf_counter() - start)
        made = Record(task.fingerprint, task.extras, digests, written, outcome)
        if _stamps(inputs) != stamps:
            words = "its file was changed meanwhile, so that the next run does it again"
            return dataclasses.replace(outcome, warnings=(*outcome.warnings, words))
        if isinstance(target, RemoteFolder):
            _put(made, {name: outputs[name] for name in written}, target)
        else:
            made.write(target)
        return outcome


def _result(task: Task, target: Folder, stack: contextlib.ExitStack) -> Path:
    """Where the result is written on this machine.

    Raises:
        UsageError: It would be put in the place of a file that is not ours.
    """
    if isinstance(target, LocalFolder):
        result = target.path / task.name
        make_folder(result.parent)
        return result
    if not task.force and target.has(task.name):
        hint = "Overwrite it with --force, or name another folder with -o"
        raise UsageError(f"{target.at(task.name)} is there already, and it is not an earlier output", hint=hint)
    return _temporary(stack) / PurePosixPath(task.name).name


def _put(new: Record, files: Mapping[str, Path], target: RemoteFolder) -> None:
    """Puts a result in its place. What lies there is at any time nothing, or the model that the record tells of."""
    name = new.outcome.name
    old = record.read(target, name)
    target.remove(name)
    new.write(target)
    for each, path in reversed(list(files.items())):  # the model is the first, and comes last
        earlier_output.forget(path)  # it is temporary
        target.put(path, beside(name, each))
    for each in old.outputs if old is not None else ():
        if each not in files:
            target.remove(beside(name, each))


def _here(source: Folder, name: str, stack: contextlib.ExitStack) -> Path:
    """The model's file on this machine, with its data beside it.

    Raises:
        ModelError: It can't be read, or names data outside its folder.
        UsageError: It can't be fetched.
    """
    if isinstance(source, LocalFolder):
        return source.path / name
    assert isinstance(source, RemoteFolder)
    path = _temporary(stack) / PurePosixPath(name).name
    if not source.fetch(name, path):
        raise ModelError(f"there is no {source.at(name)}")
    for location in sorted(external_locations(parse(path))):
        file = locate(location, "a tensor", path)  # nothing is fetched, or written, outside the folder
        source.fetch(beside(name, location), file)  # where it is missing, whoever reads the model says so
    return path


def _files_of(model: Path) -> dict[str, Path]:
    """The model's file and its data files, there or not, by their paths from the model's folder."""
    found = {model.name: model}
    with contextlib.suppress(ModelError):  # whoever reads it says so
        proto = parse(model)
        folder = home_of(model, proto).parent
        found.update({location: folder / location for location in sorted(external_locations(proto))})
    return found


def _stamps(files: Mapping[str, Path]) -> list[tuple[int, int]]:
    found = [path.stat() for path in files.values() if path.is_file()]
    return [(each.st_size, each.st_mtime_ns) for each in found]


def _placed(options: Options, result: Path) -> Options:
    """The options with the files besides the model at their places."""
    places = {
        name: result.parent / given
        for name in ("certificate", "report")
        if (given := getattr(options, name)) is not None
    }
    return dataclasses.replace(options, **places)


def _with_report(outcome: Outcome, report: Report) -> Outcome:
    """An outcome with what a report tells."""
    sizes = report.bytes_before, report.bytes_after
    return dataclasses.replace(
        outcome,
        status="unverified" if report.verdict == "unverified" else outcome.status,
        nodes=(sum(report.nodes_before.values()), sum(report.nodes_after.values())),
        bytes=None if sizes[0] is None or sizes[1] is None else (sizes[0], sizes[1]),
        rewrites=len(report.ledger),
        warnings=report.warnings,
        measured=None if report.measured is None else report.measured.to_dict(),
    )


def _temporary(stack: contextlib.ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foldproof-")))
