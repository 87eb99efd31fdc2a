"""What is left to do of a batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from foldproof.batch import record
from foldproof.batch.estimate import memory_of
from foldproof.batch.folders import Folder, RemoteFolder
from foldproof.batch.outcome import Outcome
from foldproof.batch.selection import Selected
from foldproof.batch.task import Task
from foldproof.errors import UsageError
from foldproof.fingerprint import fingerprint
from foldproof.options import Options
from foldproof.pipeline import Optimizer

_READERS = 4
"""How many models are looked at at a time: the digests of their files are computed outside Python's lock."""


@dataclasses.dataclass(frozen=True)
class Wishes:
    """What a person wants of all models, besides the options of each.

    Attributes:
        certificates: Write a certificate beside each result.
        reports: Write a page beside each result.
        force: Overwrite results that are not earlier outputs.
        seconds: The time limit of each model; None for none.
    """

    certificates: bool = False
    reports: bool = False
    force: bool = False
    seconds: float | None = None


def plan(
    models: Sequence[Selected], target: Folder, options_of: Callable[[str], Options], wishes: Wishes
) -> tuple[list[Outcome], list[Task]]:
    """Finds out what earlier runs have done, and what is to be done.

    Args:
        models: The models.
        target: The folder of results.
        options_of: Gives the options for a model, by where it lies.
        wishes: What else is wanted.

    Returns:
        The outcomes of models that are done, and the tasks for the others.

    Raises:
        UsageError: The options make no sense, or the folder of results can't be read.
    """
    known: dict[str, str] = {}
    tasks = [_task(model, target, options_of(model.text), wishes, known) for model in models]
    with ThreadPoolExecutor(_READERS) as readers:
        found = list(readers.map(_looked_at, tasks))
    kept = [each for each in found if isinstance(each, Outcome)]
    return kept, [each for each in found if isinstance(each, Task)]


def _task(model: Selected, target: Folder, options: Options, wishes: Wishes, known: dict[str, str]) -> Task:
    """The task for a model.

    Args:
        model: The model.
        target: The folder of results.
        options: Those for the model.
        wishes: What else is wanted.
        known: The fingerprints of options, by these as text: most models have the same.
    """
    name = PurePosixPath(model.name).name
    if options.link_weights and (isinstance(model.folder, RemoteFolder) or isinstance(target, RemoteFolder)):
        raise UsageError(f"the weights of {model.text} can't be linked from there", hint="Leave out --link-weights")
    options = dataclasses.replace(
        options,
        certificate=Path(certificate_of(name)) if wishes.certificates else None,
        report=Path(page_of(name)) if wishes.reports else None,
        save_repro=None if options.save_repro is None else (options.save_repro / model.name).absolute(),
        feeds=None if options.feeds is None else options.feeds.absolute(),
        rules_from=[str(Path(each).absolute()) if Path(each).is_file() else each for each in options.rules_from],
    )
    key = repr(dataclasses.replace(options, certificate=None, report=None, save_repro=None))
    if key not in known:
        Optimizer(options)  # it refuses rules that are not there, which would else be told of each model
        known[key] = fingerprint(options)
    source = model.folder.absolute
    return Task(source, model.name, target.absolute, options, known[key], wishes.force, wishes.seconds)


def certificate_of(name: str) -> str:
    """The name of the certificate beside a result, by that of the result."""
    return f"{name}.certificate.json"


def page_of(name: str) -> str:
    """The name of the page beside a result, by that of the result."""
    return f"{name}.html"


def _looked_at(task: Task) -> Outcome | Task:
    """What an earlier run made of a model, or the task to do it."""
    source, target = Folder.of(task.source), Folder.of(task.target)
    earlier = record.read(target, task.name)
    if earlier is not None:
        if earlier.is_of(source, task.fingerprint, task.extras) and earlier.is_whole(target):
            model, output = source.at(task.name), target.at(task.name)
            return dataclasses.replace(earlier.outcome, model=model, output=output, kept=True)
        # On another machine nothing else tells that the result is ours.
        task = dataclasses.replace(task, force=task.force or earlier.has_result(target))
    return dataclasses.replace(task, memory=memory_of(source, task.name))
