"""Sizes of dims at which a model runs, to suggest them to a person."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from foldproof.engines import EngineError
from foldproof.errors import FoldproofError
from foldproof.verification import Settings, Verifier
from foldproof.verification.limits import Limits

WANTED_SECONDS = 4.0
"""How long to try the wanted sizes: half of it, with other content."""

OTHER_SECONDS = 10.0
"""How long to look for others."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """A size for each dim.

    Attributes:
        of: The sizes, by the names of the dims.
        are_admitted: Whether the model ran at them.
    """

    of: Mapping[str, int]
    are_admitted: bool


def find_sizes(
    path: str | os.PathLike[str], wanted: Mapping[str, int], fixed: Mapping[str, int], limits: Limits
) -> Sizes:
    """Sizes at which a model runs: the wanted ones, or else others.

    Args:
        path: The model's file.
        wanted: A size for each dim.
        fixed: Sizes of other dims, which stay.
        limits: What a run may take.
    """
    if limits.reason is not None:
        return Sizes(wanted, are_admitted=False)
    for asked, seconds in (({**wanted, **fixed}, WANTED_SECONDS), (fixed, OTHER_SECONDS)):
        bindings = {name: (size,) for name, size in asked.items()}
        settings = Settings(seconds=seconds, bindings=bindings, loading=limits.loading)
        try:
            with Verifier(Path(path), settings) as verifier:
                trial = next(verifier.trials([0], limits.allowance), None)
        except (FoldproofError, EngineError):  # there is no runtime, or it can't load the model
            break
        if trial is not None:
            found = trial.feed.binding
            return Sizes({name: found.get(name, size) for name, size in wanted.items()}, are_admitted=True)
    return Sizes(wanted, are_admitted=False)
