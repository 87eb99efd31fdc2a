"""Folders of exported models, as optimum and transformers write them: several models, a configuration, a tokenizer.

optimum itself is not needed: it loads what is written here as it loads what it wrote.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from foldproof import earlier_output, model_file
from foldproof.destinations import check_empty
from foldproof.errors import FoldproofError, ModelError, UsageError
from foldproof.options import FILE_OPTIONS, Options
from foldproof.pipeline import Optimizer
from foldproof.protos import external_locations
from foldproof.reporting.report import Report


def optimize_folder(
    folder: str | os.PathLike[str],
    destination: str | os.PathLike[str] | None = None,
    *,
    in_place: bool = False,
    options: Options | None = None,
) -> dict[str, Report]:
    """Optimizes all models (`.onnx`) of a folder and those below it. All other files are kept.

    The new folder is written beside its place, and moved there when all models are verified: where one of them fails,
    nothing is written. Weights that several models share stay shared: those models refer to the file that they had,
    and only new tensors of theirs lie elsewhere.

    Args:
        folder: The folder. It is not changed, save with `in_place`.
        destination: The folder to write, which must be empty or not there.
        in_place: Put the new folder into the place of the old one, by two renames. Of a process that is killed between
            them, both folders are left beside that place, in one whose name begins with a dot.
        options: How to optimize each model.

    Returns:
        The report of each model, by its path in the folder.

    Raises:
        UsageError: The folder has no model, the destination is not empty or can't be written, or an option makes no
            sense.
        FoldproofError: See `Optimizer.run_file`; the reason names the model.
    """
    options = options or Options()
    source = Path(os.path.realpath(folder))
    target = _target(source, destination, in_place)
    for name in FILE_OPTIONS:
        if getattr(options, name):
            raise UsageError(f"{name} is about one model, and this is a folder", hint="Leave it out")
    try:
        found = sorted(path for path in _all_in(source) if path.suffix == ".onnx" and path.is_file())
    except OSError as error:
        raise UsageError(f"{folder} can't be read: {error}", hint="See to it that you may read all of it") from error
    models = {path.relative_to(source): _data_in(source, path) for path in found}
    if not models:
        raise UsageError(f"{folder} has no model in it", hint="Name a folder with .onnx files")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".foldproof-") as temporary:
            made = Path(temporary, target.name)
            reports = _make(source, made, models, options)
            _keep_others(source, made, target)
            _put(made, target, Path(temporary, "old"))
    except OSError as error:
        raise UsageError(f"{target} can't be written: {error}", hint="Name another folder") from error
    return {name: dataclasses.replace(report, output=str(target / name)) for name, report in reports.items()}


def _target(source: Path, destination: str | os.PathLike[str] | None, in_place: bool) -> Path:
    """The folder to write."""
    if not source.is_dir():
        raise UsageError(f"there is no folder {source}")
    if in_place == (destination is not None):
        raise UsageError("a folder is written either to another one or in place", hint="Give a destination or in_place")
    if destination is None:
        return source
    target = Path(os.path.realpath(destination))
    check_empty(target)
    if target.is_relative_to(source):
        raise UsageError(f"{destination} lies in {source}", hint="Name a folder outside of it")
    return target


def _make(source: Path, made: Path, models: Mapping[Path, frozenset[Path]], options: Options) -> dict[str, Report]:
    """Writes the new folder, whole.

    Args:
        source: The folder that is read.
        made: The folder to write.
        models: The models and the data files of each, by their paths in the folder.
        options: How to optimize each model.

    Returns:
        The report of each model, by its path in the folder.
    """
    count = Counter(name for data in models.values() for name in data)
    is_inside = options.external_data == "never"
    sharing = {model for model, data in models.items() if any(count[name] > 1 for name in data) and not is_inside}
    kept = {name for model in sharing for name in models[model]}
    for path in _all_in(source):
        name = path.relative_to(source)
        if path.is_file() and name not in models and (name in kept or name not in count):
            _copy(path, made / name)
    reports = {}
    for model, data in models.items():
        given, output, chosen = source / model, made / model, options
        output.parent.mkdir(parents=True, exist_ok=True)
        if model in sharing:
            # A model may only refer to files beside it: so it is written over a copy that lies beside its data.
            _copy(source / model, output)
            given, chosen = output, dataclasses.replace(options, link_weights=True, in_place=True)
        try:
            reports[model.as_posix()] = Optimizer(chosen).run_file(given, output)
        except FoldproofError as error:
            error.reason = f"{model}: {error.reason}"
            raise
        for name in data & kept:
            if not (made / name).exists():  # it bears this model's name, and went with the old one
                _copy(source / name, made / name)
    needed = {name for model in models for name in _data_in(made, made / model)}
    for name in kept - needed:
        (made / name).unlink()
    for path in made.rglob("*"):
        earlier_output.forget(path)  # it moves
    shutil.copystat(source, made)
    return reports


def _keep_others(source: Path, made: Path, target: Path) -> None:
    """Makes what is neither a file nor the link to one: folders, also empty ones, and links to folders or to nothing.

    Args:
        source: The folder that is read.
        made: The folder to write.
        target: Where that will lie: what a link leads to is meant as seen from there.
    """
    for path in _all_in(source):
        name = path.relative_to(source)
        if path.is_symlink() and not path.is_file():
            leads_to = path.readlink()
            inner = Path(os.path.normpath(path.parent / leads_to)).is_relative_to(source)
            if not leads_to.is_absolute() and not inner:
                leads_to = Path(os.path.relpath(path.parent / leads_to, (target / name).parent))
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).symlink_to(leads_to)
        elif path.is_dir():
            (made / name).mkdir(parents=True, exist_ok=True)
        elif not path.is_file():
            raise OSError(f"{path} is neither a file nor a folder")


def _all_in(folder: Path) -> Iterator[Path]:
    """All that a folder has, links to other folders not followed.

    Raises:
        OSError: A folder in it can't be read.
    """

    def fail(error: OSError) -> None:
        raise error

    for root, folders, files in os.walk(folder, onerror=fail):
        yield from (Path(root, name) for name in (*folders, *files))


def _put(made: Path, target: Path, old: Path) -> None:
    """Moves the new folder to its place, and what is there out of the way. Where that fails, all is as it was."""
    is_there = target.exists()
    if is_there:
        target.rename(old)
    try:
        made.rename(target)
    except OSError:
        if is_there:
            old.rename(target)
        raise


def _data_in(folder: Path, model: Path) -> frozenset[Path]:
    """The files of a folder with a model's external data, by their paths in the folder.

    Raises:
        ModelError: The model can't be read, or a file of its data is not there.
    """
    name = model.relative_to(folder)
    try:
        source = model_file.read(model)
    except FoldproofError as error:
        error.reason = f"{name}: {error.reason}"
        raise
    for path in source.data_files:
        if not path.is_file():
            raise ModelError(f"{name}: its data file {path} is not there", hint="Download or export the folder again")
    locations = () if source.proto is None else external_locations(source.proto)
    # By their names in the folder: in a hub's cache each of them is a link to somewhere else.
    return frozenset(Path(os.path.normpath(name.parent / each)) for each in locations)


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, target)
