"""The files that a run which was killed has left beside its destination. The next run to it takes them away."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection
from pathlib import Path

from foldproof import earlier_output
from foldproof.data_layout import is_data_name
from foldproof.model_file.locks import lock_file
from foldproof.model_file.references import data_of, used_by_others

_KEPT = 50
"""How many letters of the destination's name go into a temporary name: a name may have 255 bytes."""


def temporary_name(destination: Path, token: str, suffix: str = "onnx") -> str:
    """The name under which a model is written before it takes its place."""
    return f".{destination.name[:_KEPT]}.{token}.{suffix}"


def sweep(destination: Path, keep: Collection[Path] = ()) -> None:
    """Takes away what dead runs left beside a destination. The folder has to be locked.

    Only regular files are looked at: a pipe would not let go of who opens it.
    A staged model is dead if its lock is free, which a run that goes on holds. Of the data files that bear a name of
    ours, and that neither the destination, nor a living run, nor another model refers to, those are taken away that a
    dead run names, that have a token, or that an earlier run is known to have written.

    Args:
        destination: The model's file.
        keep: Files that stay: those of the input.
    """
    folder = destination.parent
    names = os.listdir(folder)  # noqa: PTH208  much faster, in a folder of thousands of files
    pattern = re.compile(re.escape(f".{destination.name[:_KEPT]}.") + r"[0-9a-f]{8}\.(onnx|text)")
    staged = {folder / name for name in names if pattern.fullmatch(name) and _is_regular(folder / name)}
    data = [folder / name for name in names if is_data_name(name, destination) and _is_regular(folder / name)]
    if not staged and not data:  # so that no large model is read for nothing
        return
    living = {path for path in staged if path.suffix == ".onnx" and _is_held(path)}
    dead = {path for path in staged if path.with_suffix(".onnx") not in living}
    needed = {os.path.realpath(path) for path in keep}
    named = set().union(*map(data_of, dead))
    going = {
        path
        for path in data
        if os.path.realpath(path) not in needed
        and (is_data_name(path.name, destination, with_token=True) or path in named or earlier_output.is_ours(path))
    }
    for path in going - used_by_others(going, dead, destination):
        path.unlink(missing_ok=True)
    for path in dead:
        path.unlink(missing_ok=True)


def _is_regular(path: Path) -> bool:
    """Whether there is a regular file, which is no link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _is_held(path: Path) -> bool:
    """Whether a run that goes on holds the lock of a staged model."""
    try:
        with path.open("rb") as file:
            return not lock_file(file)
    except FileNotFoundError:
        return False
