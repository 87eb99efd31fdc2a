"""Which files may be written: never the person's input, and nothing of theirs unless they say so."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from foldproof import earlier_output
from foldproof.data_layout import is_data_name
from foldproof.errors import UsageError, WriteError


def check_destination(
    target: Path, inputs: Iterable[Path], *, force: bool, option: str = "-o", in_place: bool = False
) -> None:
    """Refuses to write over an input, or over a file that no earlier run wrote.

    Args:
        target: The file to write.
        inputs: The files that are read: the model and its external data.
        force: Overwrite a file that is not an earlier output.
        option: The option by which the person named the file.
        in_place: The person wants an input to be written over, and no other file.

    Raises:
        UsageError: As said, or the path can't be looked at.
    """
    hint = f"Name another file with {option}"
    with _looking_at(target, hint):
        if not target.exists():
            return
        if target.is_dir():
            raise UsageError(f"{target} is a folder", hint=f"Name a file to write with {option}")
        if not target.is_file():
            raise UsageError(f"{target} is no regular file, so it can't be replaced", hint=hint)
        is_input = any(path.exists() and target.samefile(path) for path in inputs)
        if in_place and is_input:
            return
        if is_input:
            raise UsageError(f"{target} is an input, which is never overwritten", hint=hint)
    if not force and not earlier_output.is_ours(target):
        raise UsageError(
            f"{target} is there already, and it is not an earlier output",
            hint=f"Overwrite it with --force, or {hint[0].lower()}{hint[1:]}",
        )


def check_report(
    target: Path,
    read: Iterable[Path],
    written: Iterable[Path] = (),
    *,
    force: bool,
    others: Iterable[Path | None] = (),
    what: str = "report",
    option: str = "--json",
) -> None:
    """Refuses, before anything is done, a file beside the models that `write_text` may not write.

    Args:
        target: The file.
        read: The files that are read. Those that the models among them have their data in count as read too.
        written: The models that are written, whose data files have no names yet.
        force: Overwrite a file that is not an earlier output.
        others: The other files that are written; None for one that nobody wants.
        what: What to call it in an error.
        option: The option by which the person named the file.

    Raises:
        UsageError: It is `-` or a file of the same run, its folder is not there, or see `check_destination`.
    """
    if target == Path("-"):
        raise UsageError(f"the {what} can't go to the standard output", hint=f"Name a file with {option}")
    read, hint = list(read), f"Name another file with {option}"
    with _looking_at(target, hint):
        folder = os.path.realpath(target.parent)
        same_run = {os.path.realpath(path) for path in (*read, *written, *others) if path is not None}
        if os.path.realpath(target) in same_run or any(
            is_data_name(target.name, model) and os.path.realpath(model.parent) == folder for model in written
        ):
            raise UsageError(f"{target} is a file of the same run", hint=hint)
        if not target.absolute().parent.is_dir():
            raise UsageError(f"the {what} can't be written: there is no folder {target.parent}", hint=hint)
        data = _data_near(Path(folder), read) if target.exists() else ()
        check_destination(target, [*read, *data], force=force, option=option)


def _data_near(folder: Path, models: Iterable[Path]) -> Iterator[Path]:
    """The data files of those models that may have some in a folder: ONNX lets no location leave the model's own."""
    from foldproof.model_file import data_of

    for model in models:
        for home in {model, Path(os.path.realpath(model))}:  # the data may lie beside the file that a link leads to
            if folder.is_relative_to(os.path.realpath(home.parent)):
                yield from data_of(home)


@contextlib.contextmanager
def _looking_at(target: Path, hint: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise UsageError(f"{target} can't be written: {error}", hint=hint) from error


@contextlib.contextmanager
def after_writing(model: Path) -> Iterator[None]:
    """Says of a file beside a model that can't be written that the model itself is."""
    try:
        yield
    except WriteError as error:
        error.reason = f"{error.reason}. The model itself is written, to {model}"
        raise


def write_json(content: dict[str, Any], target: Path, *, what: str = "report", option: str = "--json") -> None:
    """Writes a report as JSON, see `write_text`."""
    write_text(json.dumps(content, indent=2) + "\n", target, what=what, option=option)


def write_text(text: str, target: Path, *, what: str = "report", option: str = "--report") -> None:
    """Writes a file beside the model, whole or not at all.

    Args:
        text: Its content.
        target: The file, which `check_report` has looked at.
        what: What to call it in an error.
        option: The option by which the person named the file.

    Raises:
        WriteError: It can't be written.
    """
    temporary: str | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", dir=target.parent, prefix=".foldproof-", encoding="utf-8", errors="replace", delete=False
        ) as file:
            temporary = file.name
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        earlier_output.remember(target, coming=Path(temporary))
        Path(temporary).replace(target)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise WriteError(f"the {what} can't be written: {error}", hint=f"Name another file with {option}") from error


def check_empty(folder: Path) -> None:
    """Refuses a folder that has something in it.

    Raises:
        UsageError: It is no empty folder, and can't become one.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder", hint="Name a new one")
