"""Makes a model that onnx_ir built or cloned our own: nothing done to it reaches the original."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping

import onnx
import onnx_ir as ir

from foldproof.graphs import all_graphs, bodies_within
from foldproof.model_file.opsets import effective_imports
from foldproof.model_file.tensors import ProtoTensor, SparseTensor
from foldproof.model_file.views import SparseStandIn, is_constant
from foldproof.validation import canonical_domain

_TENSOR = ir.AttributeType.TENSOR
_TENSORS = ir.AttributeType.TENSORS
_HOLDS_ONE = frozenset({_TENSOR, ir.AttributeType.SPARSE_TENSOR})
_HOLDS_TENSORS = _HOLDS_ONE | {_TENSORS, ir.AttributeType.SPARSE_TENSORS}
_GRAPHS = ir.AttributeType.GRAPHS
_HOLDS_GRAPHS = frozenset({ir.AttributeType.GRAPH, _GRAPHS})
_COPYABLE = (
    ir.Tensor,
    ir.ExternalTensor,
    ir.StringTensor,
    ir.LazyTensor,
    ir.PackedTensor,
    ir.TensorProtoTensor,
)


def adopt(model: ir.Model, proto: onnx.ModelProto, placed: Callable[[ir.ExternalTensor], ir.ExternalTensor]) -> None:
    """Finishes a model that was just deserialized.

    Args:
        model: What onnx_ir made of `proto`. It is changed.
        proto: The original, not changed.
        placed: Gives an external tensor the folder that its data lies in.
    """

    def adopted(tensor: ir.TensorProtocol) -> ir.TensorProtocol:
        if isinstance(tensor, ir.serde.TensorProtoTensor):
            origin = tensor.raw
            return SparseTensor(origin.sparse) if isinstance(origin, SparseStandIn) else ProtoTensor(origin)
        return placed(tensor) if isinstance(tensor, ir.ExternalTensor) else tensor

    _replace_tensors(model, adopted)
    _set_opsets(model.graph, effective_imports(proto.opset_import, proto.ir_version))
    for function, original in zip(model.functions.values(), proto.functions, strict=False):
        _set_opsets(function, effective_imports(original.opset_import, proto.ir_version))


def detach(clone: ir.Model) -> None:
    """Gives the tensors of a model that was just cloned names of their own. The elements stay shared."""

    def detached(tensor: ir.TensorProtocol) -> ir.TensorProtocol:
        if type(tensor) is ir.serde.TensorProtoTensor:
            return ProtoTensor(tensor.raw)
        return copy.copy(tensor) if isinstance(tensor, _COPYABLE) else tensor

    _replace_tensors(clone, detached)
    owners: list[ir.Graph | ir.Function] = [clone.graph, *clone.functions.values()]
    for owner in owners:
        _set_opsets(owner, {canonical_domain(domain): version for domain, version in owner.opset_imports.items()})


def tensors_of(model: ir.Model) -> Iterator[ir.TensorProtocol]:
    """All tensors of a model: initializers, and tensors in attributes and in their defaults."""
    for graph in _graphs_of(model):
        for value in graph.initializers.values():
            if value.const_value is not None:
                yield value.const_value
        for node in graph:
            if node.attributes:
                yield from _in_attributes(node.attributes)
    for function in model.functions.values():
        yield from _in_attributes(function.attributes)


def _graphs_of(model: ir.Model) -> Iterator[ir.Graph]:
    """All graphs of a model, those in the defaults of functions too."""
    yield from all_graphs(model)
    for function in model.functions.values():
        for attribute in function.attributes.values():
            if attribute.type in _HOLDS_GRAPHS and attribute.value is not None:
                for graph in attribute.as_graphs() if attribute.type is _GRAPHS else [attribute.as_graph()]:
                    yield graph
                    yield from bodies_within(graph)


def _in_attributes(attributes: Mapping[str, ir.Attr]) -> Iterator[ir.TensorProtocol]:
    for attribute in attributes.values():
        if attribute.type is _TENSOR and attribute.value is not None:
            yield attribute.value
        elif attribute.type is _TENSORS and attribute.value is not None:
            yield from attribute.value


def _replace_tensors(model: ir.Model, replace: Callable[[ir.TensorProtocol], ir.TensorProtocol]) -> None:
    """Puts `replace(tensor)` in the place of each initializer and of each tensor in an attribute."""
    for graph in _graphs_of(model):
        for value in graph.initializers.values():
            if value.const_value is not None:
                tensor = replace(value.const_value)
                if isinstance(tensor, SparseTensor):  # its stand-in had another type
                    value.type, value.shape = ir.TensorType(tensor.dtype), tensor.shape
                value.const_value = tensor
        for node in graph:
            if node.attributes:
                _replace_in_attributes(node.attributes, replace, is_constant(node))
    for function in model.functions.values():
        _replace_in_attributes(function.attributes, replace)


def _replace_in_attributes(
    attributes: MutableMapping[str, ir.Attr],
    replace: Callable[[ir.TensorProtocol], ir.TensorProtocol],
    of_constant: bool = False,
) -> None:
    for name, attribute in attributes.items():
        kind = attribute.type
        if kind not in _HOLDS_TENSORS or attribute.value is None:
            continue
        if kind in _HOLDS_ONE:
            new: object = replace(attribute.value)
            if isinstance(new, SparseTensor) and not of_constant:
                kind = ir.AttributeType.SPARSE_TENSOR
        else:
            new = tensors = [replace(tensor) for tensor in attribute.value]
            if any(isinstance(tensor, SparseTensor) for tensor in tensors):
                kind = ir.AttributeType.SPARSE_TENSORS
        attributes[name] = ir.Attr(name, kind, new, doc_string=attribute.doc_string)


def _set_opsets(owner: ir.Graph | ir.Function, imports: dict[str, int]) -> None:
    owner.opset_imports.clear()
    owner.opset_imports.update(imports)
