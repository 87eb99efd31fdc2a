"""The ONNX reference evaluator with our kernels, for models that onnxruntime lacks a type or an operator for.

The evaluator is no oracle by itself: models with an operator that it is known to compute wrongly are refused.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import onnx

from foldproof.engines.engine import EngineError, Runnable
from foldproof.engines.remote import Remote
from foldproof.engines.worker import Settings
from foldproof.engines.worker_process import Worker
from foldproof.protos import Scope, attribute_of, load_proto, scopes

_ANOTHER_MEANING_BELOW = {
    "AveragePool": 7,  # padding is not counted, the reference counts it
    "GridSample": 20,
    "GroupNormalization": 21,  # a scale for each group, not for each channel
    "Hardmax": 13,  # of the input as a matrix
    "LogSoftmax": 13,
    "LpPool": 2,
    "PRelu": 7,  # the slope belongs to the channel, not to the last axis
    "Resize": 11,
    "RoiAlign": 16,
    "Scan": 9,
    "Selu": 6,
    "Softmax": 13,
}
"""Operators that meant something else below an opset version, which the reference does not know."""

_BROADCASTING = frozenset({"Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"})
"""Operators that aligned their second input at `axis` below version 7. The reference aligns it at the end."""


class Reference(Remote):
    """The reference evaluator, loaded with a model, in the worker's process: it knows no limit of time or memory.

    Args:
        model: A model, or the path of its file.
        data_folder: The folder of the external data of a model that is given as a proto.
        worker: The process to run it in; unless given, one that was lent, or one of its own.
        memory: How many bytes it may take beyond what the process has, as far as the platform can limit that.
        seconds: The time limit for loading it.

    Raises:
        EngineError: The evaluator lacks an operator, or is known to compute one wrongly.
        TimedOut: It takes too long.
        OutOfMemory: There is not enough memory.
        Died: It takes the worker's process with it.
    """

    def __init__(
        self,
        model: Runnable,
        data_folder: pathlib.Path | None = None,
        worker: Worker | None = None,
        *,
        memory: int | None = None,
        seconds: float | None = None,
    ) -> None:
        reason = next(distrust(load_proto(model)), None)
        if reason is not None:
            raise EngineError(f"the ONNX reference can't stand in: {reason}")
        folder = None if data_folder is None else str(data_folder.resolve())
        settings = Settings(optimizing=False, data_folder=folder, provider=None, reference=True, memory=memory)
        super().__init__(model, settings, worker, seconds)


def distrust(proto: onnx.ModelProto) -> Iterator[str]:
    """Why the reference evaluator's word is not to be taken for a model: what it is known to compute wrongly.

    `Shape` with `end` below `-rank` is wrong too; our kernel takes its place in the main graph and bodies,
    but not in functions.
    """
    if any(each.domain == "ai.onnx" for each in proto.opset_import):
        yield "the domain spelled ai.onnx"
    if proto.graph.sparse_initializer:
        yield "a sparse initializer"
    if any(function.overload for function in proto.functions):
        yield "overloads of functions"
    for scope in scopes(proto):
        for node in scope.nodes:
            if node.domain == "ai.onnx":
                yield "the domain spelled ai.onnx"
            if node.domain == "":
                reason = _distrust_node(node, scope)
                if reason is not None:
                    yield reason


def _distrust_node(node: onnx.NodeProto, scope: Scope) -> str | None:
    version = scope.opsets.get("", 1)
    op = node.op_type
    if version < _ANOTHER_MEANING_BELOW.get(op, 0):
        return f"{op} at opset {version}"
    if version < 7 and op in _BROADCASTING and attribute_of(node, "axis") is not None:
        return f"{op} with `axis`"
    if op == "BatchNormalization" and attribute_of(node, "spatial") is not None:
        return "BatchNormalization with `spatial`"
    if op == "Loop" and (len(node.input) < 2 or not node.input[1]):
        return "Loop without a condition"
    if op == "Constant" and attribute_of(node, "sparse_value") is not None:
        return "a sparse constant"
    if op == "NonMaxSuppression" and (len(node.input) < 5 or not all(node.input)):
        return "NonMaxSuppression with omitted inputs"
    if op == "DequantizeLinear" and version < 19:
        return f"DequantizeLinear at opset {version}"
    if op == "OptionalGetElement":
        return "OptionalGetElement"
    if op == "BatchNormalization" and 9 <= version < 14:
        return f"BatchNormalization at opset {version}"
    if op == "Shape" and scope.place.startswith("function ") and attribute_of(node, "end") is not None:
        return "Shape with `end` in a function"
    return None
