"""The file itself: where it is, and what is in it."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

from foldproof.configuration import toml
from foldproof.configuration.place import Place, shown
from foldproof.configuration.section import Section
from foldproof.configuration.setting import Setting, settings_of
from foldproof.errors import UsageError

OWN, SHARED = "foldproof.toml", "pyproject.toml"
_TABLE = ("tool", "foldproof")


@dataclasses.dataclass(frozen=True)
class ConfigurationFile:
    """A file, read.

    Attributes:
        path: Its path.
        text: What is in it.
        prefix: The keys that lead to our table.
        content: That table.
    """

    path: Path
    text: str
    prefix: tuple[str, ...]
    content: dict[str, Any]

    def place(self, path: tuple[str | int, ...]) -> Place:
        """Where a key stands, or else the nearest table around it."""
        while path and path not in self._lines:
            path = path[:-1]
        return Place(self.path, self._lines.get(path))

    @functools.cached_property
    def _lines(self) -> dict[tuple[str | int, ...], int]:
        return toml.lines_of(self.text)

    @functools.cached_property
    def settings(self) -> list[Setting]:
        """The keys of the table, but for `model`.

        Raises:
            UsageError: A key is there twice.
        """
        return [each for each in settings_of(self.content, self, self.prefix) if each.key != "model"]

    @functools.cached_property
    def sections(self) -> list[Section]:
        """What is said of some models alone, in its order: where two differ, the later one holds.

        Raises:
            UsageError: It has not the form of that.
        """
        if "model" not in self.content:
            return []
        models = Setting("model", self.content["model"], self, (*self.prefix, "model"))
        if not isinstance(models.value, list):
            raise models.error("'model' is no array of tables", "Begin each section with two brackets: [[model]]")
        return [
            Section.of(Setting("model", each, self, (*models.path, number))) for number, each in enumerate(models.value)
        ]


def find(folder: Path) -> ConfigurationFile | None:
    """The nearest file, from a folder upward: `foldproof.toml`, or a `pyproject.toml` with a table for us.

    Raises:
        UsageError: It can't be read.
    """
    folder = folder.absolute()
    for place in (folder, *folder.parents):
        if _is_there(place / OWN):
            return read(place / OWN)
        if _is_there(place / SHARED) and (found := _read(place / SHARED)) is not None:
            return found
    return None


def read(path: Path) -> ConfigurationFile:
    """Reads a file that a person names.

    Raises:
        UsageError: It can't be read, or has nothing for us.
    """
    found = _read(path)
    if found is None:
        raise UsageError(f"{shown(path)} has no table [tool.foldproof]", hint="Add one, or name another file")
    return found


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder above that we may not look into
        return False


def _read(path: Path) -> ConfigurationFile | None:
    """Reads a file; None for one of other tools that has nothing for us."""
    is_shared = path.name == SHARED
    try:
        text = path.read_text(encoding="utf-8")
        if is_shared and _TABLE[-1] not in text:
            return None
        content: Any = toml.loads(text)
    except OSError as error:
        raise UsageError(f"{shown(path)} can't be read: {error.strerror or error}") from error
    except (toml.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{shown(path)} is no TOML: {error}", hint="Mend it, or go on with --no-config") from error
    prefix = _TABLE if is_shared or "tool" in content else ()
    for number, key in enumerate(prefix):
        if key not in content:
            return None
        content = content[key]
        if not isinstance(content, dict):
            raise UsageError(f"{shown(path)}: {'.'.join(prefix[: number + 1])} is no table")
    return ConfigurationFile(path, text, prefix, content)
