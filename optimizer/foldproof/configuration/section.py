"""What a project says of some of its models alone."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterator
from pathlib import Path

from foldproof.configuration.place import Place
from foldproof.configuration.setting import Setting

_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]")
_MEANINGS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclasses.dataclass(frozen=True)
class Section:
    """A section: which models it is about, and its keys.

    Attributes:
        patterns: Shell patterns of paths, from the folder of the file. `*` stands for no `/`, and `**` for any folders.
        settings: Its keys but `path`.
        place: Where it begins.
    """

    patterns: tuple[str, ...]
    settings: tuple[Setting, ...]
    place: Place

    @classmethod
    def of(cls, setting: Setting) -> Section:
        """Reads an element of `model`.

        Raises:
            UsageError: It is no table, or has no `path`.
        """
        inner = setting.inner()
        patterns = [each for each in inner if each.key == "path"]
        if not patterns:
            raise setting.error("a section for models has no 'path'", 'Give one, such as path = "models/*.onnx"')
        for text in patterns[0].texts():
            _check(text, patterns[0])
        settings = tuple(each for each in inner if each.key != "path")
        return cls(patterns[0].texts(), settings, patterns[0].place)

    def is_about(self, model: Path) -> bool:
        """Whether it is about a model."""
        folder = self.place.path.absolute().parent
        paths = {_inside(folder, Path(os.path.normpath(model.absolute())))}
        with contextlib.suppress(OSError):
            # Where there are links on the way, the model goes by its name as well as by what that stands for.
            folder = folder.resolve()
            paths |= {_inside(folder, model.parent.resolve() / model.name), _inside(folder, model.resolve())}
        return any(_regex(pattern).fullmatch(path) for pattern in self.patterns for path in paths if path is not None)

    def models(self) -> Iterator[Path]:
        """The files that are there and that it is about."""
        folder = self.place.path.absolute().parent
        for pattern in self.patterns:
            for path in sorted(folder.glob(pattern.removeprefix("./"))):
                if path.is_file():
                    yield path


def _inside(folder: Path, path: Path) -> str | None:
    """A path from a folder that it lies in; None where it lies elsewhere."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else None


def _check(pattern: str, setting: Setting) -> None:
    """Refuses a pattern that can match nothing.

    Raises:
        UsageError: As said.
    """
    parts = pattern.split("/")
    if pattern.startswith("/") or ".." in parts:
        folder = setting.place.path.absolute().parent
        raise setting.error(f"the path {pattern!r} leads out of {folder}", "Write it from the folder of this file")
    try:
        _regex(pattern)
    except re.error as error:
        raise setting.error(f"{pattern!r} is no pattern: {error}") from error
    if any("**" in part and part != "**" for part in parts):
        raise setting.error(f"{pattern!r} is no pattern: '**' stands for whole folders", "Such as models/**/*.onnx")


def _regex(pattern: str) -> re.Pattern[str]:
    """A shell pattern as a regular expression, with the meaning that `Path.glob` gives it."""
    pattern = pattern.removeprefix("./")
    found, end = "", 0
    for token in _TOKENS.finditer(pattern):
        text = token.group()
        found += re.escape(pattern[end : token.start()])
        found += _MEANINGS.get(text) or re.sub(r"(?<!^)[\\[^&|~]", r"\\\g<0>", text).replace("[!", "[^")
        end = token.end()
    return re.compile(found + re.escape(pattern[end:]), re.DOTALL)
