"""One change of a model, which makes of a rule's example another place at which the rule may be wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import onnx

from foldproof.protos import bodies


@dataclasses.dataclass(frozen=True)
class Variation:
    """A change of a model.

    Attributes:
        words: What it does, for a person.
        change: Does it, in place; whether there was anything to change.
    """

    words: str
    change: Callable[[onnx.ModelProto], bool]


def varied(
    model: onnx.ModelProto,
    variations: Sequence[Variation],
    loads: Callable[[onnx.ModelProto], bool] = lambda model: True,
) -> onnx.ModelProto | None:
    """A copy of a model with changes; None where that is no valid model.

    What is declared of inner values and outputs is inferred anew.

    Args:
        model: The model.
        variations: The changes, in their order.
        loads: Tells whether a runtime takes a model, in another process: ONNX's own inference, in this one, ends it at
            some that are invalid.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    if not all(each.change(copy) for each in variations):
        return None
    for graph in graphs_of(copy):
        del graph.value_info[:]
    keep_ranks = _ranks(copy) == _ranks(model)
    undeclared = _undeclared(copy, outputs=True, keep_ranks=keep_ranks)
    if not loads(undeclared):
        return None
    inferred = _inferred(undeclared)
    if inferred is None and keep_ranks:  # inference needs a declaration: what is left of it is true
        inferred = _inferred(_undeclared(copy, outputs=False, keep_ranks=True))
    return inferred


def _undeclared(model: onnx.ModelProto, *, outputs: bool, keep_ranks: bool) -> onnx.ModelProto:
    """The model without what it declares of dims in bodies and of its outputs.

    Args:
        model: The model.
        outputs: Whether nothing is left of what it declares of its outputs that are tensors.
        keep_ranks: Whether ranks stay in bodies. A scalar stays one in any case: the runtime asks for that.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for graph in graphs_of(copy):
        for value in (*graph.input, *graph.output) if graph is not copy.graph else copy.graph.output:
            shape = value.type.tensor_type.shape
            if not value.type.HasField("tensor_type"):
                continue
            if graph is copy.graph and outputs:
                value.ClearField("type")
            elif keep_ranks:
                for dim in shape.dim:
                    dim.Clear()
            elif shape.dim:
                value.type.tensor_type.ClearField("shape")
    return copy


def _ranks(model: onnx.ModelProto) -> list[int]:
    return [len(value.type.tensor_type.shape.dim) for value in model.graph.input]


def _inferred(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """The model with the types of its outputs; None where it is not valid, or they can't be inferred."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        del inferred.graph.value_info[:]
        onnx.checker.check_model(inferred, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return None
    return inferred


def graphs_of(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The main graph, and all bodies in it."""
    yield from _graphs(model.graph)


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for _, body in bodies(node):
            yield from _graphs(body)


def nodes_of(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """All nodes, those in bodies too."""
    for graph in graphs_of(model):
        yield from graph.node


def initializer_of(model: onnx.ModelProto, name: str) -> onnx.TensorProto | None:
    """The main graph's initializer of that name."""
    return next((each for each in model.graph.initializer if each.name == name), None)


def input_of(model: onnx.ModelProto, name: str) -> onnx.ValueInfoProto | None:
    """The graph input of that name."""
    return next((each for each in model.graph.input if each.name == name), None)


def maker_of(model: onnx.ModelProto, output: str) -> onnx.NodeProto | None:
    """The node of the main graph, or of a body, that makes a value."""
    return next((node for node in nodes_of(model) if output in node.output), None)
