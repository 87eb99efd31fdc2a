"""What the configuration demands of a model."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TypeAlias

from foldproof.configuration import ConfigurationFile, Place, Setting

Number: TypeAlias = "int | float"

LIMITS = ("nodes", "bytes", "latency_ms")
"""What a budget may limit."""

_UNITS = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(kB|MB|GB|KiB|MiB|GiB)?")


@dataclasses.dataclass(frozen=True)
class Limit:
    """A limit of a budget.

    Attributes:
        most: The most that is allowed: nodes, bytes, or milliseconds.
        place: Where that is said.
    """

    most: Number
    place: Place


@dataclasses.dataclass(frozen=True)
class Demands:
    """What is demanded of one model.

    Attributes:
        budget: The limits, by what they limit.
        original: The model that it was optimized from.
        certificate: The certificate's file, with where it is named.
    """

    budget: dict[str, Limit] = dataclasses.field(default_factory=dict)
    original: Path | None = None
    certificate: tuple[Path, Place] | None = None

    @property
    def files(self) -> list[Path]:
        """The files that it names."""
        named = [self.original, None if self.certificate is None else self.certificate[0]]
        return [path for path in named if path is not None]

    @classmethod
    def of(cls, file: ConfigurationFile | None, model: Path) -> Demands:
        """Reads what a file demands of a model: `budget` at its top, and the keys of each section about the model.

        Raises:
            UsageError: It is none of that.
        """
        if file is None:
            return cls()
        settings = [each for each in file.settings if each.key == "budget"]
        settings += [each for section in file.sections if section.is_about(model) for each in section.settings]
        budget: dict[str, Limit] = {}
        named: dict[str, tuple[Path, Place]] = {}
        for setting in settings:
            if setting.key == "budget":
                budget |= _budget(setting)
            elif setting.key in ("original", "certificate"):
                named[setting.key] = file.path.absolute().parent / _text(setting), setting.place
        original = named.get("original")
        return cls(budget, None if original is None else original[0], named.get("certificate"))


def check(file: ConfigurationFile) -> None:
    """Looks over all that a file demands, of whatever model.

    Raises:
        UsageError: Something of it makes no sense.
    """
    for settings in (file.settings, *(section.settings for section in file.sections)):
        for setting in settings:
            if setting.key == "budget":
                _budget(setting)
            elif setting.key == "original":
                _text(setting)


def _budget(setting: Setting) -> dict[str, Limit]:
    import difflib

    found = {}
    for each in setting.inner():
        if each.key not in LIMITS:
            near = difflib.get_close_matches(each.key, LIMITS, n=1)
            hint = f"The nearest name is {near[0]!r}" if near else f"There are: {', '.join(LIMITS)}"
            raise each.error(f"there is no budget of {each.path[-1]!r}", hint)
        found[each.key] = Limit(_most(each), each.place)
    return found


def _most(setting: Setting) -> Number:
    value = setting.value
    if setting.key == "bytes" and isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        return int(float(match[1]) * _UNITS[match[2] or ""])
    is_number = isinstance(value, (int, float) if setting.key == "latency_ms" else int) and not isinstance(value, bool)
    if not is_number or not value >= 0:  # it may be NaN
        hints = {
            "nodes": "Give a whole number",
            "bytes": "Give a whole number, or one with a unit: '10 MB', '512 KiB'",
            "latency_ms": "Give a number of milliseconds",
        }
        raise setting.error(f"the budget of {setting.key} is {value!r}", hints[setting.key])
    number: Number = value
    return number


def _text(setting: Setting) -> str:
    (text,) = setting.texts()[:1]
    if not isinstance(setting.value, str):
        raise setting.error(f"{setting.key!r} is {setting.value!r}", "Give a string")
    return text
