"""Copies of protobuf messages without some fields, and views that replace some: no weights are copied."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from google.protobuf.message import Message  # type: ignore[import-untyped]
from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped]

PROTOBUF_LIMIT = (1 << 31) - 1
"""No message may have more bytes than this."""

VARINT, FIXED64, LENGTH_DELIMITED, GROUP, GROUP_END, FIXED32 = range(6)
"""How a field is written: the last three bits of its tag."""


class View:
    """A message seen with some of its fields replaced; all others are read from the message itself.

    It serves readers that only get attributes, as `onnx_ir.serde` does.
    """

    def __init__(self, message: Any, **replaced: Any) -> None:
        self.__dict__.update(replaced)
        self._message = message

    def __getattr__(self, name: str) -> Any:
        return getattr(self._message, name)


def copy_fields(target: Message, source: Message, without: Collection[str]) -> None:
    """Copies all fields that are set, unknown ones too, but for those named in `without`.

    Args:
        target: An empty message of the same type.
        source: The message to copy from.
        without: Names of fields that are left out, and so cost nothing.
    """
    for field, value in source.ListFields():
        if field.name in without:
            continue
        if isinstance(value, Message):
            getattr(target, field.name).CopyFrom(value)
        elif hasattr(value, "MergeFrom"):  # a repeated field
            getattr(target, field.name).MergeFrom(value)
        elif isinstance(value, bytes):  # maybe a string that is not UTF-8, which can't be set as a value
            target.MergeFromString(_length_delimited(field.number, value))
        else:
            setattr(target, field.name, value)
    unknown = UnknownFieldSet(source)
    if len(unknown):
        target.MergeFromString(_encode(unknown))


def _encode(fields: Any) -> bytes:
    """The wire form of unknown fields."""
    out = bytearray()
    for field in fields:
        kind, data = field.wire_type, field.data
        if kind == LENGTH_DELIMITED:
            out += _length_delimited(field.field_number, data)
            continue
        out += _varint(field.field_number << 3 | kind)
        if kind == VARINT:
            out += _varint(data)
        elif kind == FIXED64:
            out += data.to_bytes(8, "little")
        elif kind == FIXED32:
            out += data.to_bytes(4, "little")
        else:
            out += _encode(data) + _varint(field.field_number << 3 | GROUP_END)
    return bytes(out)


def _length_delimited(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | LENGTH_DELIMITED) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
