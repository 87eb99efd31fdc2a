"""Where something stands."""

from __future__ import annotations

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Place:
    """A line of a file.

    Attributes:
        path: The file.
        line: The line, from 1; None for the file as a whole.
    """

    path: Path
    line: int | None = None

    def __str__(self) -> str:
        text = shown(self.path)
        return text if self.line is None else f"{text}:{self.line}"


def shown(path: Path) -> str:
    """A path as a person in the working folder would write it."""
    path = path.absolute()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
