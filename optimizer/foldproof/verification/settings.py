"""What a person may ask of a verification."""

from __future__ import annotations

import dataclasses
import pathlib

from .goals import Bindings

SECONDS = 60.0
"""The time limit of a verification, where a person names no other."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to verify.

    Attributes:
        seed: The seed of the inputs that are made up. The same seed gives the same inputs.
        feeds: A folder of inputs to run as well, see `foldproof.verification.feed_files`.
        bindings: The sizes to run, by the name of the dim, or `input:axis` for an unnamed one: all combinations, and no
            other sizes of these dims.
        seconds: The time limit, from after the first run of both models. These have five times as long.
        provider: The execution provider that onnxruntime has to use; None for the CPU.
        reference: Run both models by the ONNX reference, not by onnxruntime.
        loading: How long either model may take to be loaded, in seconds; None for as long as there is time.
    """

    seed: int = 0
    feeds: pathlib.Path | None = None
    bindings: Bindings = dataclasses.field(default_factory=dict)
    seconds: float = SECONDS
    provider: str | None = None
    reference: bool = False
    loading: float | None = None
