"""TOML, with the lines on which its keys stand: a message names them, and the parser does not tell."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, TypeAlias

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Path: TypeAlias = "tuple[str | int, ...]"
"""The keys that lead to a value; an integer for an element of an array of tables."""

TOMLDecodeError = tomllib.TOMLDecodeError
loads = tomllib.loads


def lines_of(text: str) -> dict[Path, int]:
    """The line, from 1, on which each key of a valid document stands.

    A document is a sequence of statements, each of which is a valid document of its own: it is the fewest lines that
    parse.
    """
    lines: dict[Path, int] = {}
    last: dict[Path, int] = {}  # of each array of tables, its last element
    table: Path = ()
    for line, is_header, statement in _statements(text):
        if is_header:
            table = _opened(statement, last)
            lines.setdefault(table, line)
        else:
            for path in _paths(statement):
                lines.setdefault((*table, *path), line)
    return lines


def _statements(text: str) -> Iterator[tuple[int, bool, dict[str, Any]]]:
    """Each statement: its line, whether it is the header of a table, and what it says."""
    pending: list[str] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        pending.append(line)
        try:
            content = loads("\n".join(pending))
        except TOMLDecodeError:
            continue  # it goes on
        if content:
            yield number + 1 - len(pending), pending[0].lstrip().startswith("["), content
        pending = []


def _opened(header: dict[str, Any], last: dict[Path, int]) -> Path:
    """The path of the table that a header such as `[a.b]` or `[[a.b]]` opens."""
    path: Path = ()
    inner: Any = header
    while isinstance(inner, dict) and inner:
        ((key, inner),) = inner.items()
        path = (*path, key)
        if isinstance(inner, list):
            last[path] = last.get(path, -1) + 1
        if path in last:
            path = (*path, last[path])
    return path


def _paths(content: Any) -> Iterator[Path]:
    """The paths of all that a table or an array has."""
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, inner in pairs:
        yield (key,)
        for path in _paths(inner):
            yield (key, *path)
