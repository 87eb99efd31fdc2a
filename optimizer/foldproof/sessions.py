"""A session of onnxruntime for the optimized model, which is made once and kept."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldproof import earlier_output, model_file
from foldproof.cache_folder import cache_folder
from foldproof.certificates.digests import digests_of, sha256_of
from foldproof.errors import (
    FoldproofError,
    OriginalUsedWarning,
    UnverifiedError,
    UsageError,
    VerificationError,
    WriteError,
)
from foldproof.fingerprint import fingerprint
from foldproof.options import FILE_OPTIONS, Options
from foldproof.pipeline import Optimizer

if TYPE_CHECKING:
    import onnxruntime

CACHE_BYTES = 10 * 10**9
"""How much a cache may hold, unless the person says otherwise."""

_HOUR = 3600.0

_MAKING = ".foldproof-making-"
"""How the names begin of folders that are not ready: no name that a person's own folder might have."""

_ENTRY = re.compile("[0-9a-f]{64}")
"""The names of entries: what else lies in the folder is not ours."""

_ATTEMPTS = 3
"""How often a model is read that changes while it is read."""


def load_session(
    path: str | os.PathLike[str],
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    cache_bytes: int = CACHE_BYTES,
    options: Options | None = None,
    **session: Any,
) -> onnxruntime.InferenceSession:
    """Loads a model into onnxruntime, optimized. It is optimized and verified at the first call, and kept.

    What is kept is found by the content of the model's file and data files, the options with the files that they name,
    the versions of Foldproof, onnx, onnxruntime and the installed rule packs: a changed model is optimized anew.
    Processes may share a cache. It may be deleted at any time.

    Args:
        path: The model's file, which is never written.
        cache_dir: Where to keep optimized models: `foldproof/sessions` in the person's cache folder unless given.
        cache_bytes: How much may lie there. Where a new model makes it more, those go first that were used longest ago;
            the new one stays, and so does what was used in the last hour.
        options: How to optimize it.
        session: What `onnxruntime.InferenceSession` takes besides the path, such as `sess_options` and `providers`.

    Returns:
        A session of the optimized model; of the original where that can't be optimized and verified.

    Raises:
        UsageError: The options make no sense for this model, or there is no such file.

    Warns:
        OriginalUsedWarning: The original is used, for the reason that is said.
    """
    import onnxruntime

    options = options or Options()
    for name in FILE_OPTIONS:
        if getattr(options, name):
            raise UsageError(f"{name} makes no sense for a session's model", hint="Leave it out, or use optimize_file")
    try:
        model = _optimized(Path(path), options, _cache(cache_dir), cache_bytes)
    except (FoldproofError, OSError) as error:
        if isinstance(error, UsageError) and not isinstance(error, WriteError):
            raise
        warnings.warn(f"{path} is used as it is: {error}", OriginalUsedWarning, stacklevel=2)
        model = Path(path)
    return onnxruntime.InferenceSession(model, **session)


def _cache(cache_dir: str | os.PathLike[str] | None) -> Path:
    """The folder of a cache. It need not be there yet.

    Raises:
        WriteError: The person has no cache folder.
    """
    if cache_dir is not None:
        return Path(cache_dir)
    try:
        return cache_folder() / "sessions"
    except RuntimeError as error:
        raise WriteError("there is no home directory", hint="Say where to keep it: cache_dir=") from error


def _optimized(path: Path, options: Options, folder: Path, most: int) -> Path:
    """The file of the optimized model in a cache, which is made where it is not there.

    Raises:
        UsageError: See `load_session`; a `WriteError` where the cache can't be written.
        UnverifiedError: It is known that the model can't be verified, or differs.
        FoldproofError: See `Optimizer.run_file`.
        OSError: The cache can't be written.
    """
    for _ in range(_ATTEMPTS):
        key = _key(path, options)
        entry = folder / key
        if not _is_whole(entry):
            folder.mkdir(parents=True, exist_ok=True)
            _sweep(folder)
            with tempfile.TemporaryDirectory(dir=folder, prefix=_MAKING) as making:
                _make(path, options, Path(making, key))
                if _key(path, options) != key:
                    continue  # what was made may be of the old content or of the new one
                _publish(Path(making, key), entry)
                _evict(folder, most, keep=entry, dustbin=Path(making))
        with contextlib.suppress(OSError):  # a cache that may only be read
            os.utime(entry / "entry.json")  # it was used
        reason = json.loads((entry / "entry.json").read_text(encoding="utf-8"))["reason"]
        if reason is not None:
            raise UnverifiedError(reason, hint=f"To try again, remove {entry}")
        return entry / "model.onnx"
    raise UnverifiedError("its file changes all the time", hint="Write it elsewhere, and rename it when it is whole")


def _key(path: Path, options: Options) -> str:
    """What names all that a result depends on: 64 hexadecimal digits."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    model, *data = digests_of(path, model_file.read(path).data_files)
    parts = {
        "model": model.sha256,
        "data": [each.to_dict() for each in data],
        "how": fingerprint(options),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _make(path: Path, options: Options, entry: Path) -> None:
    """Writes an entry: the optimized model, or the reason why there is none, and the digests of its files."""
    entry.mkdir()
    reason = None
    try:
        Optimizer(options).run_file(path, entry / "model.onnx")
    except (UnverifiedError, VerificationError) as error:
        reason = error.reason
    files = {}
    for file in _files_of(entry):
        earlier_output.forget(file)  # it moves
        files[file.name] = sha256_of(file)
    content = json.dumps({"reason": reason, "files": files}, indent=2)
    (entry / "entry.json").write_text(content + "\n", encoding="utf-8")


def _sweep(folder: Path) -> None:
    """Takes away what killed processes have left: what is made takes minutes, not days."""
    for left in folder.glob(f"{_MAKING}*"):
        with contextlib.suppress(OSError):  # another process is at it
            if time.time() - left.stat().st_mtime > 24 * _HOUR:
                shutil.rmtree(left)


def _evict(folder: Path, most: int, *, keep: Path, dustbin: Path) -> None:
    """Takes away the entries that were used longest ago, until the others fit.

    What was used in the last hour stays: another process may be about to load it.

    Args:
        folder: The cache.
        most: How many bytes may stay.
        keep: An entry that stays.
        dustbin: A folder beside them that is about to go: to move an entry there takes it away at once.
    """
    used: list[tuple[float, Path]] = []
    total = 0
    for entry in (each for each in folder.iterdir() if _ENTRY.fullmatch(each.name)):
        with contextlib.suppress(OSError):  # another process takes it away, or it is no entry
            used.append(((entry / "entry.json").stat().st_mtime, entry))
            total += _size(entry)
    for when, entry in sorted(used):
        if total <= most or time.time() - when < _HOUR:
            return
        if entry != keep:
            with contextlib.suppress(OSError):
                size = _size(entry)
                entry.rename(dustbin / f"old-{entry.name}")
                total -= size


def _size(entry: Path) -> int:
    return sum(file.stat().st_size for file in entry.iterdir())


def _publish(made: Path, entry: Path) -> None:
    """Moves an entry to its place, unless another process was first."""
    if entry.exists() and not _is_whole(entry):
        shutil.rmtree(entry)
    try:
        made.rename(entry)
    except OSError:
        if not _is_whole(entry):
            raise


def _is_whole(entry: Path) -> bool:
    """Whether an entry is there, with the content that it was made with."""
    try:
        files = json.loads((entry / "entry.json").read_text(encoding="utf-8"))["files"]
        return bool({file.name: sha256_of(file) for file in _files_of(entry)} == files)
    except (OSError, ValueError, KeyError, TypeError, UsageError):
        return False


def _files_of(entry: Path) -> Iterator[Path]:
    return (file for file in entry.iterdir() if file.name != "entry.json")
