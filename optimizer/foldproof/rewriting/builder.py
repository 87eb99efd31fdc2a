"""Makes the new nodes of a rewrite, written as `op.Size(x)`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.rewriting.constants import as_tensor, rename
from foldproof.rewriting.inlining import Store, Unpacked, copy_of, unpack, values_of
from foldproof.rewriting.names import Names
from foldproof.rewriting.rule import Reason


class CannotBuild(Exception):
    """A rewrite needs something that can't be made where it stands, such as a constant of a type that none holds."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(str(reason))


class Builder:
    """Makes nodes in front of the one that they replace.

    Args:
        names: The names that are taken.
        store: Stores a constant and gives its value.
        stem: The name that the names of new values derive from: that of the output which is replaced.
        owner: Gives the node that holds a graph as its body, None for the main graph or a function's.

    Attributes:
        nodes: All that were made or moved, in their order.
        moved: Those that were there before, and have a history of their own.
        extended: Bodies to which nodes were moved.
        rereading: Nodes that were there before and read something else now, of which more may be known.
    """

    def __init__(self, names: Names, store: Store, stem: str, owner: Callable[[ir.Graph], ir.Node | None]) -> None:
        self._names = names
        self._store = store
        self._stem = stem
        self._owner = owner
        self.nodes: list[ir.Node] = []
        self.moved: set[ir.Node] = set()
        self.extended: list[ir.Graph] = []
        self.rereading: list[ir.Node] = []

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        """An operator of `ai.onnx`, called with its inputs and its attributes by name."""
        if not op_type[:1].isupper():
            raise AttributeError(op_type)
        return lambda *inputs, **attributes: self.node(op_type, *inputs, **attributes)

    def node(
        self, op_type: str, *inputs: ir.Value | None, domain: str = "", outputs: int = 1, **attributes: Any
    ) -> ir.Value | tuple[ir.Value, ...]:
        """One new node; its output, or all of them where there is more than one."""
        made = [ir.Value(name=self._names.fresh(f"{self._stem}_{op_type}")) for _ in range(outputs)]
        converted = ir.convenience.convert_attributes(attributes)
        node = ir.Node(domain, op_type, inputs, converted, outputs=made, name=made[0].name)
        self.nodes.append(node)
        return made[0] if outputs == 1 else tuple(made)

    def constant(self, array: np.ndarray[Any, Any] | np.generic | ir.TensorProtocol) -> ir.Value:
        """A constant, shared with an equal one where there is one.

        Raises:
            CannotBuild: Where no constant of this type can be stored. The rewriter takes it as the reason.
        """
        value = self._store(as_tensor(array), f"{self._stem}_constant")
        if isinstance(value, Reason):
            raise CannotBuild(value)
        return value

    def remake(
        self,
        node: ir.Node,
        *,
        inputs: Sequence[ir.Value | None] | None = None,
        without: Container[int] = (),
        extra: Sequence[ir.Value] = (),
        **attributes: Any,
    ) -> list[ir.Value | None]:
        """A node like one that it takes the place of. It takes over the bodies, which may be changed here.

        Args:
            node: The node that goes.
            inputs: What the new one reads; the same where that is left out.
            without: The positions of the outputs that it has no more.
            extra: Values that go too, and of which it has a like output after its own.
            attributes: Those that it has otherwise; None for one that it has no more.

        Returns:
            For each output of the node, and each extra one, that of the new one; None where it has none.
        """
        kept = [None if k in without else self._like(output) for k, output in enumerate(node.outputs)]
        kept += [self._like(value) for value in extra]
        changed = {attribute.name: attribute for attribute in ir.convenience.convert_attributes(attributes)}
        merged = {**node.attributes, **changed}
        self.nodes.append(
            ir.Node(
                node.domain,
                node.op_type,
                node.inputs if inputs is None else inputs,
                [attribute for name, attribute in merged.items() if attributes.get(name, attribute) is not None],
                overload=node.overload,
                outputs=[value for value in kept if value is not None],
                version=node.version,
                name=node.name,
                doc_string=node.doc_string,
            )
        )
        return kept

    def _like(self, value: ir.Value) -> ir.Value:
        name = self._names.derive(value.name) if value.name else value.name
        like = ir.Value(name=name, type=value.type, shape=value.shape, doc_string=value.doc_string)
        like.metadata_props.update(value.metadata_props)
        return like

    def move(self, node: ir.Node) -> None:
        """Moves a node out of a body. All that it reads must be readable here. Names that are there twice change."""
        assert node.graph is not None
        node.graph.remove(node)
        for output in node.outputs:
            if output.name:
                output.name = self._names.derive(output.name)
        self.nodes.append(node)
        self.moved.add(node)

    def reread(self, old: ir.Value, new: ir.Value, inside: Iterable[ir.Graph]) -> None:
        """Lets all nodes in some bodies, at any depth, read another value in the place of one."""
        bodies = frozenset(inside)
        for use in old.uses():
            if self._stands_in(use.node, bodies):
                use.node.replace_input_with(use.idx, new)
                self.rereading.append(use.node)

    def _stands_in(self, node: ir.Node, bodies: Container[ir.Graph]) -> bool:
        """Whether a node stands in one of some bodies, at any depth."""
        at: ir.Node | None = node
        while at is not None and at.graph is not None and at.graph not in bodies:
            at = self._owner(at.graph)
        return at is not None and at.graph is not None

    def extend(self, body: ir.Graph, other: ir.Graph) -> None:
        """Moves all that a body holds to the end of another one, which hands out what both did. Neither has inputs.

        Names that others have too are changed, at any depth: what the two bodies call alike is not the same.

        Args:
            body: The body that stays.
            other: The body that goes. It is empty afterwards.
        """
        outputs, nodes = list(other.outputs), list(other)
        other.outputs.clear()  # first: one of them may be an initializer, which belongs to no other graph then
        for name, value in list(other.initializers.items()):
            del other.initializers[name]
            rename(value, self._names.derive(name))
            body.register_initializer(value)
        for node in nodes:
            other.remove(node)
        for value in values_of(nodes):
            if value.name:
                rename(value, self._names.derive(value.name))
        body.extend(nodes)
        body.outputs.extend(outputs)
        self.extended.append(body)

    def inline(self, body: ir.Graph, *inputs: ir.Value | None) -> list[ir.Value | None]:
        """Moves all nodes of a body that goes out of it. Values keep their names where nothing else has them.

        Args:
            body: The body. It is empty afterwards.
            inputs: What each of its inputs is.

        Returns:
            The values that it handed out.

        Raises:
            CannotBuild: Its initializers can't be stored.
        """
        unpacked = self._unpacked(body, inputs, self._names.derive)
        self.moved.update(unpacked.nodes)
        return unpacked.outputs

    def inline_copy(
        self, graph: ir.Graph, *inputs: ir.Value | None, attributes: Mapping[str, ir.Attr] | None = None
    ) -> list[ir.Value | None]:
        """The same of a body or function that stays as it is: its nodes are copied, under names of their own.

        Args:
            graph: The graph to copy.
            inputs: What each of its inputs is.
            attributes: For a function's graph, the attributes of the call.
        """
        copy = copy_of(graph, self._names.fresh, attributes)
        unpacked = self._unpacked(copy, inputs, self._names.fresh)
        for node in unpacked.nodes:
            node.name = next((output.name for output in node.outputs if output.name), node.name)
        return unpacked.outputs

    def _unpacked(self, body: ir.Graph, inputs: Sequence[ir.Value | None], derive: Callable[[str], str]) -> Unpacked:
        unpacked = unpack(body, inputs, derive, self._store)
        if isinstance(unpacked, Reason):
            raise CannotBuild(unpacked)
        self.nodes.extend(unpacked.nodes)
        self.rereading.extend(unpacked.readers)
        return unpacked
