"""Writes a set of nodes as a model of their own, which a runtime can run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.folding.sources import tensor_of
from foldproof.graphs import bodies_of, graph_label, reads_of
from foldproof.large_tensors import unmap
from foldproof.rewriting.constants import strings_of

FED_FROM = 4096
"""Constants of at least this many bytes are fed, so that they are not copied into the model; runtimes want to see the
values of small ones, such as shapes and scales, when they load it."""

_FEEDABLE = frozenset(
    {
        ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.BOOL,
        ir.DataType.INT8, ir.DataType.INT16, ir.DataType.INT32, ir.DataType.INT64,
        ir.DataType.UINT8, ir.DataType.UINT16, ir.DataType.UINT32, ir.DataType.UINT64,
    }
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Batch:
    """A model that computes some values.

    Attributes:
        proto: The model. Its outputs are the values that are wanted, in their order.
        feeds: What its inputs are.
        mapped: The tensors of data files that are fed.
    """

    proto: onnx.ModelProto
    feeds: dict[str, Any]
    mapped: list[ir.ExternalTensor]

    def release(self) -> None:
        """Lets go of the weights, so that the memory of one batch is free before the next one needs it."""
        self.feeds.clear()
        for tensor in self.mapped:
            unmap(tensor)


def write(
    nodes: Sequence[ir.Node],
    wanted: Iterable[ir.Value],
    computed: Mapping[ir.Value, Any],
    model: ir.Model,
    facts: Facts,
) -> Batch:
    """Writes nodes as a model.

    Args:
        nodes: The nodes, each after those that it reads. They are of the main graph, or all of one function.
        wanted: Which of the values that they make are handed out.
        computed: Values that were computed before: arrays of numpy, or lists of them for a sequence.
        model: The model that the nodes are from: its functions may be called.
        facts: Its facts.
    """
    writer = _Writer()
    proto = onnx.ModelProto(ir_version=max(model.ir_version, 4))
    root = facts.root(nodes[0].graph) if nodes[0].graph is not None else model.graph
    for domain, version in {**model.graph.opset_imports, **root.opset_imports}.items():
        proto.opset_import.add(domain=domain, version=version)
    proto.functions.extend(ir.to_proto(function) for function in _called(nodes, model))
    graph = proto.graph
    graph.name = "batch"
    made = {output for node in nodes for output in node.outputs}
    feeds: dict[str, Any] = {}
    mapped: list[ir.ExternalTensor] = []
    for value in dict.fromkeys(value for node in nodes for value in reads_of(node) if value not in made):
        name = writer.name(value)
        if value in computed:
            feeds[name] = computed[value]
            graph.input.add(name=name, type=_type_of(computed[value]))
            continue
        tensor = tensor_of(value, facts)
        if tensor.nbytes >= FED_FROM and tensor.dtype in _FEEDABLE:
            feeds[name] = tensor.numpy()
            if isinstance(tensor, ir.ExternalTensor):
                mapped.append(tensor)
            graph.input.append(onnx.helper.make_tensor_value_info(name, tensor.dtype.value, tensor.shape.numpy()))
        else:
            graph.initializer.append(writer.tensor(tensor, name))
    graph.node.extend(writer.node(node) for node in nodes)
    graph.output.extend(onnx.ValueInfoProto(name=writer.name(value)) for value in wanted)
    return Batch(proto, feeds, mapped)


def _called(nodes: Iterable[ir.Node], model: ir.Model) -> list[ir.Function]:
    """The functions that nodes call, and those that these call."""
    found: dict[ir.OperatorIdentifier, ir.Function] = {}
    waiting = [each for node in nodes for each in _with_inner(node)]
    while waiting:
        function = model.functions.get(waiting.pop().op_identifier())
        if function is not None and function.identifier() not in found:
            found[function.identifier()] = function
            waiting.extend(function.all_nodes())
    return list(found.values())


def _with_inner(node: ir.Node) -> list[ir.Node]:
    return [node, *(each for body in bodies_of(node) for each in body.all_nodes())]


def _type_of(content: Any) -> onnx.TypeProto:
    if isinstance(content, (list, tuple)):
        inner = onnx.helper.make_tensor_type_proto(_code(content[0]), None) if content else None
        return onnx.helper.make_sequence_type_proto(inner or onnx.helper.make_tensor_type_proto(1, None))
    return onnx.helper.make_tensor_type_proto(_code(content), content.shape)


def _code(array: np.ndarray[Any, Any]) -> int:
    return onnx.TensorProto.STRING if array.dtype.kind in "OSU" else ir.DataType.from_numpy(array.dtype).value


class _Writer:
    """Writes nodes under names of its own: names are unique within a scope only, and nodes come from several."""

    def __init__(self) -> None:
        self._names: dict[ir.Value, str] = {}

    def name(self, value: ir.Value | None) -> str:
        if value is None:
            return ""
        return self._names.setdefault(value, f"v{len(self._names)}")

    def node(self, node: ir.Node) -> onnx.NodeProto:
        proto = onnx.NodeProto(op_type=node.op_type, domain=node.domain, overload=node.overload)
        proto.input.extend(map(self.name, node.inputs))
        # An output without a name is one that the node leaves out.
        proto.output.extend(self.name(output) if output.name else "" for output in node.outputs)
        for attribute in node.attributes.values():
            if attribute.type is ir.AttributeType.GRAPH:
                proto.attribute.append(onnx.helper.make_attribute(attribute.name, self.graph(attribute.as_graph())))
            elif attribute.type is ir.AttributeType.GRAPHS:
                graphs = [self.graph(graph) for graph in attribute.as_graphs()]
                proto.attribute.append(onnx.helper.make_attribute(attribute.name, graphs))
            else:
                proto.attribute.append(ir.to_proto(attribute))
        return proto

    def graph(self, graph: ir.Graph) -> onnx.GraphProto:
        proto = onnx.GraphProto(name=graph_label(graph))
        proto.input.extend(map(self.declared, graph.inputs))
        for value in graph.initializers.values():
            if value.const_value is not None:
                proto.initializer.append(self.tensor(value.const_value, self.name(value)))
        proto.node.extend(map(self.node, graph))
        proto.output.extend(map(self.declared, graph.outputs))
        return proto

    def declared(self, value: ir.Value) -> onnx.ValueInfoProto:
        proto = onnx.ValueInfoProto()
        if value.type is not None:
            ir.serde.serialize_value_into(proto, value)
        proto.name = self.name(value)
        return proto

    def tensor(self, tensor: ir.TensorProtocol, name: str) -> onnx.TensorProto:
        proto = onnx.TensorProto(name=name, data_type=tensor.dtype.value, dims=tensor.shape.numpy())
        if tensor.dtype is ir.DataType.STRING:
            proto.string_data.extend(strings_of(tensor.numpy()))
        else:
            proto.raw_data = tensor.tobytes()
        return proto
