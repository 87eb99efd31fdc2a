"""What is written down of a model that is done, so that a later run leaves it out while nothing has changed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from foldproof.batch.folders import Folder
from foldproof.batch.outcome import Outcome

FOLDER = ".foldproof-batch"
"""The folder of the records, in that of the results."""

_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Record:
    """What is known of a model that is done.

    Attributes:
        fingerprint: That of the options and versions, see `foldproof.fingerprint`.
        extras: Which files besides the model were asked for.
        inputs: The digests of the files that were read, by their paths from the model's folder; None for one that was
            not there.
        outputs: The digests of the files that were written, by their paths from the folder of the result.
        outcome: What became of it.
    """

    fingerprint: str
    extras: tuple[str, ...]
    inputs: Mapping[str, str | None]
    outputs: Mapping[str, str | None]
    outcome: Outcome

    def write(self, target: Folder) -> None:
        """Writes it beside the results.

        Raises:
            UsageError: It can't be written.
        """
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        content = {"format": _FORMAT, **fields, "outcome": self.outcome.to_dict()}
        target.write(_path(self.outcome.name), json.dumps(content, indent=2) + "\n")

    def is_of(self, source: Folder, fingerprint: str, extras: tuple[str, ...]) -> bool:
        """Whether the same would be done again: with this model, as it is now, and these options and versions."""
        return (self.fingerprint, self.extras) == (fingerprint, extras) and all(
            source.sha256(beside(self.outcome.name, name)) == digest for name, digest in self.inputs.items()
        )

    def is_whole(self, target: Folder) -> bool:
        """Whether all that was written is there, as it was written."""
        return all(self.is_there(target, name) for name in self.outputs)

    def has_result(self, target: Folder) -> bool:
        """Whether the model that is there is the one that was written."""
        return self.is_there(target, PurePosixPath(self.outcome.name).name)

    def is_there(self, target: Folder, name: str) -> bool:
        """Whether one of the files is there, as it was written."""
        digest = self.outputs.get(name)
        return digest is not None and target.sha256(beside(self.outcome.name, name)) == digest


def read(target: Folder, name: str) -> Record | None:
    """The record of a model, None where there is none that this version can read.

    Args:
        target: The folder of results.
        name: The name of the result.
    """
    text = target.read(_path(name))
    try:
        content: dict[str, Any] = json.loads(text or "null")
        if content.pop("format") != _FORMAT:
            return None
        outcome = Outcome.from_dict(content["outcome"])
        return Record(**{**content, "outcome": outcome, "extras": tuple(content["extras"])})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def beside(model: str, name: str) -> str:
    """The path of a file that is named from a model's folder, from where the model is named from."""
    return str(PurePosixPath(model).parent / name)


def _path(name: str) -> str:
    return f"{FOLDER}/{name}.json"
