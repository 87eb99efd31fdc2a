"""From the rewritten model back to a `ModelProto`, in which all that was not rewritten is as it was given.

The rewritten model and the original are walked side by side. Graphs are matched by their place (the node that holds
them, the attribute), nodes by their first output, values by their name. What still says the same is copied from the
original, with all that onnx_ir doesn't know of; the rest is written anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import onnx
import onnx_ir as ir

from foldproof.errors import ModelError
from foldproof.model_file.blame import root_cause
from foldproof.model_file.matching import is_same_attribute, is_same_node, names_of, node_key, original_attribute_name
from foldproof.model_file.opsets import restore_imports
from foldproof.model_file.protobuf import copy_fields
from foldproof.model_file.source import Source
from foldproof.model_file.tensors import ProtoTensor, SparseTensor, is_stored_as
from foldproof.validation import canonical_domain


class DataStore(Protocol):
    """Takes the elements of tensors that shall not lie in the model itself."""

    def takes(self, tensor: ir.TensorProtocol, is_new: bool) -> bool:
        """Whether this tensor goes to the store; `is_new`: the original has it nowhere."""

    def place(self, tensor: ir.TensorProtocol) -> Mapping[str, str]:
        """Takes the tensor, and returns the `external_data` entries that say where its elements will lie."""


def to_proto(model: ir.Model, source: Source, store: DataStore | None = None) -> onnx.ModelProto:
    """Serializes a model that was made from `source`, rewritten or not.

    Args:
        model: The model. It is not changed.
        source: What it was made from.
        store: Takes tensors that shall lie outside; without it, each is written as the model has it.

    Returns:
        A new message. Field by field it is the original, where the model says what the original says.

    Raises:
        ModelError: The model holds something that can't be serialized.
    """
    try:
        return _Serializer(source, store).model(model)
    except (ir.serde.SerdeError, TypeError, ValueError, NotImplementedError) as error:
        raise ModelError(f"the model can't be serialized: {root_cause(error)}") from error


class _Serializer:
    def __init__(self, source: Source, store: DataStore | None) -> None:
        self._source = source
        self._store = store

    def model(self, model: ir.Model) -> onnx.ModelProto:
        target = onnx.ModelProto()
        original = self._source.proto
        if original is not None:
            copy_fields(target, original, {"graph", "functions", "opset_import"})
            restore_imports(target.opset_import, original.opset_import, model.opset_imports, original.ir_version)
        else:
            restore_imports(target.opset_import, (), model.opset_imports, model.ir_version or 0)
            for configuration in model.device_configurations:
                target.configuration.append(ir.serde.serialize_model_configuration(configuration))
        _set_changed(target, model, ("ir_version", "producer_name", "producer_version", "domain", "model_version"))
        _set_described(target, model)
        self._graph(target.graph, model.graph, original.graph if original else None, is_main=True)
        functions = {(f.domain, f.name, f.overload): f for f in original.functions} if original else {}
        for key, function in model.functions.items():
            self._function(target.functions.add(), function, functions.get(key), target.ir_version)
        return target

    def _graph(self, target: onnx.GraphProto, graph: ir.Graph, original: onnx.GraphProto | None, is_main: bool = False) -> None:
        target.SetInParent()
        if original is not None:
            rebuilt = {"node", "initializer", "sparse_initializer", "input", "output", "value_info", "quantization_annotation"}
            copy_fields(target, original, rebuilt)
        _set_changed(target, graph, ("name",))
        _set_described(target, graph)
        redeclared = self._source.redeclared if is_main else ()
        _declare(target.input, graph.inputs, original.input if original else (), redeclared)
        _declare(target.output, graph.outputs, original.output if original else (), redeclared)
        self._initializers(target, graph, original)
        self._nodes(target.node, graph, original.node if original else ())
        if original is not None:
            _keep_living(target, original)
        else:
            _add_value_info(target.value_info, graph)
            _add_annotations(target, graph)

    def _function(
        self, target: onnx.FunctionProto, function: ir.Function, original: onnx.FunctionProto | None, ir_version: int
    ) -> None:
        if original is not None:
            copy_fields(target, original, {"node", "input", "output", "attribute", "attribute_proto", "opset_import"})
            restore_imports(target.opset_import, original.opset_import, function.opset_imports, ir_version)
        else:
            target.domain, target.name = function.domain, function.name
            if function.overload:
                target.overload = function.overload
            restore_imports(target.opset_import, (), function.opset_imports, ir_version)
            _add_value_info(target.value_info, function)
        _set_described(target, function)
        target.input.extend(names_of(function.inputs))
        target.output.extend(names_of(function.outputs))
        defaults = {attribute.name: attribute for attribute in original.attribute_proto} if original else {}
        for name, attribute in function.attributes.items():
            if attribute.value is None and name not in defaults:
                target.attribute.append(name)
            else:
                self._attribute(target.attribute_proto.add(), attribute, defaults.get(name))
        self._nodes(target.node, function, original.node if original else ())

    def _initializers(self, target: onnx.GraphProto, graph: ir.Graph, original: onnx.GraphProto | None) -> None:
        originals = {tensor.name: tensor for tensor in original.initializer} if original else {}
        for name, value in graph.initializers.items():
            tensor = value.const_value
            if isinstance(tensor, SparseTensor):
                self._sparse(target.sparse_initializer.add(), tensor, name)
            elif tensor is not None:
                self._tensor(target.initializer.add(), tensor, name, originals.get(name))

    def _nodes(self, target: Any, nodes: Iterable[ir.Node], originals: Iterable[onnx.NodeProto]) -> None:
        by_key = {node_key(node.output, node): node for node in originals}
        append, match = target.append, by_key.get
        for node in nodes:
            outputs = names_of(node.outputs)
            original = match(node_key(outputs, node))
            if original is not None and is_same_node(node, outputs, original, self._store is None):
                append(original)
            else:
                self._node(target.add(), node, outputs, original)

    def _node(self, target: onnx.NodeProto, node: ir.Node, outputs: Sequence[str], original: onnx.NodeProto | None) -> None:
        if original is not None and original.op_type == node.op_type and canonical_domain(original.domain) == node.domain:
            copy_fields(target, original, {"input", "output", "attribute"})
        else:
            original = None
            target.op_type = node.op_type
            if node.domain:
                target.domain = node.domain
            for configuration in node.device_configurations:
                target.device_configurations.append(ir.serde.serialize_node_device_configuration(configuration))
        _set_changed(target, node, ("name", "overload"))
        _set_described(target, node)
        target.input.extend(names_of(node.inputs))
        last = max((index for index, name in enumerate(outputs) if name), default=-1)
        target.output.extend(original.output if original is not None and outputs == original.output else outputs[: last + 1])
        originals = {attribute.name: attribute for attribute in original.attribute} if original is not None else {}
        for attribute in node.attributes.values():
            self._attribute(target.attribute.add(), attribute, originals.get(original_attribute_name(node, attribute)))

    def _attribute(self, target: onnx.AttributeProto, attribute: ir.Attr, original: onnx.AttributeProto | None) -> None:
        kind, value = attribute.type, attribute.value
        if original is not None and is_same_attribute(attribute, original, self._store is None):
            target.CopyFrom(original)
        elif attribute.is_ref() or value is None:
            ir.serde.serialize_reference_attribute_into(target, attribute)
        elif kind is ir.AttributeType.GRAPH:
            if original is not None:
                copy_fields(target, original, {"g"})
            target.name, target.type = attribute.name, onnx.AttributeProto.GRAPH
            self._graph(target.g, value, original.g if original is not None else None)
        elif kind is ir.AttributeType.GRAPHS:
            if original is not None:
                copy_fields(target, original, {"graphs"})
            target.name, target.type = attribute.name, onnx.AttributeProto.GRAPHS
            originals = list(original.graphs) if original is not None and len(original.graphs) == len(value) else None
            for index, graph in enumerate(value):
                self._graph(target.graphs.add(), graph, originals[index] if originals else None)
        elif kind is ir.AttributeType.TENSOR and isinstance(value, SparseTensor):
            target.name, target.type = "sparse_value", onnx.AttributeProto.SPARSE_TENSOR
            self._sparse(target.sparse_tensor, value, value.origin.values.name)
        elif kind is ir.AttributeType.TENSOR:
            target.name, target.type = attribute.name, onnx.AttributeProto.TENSOR
            self._tensor(target.t, value, None, original.t if original is not None else None)
        elif kind is ir.AttributeType.TENSORS:
            target.name, target.type = attribute.name, onnx.AttributeProto.TENSORS
            for tensor in value:
                self._tensor(target.tensors.add(), tensor, None, None)
        else:
            ir.serde.serialize_attribute_into(target, attribute)
        if attribute.doc_string and not target.doc_string:
            target.doc_string = attribute.doc_string

    def _tensor(
        self, target: onnx.TensorProto, tensor: ir.TensorProtocol, name: str | None, original: onnx.TensorProto | None
    ) -> None:
        """Writes a tensor; `name` is that of the initializer, None for an attribute, which keeps the tensor's own."""
        origin = tensor.origin if isinstance(tensor, ProtoTensor) else None
        if origin is None and original is not None and is_stored_as(tensor, original):
            origin = original
        if self._store is not None and self._store.takes(tensor, is_new=origin is None):
            if origin is not None:
                copy_fields(target, origin, _ELEMENTS)
            else:
                target.data_type = tensor.dtype.value
                target.dims.extend(tensor.shape.numpy())
            target.data_location = onnx.TensorProto.EXTERNAL
            for key, text in self._store.place(tensor).items():
                target.external_data.add(key=key, value=text)
        elif origin is not None:
            target.CopyFrom(origin)
        else:
            ir.serde.serialize_tensor_into(target, tensor)
        if name is not None and target.name != name:
            target.name = name

    def _sparse(self, target: onnx.SparseTensorProto, tensor: SparseTensor, name: str) -> None:
        target.CopyFrom(tensor.origin)
        if target.values.name != name:
            target.values.name = name


_ELEMENTS = frozenset(
    {
        "raw_data",
        "float_data",
        "int32_data",
        "string_data",
        "int64_data",
        "double_data",
        "uint64_data",
        "external_data",
        "data_location",
    }
)
"""The fields of a `TensorProto` that hold its elements or say where they lie."""


def _set_changed(target: Any, owner: Any, fields: Iterable[str]) -> None:
    """Sets the fields that `owner` has another value for than `target`; what is empty in both stays as it is."""
    for field in fields:
        value = getattr(owner, field)
        if value is None:
            value = type(getattr(target, field))()
        if getattr(target, field) != value:
            setattr(target, field, value)


def _set_described(target: Any, owner: Any) -> None:
    """Sets `doc_string` and `metadata_props` where they changed; entries that stayed keep their order."""
    _set_changed(target, owner, ("doc_string",))
    properties = owner.metadata_props
    entries = target.metadata_props
    if {entry.key: entry.value for entry in entries} != properties:
        order = dict.fromkeys(entry.key for entry in entries if entry.key in properties)
        del entries[:]
        for key in {**order, **properties}:
            entries.add(key=key, value=properties[key])


def _declare(
    target: Any, values: Sequence[ir.Value], originals: Iterable[onnx.ValueInfoProto], redeclared: Iterable[str]
) -> None:
    """Declares inputs or outputs: as the original did, but for new and redeclared ones."""
    by_name = {proto.name: proto for proto in originals if proto.name not in redeclared}
    for value in values:
        original = by_name.get(value.name or "")
        if original is not None:
            target.append(original)
        else:
            ir.serde.serialize_value_into(target.add(), value)


def _defined_names(graph: onnx.GraphProto) -> set[str]:
    names = {value.name for value in graph.input}
    names.update(tensor.name for tensor in graph.initializer)
    names.update(tensor.values.name for tensor in graph.sparse_initializer)
    for node in graph.node:
        names.update(node.output)
    return names


def _keep_living(target: onnx.GraphProto, original: onnx.GraphProto) -> None:
    """Keeps the declarations and quantization annotations of all values that were not taken away."""
    if not original.value_info and not original.quantization_annotation:
        return
    gone = _defined_names(original) - _defined_names(target)
    if not gone:
        target.value_info.MergeFrom(original.value_info)
        target.quantization_annotation.MergeFrom(original.quantization_annotation)
        return
    target.value_info.extend(value for value in original.value_info if value.name not in gone)
    target.quantization_annotation.extend(a for a in original.quantization_annotation if a.tensor_name not in gone)


def _add_value_info(target: Any, owner: ir.Graph | ir.Function) -> None:
    """Declares the intermediate values of a graph that has no original."""
    outputs = set(owner.outputs)
    for node in owner:
        for value in node.outputs:
            if value.name and value not in outputs and (value.type is not None or value.doc_string or value.metadata_props):
                ir.serde.serialize_value_into(target.add(), value)


def _add_annotations(target: onnx.GraphProto, graph: ir.Graph) -> None:
    """Adds the quantization annotations that onnx_ir keeps with the values of a graph that has no original."""
    values = [*graph.inputs, *graph.initializers.values(), *(value for node in graph for value in node.outputs)]
    for value in dict.fromkeys(values):
        names = value.meta.get("quant_parameter_tensor_names")
        if names:
            annotation = target.quantization_annotation.add(tensor_name=value.name)
            for key, name in names.items():
                annotation.quant_parameter_tensor_names.add(key=key, value=name)
