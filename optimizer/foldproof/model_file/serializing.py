"""From the rewritten model back to a `ModelProto`, in which all that was not rewritten is as it was given.

The rewritten model and the original are walked side by side. Graphs are matched by their place (the node that
holds them, the attribute), nodes by their first output, values by their name. What still says the same is
copied from the original, with all that onnx_ir doesn't know of; the rest is written anew.
"""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import onnx
import onnx_ir as ir

from foldproof.errors import ModelError
from foldproof.model_file.blame import root_cause
from foldproof.model_file.data_file import elements_of
from foldproof.model_file.declarations import (
    add_annotations,
    add_value_info,
    declare,
    keep_living,
    rename_specs,
    set_changed,
    set_described,
)
from foldproof.model_file.matching import (
    SPARSE_VALUE,
    by_turns,
    is_same_attribute,
    is_same_node,
    names_of,
    node_key,
    outer_name,
)
from foldproof.model_file.opsets import restore_imports
from foldproof.model_file.protobuf import copy_fields
from foldproof.model_file.source import Source
from foldproof.model_file.tensors import ProtoTensor, SparseTensor, is_stored_as
from foldproof.validation import canonical_domain

_FUNCTION_VALUE_INFO_FROM_IR = 10
"""The IR version in which functions got `value_info`."""


class DataStore(Protocol):
    """Takes the elements of tensors that shall not lie in the model itself."""

    def keeps(self, tensor: ir.TensorProtocol) -> bool:
        """Whether a tensor that the original has is written just as the original has it."""

    def takes(self, tensor: ir.TensorProtocol, is_new: bool) -> bool:
        """Whether this tensor goes to the store; `is_new`: the original has it nowhere."""

    def links(self, tensor: ir.TensorProtocol) -> bool:
        """Whether a tensor stays in the file that it lies in: what else is said of that file stays true."""

    def place(self, tensor: ir.TensorProtocol) -> Mapping[str, str]:
        """Takes the tensor, and returns the `external_data` entries that say where its elements will lie."""


def to_proto(model: ir.Model, source: Source, store: DataStore | None = None) -> onnx.ModelProto:
    """Serializes a model that was made from `source`, rewritten or not.

    Args:
        model: The model. It is not changed.
        source: What it was made from.
        store: Takes tensors that shall lie outside; without it, each is written as the model has it.

    Returns:
        A new message. Field by field it is the original, where the model says what the original says. Two
        things differ, which the specification forbids and onnxruntime accepts: nodes that were out of order
        are sorted, and initializers that nothing can read (without a name, or followed by another of the same
        name) are gone.

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
        self._corrected: dict[ir.Graph | None, dict[str, ir.Value]] = {}
        for value in source.corrected:
            self._corrected.setdefault(value.graph, {})[value.name or ""] = value

    def _stays(self, tensor: ir.TensorProtocol) -> bool:
        """Whether a tensor that the original has is written where the original has it."""
        return self._store is None or self._store.keeps(tensor)

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
        set_changed(target, model, ("ir_version", "producer_name", "producer_version", "domain", "model_version"))
        set_described(target, model)
        self._graph(target.graph, model.graph, original.graph if original else None, is_main=True)
        functions = {(f.domain, f.name, f.overload): f for f in original.functions} if original else {}
        for key, function in model.functions.items():
            self._function(target.functions.add(), function, functions.get(key), target.ir_version)
        return target

    def _graph(
        self,
        target: onnx.GraphProto,
        graph: ir.Graph,
        original: onnx.GraphProto | None,
        is_main: bool = False,
    ) -> None:
        target.SetInParent()
        if original is not None:
            copy_fields(target, original, _REBUILT_IN_GRAPH)
        set_changed(target, graph, ("name",))
        set_described(target, graph)
        redeclared = self._source.redeclared if is_main else ()
        declare(target.input, graph.inputs, original.input if original else (), redeclared)
        declare(target.output, graph.outputs, original.output if original else (), redeclared)
        self._initializers(target, graph, original)
        self._nodes(target.node, graph, original.node if original else ())
        if original is not None:
            keep_living(target, original, self._corrected.get(graph, {}))
        else:
            add_value_info(target.value_info, graph)
            add_annotations(target, graph)

    def _function(
        self,
        target: onnx.FunctionProto,
        function: ir.Function,
        original: onnx.FunctionProto | None,
        ir_version: int,
    ) -> None:
        if original is not None:
            copy_fields(target, original, _REBUILT_IN_FUNCTION)
            restore_imports(target.opset_import, original.opset_import, function.opset_imports, ir_version)
        else:
            target.domain, target.name = function.domain, function.name
            if function.overload:
                target.overload = function.overload
            restore_imports(target.opset_import, (), function.opset_imports, ir_version)
            if ir_version >= _FUNCTION_VALUE_INFO_FROM_IR:
                add_value_info(target.value_info, function)
        set_described(target, function)
        target.input.extend(names_of(function.inputs))
        target.output.extend(names_of(function.outputs))
        defaults = {attribute.name: attribute for attribute in original.attribute_proto} if original else {}
        required = []
        for name, attribute in function.attributes.items():
            if attribute.value is None and name not in defaults:
                required.append(name)
            else:
                self._attribute(target.attribute_proto.add(), name, attribute, defaults.get(name))
        listed = original.attribute if original else ()
        # A name may be listed twice, which only onnx's checker minds.
        target.attribute.extend(listed if set(listed) == set(required) else required)
        self._nodes(target.node, function, original.node if original else ())
        if original is not None:
            keep_living(target, original, self._corrected.get(function.graph, {}))

    def _initializers(self, target: onnx.GraphProto, graph: ir.Graph, original: onnx.GraphProto | None) -> None:
        originals = {tensor.name: tensor for tensor in original.initializer} if original else {}
        for name, value in graph.initializers.items():
            tensor = value.const_value
            if isinstance(tensor, SparseTensor):
                self._sparse(target.sparse_initializer.add(), tensor, name)
            elif tensor is not None:
                self._tensor(target.initializer.add(), tensor, name, originals.get(name))

    def _nodes(self, target: Any, nodes: Iterable[ir.Node], originals: Iterable[onnx.NodeProto]) -> None:
        append, match = target.append, by_turns(originals, lambda node: node_key(node.output, node))
        for node in nodes:
            outputs = names_of(node.outputs)
            original = match(node_key(outputs, node))
            if original is not None and is_same_node(node, outputs, original, self._stays):
                append(original)
            else:
                self._node(target.add(), node, outputs, original)

    def _node(
        self,
        target: onnx.NodeProto,
        node: ir.Node,
        outputs: list[str | None],
        original: onnx.NodeProto | None,
    ) -> None:
        if (
            original is not None
            and original.op_type == node.op_type
            and canonical_domain(original.domain) == node.domain
        ):
            copy_fields(target, original, {"input", "output", "attribute"})
        else:
            original = None
            target.op_type = node.op_type
            if node.domain:
                target.domain = node.domain
            for configuration in node.device_configurations:
                target.device_configurations.append(ir.serde.serialize_node_device_configuration(configuration))
        set_changed(target, node, ("name", "overload"))
        set_described(target, node)
        target.input.extend(names_of(node.inputs))
        if original is None or outputs != original.output:
            while outputs and outputs[-1] == "":
                outputs = outputs[:-1]
        target.output.extend(outputs)
        if original is not None:
            rename_specs(target, original)
        originals = {attribute.name: attribute for attribute in original.attribute} if original is not None else {}
        for attribute in node.attributes.values():
            name = outer_name(node, attribute)
            self._attribute(target.attribute.add(), name, attribute, originals.get(name))

    def _attribute(
        self,
        target: onnx.AttributeProto,
        name: str,
        attribute: ir.Attr,
        original: onnx.AttributeProto | None,
    ) -> None:
        """Writes an attribute under its outer name."""
        kind, value = attribute.type, attribute.value
        if original is not None and is_same_attribute(attribute, original, self._stays):
            target.CopyFrom(original)
        elif attribute.is_ref() or value is None:
            ir.serde.serialize_reference_attribute_into(target, attribute)
        elif kind in _NESTED:
            if original is not None:
                copy_fields(target, original, _NESTED_FIELDS)
            if target.name != name:
                target.name = name
            target.type = typing.cast("onnx.AttributeProto.AttributeType", kind.value)
            self._nested(target, attribute, original)
        else:
            ir.serde.serialize_attribute_into(target, attribute)
        set_changed(target, attribute, ("doc_string",))

    def _nested(self, target: onnx.AttributeProto, attribute: ir.Attr, original: onnx.AttributeProto | None) -> None:
        """Writes the graphs or tensors that an attribute holds, under the name that `target` has."""
        kind, value, name = attribute.type, attribute.value, target.name
        if kind is ir.AttributeType.GRAPH:
            self._graph(target.g, value, original.g if original is not None else None)
        elif kind is ir.AttributeType.GRAPHS:
            originals = original.graphs if original is not None else ()
            for graph, before in itertools.zip_longest(value, originals[: len(value)]):
                self._graph(target.graphs.add(), graph, before)
        elif kind is ir.AttributeType.SPARSE_TENSORS:
            for tensor in value:
                self._sparse(target.sparse_tensors.add(), tensor, tensor.origin.values.name)
        elif kind is ir.AttributeType.TENSORS:
            for tensor in value:
                self._tensor(target.tensors.add(), tensor, None, None)
        elif kind is ir.AttributeType.SPARSE_TENSOR or name == SPARSE_VALUE != attribute.name:
            target.type = onnx.AttributeProto.SPARSE_TENSOR
            self._sparse(target.sparse_tensor, value, value.origin.values.name)
        else:
            self._tensor(target.t, value, None, original.t if original is not None else None)

    def _tensor(
        self,
        target: onnx.TensorProto,
        tensor: ir.TensorProtocol,
        name: str | None,
        original: onnx.TensorProto | None,
    ) -> None:
        """Writes a tensor; `name` is that of the initializer, None in an attribute."""
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
            placed = self._store.place(tensor)
            for key, text in placed.items():
                target.external_data.add(key=key, value=text)
            if origin is not None and self._store.links(tensor):
                target.external_data.extend(entry for entry in origin.external_data if entry.key not in placed)
        elif isinstance(tensor, ir.ExternalTensor) and not self._stays(tensor):
            if origin is not None:
                copy_fields(target, origin, _ELEMENTS)
            else:
                target.data_type = tensor.dtype.value
                target.dims.extend(tensor.shape.numpy())
            target.raw_data = elements_of(tensor)
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


_NESTED = frozenset(
    {
        ir.AttributeType.GRAPH,
        ir.AttributeType.GRAPHS,
        ir.AttributeType.TENSOR,
        ir.AttributeType.TENSORS,
        ir.AttributeType.SPARSE_TENSOR,
        ir.AttributeType.SPARSE_TENSORS,
    }
)
_NESTED_FIELDS = frozenset({"g", "graphs", "t", "tensors", "sparse_tensor", "sparse_tensors"})
_REBUILT_IN_GRAPH = frozenset(
    {"node", "initializer", "sparse_initializer", "input", "output", "value_info", "quantization_annotation"}
)
_REBUILT_IN_FUNCTION = frozenset(
    {"node", "input", "output", "attribute", "attribute_proto", "opset_import", "value_info"}
)
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
