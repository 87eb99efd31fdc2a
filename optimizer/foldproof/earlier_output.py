"""Remembers which files Foldproof wrote, so that a later run may replace them, and no file of the person's."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

from foldproof.cache_folder import cache_folder


def remember(path: Path) -> None:
    """Writes down that a file is ours, as it is now. Where nothing can be written down, a later run will ask."""
    try:
        record = _record(path)
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(_stamp(path)), encoding="utf-8")
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return


def forget(path: Path) -> None:
    """Takes back what `remember` wrote down, of a file that is about to go."""
    with contextlib.suppress(OSError, RuntimeError):
        _record(path).unlink(missing_ok=True)


def is_ours(path: Path) -> bool:
    """Whether a file is one that an earlier run wrote, and nobody has changed since."""
    try:
        return bool(json.loads(_record(path).read_text(encoding="utf-8")) == _stamp(path))
    except (OSError, RuntimeError, ValueError):
        return False


def _stamp(path: Path) -> dict[str, object]:
    status = path.stat()
    return {"path": str(path.resolve()), "bytes": status.st_size, "changed": status.st_mtime_ns}


def _record(path: Path) -> Path:
    return cache_folder() / "outputs" / f"{hashlib.sha256(str(path.resolve()).encode()).hexdigest()}.json"
