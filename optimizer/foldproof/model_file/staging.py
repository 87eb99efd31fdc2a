"""Writes a model so that the destination is at any time the old file or the new one, whole."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import onnx
import onnx_ir as ir
from google.protobuf.message import EncodeError  # type: ignore[import-untyped]

from foldproof.errors import ModelError, UsageError
from foldproof.model_file.adopting import tensors_of
from foldproof.model_file.data_file import DataFile
from foldproof.model_file.serializing import to_proto
from foldproof.model_file.source import Source

PROTOBUF_LIMIT = (1 << 31) - 1
"""No protobuf message may have more bytes than this."""


class Staged:
    """A model under its final name in a temporary folder beside its destination.

    It is complete, and can be run there. As a context manager it discards what was not committed.

    Attributes:
        path: The staged model. Its data file, if it has one, lies beside it.
        destination: Where `commit` moves it.
        size: The bytes of the model and its data file.
    """

    def __init__(self, path: Path, destination: Path, data_name: str | None) -> None:
        self.path = path
        self.destination = destination
        self._data_name = data_name
        self.size = sum(file.stat().st_size for file in path.parent.iterdir())

    @property
    def files(self) -> list[Path]:
        """The files that `commit` writes or replaces."""
        data = [self.destination.with_name(self._data_name)] if self._data_name else []
        return [*data, self.destination]

    def commit(self) -> int:
        """Moves the files to their places: the data first, then the model.

        Returns:
            The bytes written.

        Raises:
            UsageError: A file can't be replaced. The old ones are as they were.
        """
        folder = self.path.parent
        with _cleaning_up(folder), _as_usage_error(self.destination):
            if self._data_name:
                data = self.destination.with_name(self._data_name)
                staged, old = folder / self._data_name, folder / f"{self._data_name}.old"
                try:
                    if data.is_file():
                        data.replace(old)
                    staged.replace(data)
                    self.path.replace(self.destination)
                except BaseException:
                    if self.path.exists():  # else all is in place: the error came after the last rename
                        if old.exists():
                            old.replace(data)
                        elif not staged.exists():
                            data.unlink(missing_ok=True)
                    raise
            else:
                self.path.replace(self.destination)
            _sync_folder(self.destination.parent)
        return self.size

    def discard(self) -> None:
        """Removes what was staged. Does nothing after a commit."""
        shutil.rmtree(self.path.parent, ignore_errors=True)

    def __enter__(self) -> Staged:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()


def stage(model: ir.Model, source: Source, destination: str | os.PathLike[str]) -> Staged:
    """Writes the model to a temporary folder beside `destination`, which is not touched.

    A model whose source has external data, or that would be over 2 GB, gets a data file `DESTINATION.data`;
    any other is a single file.

    Args:
        model: The model, made from `source`. It is not changed.
        source: What it was made from.
        destination: The file that `Staged.commit` will write.

    Raises:
        UsageError: The destination can't be written, or is a file of the input.
        ModelError: A data file of the input can't be read.
    """
    destination = Path(destination)
    _check_destination(destination, source)
    with _as_usage_error(destination):
        folder = Path(tempfile.mkdtemp(prefix=f".{destination.name[:100]}.", dir=destination.parent))
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(shutil.rmtree, folder, ignore_errors=True)
        contents, data = _serialize(model, source, f"{destination.name}.data")
        with _as_usage_error(destination):
            if data is not None:
                _write_synced(folder / data.name, data.write)
            path = folder / destination.name
            _write_synced(path, lambda file: file.write(contents))
            staged = Staged(path, destination, data.name if data is not None else None)
        on_failure.pop_all()
    return staged


def write(model: ir.Model, source: Source, destination: str | os.PathLike[str]) -> int:
    """Writes the model to `destination` (and `DESTINATION.data`), or leaves all as it was. See `stage`.

    Returns:
        The bytes written.
    """
    return stage(model, source, destination).commit()


def _serialize(model: ir.Model, source: Source, data_name: str) -> tuple[bytes, DataFile | None]:
    """The bytes of the model, and what goes to a data file, if there is to be one."""
    sizes = [(tensor.nbytes, isinstance(tensor, ir.ExternalTensor)) for tensor in tensors_of(model)]
    is_too_big = sum(size for size, is_external in sizes if not is_external) > PROTOBUF_LIMIT
    has_data = bool(source.data_files) or any(is_external for _, is_external in sizes)
    data = DataFile(data_name, is_too_big) if is_too_big or has_data else None
    contents = _to_bytes(to_proto(model, source, data))
    if contents is None and not is_too_big:
        data = DataFile(data_name, takes_all=True)
        contents = _to_bytes(to_proto(model, source, data))
    if contents is None:
        raise ModelError("the model has more than 2 GB besides its tensors", hint="ONNX files can't hold so much")
    return contents, data if data is not None and not data.is_empty else None


def _to_bytes(proto: onnx.ModelProto) -> bytes | None:
    """The serialized message, or None if it is over the limit."""
    try:
        contents = proto.SerializeToString()
    except (EncodeError, ValueError):  # its ways of saying that it is too big
        return None
    return contents if len(contents) <= PROTOBUF_LIMIT else None


def _check_destination(destination: Path, source: Source) -> None:
    if destination.is_dir():
        raise UsageError(f"{destination} is a directory", hint="Give the name of a file")
    inputs = [path for path in (source.path, *source.data_files) if path is not None]
    for written in (destination, destination.with_name(f"{destination.name}.data")):
        if any(_is_same_file(written, path) for path in inputs):
            raise UsageError(f"{written} is a file of the input", hint="Choose another name for the output")


def _is_same_file(path: Path, other: Path) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _write_synced(path: Path, write_to: Callable[[BinaryIO], object]) -> None:
    with path.open("xb") as file:
        write_to(file)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Makes renames in a folder last through a power cut, where the system can do that."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _cleaning_up(folder: Path) -> Iterator[None]:
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _as_usage_error(destination: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "Check that its folder exists, that you may write there, and that the disk has room"
        raise UsageError(f"{destination} can't be written: {error.strerror or error}", hint=hint) from error
