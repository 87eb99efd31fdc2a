"""Digests of files, and the versions and the machine that a certificate names."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from foldproof.errors import UsageError

_CHUNK = 1 << 20
_PACKAGES = ("ml-dtypes", "numpy", "onnx", "onnx-ir", "onnxruntime", "onnxruntime-gpu")


@dataclasses.dataclass(frozen=True)
class FileDigest:
    """A file and what is in it.

    Attributes:
        name: Its name, or for a data file its path from the model's folder.
        sha256: The digest of its bytes.
    """

    name: str
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """As in-toto writes a resource."""
        return {"name": self.name, "digest": {"sha256": self.sha256}}


def sha256_of(path: Path) -> str:
    """The digest of a file's bytes, in hexadecimal.

    Raises:
        UsageError: It can't be read.
    """
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                found.update(chunk)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror or error}") from error
    return found.hexdigest()


def digests_of(model: Path, data_files: Iterable[Path]) -> list[FileDigest]:
    """The digests of a model's file, which comes first, and of its data files.

    Args:
        model: The model's file.
        data_files: The files with its external data; those that are not there are left out.
    """
    folder = model.absolute().parent
    found = [FileDigest(model.name, sha256_of(model))]
    for path in sorted(set(data_files)):
        if path.exists():
            absolute = path.absolute()
            name = absolute.relative_to(folder).as_posix() if absolute.is_relative_to(folder) else path.as_posix()
            found.append(FileDigest(name, sha256_of(path)))
    return found


def versions(others: Iterable[str] = ()) -> dict[str, str]:
    """The versions of the packages that a result may depend on, by name; of those that are installed.

    Args:
        others: Names of further packages.
    """
    found = {}
    for name in sorted({*_PACKAGES, *others}):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def environment() -> dict[str, str]:
    """The machine and the interpreter."""
    return {"platform": platform.platform(), "python": platform.python_version(), "cpu": _cpu()}


def _cpu() -> str:
    """The kind of the processor, as far as the system tells."""
    with contextlib.suppress(OSError):  # only Linux has this file
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return f"{platform.machine()} {line.partition(':')[2].strip()}"
    return f"{platform.machine()} {platform.processor()}".strip()
