"""Which data files the model in a file refers to: told without reading its weights, so that many can be asked."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from foldproof.errors import ModelError
from foldproof.model_file import formats
from foldproof.model_file.protobuf import FIXED32, FIXED64, GROUP, GROUP_END, LENGTH_DELIMITED, VARINT
from foldproof.protos import external_locations

_ENTRY = onnx.StringStringEntryProto.DESCRIPTOR
_KEY = "location"
"""The key of an entry that says in which file a tensor lies."""
_AT_ONCE = 1 << 24
"""Files of at most so many bytes are searched for the key as a whole: few models have it, and a search is fast."""
_LONGEST = 1 << 16
"""More bytes than an entry can have that says where a tensor lies: paths are shorter."""


def data_of(model: Path) -> set[Path]:
    """The data files that the model in a file refers to; none where there is no model.

    Raises:
        OSError: The file is there and can't be read.
    """
    return {model.parent / location for location in _locations_of(model)}


def used_by_others(data: Collection[Path], models: Collection[Path], suffix: str) -> set[Path]:
    """Those of some data files that a model refers to which is none of those named.

    All models are asked that lie in the folder of the data or above it: from elsewhere no model may refer to it. One
    that can't be read may refer to all.

    Args:
        data: The data files, in one folder.
        models: The models that are not asked.
        suffix: The end of names of models here, besides `.onnx` and those of text forms.
    """
    if not data:
        return set()
    folder = next(iter(data)).absolute().parent
    files = {os.path.realpath(path): path for path in data}
    left_out = {os.path.realpath(path) for path in models}
    used: set[Path] = set()
    for model in _models_in([folder, *folder.parents], {".onnx", suffix}):
        real = os.path.realpath(model)
        if real in left_out:
            continue
        try:
            locations = _locations_of(model)
        except OSError:
            return set(data)
        # A model that is a link may have its data beside the file that it leads to.
        named = {os.path.realpath(Path(each).parent / location) for each in (model, real) for location in locations}
        used |= {files[each] for each in named & files.keys()}
    return used


def _models_in(folders: Collection[Path], suffixes: Collection[str]) -> Iterator[Path]:
    for folder in folders:
        try:
            paths = list(folder.iterdir())
        except OSError:  # a folder above may well be closed to us
            continue
        for path in paths:
            if (path.suffix in suffixes or not formats.is_binary(path)) and path.is_file():
                yield path


def _locations_of(model: Path) -> set[str]:
    """Where the tensors of the model in a file lie, as it says; nowhere where there is no model."""
    try:
        form = formats.format_of(model)
        if form == formats.BINARY:
            with model.open("rb") as file:
                found = set(_locations(file, model.stat().st_size))
        else:
            found = external_locations(formats.from_text(model.read_bytes(), form, str(model)))
    except (FileNotFoundError, IsADirectoryError, ModelError, RecursionError):
        return set()
    return {location for location in found if "\0" not in location}


def _locations(file: BinaryIO, size: int) -> Iterator[str]:
    """What the tensors in a binary file say where they lie; all up to the first byte that no message can have.

    It walks through the fields of the messages and skips all that hold no tensors.

    Args:
        file: The file.
        size: Its bytes.
    """
    if size <= _AT_ONCE:
        if _KEY.encode() not in file.read():
            return
        file.seek(0)
    inside: list[tuple[int, Any]] = [(size, onnx.ModelProto.DESCRIPTOR)]  # the messages, each with its end
    at = 0
    while inside:
        end, message = inside[-1]
        if at >= end:
            inside.pop()
            continue
        tag, at = _varint(file, at)
        kind = tag & 7
        if tag < 8:
            return
        if kind == VARINT:
            _, at = _varint(file, at)
        elif kind == LENGTH_DELIMITED:
            length, at = _varint(file, at)
            inner = _with_tensors(message).get(tag >> 3)
            if length > end - at:
                return
            if inner is _ENTRY and length <= _LONGEST:
                yield from _location(file.read(length))
                at += length
            elif inner is None or inner is _ENTRY:
                at = file.seek(at + length)
            else:
                inside.append((at + length, inner))
        elif kind in (FIXED64, FIXED32):
            at = file.seek(at + (8 if kind == FIXED64 else 4))
        elif kind not in (GROUP, GROUP_END):  # what is in a group is walked through like all else
            return


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
