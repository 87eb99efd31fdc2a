"""Which models a batch is about, and what their results are called."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from foldproof.batch.folders import Folder, LocalFolder, is_url
from foldproof.errors import UsageError

_LIST = ".txt"


@dataclasses.dataclass(frozen=True)
class Selected:
    """A model.

    Attributes:
        folder: The folder that it is looked for in.
        name: Its path from there, and that of the result from the folder of results.
    """

    folder: Folder
    name: str

    @property
    def text(self) -> str:
        """Where it lies."""
        return self.folder.at(self.name)


def select(given: Iterable[str], target: Folder) -> list[Selected]:
    """The models that a person names, in their order, each of them once.

    Args:
        given: Folders, of which all `.onnx` files are meant; patterns; lists (`.txt`, or `-` for the standard input)
            with one of these in a line; or models. Each is a path or a URL.
        target: The folder of results. What lies in it is not taken from a folder or by a pattern.

    Raises:
        UsageError: There is none, or no such file or folder, or two would have results of one name, or the result of
            one would be a file that is read.
    """
    found: dict[str, Selected] = {}
    for text in given:
        for each in _meant(text, target):
            first = found.setdefault(each.name, each)
            if first.text != each.text:
                raise UsageError(
                    f"the results of {first.text} and {each.text} would both be {target.at(each.name)}",
                    hint="Give their common folder, or each of the two in a run of its own with another -o",
                )
    if not found:
        raise UsageError(f"there is no model in {', '.join(given) or 'nothing'}", hint="Models end in .onnx")
    models = list(found.values())
    _check_results(models, target)
    return models


def _check_results(models: Sequence[Selected], target: Folder) -> None:
    """Refuses a folder of results in which a model of the batch would be written over."""
    read = {_real(each.text): each for each in models}
    for each in models:
        written = read.get(_real(target.at(each.name)))
        if written is not None:
            raise UsageError(f"the result of {each.text} would be the input {written.text}", hint="Name another -o")


def _real(text: str) -> str:
    return text if is_url(text) else os.path.realpath(text)


def _meant(text: str, target: Folder) -> Iterator[Selected]:
    """The models that one argument means."""
    if text == "-" or text.lower().endswith(_LIST):
        yield from _listed(text, target)
    elif not is_url(text) and Path(text).is_file():
        yield _alone(text)
    elif _is_pattern(text):
        yield from _matching(text, target)
    elif is_url(text) and text.lower().endswith(".onnx"):
        yield _alone(text)
    elif is_url(text) or Path(text).is_dir():
        folder = Folder.of(text)
        yield from _outside([Selected(folder, name) for name in folder.models()], target)
    else:
        raise UsageError(f"there is no file or folder {text}", hint="A pattern has to be quoted, so that it gets here")


def _alone(text: str) -> Selected:
    """One model: its result has its name, and lies in no folder below."""
    if is_url(text):
        folder, _, name = text.rpartition("/")
        return Selected(Folder.of(folder), name)
    return Selected(LocalFolder(Path(text).parent), Path(text).name)


def _is_pattern(text: str) -> bool:
    return re.search(r"\*" if text.startswith("http") else r"[*?[]", text) is not None


def _matching(text: str, target: Folder) -> Iterator[Selected]:
    """The files that a pattern matches, with their paths from the folder in which its first wildcard stands."""
    parts = text.split("/") if is_url(text) else list(Path(text).parts)
    first = next(number for number, part in enumerate(parts) if _is_pattern(part) or "*" in part)
    root = "/".join(parts[:first]) if is_url(text) else str(Path(*parts[:first]))
    folder = Folder.of(root)
    yield from _outside([Selected(folder, name) for name in folder.matches("/".join(parts[first:]))], target)


def _listed(text: str, target: Folder) -> Iterator[Selected]:
    """What the lines of a list mean. Models in the list's folder and below keep their paths from there."""
    if text == "-":
        folder, content = Folder.of("."), sys.stdin.read()
    else:
        base = _alone(text)
        folder, found = base.folder, base.folder.read(base.name)
        if found is None:
            raise UsageError(f"there is no list {text}")
        content = found
    for line in (each.strip() for each in content.splitlines()):
        if not line or line.startswith("#"):
            continue
        is_relative = not is_url(line) and not Path(line).is_absolute()
        if line == "-" or line.lower().endswith(_LIST):
            raise UsageError(f"{text} names the list {line}", hint="A list names models, folders and patterns")
        for each in _meant(folder.at(line) if is_relative else line, target):
            yield _within(folder, each)


def _within(folder: Folder, model: Selected) -> Selected:
    """A model as seen from a folder, if it lies there."""
    if isinstance(folder, LocalFolder) and isinstance(model.folder, LocalFolder):
        path, base = Path(model.text).absolute(), folder.path.absolute()
        inner = path.relative_to(base).as_posix() if path.is_relative_to(base) else ".."
    else:
        inner = model.text.removeprefix(f"{folder.text}/") if model.text.startswith(f"{folder.text}/") else ".."
    return model if ".." in PurePosixPath(inner).parts else Selected(folder, inner)


def _outside(models: Sequence[Selected], target: Folder) -> list[Selected]:
    """The models that are no results of earlier runs, unless all would be: then the person means these."""
    if isinstance(target, LocalFolder):
        base = Path(os.path.realpath(target.path))
        return [
            each
            for each in models
            if not (isinstance(each.folder, LocalFolder) and Path(os.path.realpath(each.text)).is_relative_to(base))
            or Path(os.path.realpath(each.folder.text)).is_relative_to(base)
        ]
    return [each for each in models if not each.text.startswith(f"{target.text}/") or _starts_in(each, target)]


def _starts_in(model: Selected, target: Folder) -> bool:
    return f"{model.folder.text}/".startswith(f"{target.text}/")
