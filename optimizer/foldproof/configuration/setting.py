"""One key of the file."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from foldproof.configuration.place import Place
from foldproof.errors import UsageError

if TYPE_CHECKING:
    from foldproof.configuration.file import ConfigurationFile


@dataclasses.dataclass(frozen=True)
class Setting:
    """A key with its value.

    Attributes:
        key: The key, with `_` for `-`.
        value: What TOML has: a string, number, boolean, list or table.
        file: The file.
        path: The keys that lead to it.
    """

    key: str
    value: Any
    file: ConfigurationFile
    path: tuple[str | int, ...]

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.file.place(self.path)

    def error(self, reason: str, hint: str | None = None) -> UsageError:
        """What is wrong with it, as an error that names it."""
        return UsageError(f"{self.place}: {reason}", hint=hint)

    def inner(self) -> list[Setting]:
        """The keys of a table.

        Raises:
            UsageError: It is none, or has a key twice.
        """
        if not isinstance(self.value, dict):
            raise self.error(f"{self.key!r} is {self.value!r}", "Give a table")
        return settings_of(self.value, self.file, self.path)

    def texts(self) -> tuple[str, ...]:
        """A string, or a list of them.

        Raises:
            UsageError: It is neither, or empty, or has a NUL in it, which no name of a file may have.
        """
        values = self.value if isinstance(self.value, list) else [self.value]
        if not values or not all(isinstance(each, str) and each and "\0" not in each for each in values):
            raise self.error(f"{self.key!r} is {self.value!r}", "Give a string, or a list of strings")
        return tuple(values)


@dataclasses.dataclass(frozen=True)
class InForce:
    """An option, as a command would take it.

    Attributes:
        key: Its key.
        value: Its value.
        source: Where that is from: `default`, `flag`, the variable, or the file and line.
    """

    key: str
    value: Any
    source: str


def settings_of(table: dict[str, Any], file: ConfigurationFile, path: tuple[str | int, ...]) -> list[Setting]:
    """The keys of a table, in their order.

    Raises:
        UsageError: It has a key twice, once with `-` and once with `_`.
    """
    found: dict[str, Setting] = {}
    for key, value in table.items():
        setting = Setting(key.replace("-", "_"), value, file, (*path, key))
        if setting.key in found:
            raise setting.error(f"{key!r} is there twice, once as {found[setting.key].path[-1]!r}")
        found[setting.key] = setting
    return list(found.values())
