"""Text of a model that nobody trusts, made visible: as it is printed, and in whatever is written for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def visible(text: object) -> str:
    """A text with its control characters escaped, and such that turn the direction of text or are not seen.

    So are line ends: a line of a model's could pass for one that we print.
    """
    found = str(text)
    if found.isprintable():
        return found
    return "".join(c if c.isprintable() else _escaped(c) for c in found)


def visible_data(data: Any) -> Any:
    """The same of all strings in what can be written as JSON."""
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, Mapping):
        return {visible(key): visible_data(value) for key, value in data.items()}
    return [visible_data(each) for each in data] if isinstance(data, (list, tuple)) else data


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
