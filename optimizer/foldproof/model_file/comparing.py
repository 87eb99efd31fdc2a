"""Where two protobuf messages differ, field by field, with unknown fields."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

from google.protobuf.message import Message  # type: ignore[import-untyped]
from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped]

_SHOWN = 60


def differences(a: Message, b: Message, without: Collection[str] = (), path: str = "") -> Iterator[str]:
    """Says where two messages of one type differ: a place and both values, such as `graph.node[3].name: 'a', not 'b'`.

    A field that is set to its default differs from one that is not set. Of floats the bits count, save that NaN is NaN.

    Args:
        a: A message.
        b: The other.
        without: Names of fields that are not looked at, at any depth.
        path: Where the messages are.
    """
    if not without and a.SerializePartialToString(deterministic=True) == b.SerializePartialToString(deterministic=True):
        return
    ours, theirs = ({field.name: value for field, value in each.ListFields()} for each in (a, b))
    for name in sorted(ours.keys() | theirs.keys()):
        if name in without:
            continue
        place = f"{path}.{name}" if path else name
        if name not in ours or name not in theirs:
            yield f"{place}: {_shown(ours.get(name))}, not {_shown(theirs.get(name))}"
        elif isinstance(ours[name], Message):
            yield from differences(ours[name], theirs[name], without, place)
        elif hasattr(ours[name], "MergeFrom"):
            yield from _in_list(ours[name], theirs[name], without, place)
        elif not _is_same(ours[name], theirs[name]):
            yield f"{place}: {_shown(ours[name])}, not {_shown(theirs[name])}"
    if _unknown(a) != _unknown(b):
        yield f"{path or 'the model'}: unknown fields {_unknown(a)}, not {_unknown(b)}"


def _in_list(ours: Any, theirs: Any, without: Collection[str], place: str) -> Iterator[str]:
    if len(ours) != len(theirs):
        yield f"{place}: {len(ours)} entries, not {len(theirs)}"
        return
    for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(one, Message):
            yield from differences(one, other, without, f"{place}[{index}]")
        elif not _is_same(one, other):
            yield f"{place}[{index}]: {_shown(one)}, not {_shown(other)}"


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or (one == other and math.copysign(1, one) == math.copysign(1, other))
    return bool(one == other)


def _unknown(message: Message) -> list[tuple[int, int, Any]]:
    """The unknown fields: number, wire type and data of each."""
    return [
        (field.field_number, field.wire_type, field.data if isinstance(field.data, (int, bytes)) else "group")
        for field in UnknownFieldSet(message)
    ]


def _shown(value: Any) -> str:
    text = "nothing" if value is None else " ".join(repr(value).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
