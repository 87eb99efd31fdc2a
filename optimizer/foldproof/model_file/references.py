"""Which data files the model in a file refers to: told without reading its weights, so that many can be asked."""

from __future__ import annotations

import functools
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from foldproof.data_layout import is_name_of_model
from foldproof.errors import ModelError
from foldproof.model_file import formats
from foldproof.model_file.protobuf import FIXED32, FIXED64, GROUP, GROUP_END, LENGTH_DELIMITED, VARINT
from foldproof.protos import external_locations

_ENTRY = onnx.StringStringEntryProto.DESCRIPTOR
_KEY = "location"
"""The key of an entry that says in which file a tensor lies."""
_RAW_KEY = _KEY.encode()
_KEY_IN_TEXT = re.compile(rb"""key["']?\s*:\s*["']location["']|"location"\s*:\s*\"""")
"""The same as the text forms have it: as a field of an entry, or in onnxtxt before its value."""
_AT_ONCE = 1 << 24
"""Files of at most so many bytes are searched for the key as a whole: few models have it, and a search is fast."""
_LONGEST = 1 << 16
"""More bytes than an entry can have that says where a tensor lies: paths are shorter. No more are read at once."""
_FIELDS = 1_000_000
"""So many fields of a binary file are looked at: as many nodes, or 100,000 tensors with external data."""
_TEXT_BYTES = 8 << 20
"""Texts of more bytes that have the key are not parsed."""


def data_of(model: Path) -> set[Path]:
    """The data files that the model in a file refers to; none where there is no model.

    Of a model that is too large to be looked through they may be some of them.

    Raises:
        OSError: The file is there and can't be read.
    """
    locations, _ = _locations_of(model)
    return {model.parent / location for location in locations}


def used_by_others(data: Collection[Path], models: Collection[Path], owner: Path) -> set[Path]:
    """Those of some data files that a model refers to which is none of those named.

    All models are asked that lie in the folder of the data or above it: from elsewhere no model may refer to it. One
    that can't be read, or is too large to be looked through, may refer to all.

    Args:
        data: The data files, in one folder.
        models: The models that are not asked.
        owner: The model that the data was written for. Files are asked too that end like it, or begin like it, as
            `m.onnx.bak` does, which may be a copy.
    """
    if not data:
        return set()
    folder = next(iter(data)).absolute().parent
    files = {os.path.realpath(path): path for path in data}
    left_out = {os.path.realpath(path) for path in models}
    used: set[Path] = set()
    for model in _models_in([folder, *folder.parents], owner):
        real = os.path.realpath(model)
        if real in left_out:
            continue
        try:
            locations, is_all = _locations_of(model)
        except OSError:
            return set(data)
        if not is_all:
            return set(data)
        # A model that is a link may have its data beside the file that it leads to.
        named = {os.path.realpath(Path(each).parent / location) for each in (model, real) for location in locations}
        used |= {files[each] for each in named & files.keys()}
    return used


def is_model_by_name(path: Path) -> bool:
    """Whether a file is known for a model by its name: it ends in `.onnx` or like a text form."""
    return path.suffix.lower() == ".onnx" or not formats.is_binary(path)


def _models_in(folders: Collection[Path], owner: Path) -> Iterator[Path]:
    for folder in folders:
        try:
            paths = list(folder.iterdir())
        except OSError:  # a folder above may well be closed to us
            continue
        for path in paths:
            is_alike = path.suffix == owner.suffix or (
                path.name.startswith(f"{owner.stem}.") and not is_name_of_model(path.name, owner)
            )
            if (is_alike or is_model_by_name(path)) and path.is_file():
                yield path


def _locations_of(model: Path) -> tuple[set[str], bool]:
    """Where the tensors of the model in a file lie, as it says, and whether these are all places that it names."""
    form = formats.format_of(model)
    try:
        status = model.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would not let go of who opens it, and a device has no end
            return set(), True
        size = status.st_size
        with model.open("rb") as file:
            found, is_all = _locations(file, size) if form == formats.BINARY else _locations_in_text(file, size, form)
    except (FileNotFoundError, IsADirectoryError):
        return set(), True
    return {location for location in found if "\0" not in location}, is_all


def _locations_in_text(file: BinaryIO, size: int, form: str) -> tuple[set[str], bool]:
    """The same of a text. It is only parsed where it has the key: files of these names are often no models."""
    if size > formats.TEXT_LIMIT:
        return set(), False
    text = file.read()
    if _KEY_IN_TEXT.search(text) is None:
        return set(), True
    if size > _TEXT_BYTES:
        return set(), False
    try:
        return external_locations(formats.from_text(text, form, file.name)), True
    except (ModelError, RecursionError):
        return set(), True


def _locations(file: BinaryIO, size: int) -> tuple[set[str], bool]:
    """The same of a binary file; all up to the first byte that no message can have.

    It walks through the fields of the messages and skips all that hold no tensors.

    Args:
        file: The file.
        size: Its bytes.
    """
    found: set[str] = set()
    if size <= _AT_ONCE:
        if _RAW_KEY not in file.read():
            return found, True
        file.seek(0)
    inside: list[tuple[int, Any]] = [(size, onnx.ModelProto.DESCRIPTOR)]  # the messages, each with its end
    at = 0
    for _ in range(_FIELDS):
        while inside and at >= inside[-1][0]:
            inside.pop()
        if not inside:
            return found, True
        end, message = inside[-1]
        tag, at = _varint(file, at)
        kind = tag & 7
        if tag < 8:
            return found, True
        if kind == VARINT:
            _, at = _varint(file, at)
        elif kind == LENGTH_DELIMITED:
            length, at = _varint(file, at)
            inner = _with_tensors(message).get(tag >> 3)
            if length > end - at:
                return found, True
            if inner is _ENTRY and length <= _LONGEST:
                found.update(_location(file.read(length)))
                at += length
            elif inner is None or inner is _ENTRY:
                at = file.seek(at + length)
            elif length <= _LONGEST and _RAW_KEY not in file.read(length):  # as most nodes
                at += length
            else:
                at = file.seek(at)
                inside.append((at + length, inner))
        elif kind in (FIXED64, FIXED32):
            at = file.seek(at + (8 if kind == FIXED64 else 4))
        elif kind not in (GROUP, GROUP_END):  # what is in a group is walked through like all else
            return found, True
    return found, False


def _varint(file: BinaryIO, at: int) -> tuple[int, int]:
    """A number at a place in a file, and the place behind it. Behind the end of the file there are zeros."""
    value = shift = 0
    while True:
        byte = (file.read(1) or b"\0")[0]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 or shift >= 70:
            return value, at


def _location(entry: bytes) -> Iterator[str]:
    try:
        proto = onnx.StringStringEntryProto.FromString(entry)
    except DecodeError:
        return
    if proto.key == _KEY:
        yield os.fsdecode(proto.value)


@functools.cache
def _with_tensors(message: Any) -> Mapping[int, Any]:
    """The fields of a kind of message, by number, that tensors with external data may be in."""
    fields = {field.number: field for field in message.fields if field.message_type is not None}
    return {
        number: field.message_type
        for number, field in fields.items()
        if field.name == "external_data" or _leads_to_tensors(field.message_type)
    }


@functools.cache
def _leads_to_tensors(message: Any) -> bool:
    """Whether a kind of message is a tensor, or one in it may be."""
    seen, waiting = set(), [message]
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += [field.message_type for field in each.fields if field.message_type is not None]
    return onnx.TensorProto.DESCRIPTOR in seen
