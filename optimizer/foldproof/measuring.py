"""How long onnxruntime takes for both models, in turns, so that what else the machine does falls on both alike."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from foldproof.engines import EngineError, Runnable, Worker
from foldproof.engines.worker import Settings
from foldproof.verification.results import Run

SECONDS = 10.0
"""The time limit of the runs. Loading comes before it."""

AS_IN_USE = Settings(optimizing=True, data_folder=None, provider=None, reference=False, memory=None)
"""How a model is loaded that is measured: with onnxruntime's own optimizations on."""


@dataclasses.dataclass(frozen=True)
class Timings:
    """What was measured of one model.

    Attributes:
        load: How long each load took, in seconds.
        runs: How long each run took, in seconds.
    """

    load: tuple[float, ...]
    runs: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The medians, in seconds."""
        return {"load": _rounded(self.load), "latency": _rounded(self.runs), "runs": len(self.runs)}


class Medians(NamedTuple):
    """What pairs of times say.

    Attributes:
        before: The median of the model as it was given, in seconds.
        after: That of the optimized one.
        is_clear: Whether so many pairs agree on which is less that chance does so once in twenty times or less.
    """

    before: float
    after: float
    is_clear: bool

    @classmethod
    def of(cls, original: Sequence[float], optimized: Sequence[float]) -> Medians:
        """The medians of pairs, by a sign test: pairs of equal times say nothing."""
        before, after = statistics.median(original), statistics.median(optimized)
        less = sum(b < a for a, b in zip(original, optimized, strict=True))
        more = sum(b > a for a, b in zip(original, optimized, strict=True))
        agreeing = less if after < before else more
        chance = 2 * sum(math.comb(less + more, k) for k in range(agreeing, less + more + 1)) / 2 ** (less + more)
        return cls(before, after, after != before and chance <= 0.05)


@dataclasses.dataclass(frozen=True)
class Measured:
    """Both models, measured in pairs.

    Attributes:
        original: The model as it was given.
        optimized: The optimized one.
        binding: The sizes of the dims that they ran at.
    """

    original: Timings
    optimized: Timings
    binding: Mapping[str, int]

    @property
    def faster(self) -> int:
        """In how many pairs of runs the optimized model took less time."""
        return sum(b < a for a, b in zip(self.original.runs, self.optimized.runs, strict=True))

    @property
    def load(self) -> Medians:
        """How long loading takes."""
        return Medians.of(self.original.load, self.optimized.load)

    @property
    def latency(self) -> Medians:
        """How long a run takes."""
        return Medians.of(self.original.runs, self.optimized.runs)

    def to_dict(self) -> dict[str, Any]:
        """The measurement for JSON, times in seconds."""
        return {
            "binding": dict(self.binding),
            "original": self.original.to_dict(),
            "optimized": self.optimized.to_dict(),
            "pairs_faster": self.faster,
        }


def measure(
    original: Runnable, optimized: Runnable, feeds: Mapping[str, Any], binding: Mapping[str, int], worker: Worker
) -> Measured:
    """Loads and runs both models in turns, with onnxruntime's own optimizations on, as in use.

    Args:
        original: The model as it was given.
        optimized: The optimized one.
        feeds: The inputs, by name.
        binding: The sizes of the dims in them.
        worker: The process to run them in.

    Raises:
        EngineError: One of them can't be loaded or run so.
    """
    found = worker.measure([_content(original), _content(optimized)], AS_IN_USE, dict(feeds), SECONDS)
    original_times, optimized_times = (Timings(tuple(load), tuple(runs)) for load, runs in found)
    return Measured(original_times, optimized_times, binding)


def telling(runs: Sequence[Run]) -> Run | None:
    """The run of verification whose inputs tell most: the person's own, or else the largest, of ordinary numbers."""
    usable = [run for run in runs if run.original_engine.startswith("onnxruntime")]
    own = [run for run in usable if not run.feeds.startswith("generated")]
    ordinary = [run for run in usable if run.feeds == "generated"]  # with denormal numbers the processor is slow
    return max(own or ordinary, key=lambda run: math.prod(run.binding.values()), default=None)


def _content(model: Runnable) -> bytes | str:
    if isinstance(model, Path):
        return str(model.resolve())
    try:
        return bytes(model.SerializeToString())
    except ValueError as error:  # protobuf's limit
        raise EngineError(f"the model can't be handed over: {error}") from error


def _rounded(seconds: tuple[float, ...]) -> float:
    return round(statistics.median(seconds), 7)
