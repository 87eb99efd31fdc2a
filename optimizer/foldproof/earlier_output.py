"""Remembers which files Foldproof wrote, so that a later run may replace them, and no file of the person's."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path

from foldproof.cache_folder import cache_folder


def remember(path: Path, coming: Path | None = None) -> None:
    """Writes down that a file is ours, as it is now. Where nothing can be written down, a later run will ask.

    Args:
        path: The file.
        coming: What is about to be renamed to it: a run that is killed right after that has written it all the same.
            Until then it is ours if it was.
    """
    try:
        stamps = [_stamp(path)] if coming is None or is_ours(path) else []
        if coming is not None:
            stamps.append({**_stamp(coming), "path": str(path.resolve())})
        record = _record(path)
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(stamps), encoding="utf-8")
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return


def forget(path: Path) -> None:
    """Takes back what `remember` wrote down, of a file that is about to go."""
    with contextlib.suppress(OSError, RuntimeError):
        _record(path).unlink(missing_ok=True)


def is_ours(path: Path) -> bool:
    """Whether a file is one that an earlier run wrote, and nobody has changed since."""
    try:
        stamps = json.loads(_record(path).read_text(encoding="utf-8"))
        return isinstance(stamps, list) and _stamp(path) in stamps
    except (OSError, RuntimeError, ValueError):
        return False


def _stamp(path: Path) -> dict[str, object]:
    status = path.stat()
    return {"path": str(path.resolve()), "bytes": status.st_size, "changed": status.st_mtime_ns}


def _record(path: Path) -> Path:
    return cache_folder() / "outputs" / f"{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()}.json"
