"""Which files hold the elements of external tensors, and where in them: whole tensors, in files beside the model.

A model says where its weights lie. If it could name any file, whoever opens a stranger's model would hand out files of
their own, so that a path must stay in the model's folder, links and all.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx

from foldproof.errors import ModelError

_MEMORY = "_ORT_MEM_ADDR_"
"""Part of a location that onnxruntime takes for an address in its memory."""

_LIMIT = (1 << 63) - 1
_KEYS = ("location", "offset", "length")


@dataclasses.dataclass(frozen=True, order=True)
class Region:
    """Where an external tensor lies.

    Attributes:
        file: The data file, all links followed.
        start: Its first byte.
        end: The byte behind its last.
        place: What to call the tensor.
    """

    file: str
    start: int
    end: int
    place: str = dataclasses.field(compare=False)


def region_of(tensor: onnx.TensorProto, place: str, size: int, model: Path | None) -> Region | None:
    """Where an external tensor lies; None where its file is not there, which whoever reads it will say.

    Args:
        tensor: The tensor.
        place: What to call it.
        size: The bytes that its dims take.
        model: The model's file. None: the data lies in the working directory.

    Raises:
        ModelError: See `check_tensors`.
    """
    entries = [(entry.key, entry.value) for entry in tensor.external_data if entry.key in _KEYS]
    stated = dict(entries)
    if len(stated) < len(entries):
        raise _invalid(place, "says twice where its elements lie")
    start, length = (_number(stated.get(key, "0"), key, place) for key in ("offset", "length"))
    if length and length != size:
        raise _invalid(place, f"has {length} bytes of external data, but its dims {list(tensor.dims)} take {size}")
    if start + size > _LIMIT:
        raise _invalid(place, f"ends at byte {start + size} of its data file, which no file has")
    path = locate(stated.get("location", ""), place, model)
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(place, path, f"can't be read: {error.strerror}", "Check its mode, and the disk") from error
    if not stat.S_ISREG(status.st_mode):
        raise _refused(place, path, "is not a regular file", "Data lies in plain files beside the model")
    if status.st_nlink > 1:
        hint = "It may be a file of somebody else: put a copy in its place (cp X Y && mv Y X)"
        raise _refused(place, path, f"has {status.st_nlink} hard links", hint)
    if start + size > status.st_size:
        hint = "Download or export the model again, with its data"
        raise _refused(place, path, f"has {status.st_size} bytes, but the tensor ends at {start + size}", hint)
    return Region(os.path.realpath(path), start, start + size, place)


def locate(location: str, place: str, model: Path | None) -> Path:
    """The path of a data file.

    A link may lead to another file in the model's folder. Where the model itself is a link, as in a cache of downloads,
    its data may lie beside the file that it leads to.

    Args:
        location: What the model says.
        place: What to call the tensor.
        model: The model's file. None: the data lies in the working directory.

    Raises:
        ModelError: The path leaves the model's folder, or is none.
    """
    # A path drops a slash or dot at its end, but the system takes what has one for a folder.
    if re.search(r"(^|[/\\])\.?\Z", location) or "\0" in location or _MEMORY in location:
        raise _invalid(place, f"lies in {location!r}, which is no file")
    pure = (PurePosixPath(location), PureWindowsPath(location))
    if any(each.is_absolute() or each.drive or ".." in each.parts for each in pure):
        hint = "Put the data beside the model, and let the model name it by its name alone"
        raise _refused(place, Path(location), "lies outside the model's folder", hint)
    folder = Path() if model is None else model.parent
    path = folder / location
    real = Path(os.path.realpath(path))
    allowed = [Path(os.path.realpath(folder))]
    if real.is_relative_to(allowed[0]):
        return path
    if model is not None and model.is_symlink():
        beside = Path(os.path.realpath(model)).parent
        if real.parent == beside:
            return path
    hint = "Put the file itself beside the model, in the place of the link"
    raise _refused(place, path, f"is a link to {real}, outside the model's folder", hint)


def check_overlaps(regions: Iterable[Region]) -> None:
    """Refuses tensors that share a part of their bytes. To share all of them is honest: such weights are tied.

    Raises:
        ModelError: Two overlap.
    """
    ordered = sorted(region for region in regions if region.start < region.end)
    for first, second in itertools.pairwise(ordered):
        if first.file == second.file and second.start < first.end and first != second:
            raise _invalid(second.place, f"overlaps {first.place} in the data file {first.file}")


def _number(text: str, key: str, place: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise _invalid(place, f"has the {key} {text!r} in its data file, which is no number that a file can have")
    return int(text)


def _invalid(place: str, reason: str) -> ModelError:
    return ModelError(f"{place} {reason}", hint="Download or export the model again")


def _refused(place: str, path: Path, reason: str, hint: str) -> ModelError:
    return ModelError(f"the data file {path} of {place} {reason}", hint=hint)
