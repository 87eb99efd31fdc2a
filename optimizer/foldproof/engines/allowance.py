"""What a model may take that is not trusted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Allowance:
    """What the sessions of a model may take, where it is not proven what they will.

    Attributes:
        memory: How many bytes a session may take beyond what its process has; None for all that the process may have.
        growth: So many times the bytes of the inputs of a run come on top of that.
        seconds: How long a run may take; None for as long as there is time.
    """

    memory: int | None = None
    growth: int = 0
    seconds: float | None = None

    def __or__(self, other: Allowance) -> Allowance:
        """What two models may take, one of which at least is not trusted."""
        memory = max((each.memory for each in (self, other) if each.memory is not None), default=None)
        seconds = max((each.seconds for each in (self, other) if each.seconds is not None), default=None)
        return Allowance(memory, max(self.growth, other.growth), seconds)

    def __str__(self) -> str:
        """What is allowed, for a person; empty where all is."""
        memory = [] if self.memory is None else [f"{self.memory >> 20} MiB"]
        seconds = [] if self.seconds is None else [f"{self.seconds:.3g} seconds"]
        return " and ".join([*memory, *seconds])

    def for_inputs(self, feeds: Mapping[str, Any]) -> int | None:
        """The bytes that a run with these inputs may take."""
        if self.memory is None:
            return None
        return self.memory + self.growth * sum(each.nbytes for each in feeds.values() if isinstance(each, np.ndarray))
