"""Writes a model so that the destination is at any time the old file or the new one, whole.

The data files come first, under names that no other file has: what lies at the destination goes on to refer to its own.
The model is written under a temporary name beside its destination, and one rename makes the output the new one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO

import onnx
import onnx_ir as ir

from foldproof import earlier_output
from foldproof.data_layout import DataLayout, data_name, is_data_name, is_name_of_model
from foldproof.errors import UsageError, WriteError
from foldproof.model_file import formats
from foldproof.model_file.encoding import encode
from foldproof.model_file.leftovers import sweep, temporary_name
from foldproof.model_file.locks import folder_locked, lock_file, sync_folder
from foldproof.model_file.references import data_of, is_model_by_name, used_by_others
from foldproof.model_file.source import Source


class Staged:
    """A model under a temporary name beside its destination, with its data files in their final places.

    It is complete, and can be run there. As a context manager it discards what was not committed.

    Args:
        path: The staged model, in binary form.
        text: The same in the form that its destination asks for; None where that is binary.
        destination: Where it shall lie.
        data: Its data files.
        layout: What the person wants of the data files.
        source: What the model was made from.
        lock: The open file whose lock says that this run goes on; None where there are no such locks.

    Attributes:
        path: See above.
        outcome: What `commit` moves: the staged model, in the form that its destination asks for.
        destination: Where `commit` moves it.
        files: The files that are there after `commit`: the data files, then the model.
        size: The bytes of the model and of all data files that it refers to.
        left: After `commit`: data files of the model that was replaced, which stay although it is gone.
    """

    def __init__(
        self,
        path: Path,
        text: Path | None,
        destination: Path,
        data: list[Path],
        layout: DataLayout,
        source: Source,
        lock: IO[bytes] | None,
    ) -> None:
        self.path = path
        self.destination = destination
        self.files = [*data, destination]
        self.left: tuple[Path, ...] = ()
        self.outcome = text or path
        self._data = data
        self._layout = layout
        files = {self.outcome, *(data_of(path) if self.has_data else ())}
        self.size: int = sum(file.stat().st_size for file in files if file.is_file())
        self._inputs = source.data_files
        self._lock = lock

    @property
    def has_data(self) -> bool:
        """Whether the model refers to data files, so that it can only be run where it is."""
        return bool(self._data) or self._layout.link

    @property
    def replaced(self) -> list[Path]:
        """The files that `commit` writes over or takes away: those of the model that is there."""
        return [*sorted(self._going(self._old_data())), self.destination]

    def commit(self, *, is_output: bool = True) -> int:
        """Moves the model to its place, and takes away the data files of the one that was there.

        Args:
            is_output: Whether a person gets it: then a later run may replace it.

        Returns:
            Its size.

        Raises:
            UsageError: The file can't be replaced. The old one is as it was.
        """
        folder = self.destination.parent
        with _as_write_error(self.destination), self, folder_locked(folder):
            old = self._old_data()
            is_ours = is_output and not self._layout.in_place  # the person's own name stays theirs
            was_link = self.destination.is_symlink()
            for path in self._data if is_output else ():
                earlier_output.remember(path)
            if is_ours:
                earlier_output.remember(self.destination, coming=self.outcome)
            sync_folder(folder)  # the data has to be there before the model that names it
            try:
                self.outcome.replace(self.destination)
                sync_folder(folder)
            finally:
                if not self.outcome.exists():
                    if is_ours and was_link:  # which was replaced, so that it is another path
                        earlier_output.remember(self.destination)
                    self._take_away(old)
        return self.size

    def _old_data(self) -> set[Path]:
        """The data files of the model at the destination that the new one does not refer to.

        In place, that model may be another one than was read: a run beside this one was faster, and has data of ours.
        """
        folder = self.destination.parent
        names = os.listdir(folder)  # noqa: PTH208  much faster, in a folder of thousands of files
        beside = {folder / name for name in names if is_data_name(name, self.destination)}
        kept = {os.path.realpath(path) for path in (*self._data, *self._inputs)}
        old = {path for path in beside if os.path.realpath(path) not in kept}
        if old:  # so that no large model is read for nothing
            old &= data_of(self.destination)
        if self._layout.in_place and not self._layout.link:
            old.update(path for path in self._inputs if path.is_file())
        return old

    def _take_away(self, data: set[Path]) -> None:
        """Removes those data files of a model that is gone which can be of no use to another."""
        _remove(self._going(data))
        self.left = tuple(sorted(path for path in data if path.exists()))

    def _going(self, data: set[Path]) -> set[Path]:
        """The data files that go with the model at the destination: they bear its name, and no other refers to them."""
        model = self.destination
        going = {path for path in data if path.parent == model.parent and is_name_of_model(path.name, model)}
        return going - used_by_others(going, {model, self.path}, model)

    def discard(self) -> None:
        """Removes what was staged. Does nothing after a commit."""
        if self.outcome.exists():  # it moves away in one step: then the data is in use
            _remove([*self._data, self.outcome])
        _remove([self.path])
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Staged:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()


def stage(
    model: ir.Model, source: Source, destination: str | os.PathLike[str], layout: DataLayout | None = None
) -> Staged:
    """Writes the model to a temporary name beside `destination`, which is not touched.

    Its form is that which the name of the destination says, see `formats`.

    Args:
        model: The model, made from `source`. It is not changed.
        source: What it was made from.
        destination: The file that `Staged.commit` will write.
        layout: Where the elements of tensors go; unless given, where they were.

    Raises:
        UsageError: The destination can't be written, or is a file of the input, or its form or layout can't hold the
            model, or it is to link to weights and has no name of a model.
        ModelError: A data file of the input can't be read.
    """
    destination, layout = Path(destination), layout or DataLayout()
    _check_destination(destination, source, layout)
    while True:
        token = secrets.token_hex(4)
        with contextlib.suppress(_NameTaken):
            return _staged(model, source, destination, layout, token)


class _NameTaken(Exception):
    """Another run has taken the name of a data file since we chose it."""


def _staged(model: ir.Model, source: Source, destination: Path, layout: DataLayout, token: str) -> Staged:
    folder = destination.parent
    path = folder / temporary_name(destination, token)
    written: list[Path] = []
    with _as_write_error(destination), contextlib.ExitStack() as on_failure:
        on_failure.callback(_remove, written)
        with folder_locked(folder) as is_locked:
            if is_locked:
                sweep(destination, keep=source.data_files)
            written.append(path)
            file = path.open("xb")
            on_failure.callback(file.close)
            is_held = lock_file(file)
            # A plain name where it is free; the model that is to be replaced may well have that.
            numbers = range(len(source.data_files) + 1)
            names = [data_name(destination, number) for number in numbers]
            is_free = not any(os.path.exists(folder / name) for name in names)  # noqa: PTH110  one may be too long
        contents, data = encode(model, source, destination, layout, "" if is_free else token)
        _write_synced(file, lambda to: to.write(contents), _mode_of(destination))
        for each in data:
            written.append(folder / each.name)
            try:
                data_file = written[-1].open("xb")
            except FileExistsError:
                written.pop()
                raise _NameTaken from None
            with data_file:
                _write_synced(data_file, each.write, _mode_of(destination))
        text = None
        form = formats.format_of(destination)
        if form != formats.BINARY:
            text = folder / temporary_name(destination, token, "text")
            written.append(text)
            with text.open("xb") as text_file:
                content = formats.to_text(onnx.ModelProto.FromString(contents), form)
                _write_synced(text_file, lambda to: to.write(content), _mode_of(destination))
        if not is_held:
            file.close()  # there are systems that rename no open file
        places = [folder / each.name for each in data]
        staged = Staged(path, text, destination, places, layout, source, file if is_held else None)
        on_failure.pop_all()
    return staged


def write(
    model: ir.Model,
    source: Source,
    destination: str | os.PathLike[str],
    layout: DataLayout | None = None,
    *,
    is_output: bool = True,
) -> int:
    """Writes the model to `destination` (and its data files beside it), or leaves all as it was. See `stage`.

    Returns:
        Its size, see `Staged`.
    """
    with stage(model, source, destination, layout) as staged:
        return staged.commit(is_output=is_output)


def _check_destination(destination: Path, source: Source, layout: DataLayout) -> None:
    if destination.is_dir():
        raise UsageError(f"{destination} is a directory", hint="Give the name of a file")
    if layout.link and not layout.in_place and not is_model_by_name(destination):
        raise UsageError(
            f"weights can't be linked from {destination}: other runs would not know it for a model that needs them",
            hint="Let the name of the output end in .onnx, or leave out --link-weights",
        )
    inputs = [*source.data_files, *([source.path] if source.path is not None and not layout.in_place else [])]
    if any(os.path.realpath(destination) == os.path.realpath(path) for path in inputs):
        raise UsageError(f"{destination} is a file of the input", hint="Choose another name for the output")


def _mode_of(path: Path) -> int | None:
    """The permissions of the file that will be replaced."""
    return path.stat().st_mode & 0o777 if path.is_file() else None


def _write_synced(file: BinaryIO, write_to: Callable[[BinaryIO], object], mode: int | None = None) -> None:
    write_to(file)
    file.flush()
    if mode is not None:
        Path(file.name).chmod(mode)
    os.fsync(file.fileno())


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _as_write_error(destination: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "Check that its folder exists, that you may write there, and that the disk has room"
        if error.errno == errno.ENAMETOOLONG:
            hint = "The name of its data file is longer than its own: shorten that, or use --external-data never"
        raise WriteError(f"{destination} can't be written: {error.strerror or error}", hint=hint) from error
