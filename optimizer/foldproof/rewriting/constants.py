"""Where a new constant is stored: as an initializer that is shared where an equal one exists, or as a Constant node."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from foldproof.facts.schema_inference import schema_of
from foldproof.graphs import admitted_types, tensor_type
from foldproof.large_tensors import SPILLED_FROM, Spill, are_possible
from foldproof.rewriting.names import Names
from foldproof.rewriting.rule import Reason

MAX_SHARED = 64
"""Constants of more bytes are not compared with those that are there: shape data is small."""

_Key: TypeAlias = "tuple[ir.DataType, tuple[int, ...], bytes]"


def as_tensor(data: np.ndarray[Any, Any] | np.generic | ir.TensorProtocol) -> ir.TensorProtocol:
    """A tensor of the IR from what a rule gives."""
    return ir.Tensor(np.asarray(data)) if isinstance(data, (np.ndarray, np.generic)) else data


def strings_of(array: np.ndarray[Any, Any]) -> list[bytes]:
    """The elements of an array of strings as a model stores them."""
    return [each if isinstance(each, bytes) else str(each).encode() for each in array.reshape(-1)]


class Constants:
    """Stores constants in a model.

    Args:
        model: The model that is being rewritten.
        names: The names that are taken.
        overridable: The initializers whose value is only a default: not to be shared.
        inputs_list_initializers: Whether this model must list its initializers as inputs too, as IR version 3 demands.
        initializers_are_inputs: Whether what is listed so counts as an input: then no initializer can be added.
    """

    def __init__(
        self,
        model: ir.Model,
        names: Names,
        overridable: frozenset[str],
        *,
        inputs_list_initializers: bool,
        initializers_are_inputs: bool,
    ) -> None:
        self._initializers_are_inputs = initializers_are_inputs
        self._model = model
        self._names = names
        self._overridable = overridable
        self._inputs_list_initializers = inputs_list_initializers
        self._stored: dict[_Key, ir.Value] | None = None
        self._spill = Spill()

    def store(
        self, tensor: ir.TensorProtocol, name: str, graph: ir.Graph, *, replaces: bool = False
    ) -> ir.Value | Reason:
        """A value that holds the tensor and that a node of the graph can read.

        In the main graph and its bodies it is an initializer of the main graph, shared with an equal one. A function
        has no initializers: there it is a new Constant node, first in the graph. So it is where an initializer would
        have to be listed as an input too, if a Constant node can hold it: the inputs are the model's contract.

        Args:
            tensor: The constant.
            name: The name that it gets where it is new and the name is free, else one derived from it.
            graph: The main graph, or the function's graph, in which the node stands that reads it.
            replaces: Whether it replaces the value that has the name now, so that one other bearer is none.

        Returns:
            The value, or the reason why it can't be stored.
        """
        if not are_possible(tensor.shape.numpy()):
            return _impossible(tensor)
        if type(tensor) is ir.Tensor and tensor.nbytes >= SPILLED_FROM:
            tensor = self._spill.tensor(tensor.numpy())
        name_it = self._names.derive if replaces else self._names.fresh
        if graph is not self._model.graph:
            return self._constant_node(tensor, name_it(name), graph, graph)
        key = _key(tensor)
        if key is not None and (known := self._index().get(key)) is not None and _is_there(known):
            return known
        value = self._of_main_graph(tensor, name_it(name))
        if isinstance(value, Reason):
            return value
        if key is not None:
            self._index()[key] = value
        return value

    def store_as_output(
        self, tensor: ir.TensorProtocol, name: str, graph: ir.Graph, root: ir.Graph
    ) -> ir.Value | Reason:
        """A constant that can be an output of a graph under a given name, so it is stored in that graph itself.

        Args:
            tensor: The constant.
            name: The name of the output.
            graph: The graph whose output it becomes.
            root: The main graph or function in which that graph stands.
        """
        if not are_possible(tensor.shape.numpy()):
            return _impossible(tensor)
        # Under IR version 3 a body can't hold an initializer: its inputs, where it must be listed, have a meaning.
        listed_in_body = self._inputs_list_initializers and graph is not root
        if root is not self._model.graph or listed_in_body:
            return self._constant_node(tensor, name, graph, root)
        return self._of_main_graph(tensor, name) if graph is root else self._initializer(tensor, name, graph)

    def _of_main_graph(self, tensor: ir.TensorProtocol, name: str) -> ir.Value | Reason:
        graph = self._model.graph
        if self._inputs_list_initializers:
            value = self._constant_node(tensor, name, graph, graph)
            if isinstance(value, ir.Value) or self._initializers_are_inputs:
                return value
        return self._initializer(tensor, name, graph)

    def _initializer(self, tensor: ir.TensorProtocol, name: str, graph: ir.Graph) -> ir.Value:
        value = _value_of(tensor, name)
        value.const_value = _named(tensor, name)
        graph.register_initializer(value)
        if self._inputs_list_initializers and graph is self._model.graph:
            graph.inputs.append(value)
        return value

    def _constant_node(
        self, tensor: ir.TensorProtocol, name: str, graph: ir.Graph, root: ir.Graph
    ) -> ir.Value | Reason:
        version = (root.opset_imports or self._model.graph.opset_imports).get("", 0)
        schema = schema_of("", "Constant", version)
        if schema is None or tensor_type(tensor.dtype) not in admitted_types(schema, schema.outputs[0]):
            return Reason("no Constant node of opset {} can hold a tensor of {}", version, tensor.dtype.name.lower())
        value = _value_of(tensor, name)
        node = ir.Node("", "Constant", [], [ir.AttrTensor("value", tensor)], outputs=[value])
        if len(graph):
            graph.insert_before(graph[0], node)
        else:
            graph.append(node)
        return value

    def _index(self) -> dict[_Key, ir.Value]:
        """The small constants that are there, by their content. Made at the first question."""
        if self._stored is None:
            self._stored = {}
            for value in self._model.graph.initializers.values():
                if value.name in self._overridable or value.const_value is None:
                    continue
                key = _key(value.const_value)
                if key is not None:
                    self._stored.setdefault(key, value)
        return self._stored


def _is_there(value: ir.Value) -> bool:
    """Whether a constant that was stored before is still in the model."""
    maker = value.producer()
    return value.is_initializer() if maker is None else maker.graph is not None


def _key(tensor: ir.TensorProtocol) -> _Key | None:
    """What makes two tensors the same constant; None for one that is not small, or that can't be read."""
    if tensor.dtype is ir.DataType.STRING or tensor.nbytes > MAX_SHARED:
        return None
    try:
        return tensor.dtype, tuple(tensor.shape.numpy()), tensor.tobytes()
    except (OSError, ValueError):  # its external data file is missing, or may not be read
        return None


def _impossible(tensor: ir.TensorProtocol) -> Reason:
    return Reason("no file may hold a tensor with the dims {}", list(tensor.shape.numpy()))


def _value_of(tensor: ir.TensorProtocol, name: str) -> ir.Value:
    return ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=ir.Shape(tensor.shape.numpy()))


def rename(value: ir.Value, name: str) -> None:
    """Gives a value another name. A tensor that it holds may be the caller's, and keeps its own."""
    if value.const_value is not None:
        value.const_value = _named(value.const_value, name)
    value.name = name


def _named(tensor: ir.TensorProtocol, name: str) -> ir.TensorProtocol:
    """The tensor under a name; the same data under another name is another tensor, the data shared."""
    if tensor.name == name:
        return tensor
    if tensor.name and tensor.dtype is ir.DataType.STRING:
        return ir.StringTensor(strings_of(tensor.numpy()), shape=ir.Shape(tensor.shape.numpy()), name=name)
    if tensor.name:
        return ir.LazyTensor(lambda: tensor, dtype=tensor.dtype, shape=ir.Shape(tensor.shape.numpy()), name=name)
    tensor.name = name
    return tensor
