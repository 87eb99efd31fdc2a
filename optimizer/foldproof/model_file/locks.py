"""Locks that end with the process that holds them, so that a killed run leaves none behind."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import IO, Any

try:
    import fcntl as _fcntl
except ImportError:  # Windows
    fcntl: ModuleType | None = None
else:
    fcntl = _fcntl


@contextlib.contextmanager
def folder_locked(folder: Path) -> Iterator[bool]:
    """Holds the lock of a folder: of all runs of ours that write there, one at a time goes on.

    Yields:
        Whether it is held: not every system and file system has such locks.

    Raises:
        OSError: The folder can't be opened.
    """
    if fcntl is None:
        yield False
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        held = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            held = False
        yield held
    finally:
        os.close(descriptor)


def lock_file(file: IO[Any]) -> bool:
    """Locks an open file, until it is closed, and says whether that went: nobody else holds its lock."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Makes what was created, renamed or removed in a folder last through a power cut, where the system can do that."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
