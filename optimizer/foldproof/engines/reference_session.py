"""The ONNX reference evaluator in the worker's process."""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import onnx

from foldproof import kernels
from foldproof.protos import scopes


class ReferenceSession:
    """A model, loaded into the reference evaluator.

    Args:
        content: The model's bytes, or the path of its file.
        folder: The folder of the external data of a model that is given as bytes.

    Raises:
        RuntimeError: The evaluator can't load it.
    """

    def __init__(self, content: bytearray | str, folder: str | None) -> None:
        self.name = f"onnx reference {onnx.__version__}"
        try:
            if isinstance(content, str):
                proto = onnx.load(content)
            else:
                proto = onnx.ModelProto.FromString(bytes(content))
                if folder is not None:
                    onnx.load_external_data_for_model(proto, folder)
            _name_all(proto)
            self._evaluator = _evaluator(proto)
        except Exception as error:
            raise RuntimeError(f"the ONNX reference can't load it: {error}") from error
        self.outputs = tuple(each.name for each in proto.graph.output)
        self._inputs = {each.name for each in proto.graph.input}
        self._required = self._inputs - {each.name for each in proto.graph.initializer}

    def run(
        self, feeds: Mapping[str, Any], seconds: float | None, shapes_of: Collection[str]
    ) -> tuple[list[Any], dict[int, tuple[int, ...]]]:
        """Runs the model. The time limit is looked at between nodes; all outputs are handed out.

        Raises:
            RuntimeError: The model fails at this feed.
            TimeoutError: The time is over.
        """
        unknown, missing = set(feeds) - self._inputs, self._required - set(feeds)
        if unknown or missing:
            raise RuntimeError(f"invalid input names: unknown {sorted(unknown)}, missing {sorted(missing)}")
        self._evaluator.deadline = None if seconds is None else time.monotonic() + seconds
        try:
            with np.errstate(all="ignore"):
                return list(self._evaluator.run(None, dict(feeds))), {}
        except TimeoutError:
            raise
        except Exception as error:
            raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _name_all(proto: onnx.ModelProto) -> None:
    """Names outputs that are left out, and takes away initializers without a name.

    The evaluator keeps all that it computes by name, and so hands those over for inputs that are left out.
    """
    numbers = itertools.count()
    for scope in scopes(proto):
        for node in scope.nodes:
            for index, name in enumerate(node.output):
                node.output[index] = name or f"left out: {next(numbers)}"
        stored = [] if scope.graph is None else scope.graph.initializer
        for tensor in [each for each in stored if not each.name]:
            stored.remove(tensor)


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
                raise TimeoutError("the time limit")

    return Evaluator(proto, new_ops=[operator("Size"), operator("Shape")])
