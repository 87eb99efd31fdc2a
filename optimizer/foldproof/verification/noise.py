"""How far a model's own outputs move where nothing of its meaning changes: what lies below proves nothing."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from foldproof.engines import Engine, EngineError, OnnxRuntime, Runnable, Worker

from .comparison import magnitude_around

_FLOATS = [np.dtype(each) for each in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)]

FACTOR = 4.0
"""A rewrite may move an output by this many times what the original's own noise does."""


class Noise:
    """Measures a model's noise, when somebody asks: with the runtime's own optimizations, and with inputs moved a bit.

    Args:
        model: The original.
        engine: What runs it.
        worker: The process that onnxruntime runs in.
        provider: The execution provider that it has to use.
    """

    def __init__(
        self, model: Runnable, engine: Engine, worker: Worker | None = None, provider: str | None = None
    ) -> None:
        self._model = model
        self._engine = engine
        self._worker = worker
        self._provider = provider

    def of(self, feed: Mapping[str, Any], outputs: Mapping[str, Any], seconds: float) -> dict[str, np.ndarray]:
        """How much each float output changes: around each element, the largest absolute change.

        Args:
            feed: The inputs.
            outputs: What the model gives for them.
            seconds: The time limit of each run.
        """
        noise: dict[str, np.ndarray] = {}
        moved = [(self._engine, _moved(feed, towards)) for towards in (np.inf, -np.inf)]
        for engine, values in ((self._optimized, feed), *moved):
            if engine is None:
                continue
            try:
                again = dict(zip(engine.outputs, engine.run(values, seconds), strict=True))
            except EngineError:
                continue  # no measure, no allowance
            for name, value in outputs.items():
                noise[name] = np.maximum(noise.get(name, 0.0), _gap(value, again.get(name)))
        return noise

    @functools.cached_property
    def _optimized(self) -> Engine | None:
        """The original with the runtime's own optimizations on, loaded at the first question."""
        if not isinstance(self._engine, OnnxRuntime):
            return None
        try:
            return OnnxRuntime(self._model, worker=self._worker, optimizing=True, provider=self._provider)
        except EngineError:
            return None  # no measure, no allowance


def _moved(feed: Mapping[str, Any], towards: float) -> dict[str, Any]:
    """The inputs with each float moved to the next one in a direction."""
    with np.errstate(over="ignore"):
        return {
            name: np.nextafter(value, np.array(towards, value.dtype))
            if isinstance(value, np.ndarray) and value.dtype in _FLOATS
            else value
            for name, value in feed.items()
        }


def _gap(a: Any, b: Any) -> np.ndarray:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.shape != b.shape or a.dtype not in _FLOATS:
        return np.zeros(())
    with np.errstate(invalid="ignore"):  # infinities
        return magnitude_around(a.astype(np.float64) - b.astype(np.float64))
