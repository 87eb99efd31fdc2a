"""Makes a model that shows a fault smaller, for as long as it shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx

from foldproof.checking.finding import Kind
from foldproof.checking.trial import Court, Trial
from foldproof.checking.variation import Variation, varied
from foldproof.protos import reads_of


def fewest(
    example: onnx.ModelProto, variations: Sequence[Variation], kind: Kind, court: Court
) -> tuple[tuple[Variation, ...], onnx.ModelProto, Trial]:
    """The variations that are needed for a fault, the model that they make, and how it goes there.

    Args:
        example: The model that is varied.
        variations: Variations with which the fault shows.
        kind: The kind of the fault.
        court: Tries the rule.
    """

    def shows(model: onnx.ModelProto | None) -> Trial | None:
        trial = None if model is None else court.try_at(model)
        return trial if trial is not None and trial.finding is not None and trial.finding.kind == kind else None

    kept = list(variations)
    model = varied(example, kept, court.loads)
    assert model is not None, "it was valid before"
    trial = shows(model)
    for each in list(kept):
        fewer = [other for other in kept if other is not each]
        candidate = varied(example, fewer, court.loads)
        found = shows(candidate)
        if found is not None and candidate is not None:
            kept, model, trial = fewer, candidate, found
    model, trial = _less(model, trial, shows)
    assert trial is not None, "the same model shows the same fault"
    return tuple(kept), model, trial


def _less(
    model: onnx.ModelProto, trial: Trial | None, shows: Callable[[onnx.ModelProto | None], Trial | None]
) -> tuple[onnx.ModelProto, Trial | None]:
    """The model without the outputs that are not needed, and without what only they need."""
    for name in [value.name for value in model.graph.output]:
        if len(model.graph.output) == 1:
            break
        candidate = _without(model, name)
        found = shows(candidate)
        if found is not None:
            model, trial = candidate, found
    return model, trial


def _without(model: onnx.ModelProto, output: str) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    kept = [value for value in copy.graph.output if value.name != output]
    del copy.graph.output[:]
    copy.graph.output.extend(kept)
    needed = {value.name for value in kept}
    nodes = []
    for node in reversed(copy.graph.node):
        if needed & set(node.output):
            nodes.append(node)
            needed |= reads_of(node)
    del copy.graph.node[:]
    copy.graph.node.extend(reversed(nodes))
    return copy
