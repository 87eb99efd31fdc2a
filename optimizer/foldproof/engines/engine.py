"""What an engine is: something that runs a model, and says how it fails."""

from __future__ import annotations

import pathlib
from collections.abc import Collection, Mapping
from typing import Any, Protocol, TypeAlias

import onnx

from foldproof.errors import in_brief

Runnable: TypeAlias = onnx.ModelProto | pathlib.Path
"""A model, or the path of its file."""

Feeds: TypeAlias = Mapping[str, Any]
"""The inputs of a run, by name: arrays of numpy (of `ml_dtypes` for the narrow types), lists, dictionaries or None."""

# How long the message of an engine may be.
_BRIEF = 400


class EngineError(Exception):
    """A model that an engine can't load, or a feed at which it fails. The text is the engine's own."""

    @property
    def brief(self) -> str:
        """The engine's message on one line that is not too long."""
        return in_brief(self, _BRIEF) or "no message"


class TimedOut(EngineError):
    """A run that was stopped at the time limit. It says nothing about the model."""


class OutOfMemory(EngineError):
    """A model for which there was not enough memory. It says nothing about the model."""


class Killed(OutOfMemory):
    """A process that the system ended, as it does where memory runs out."""


class Died(EngineError):
    """A model that takes the process of the engine with it. The text names the signal."""


class Engine(Protocol):
    """A loaded model that can be run many times."""

    @property
    def name(self) -> str:
        """The engine's name and version."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs, in order."""

    def run(self, feeds: Feeds, seconds: float | None = None, shapes_of: Collection[str] = ()) -> list[Any]:
        """Run the model.

        Args:
            feeds: The inputs by name.
            seconds: Where the engine can, it stops after this time.
            shapes_of: Of these outputs only the shape is wanted; an array of that shape stands in.

        Raises:
            EngineError: The model fails at this feed.
            TimedOut: The time is over.

        Returns:
            All outputs, in order: numpy arrays (of `ml_dtypes` for the narrow types), lists, dictionaries
            or None.
        """
