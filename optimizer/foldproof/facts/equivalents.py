"""Finds what is there twice: equal shape data, equal computations, equal initializers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike
from foldproof.large_tensors import digest_of, let_go

if TYPE_CHECKING:
    from foldproof.facts.engine import Facts

_Each = TypeVar("_Each", ir.Node, ir.Value)
_Computed: TypeAlias = "dict[ir.Graph, list[ir.Node]]"  # of one computation, the nodes by their graphs
_Key: TypeAlias = "tuple[ir.DataType, tuple[DimLike, ...], tuple[DimLike, ...]]"


class Order:
    """Tells which nodes come before which, in and across the bodies of a model.

    Args:
        owner: Gives the node that holds a graph as its body, None for the main graph or a function's.
    """

    def __init__(self, owner: Callable[[ir.Graph], ir.Node | None]) -> None:
        self._owner = owner
        self._positions: dict[ir.Node, int] = {}
        self._free: dict[ir.Node, int] = {}

    def place(self, new: ir.Node, where: ir.Node) -> None:
        """Gives a new node a position: it was inserted right in front of another one."""
        position = self.position(where)
        last = self._free.get(where, position - GAP)
        if position - last < 2:
            assert where.graph is not None
            self.number(where.graph)  # the new node is there already, and gets its number
            return
        self._positions[new] = (last + position) // 2
        self._free[new], self._free[where] = last, self._positions[new]

    def graphs_around(self, graph: ir.Graph | None) -> Iterator[ir.Graph]:
        """A graph, and those around it, from the inside out: a node can read what is in any of them."""
        while graph is not None:
            yield graph
            owner = self._owner(graph)
            graph = None if owner is None else owner.graph

    def is_ready(self, value: ir.Value, node: ir.Node) -> bool:
        """Whether a node can read a value: it is made before the node, in its graph or in one around it."""
        graph, maker = value.graph, value.producer()
        at: ir.Node | None = node
        while at is not None and at.graph is not graph:
            at = None if at.graph is None else self._owner(at.graph)
        return at is not None and (maker is None or self.position(maker) < self.position(at))

    def position(self, node: ir.Node) -> int:
        """A number that tells of two nodes of one graph which comes first. It changes when others are put in."""
        if node not in self._positions:
            assert node.graph is not None
            self.number(node.graph)
        return self._positions[node]

    def number(self, graph: ir.Graph) -> None:
        """Gives each node of a graph its position, whatever it was before."""
        for number, each in enumerate(graph):
            self._positions[each] = number * GAP
            self._free.pop(each, None)


GAP = 2**256
"""The room between the positions of two nodes of the given model, for those that are put between them.

Each that is put in halves what is left in front of its follower: so that is hardly ever used up, and then the graph is
numbered again.
"""

MAX_CONTENT = 64
"""Constants of at most this many bytes are compared by content where computations are compared."""

SAMPLED = 192
"""Tensors of more elements are compared by so many of them first, and as a whole only where these are the same."""


class Equivalents:
    """The first of everything that has been asked about.

    Args:
        facts: The facts of the model.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        # By the graph too: of a thousand branches that hold the same, none looks into the others.
        self._first: dict[_Key, dict[ir.Graph | None, list[ir.Value]]] = {}
        self._computed: dict[Hashable, _Computed] = {}
        self._computations: dict[ir.Node, tuple[Sequence[ir.Value | None], _Computed | None]] = {}
        self._stored: dict[Hashable, _Group] = {}

    def earlier_node(self, node: ir.Node) -> ir.Node | None:
        """Another node that computes the same of the same, and that stands before this one.

        Random and unknown operators compute nothing twice, and nodes with bodies are not compared.
        """
        computed = self._computation(node)
        if computed is None:
            return None
        assert node.graph is not None
        here = computed.get(node.graph)
        if len(computed) == 1 and here is not None and len(here) == 1 and here[0] is node:
            return None  # as for nearly all nodes that are asked about again
        order = self._facts.order
        for graph in order.graphs_around(node.graph) if computed else ():
            for other in computed.get(graph, ()):
                is_there = other is not node and other.graph is graph and self._computation(other) is computed
                if is_there and order.is_ready(other.outputs[0], node):
                    return other
        _enter(node, computed.setdefault(node.graph, []), lambda other: other.graph is not None)
        return None

    def earlier_initializer(self, value: ir.Value) -> ir.Value | None:
        """Another initializer of the main graph that holds the same bits under the same type and dims.

        Contents are read only where type and dims are the same. An initializer that the caller may override is none.
        """
        tensor = value.const_value
        is_output = value.is_graph_output() or not self._facts.is_in_main(value.graph)
        if tensor is None or is_output or self._facts.is_overridable(value) or tensor.dtype is ir.DataType.STRING:
            return None
        group = self._stored.setdefault((tensor.dtype, tuple(tensor.shape.numpy())), _Group())
        other = group.first_equal(value)
        if other is None and value.graph is not None and self._facts.owner(value.graph) is None:
            group.add(value)
        return other

    def _computation(self, node: ir.Node) -> _Computed | None:
        """The nodes that compute the same as this one; None for a node that can't be compared."""
        inputs, computed = self._computations.get(node, (None, None))
        if inputs is not node.inputs:  # they are a new tuple after each change
            content = self._content(node) if self._facts.is_deterministic(node) else None
            computed = None if content is None else self._computed.setdefault(content, {})
            self._computations[node] = node.inputs, computed
        return computed

    def _content(self, node: ir.Node) -> Hashable:
        """The operator, the inputs, the attributes and which outputs are left out; None where it can't be compared."""
        attributes = []
        for name, attribute in sorted(node.attributes.data.items()):
            content = _attribute_content(attribute)
            if content is None:
                return None
            attributes.append((name, attribute.type, content))
        inputs = tuple([self._input_content(value) for value in node.inputs])
        outputs = tuple([bool(output.name) for output in node.outputs])
        return node.domain, node.op_type, node.overload, inputs, tuple(attributes), outputs

    def _input_content(self, value: ir.Value | None) -> Hashable:
        """An input as it is compared: a small constant by its content, all else by what it is."""
        tensor = None if value is None else self._facts.of(value).constant
        if tensor is None or tensor.dtype is ir.DataType.STRING or tensor.nbytes > MAX_CONTENT:
            return value
        try:
            return tensor.dtype, tuple(tensor.shape.numpy()), tensor.tobytes()
        except (OSError, ValueError):  # its external data file is missing, or may not be read
            return value

    def earlier(self, value: ir.Value) -> ir.Value | None:
        """Another value that is proven to be always equal, and that the maker of this one could read instead.

        One that nothing reads is none: it is about to go, with all that it is made of.
        """
        key, node = self._key(value), value.producer()
        if key is None or node is None:
            return None
        order, is_read = self._facts.order, self._facts.is_read
        first = self._first.setdefault(key, {})
        for graph in order.graphs_around(value.graph) if first else ():
            for other in first.get(graph, ()):
                if other is not value and other.graph is graph and is_read(other) and order.is_ready(other, node):
                    return other
        _enter(value, first.setdefault(value.graph, []), is_read)
        return None

    def _key(self, value: ir.Value) -> _Key | None:
        fact = self._facts.of(value)
        if fact.dtype is not ir.DataType.INT64:  # first, as next to no value is one
            return None
        dims, shape = fact.dims, fact.shape
        if dims is None or shape is None:
            return None
        return (fact.dtype, shape, dims) if any(isinstance(dim, Dim) for dim in dims) else None


def _enter(each: _Each, group: list[_Each], is_there: Callable[[_Each], bool]) -> None:
    """Adds to a group what is not in it, and takes out what is gone, or is about to go, so that it stays short."""
    if len(group) & (len(group) - 1) == 0:  # whenever it has doubled
        group[:] = filter(is_there, group)
    if each not in group:
        group.append(each)


class _Group:
    """Initializers of one type and dims. Contents are read from the second one on, once each."""

    def __init__(self) -> None:
        self._unread: ir.Value | None = None
        self._by_sample: dict[bytes, list[ir.Value]] = {}
        self._contents: dict[ir.Value, _Content] = {}

    def first_equal(self, value: ir.Value) -> ir.Value | None:
        """The one that was added with the same bits and is still there."""
        if self._unread is None and not self._by_sample:
            return None
        if self._unread is value:
            return None
        if self._unread is not None:
            self._enter(self._unread)
            self._unread = None
        content = self._content(value)
        if content.sample is None:
            return None
        for other in self._by_sample.get(content.sample, ()):
            if other is not value and other.is_initializer() and content.is_same(self._content(other)):
                return other
        return None

    def add(self, value: ir.Value) -> None:
        """Adds one that equals none of the others."""
        if self._unread is None and not self._by_sample:
            self._unread = value
        elif self._unread is not value:
            self._enter(value)

    def _enter(self, value: ir.Value) -> None:
        sample = self._content(value).sample
        if sample is not None:
            alike = self._by_sample.setdefault(sample, [])
            if value not in alike:
                alike.append(value)

    def _content(self, value: ir.Value) -> _Content:
        content = self._contents.get(value)
        if content is None or content.tensor is not value.const_value:
            assert value.const_value is not None
            content = self._contents[value] = _Content(value.const_value)
        return content


class _Content:
    """What tells the bits of a tensor: -0.0 is not 0.0, and NaNs have their payload.

    Attributes:
        tensor: The tensor.
        sample: The first, the middle and the last elements; None where they can't be read.
    """

    def __init__(self, tensor: ir.TensorProtocol) -> None:
        self.tensor = tensor
        self.sample: bytes | None = None
        self._digest: bytes | None = None
        with contextlib.suppress(OSError, ValueError), let_go(tensor):  # its data file is missing, or may not be read
            self.sample = _sample(tensor)

    def is_same(self, other: _Content) -> bool:
        """Whether one of the same type, dims and sample has the same bits."""
        return self.tensor.size <= SAMPLED or self._read() == other._read()

    def _read(self) -> bytes:
        if self._digest is None:
            self._digest = digest_of(self.tensor)
        return self._digest


def _sample(tensor: ir.TensorProtocol) -> bytes:
    """The bytes of the first, the middle and the last elements. No view of them is left behind."""
    array = tensor.numpy().reshape(-1)
    middle = array.size // 2
    parts = [array] if array.size <= SAMPLED else [array[:64], array[middle : middle + 64], array[-64:]]
    return b"".join(part.tobytes() for part in parts)


def _attribute_content(attribute: ir.Attr) -> Hashable:
    """An attribute's value as it is compared; None for one that holds a graph, or refers to a function's attribute."""
    if attribute.is_ref():
        return None
    if attribute.type is ir.AttributeType.TENSOR:
        tensor: ir.TensorProtocol = attribute.value  # `as_tensor` asks for each property of the protocol
        if tensor.dtype is ir.DataType.STRING:
            return None
        try:
            return tensor.dtype, tuple(tensor.shape.numpy()), tensor.tobytes()
        except OSError:  # its data file is missing
            return None
    value = attribute.value
    if isinstance(value, (int, str, bytes)):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, tuple) and all(isinstance(each, (int, str, bytes)) for each in value):
        return value
    if isinstance(value, tuple) and all(isinstance(each, float) for each in value):
        return tuple(each.hex() for each in value)
    return None
