"""A folder of models or of results: on this machine, or wherever `fsspec` reads and writes."""

from __future__ import annotations

import abc
import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from foldproof.certificates.digests import sha256_of
from foldproof.destinations import write_text
from foldproof.errors import UsageError

_CHUNK = 1 << 20
_SUFFIX = ".onnx"


def is_url(text: str) -> bool:
    """Whether a place is not a path of this machine: `s3://bucket/models`, but not `C:/models`."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text) is not None


class Folder(abc.ABC):
    """A folder. Files in it are named by their paths from there, with `/` between the parts.

    Attributes:
        text: Where it lies: a path or a URL.
    """

    text: str

    @staticmethod
    def of(text: str) -> Folder:
        """The folder at a path or a URL, be it there or not.

        Raises:
            UsageError: Nothing here can read such a URL.
        """
        if text.startswith("file://"):
            from urllib.request import url2pathname

            return LocalFolder(Path(url2pathname(text.removeprefix("file://"))))
        return RemoteFolder(text) if is_url(text) else LocalFolder(Path(text))

    def at(self, name: str) -> str:
        """Where a file of it lies."""
        return f"{self.text.rstrip('/')}/{name}"

    @property
    def absolute(self) -> str:
        """Where it lies, for a process in another working folder."""
        return self.text

    @abc.abstractmethod
    def models(self) -> list[str]:
        """The files in it and below it that end in `.onnx`, sorted; without those whose path has a hidden part."""

    @abc.abstractmethod
    def matches(self, pattern: str) -> list[str]:
        """The files whose path from here matches, sorted; `**` stands for any folders. None that is hidden."""

    @abc.abstractmethod
    def size(self, name: str) -> int | None:
        """The bytes of a file; None where it is not there, or nobody says."""

    @abc.abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is such a file."""

    @abc.abstractmethod
    def sha256(self, name: str) -> str | None:
        """The digest of a file, in hexadecimal; None where it is not there."""

    @abc.abstractmethod
    def read(self, name: str) -> str | None:
        """The text in a file; None where it is not there."""

    @abc.abstractmethod
    def write(self, name: str, text: str) -> None:
        """Writes a file, whole or not at all, over one that may be there."""

    @abc.abstractmethod
    def remove(self, name: str) -> None:
        """Takes a file away, if it is there."""


class LocalFolder(Folder):
    """A folder on this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = str(path)

    @property
    def absolute(self) -> str:
        """See `Folder`."""
        return str(self.path.absolute())

    def at(self, name: str) -> str:
        """See `Folder`."""
        return str(self.path / name)

    def models(self) -> list[str]:
        """See `Folder`."""
        found = []
        for folder, inner, files in os.walk(self.path, onerror=_raise):
            inner[:] = [each for each in inner if not each.startswith(".")]
            found += [Path(folder, each).relative_to(self.path).as_posix() for each in files if _is_model(each)]
        return sorted(each for each in found if not _is_hidden(each))

    def matches(self, pattern: str) -> list[str]:
        """See `Folder`."""
        try:
            paths = [path for path in self.path.glob(pattern) if path.is_file()]
        except (ValueError, NotImplementedError, IndexError) as error:
            raise UsageError(f"{self.at(pattern)} is no pattern: {error}") from error
        names = (path.relative_to(self.path).as_posix() for path in paths)
        return sorted(name for name in names if not _is_hidden(name))

    def size(self, name: str) -> int | None:
        """See `Folder`."""
        try:
            return (self.path / name).stat().st_size
        except OSError:
            return None

    def has(self, name: str) -> bool:
        """See `Folder`."""
        return (self.path / name).is_file()

    def sha256(self, name: str) -> str | None:
        """See `Folder`."""
        path = self.path / name
        return sha256_of(path) if path.is_file() else None

    def read(self, name: str) -> str | None:
        """See `Folder`."""
        try:
            return (self.path / name).read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UsageError(f"{self.at(name)} can't be read: {error.strerror or error}") from error

    def write(self, name: str, text: str) -> None:
        """See `Folder`."""
        path = self.path / name
        make_folder(path.parent)
        write_text(text, path, what=f"file {path}", option="-o")

    def remove(self, name: str) -> None:
        """See `Folder`."""
        (self.path / name).unlink(missing_ok=True)


class RemoteFolder(Folder):
    """A folder that `fsspec` reads and writes.

    Raises:
        UsageError: It is not installed, or knows no such place.
    """

    def __init__(self, url: str) -> None:
        self.text = url.rstrip("/")
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            hint = "Install it: pip install 'foldproof[remote]'"
            raise UsageError(f"{url} is not on this machine, and fsspec is not installed", hint=hint) from error
        with self._telling("reached", ""):
            self._system, root = url_to_fs(url)
        self._root = str(root).rstrip("/")

    def models(self) -> list[str]:
        """See `Folder`."""
        with self._telling("listed", ""):
            return self._names(each for each in self._system.find(self._root) if _is_model(each))

    def matches(self, pattern: str) -> list[str]:
        """See `Folder`."""
        with self._telling("listed", pattern):
            return self._names(self._system.glob(self._inner(pattern)))

    def size(self, name: str) -> int | None:
        """See `Folder`."""
        try:
            with self._telling("looked at", name):
                size = self._system.info(self._inner(name)).get("size")
        except FileNotFoundError:
            return None
        return None if size is None else int(size)

    def has(self, name: str) -> bool:
        """See `Folder`."""
        with self._telling("looked at", name):
            self._system.invalidate_cache()
            return bool(self._system.isfile(self._inner(name)))

    def sha256(self, name: str) -> str | None:
        """See `Folder`."""
        found = hashlib.sha256()
        try:
            with self._telling("read", name):
                self._system.invalidate_cache()
                with self._system.open(self._inner(name), "rb") as file:
                    while chunk := file.read(_CHUNK):
                        found.update(chunk)
        except FileNotFoundError:
            return None
        return found.hexdigest()

    def read(self, name: str) -> str | None:
        """See `Folder`."""
        try:
            with self._telling("read", name):
                return bytes(self._system.cat_file(self._inner(name))).decode(errors="replace")
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        """See `Folder`."""
        with self._telling("written", name):
            self._make_folder_of(name)
            self._system.pipe_file(self._inner(name), text.encode())

    def remove(self, name: str) -> None:
        """See `Folder`."""
        with self._telling("removed", name), contextlib.suppress(FileNotFoundError):
            self._system.rm_file(self._inner(name))

    def fetch(self, name: str, path: Path) -> bool:
        """Copies a file to this machine; says whether it is there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._telling("fetched", name):
                self._system.get_file(self._inner(name), str(path))
        except FileNotFoundError:
            path.unlink(missing_ok=True)
            return False
        return True

    def put(self, path: Path, name: str) -> None:
        """Copies a file of this machine there."""
        with self._telling("written", name):
            self._make_folder_of(name)
            self._system.put_file(str(path), self._inner(name))

    def _inner(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _make_folder_of(self, name: str) -> None:
        with contextlib.suppress(NotImplementedError):  # where names are all that there is
            self._system.makedirs(self._inner(str(PurePosixPath(name).parent)), exist_ok=True)

    def _names(self, paths: Iterable[str]) -> list[str]:
        names = [str(path).removeprefix(self._root).lstrip("/") for path in paths]
        return sorted(name for name in names if not _is_hidden(name))

    @contextlib.contextmanager
    def _telling(self, deed: str, name: str) -> Iterator[None]:
        """Makes whatever the libraries for so many kinds of places raise one of our errors, but for a missing file."""
        try:
            yield
        except (UsageError, FileNotFoundError):
            raise
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise UsageError(f"{self.at(name).rstrip('/')} can't be {deed}: {reason}") from error


def make_folder(path: Path) -> None:
    """Makes a folder of this machine, and those above it.

    Raises:
        UsageError: It can't be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "Name another folder with -o"
        raise UsageError(f"the folder {path} can't be made: {error.strerror or error}", hint=hint) from error


def _raise(error: OSError) -> Any:
    raise UsageError(f"{error.filename} can't be listed: {error.strerror or error}") from error


def _is_model(name: str) -> bool:
    return name.lower().endswith(_SUFFIX)


def _is_hidden(name: str) -> bool:
    """Whether a part of a path begins with a dot: such are the temporary files of runs, and `..`."""
    return any(part.startswith(".") for part in name.split("/"))
