"""All checks of one model, in their order."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import onnx_ir as ir

from foldproof import model_file
from foldproof.configuration.place import Place
from foldproof.dims import bindable_dims
from foldproof.errors import FoldproofError, ModelError
from foldproof.gating.certificate import check_certificate
from foldproof.gating.demands import Demands, Limit
from foldproof.gating.latency import check_latency
from foldproof.gating.optimized import check_optimized
from foldproof.gating.outcome import Check, Gated, Outcome
from foldproof.graphs import count_operators
from foldproof.model_file import Source
from foldproof.options import Options
from foldproof.reporting.terminal import bytes_text


@dataclasses.dataclass(frozen=True)
class Gate:
    """The gate.

    Attributes:
        require_certificate: Whether each model has to have a certificate.
        skip: The checks to leave out.
    """

    require_certificate: bool
    skip: Collection[Check]

    def look_at(self, path: Path, options: Options, demands: Demands) -> Gated:
        """Checks a model. A failure of one check keeps no other from being made.

        Args:
            path: The model's file.
            options: Those that `optimize` would have.
            demands: What else is demanded of it.

        """
        start = time.perf_counter()
        try:
            source = model_file.read(path)
        except ModelError as error:
            outcome = Outcome("readable", "error", str(error).rstrip("."), Place(path))
            return Gated(path, (outcome,), time.perf_counter() - start)
        outcomes = tuple(self._outcomes(path, source, _fitting(options, source.model), demands))
        return Gated(path, outcomes, time.perf_counter() - start)

    def _outcomes(self, path: Path, source: Source, options: Options, demands: Demands) -> Iterator[Outcome]:
        budget = {name: limit for name, limit in demands.budget.items() if name.removesuffix("_ms") not in self.skip}
        if "nodes" in budget:
            yield _within("nodes", count_operators(source.model).total(), budget["nodes"])
        if "bytes" in budget:
            files = [path, *(each for each in source.data_files if each.exists())]
            yield _within("bytes", sum(each.stat().st_size for each in files), budget["bytes"])
        if "optimized" not in self.skip:
            yield _tried("optimized", path, functools.partial(check_optimized, path, source.model, options))
        if "certificate" not in self.skip:
            required, feeds = self.require_certificate, options.feeds
            certified = functools.partial(check_certificate, path, demands, required=required, feeds=feeds)
            yield _tried("certificate", path, certified)
        if "latency_ms" in budget:
            measured = functools.partial(check_latency, path, budget["latency_ms"], options)
            yield _tried("latency", path, measured)


def _within(check: Check, found: int, limit: Limit) -> Outcome:
    """Whether a number is within its budget."""
    most = int(limit.most)
    if check == "bytes":
        words = f"its files have {_bytes(found)}", _bytes(most)
    else:
        words = f"it has {found} nodes", str(most)
    if found <= most:
        return Outcome(check, "passed", f"{words[0]}, within its budget of {words[1]}", limit.place)
    return Outcome(check, "failed", f"{words[0]}, {found - most} more than its budget of {words[1]}", limit.place)


def _bytes(count: int) -> str:
    """A size, short and in full."""
    return bytes_text(count) if count < 1000 else f"{bytes_text(count)} ({count} bytes)"


def _tried(check: Check, path: Path, attempt: Callable[[], Outcome]) -> Outcome:
    """How a check ends; where it can't be made, that is told, and the others are made all the same."""
    try:
        return attempt()
    except FoldproofError as error:
        return Outcome(check, "error", f"it can't be checked: {error}".rstrip("."), Place(path))


def _fitting(options: Options, model: ir.Model) -> Options:
    """The options without sizes to verify at of dims that the model does not have: they are about other models."""
    dims = bindable_dims(model)
    unranked = [f"{value.name}:" for value in model.graph.inputs if value.shape is None]
    bind = {
        name: sizes
        for name, sizes in options.bind.items()
        if name in dims or any(name.startswith(prefix) for prefix in unranked)
    }
    return dataclasses.replace(options, bind=bind)
