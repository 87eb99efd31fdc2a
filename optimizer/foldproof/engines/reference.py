"""The ONNX reference evaluator with our kernels, for models that onnxruntime lacks a type or an operator for.

The evaluator is no oracle by itself: models with an operator that it is known to compute wrongly are refused.
"""

from __future__ import annotations

import pathlib
import time
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import onnx

from foldproof import kernels
from foldproof.engines.engine import EngineError, Feeds, Runnable, TimedOut
from foldproof.protos import Scope, attribute_of, load_proto, scopes


class Reference:
    """The reference evaluator, loaded with a model.

    Args:
        model: A model, or the path of its file.
        data_folder: The folder of the external data of a model that is given as a proto.

    Raises:
        EngineError: The evaluator lacks an operator, or is known to compute one wrongly.
    """

    def __init__(self, model: Runnable, data_folder: pathlib.Path | None = None) -> None:
        proto = load_proto(model)
        reason = next(distrust(proto), None)
        if reason is not None:
            raise EngineError(f"the ONNX reference can't stand in: {reason}")
        self.name = f"onnx reference {onnx.__version__}"
        self.outputs = tuple(each.name for each in proto.graph.output)
        self._inputs = {each.name for each in proto.graph.input}
        self._required = self._inputs - {each.name for each in proto.graph.initializer}
        folder = model.parent if isinstance(model, pathlib.Path) else data_folder
        try:
            if folder is not None:
                copy = onnx.ModelProto()
                copy.CopyFrom(proto)
                onnx.load_external_data_for_model(copy, str(folder))
                proto = copy
            self._evaluator = _evaluator(proto)
        except Exception as error:
            raise EngineError(f"the ONNX reference can't load it: {error}") from error

    def run(self, feeds: Feeds, seconds: float | None = None, shapes_of: Collection[str] = ()) -> list[Any]:
        """See `Engine.run`. The time limit is looked at between nodes."""
        unknown, missing = set(feeds) - self._inputs, self._required - set(feeds)
        if unknown or missing:
            raise EngineError(f"invalid input names: unknown {sorted(unknown)}, missing {sorted(missing)}")
        self._evaluator.deadline = None if seconds is None else time.monotonic() + seconds
        try:
            with np.errstate(all="ignore"):
                return list(self._evaluator.run(None, dict(feeds)))
        except TimedOut:
            raise
        except Exception as error:
            raise EngineError(f"{type(error).__name__}: {error}") from error


def distrust(proto: onnx.ModelProto) -> Iterator[str]:
    """Why the reference evaluator's word is not to be taken for a model: what it is known to compute wrongly.

    `Shape` with `end` below `-rank` is wrong too; our kernel takes its place in the main graph and bodies,
    but not in functions.
    """
    if any(each.domain == "ai.onnx" for each in proto.opset_import):
        yield "the domain spelled ai.onnx"
    if proto.graph.sparse_initializer:
        yield "a sparse initializer"
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


def _evaluator(proto: onnx.ModelProto) -> Any:
    """An evaluator that computes `Size` and `Shape` by our kernels and that stops at a deadline."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    version = next((each.version for each in proto.opset_import if each.domain == ""), 1)

    def operator(op_type: str) -> type[OpRun]:
        kernel = kernels.lookup(op_type, version)
        assert kernel is not None

        def compute(self: OpRun, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
            # The evaluator hands over the defaults of the newest version too, which an older one may not know.
            given = {attribute.name for attribute in self.onnx_node.attribute}
            return (kernel(*inputs, **{name: each for name, each in attributes.items() if name in given}),)

        return type(op_type, (OpRun,), {"op_domain": "", "_run": compute})

    class Evaluator(ReferenceEvaluator):
        deadline: float | None = None

        def _log(self, level: int, pattern: str, *args: Any) -> None:
            # The evaluator calls this before each node: the one place at which a run can be stopped.
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise TimedOut("the time limit")

    return Evaluator(proto, new_ops=[operator("Size"), operator("Shape")])
