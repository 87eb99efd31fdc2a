"""Evaluating the rest: `Size`, `Shape` and shape arithmetic that could not be folded.

The runtime hands out what goes into each node and what comes out of it, in a session of its own, so that
the comparison of the two models is not disturbed. The kernel computes the one from the other, and both must
agree. What facts prove of integers must agree with them too.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from foldproof.engines import Engine, EngineError, Feeds, TimedOut, Worker, load_engine

from .. import kernels
from .instrumentation import LANES, NOT_EXECUTED, Export, instrument
from .probes import Probe
from .proven import Proven
from .results import Difference, Evaluation

# A list of more values than this is cut in the middle.
_LISTED = 16


class Evaluator:
    """An instrumented model, loaded.

    Args:
        proto: The model. It is not changed.
        probes: The nodes to evaluate.
        proven: What is proven of integers that it computes.
        folder: Where its external data is.
        worker: The process that onnxruntime runs in.

    Raises:
        EngineError: Nothing can load the instrumented model.
    """

    def __init__(
        self,
        proto: onnx.ModelProto,
        probes: Sequence[Probe],
        proven: Sequence[Proven] = (),
        folder: pathlib.Path | None = None,
        worker: Worker | None = None,
    ) -> None:
        self.proto = proto
        self.probes = probes
        computed = {name for node in proto.graph.node for name in node.output}
        self.proven = [each for each in proven if each.output in computed]
        self.folder = folder
        self.worker = worker
        try:
            self._load(tensors=True)
        except EngineError:
            self._load(tensors=False)

    def _load(self, tensors: bool) -> None:
        values = [each.output for each in self.proven]
        model, self.exports = instrument(self.proto, self.probes, tensors, values)
        # What feeds one node may be another's result: `Size(Shape(x))`.
        results = {each.name for each in self.exports if each.part != "data"}.union(values)
        self.tensors = {each.name for each in self.exports} - results
        self.engine: Engine | None = None
        if self.exports or values:
            self.engine = load_engine(model, self.folder, worker=self.worker)

    @property
    def unreachable(self) -> list[Probe]:
        """The probes whose values can't be handed out."""
        reached = {each.probe for each in self.exports}
        return [each for each in self.probes if each not in reached]

    def run(
        self, feeds: Feeds, binding: Mapping[str, int], seconds: float | None = None
    ) -> tuple[list[Evaluation], list[Difference]]:
        """Evaluate the nodes at one feed.

        Args:
            feeds: The inputs.
            binding: The binding that the evaluations name.
            seconds: The time limit.

        Raises:
            EngineError: The instrumented model fails.

        Returns:
            What became of the nodes, and what contradicts that which is proven.
        """
        if self.engine is None:
            return [], []
        try:
            # The kernels look at shapes only, so the tensors need not be taken out of the runtime.
            values = self.engine.run(feeds, seconds, self.tensors)
        except TimedOut:
            raise
        except EngineError:
            if not self.tensors:
                raise
            self._load(tensors=False)  # Perhaps a tensor that can't be an output, such as a sparse one.
            values = self.engine.run(feeds, seconds)
        by_name = dict(zip(self.engine.outputs, values, strict=True))
        reached: dict[Probe, list[Export]] = {}
        for each in self.exports:
            reached.setdefault(each.probe, []).append(each)
        evaluations = [
            _evaluate(probe, reached[probe], by_name, dict(binding)) for probe in self.probes if probe in reached
        ]
        wrong = [each.contradiction(by_name[each.output], binding) for each in self.proven]
        return evaluations, [each for each in wrong if each is not None]


def _evaluate(
    probe: Probe, exports: Sequence[Export], values: Mapping[str, Any], binding: dict[str, int]
) -> Evaluation:
    expected = [
        _compute(probe, dims)
        for each in exports
        if each.part in ("data", "dims")
        for dims in _dims(each, values[each.name])
    ]
    got = [
        each
        for export in exports
        if export.part in ("result", "lanes")
        for each in _results(export, values[export.name])
    ]
    several = len(expected) != 1 or len(got) != 1
    return Evaluation(
        output=probe.output,
        op_type=probe.op_type,
        place=probe.place,
        binding=binding,
        expected=_shortened(expected) if several else expected[0],
        got=_shortened(got) if several else got[0],
        agrees=expected == got,
        executed=bool(expected),
    )


def _compute(probe: Probe, dims: tuple[int, ...]) -> Any:
    """What the kernel says."""
    kernel = kernels.lookup(probe.op_type, probe.version)
    assert kernel is not None
    attributes: dict[str, int] = {}
    if probe.start:
        attributes["start"] = probe.start
    if probe.end is not None:
        attributes["end"] = probe.end
    # The kernels look at the shape only: one element stands for all.
    return kernel(np.broadcast_to(np.zeros((), np.int8), dims), **attributes).tolist()


def _dims(export: Export, value: Any) -> list[tuple[int, ...]]:
    if export.part == "data":
        return [np.shape(value)]
    return [tuple(each) for each in _lanes(value)]


def _results(export: Export, value: Any) -> list[Any]:
    if export.part == "lanes":
        return _lanes(value)
    if export.loops == 0 and export.probe.op_type == "Shape":
        return [np.asarray(value).tolist()]
    return [each for each in np.asarray(value).reshape(-1).tolist() if each != NOT_EXECUTED]


def _lanes(value: Any) -> list[list[int]]:
    """The rows of padded dims, without those of branches that were not taken."""
    array = np.asarray(value)
    rows = array.reshape(math.prod(array.shape[:-1]), LANES).tolist()
    return [[dim for dim in row if dim >= 0] for row in rows if row[0] != NOT_EXECUTED]


def _shortened(values: list[Any]) -> list[Any] | None:
    if not values:
        return None
    if len(values) <= _LISTED:
        return values
    half = _LISTED // 2
    return [*values[:half], f"... {len(values) - 2 * half} more ...", *values[-half:]]
