"""Walking through models as they are in files (protobuf), without copying weights."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
from collections.abc import Iterable, Iterator, Mapping

import onnx

from foldproof.errors import ModelError

FunctionKey = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Scope:
    """A list of nodes and where it is.

    Attributes:
        nodes: The nodes, in order.
        graph: The graph that holds them; None for a function's body.
        opsets: The version of each domain that holds here.
        place: The way from the outside in, such as `If_3/then_branch`; `""` for the main graph.
    """

    nodes: list[onnx.NodeProto]
    graph: onnx.GraphProto | None
    opsets: Mapping[str, int]
    place: str


def load_proto(model: onnx.ModelProto | pathlib.Path) -> onnx.ModelProto:
    """The model's proto; one that is read from a file leaves external data where it is.

    Raises:
        ModelError: The file can't be read.
    """
    if isinstance(model, onnx.ModelProto):
        return model
    try:
        return onnx.load(str(model), load_external_data=False)
    except Exception as error:
        raise ModelError(f"{model} can't be read: {error}", hint="Is it an ONNX model?") from error


def canonical(domain: str) -> str:
    """The domain's one spelling: ai.onnx is `""`."""
    return "" if domain == "ai.onnx" else domain


def opsets_of(imports: Iterator[onnx.OperatorSetIdProto] | list[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """The version of each domain."""
    return {canonical(each.domain): each.version for each in imports}


def label(node: onnx.NodeProto) -> str:
    """How to name a node: by its name, or by its first output."""
    return node.name or next((name for name in node.output if name), node.op_type)


def bodies(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """The graphs in a node's attributes, with the attribute's name."""
    return _graphs_in(node.attribute)


def _graphs_in(attributes: Iterable[onnx.AttributeProto]) -> Iterator[tuple[str, onnx.GraphProto]]:
    for attribute in attributes:
        if attribute.HasField("g"):
            yield attribute.name, attribute.g
        for index, graph in enumerate(attribute.graphs):
            yield f"{attribute.name}[{index}]", graph


def scopes(proto: onnx.ModelProto) -> Iterator[Scope]:
    """All scopes of a model: the main graph, the functions, and after each the bodies in it at any depth."""
    main = opsets_of(proto.opset_import)
    yield from _scopes(list(proto.graph.node), proto.graph, main, "")
    for function in proto.functions:
        own = {**main, **opsets_of(function.opset_import)}
        yield from _scopes(list(function.node), None, own, f"function {function.domain}::{function.name}")


def _scopes(
    nodes: list[onnx.NodeProto], graph: onnx.GraphProto | None, opsets: Mapping[str, int], place: str
) -> Iterator[Scope]:
    yield Scope(nodes, graph, opsets, place)
    for node in nodes:
        for name, body in bodies(node):
            inner = f"{label(node)}/{name}"
            yield from _scopes(list(body.node), body, opsets, f"{place}/{inner}" if place else inner)


def reads_of(node: onnx.NodeProto) -> set[str]:
    """All values that a node reads: its inputs, and what its bodies take from outside."""
    names = {name for name in node.input if name}
    for _, body in bodies(node):
        names |= captures(body)
    return names


def captures(graph: onnx.GraphProto) -> set[str]:
    """The values that a body takes from the scopes around it."""
    own = {each.name for each in graph.input}
    own |= {each.name for each in graph.initializer}
    own |= {each.values.name for each in graph.sparse_initializer}
    read: set[str] = set()
    for node in graph.node:
        read |= reads_of(node) - own
        own |= set(node.output)
    return read | ({each.name for each in graph.output} - own)


def names_for_training(proto: onnx.ModelProto) -> set[str]:
    """The names of the main graph that the training information reads, or binds to what training gives them."""
    names: set[str] = set()
    for info in proto.training_info:
        names |= captures(info.initialization) | captures(info.algorithm)
        names.update(entry.key for entry in (*info.initialization_binding, *info.update_binding))
    return names - {""}


def attribute_of(node: onnx.NodeProto, name: str) -> onnx.AttributeProto | None:
    """The node's attribute of that name."""
    return next((each for each in node.attribute if each.name == name), None)


def stored_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """All tensors of a model: initializers, those in attributes and defaults, parts of sparse ones, for training."""
    never_run = [graph for info in proto.training_info for graph in (info.initialization, info.algorithm)]
    never_run += [graph for function in proto.functions for _, graph in _graphs_in(function.attribute_proto)]
    inner = itertools.chain.from_iterable(_scopes(list(graph.node), graph, {}, "") for graph in never_run)
    for scope in itertools.chain(scopes(proto), inner):
        if scope.graph is not None:
            yield from scope.graph.initializer
            for sparse in scope.graph.sparse_initializer:
                yield from (sparse.values, sparse.indices)
        for node in scope.nodes:
            yield from _in_attributes(node.attribute)
    for function in proto.functions:
        yield from _in_attributes(function.attribute_proto)


def _in_attributes(attributes: Iterable[onnx.AttributeProto]) -> Iterator[onnx.TensorProto]:
    for attribute in attributes:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        for sparse in (
            *([attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []),
            *attribute.sparse_tensors,
        ):
            yield from (sparse.values, sparse.indices)


def external_locations(proto: onnx.ModelProto) -> set[str]:
    """The files that the tensors of a model lie in, as it names them."""
    return {
        entry.value
        for tensor in stored_tensors(proto)
        if tensor.data_location == onnx.TensorProto.EXTERNAL
        for entry in tensor.external_data
        if entry.key == "location"
    }
