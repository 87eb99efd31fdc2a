"""Carries out what a rule says: the one place where nodes of a graph are put in, replaced and taken away."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.facts.description import known_shapes
from foldproof.facts.fact import is_more
from foldproof.graphs import ANNOTATION, bodies_of, has_name_among
from foldproof.rewriting.builder import Builder, CannotBuild
from foldproof.rewriting.constants import Constants, as_tensor
from foldproof.rewriting.description import place_of, values_texts
from foldproof.rewriting.listener import Listener
from foldproof.rewriting.names import Names
from foldproof.rewriting.provenance import hand_down, orphans
from foldproof.rewriting.rule import Action, Constant, Forward, Reason, Remove, Replace
from foldproof.rewriting.worklist import Worklist


@dataclasses.dataclass(frozen=True)
class Change:
    """What an edit did, in words for the ledger.

    Attributes:
        added: What was put in.
        because: The facts that it rests on.
    """

    added: tuple[str, ...] = ()
    because: tuple[str, ...] = ()


class Editor:
    """Changes a model in place, and tells those who listen.

    Args:
        facts: What is proven. What a new value takes the place of, is true of it too.
        names: The names that are taken.
        constants: Where constants are stored.
        worklist: What an edit touches is queued here.
        keep: Names of nodes that stay as they are.
        listeners: Who else is told.
    """

    def __init__(
        self,
        facts: Facts,
        names: Names,
        constants: Constants,
        worklist: Worklist,
        keep: frozenset[str],
        listeners: Iterable[Listener] = (),
    ) -> None:
        self._facts = facts
        self._names = names
        self._constants = constants
        self._worklist = worklist
        self._keep = keep
        self._listeners: tuple[Listener, ...] = (worklist, *listeners)

    def apply(self, node: ir.Node, action: Action) -> Change | Reason:
        """Carries out an action at a node.

        Returns:
            What was done; or the reason why it can't be done, where nothing is changed.
        """
        assert node.graph is not None
        builder: Builder | None = None
        replacements: Sequence[ir.Value | None]
        gone = [node, *(action.gone_too if isinstance(action, Replace) else ())]
        for listener in self._listeners:
            listener.begins(gone)
        if isinstance(action, Remove):
            replacements = [None] * len(node.outputs)
        elif isinstance(action, Forward):
            if self._is_only_a_name(node, action.values[0]):
                return Reason("it gives an output of the graph its name")
            replacements = action.values
            if _lacks(gone, replacements):
                return Reason("it would read what is left out")
        elif isinstance(action, Constant):
            stored = self._stored(node, action)
            if isinstance(stored, Reason):
                return stored
            replacements = stored
        else:
            kept = next((each for each in action.gone_too if self.is_kept(each)), None)
            if kept is not None:
                return Reason("the node {} would go with it", kept.name)
            try:
                replacements, builder = self._built(node, gone, action.build)
            except CannotBuild as failure:
                return failure.reason
        change = Change()
        if not isinstance(action, Remove):
            change = Change(values_texts(replacements), known_shapes(node.inputs, self._facts))
        read = [value for each in gone for value in each.inputs]
        for output, value in zip((output for each in gone for output in each.outputs), replacements, strict=True):
            if value is not None:
                self._replace(output, value, node)
        for each in gone:
            self._discard(each)
        if builder is not None:
            hand_down([*gone, *orphans(read)], (each for each in builder.nodes if each not in builder.moved))
            for each in builder.nodes:
                self._created(each)
        return change

    def is_kept(self, node: ir.Node) -> bool:
        """Whether the person wants a node to stay, or one that it holds in its bodies."""
        return has_name_among(node, self._keep)

    def remove_initializer(self, value: ir.Value, graph: ir.Graph, other: ir.Value | None) -> None:
        """Takes an initializer away; what reads it reads another one. Nothing is queued: a round begins after it."""
        for listener in self._listeners:
            listener.begins(())
            if other is not None:
                listener.forwarded(value, other)
        if other is not None:
            value.replace_all_uses_with(other)
        del graph.initializers[str(value.name)]
        if value.is_graph_input():
            graph.inputs.remove(value)

    # Making what takes the node's place ------------------------------------------------------------------------------

    def _stored(self, node: ir.Node, action: Constant) -> list[ir.Value | None] | Reason:
        """Stores the constants that the outputs of a node become."""
        values: list[ir.Value | None] = []
        for output, tensor in zip(node.outputs, action.tensors, strict=True):
            stored = None if tensor is None else self._store(output, as_tensor(tensor))
            if isinstance(stored, Reason):
                return stored
            values.append(stored)
        return values

    def _store(self, output: ir.Value, tensor: ir.TensorProtocol) -> ir.Value | Reason:
        graph = output.graph
        assert graph is not None
        root = self._facts.root(graph)
        if output.is_graph_output():
            return self._constants.store_as_output(tensor, str(output.name), graph, root)
        # An output that a node leaves out has no name, and is never read.
        return self._constants.store(tensor, output.name or "constant", root, replaces=bool(output.name))

    def _built(
        self, node: ir.Node, gone: Sequence[ir.Node], build: Callable[[Builder], ir.Value | Sequence[ir.Value | None]]
    ) -> tuple[Sequence[ir.Value | None], Builder]:
        assert node.graph is not None
        store = partial(self._constants.store, graph=self._facts.root(node.graph))
        builder = Builder(self._names, store, place_of(node), self._facts.owner)
        try:
            built = build(builder)
        except OverflowError as error:  # such as a target that no int64 holds
            raise CannotBuild(Reason("{}", error)) from error
        if built is None or (not isinstance(built, ir.Value) and _lacks(gone, built)):
            raise CannotBuild(Reason("it would read what is left out"))
        node.graph.insert_before(node, builder.nodes)
        for new in builder.nodes:
            self._facts.order.place(new, node)
            self._facts.adopt(new)
        for body in builder.extended:
            self._facts.order.number(body)
        self._worklist.push(self._facts.infer_again(dict.fromkeys(builder.rereading)))
        return ([built] if isinstance(built, ir.Value) else built), builder

    # Putting it there ------------------------------------------------------------------------------------------------

    def _created(self, node: ir.Node) -> None:
        for listener in self._listeners:
            listener.created(node)

    def _replace(self, output: ir.Value, value: ir.Value, node: ir.Node) -> None:
        """Lets all that reads an output read another value, under the output's name where that is a graph's output."""
        for listener in self._listeners:
            listener.replaced(output, value)
        before, known = self._facts.of(output), self._facts.of(value)
        self._facts.learn(value, before)
        learnt = self._facts.of(value)
        readers = list(self._facts.readers(output))
        graph, name = output.graph, output.name
        assert graph is not None
        if output.is_graph_output():
            if value.graph is not graph or value.name != output.name:
                value = self._under_its_name(output, value, node, graph)
            _declare_as(value, output)
            _hand_out(graph, output, value)
        if ANNOTATION in output.meta and value.graph is graph and value.name == name:
            value.meta[ANNOTATION] = output.meta[ANNOTATION]  # it is of the name, which the value has now
        output.replace_all_uses_with(value)
        if is_more(learnt, before):  # those that read the value before know it already, unless it learnt something too
            readers = list(self._facts.readers(value)) if is_more(learnt, known) else readers
            self._worklist.push(self._facts.infer_again(readers))

    def _under_its_name(self, output: ir.Value, value: ir.Value, node: ir.Node, graph: ir.Graph) -> ir.Value:
        """A graph's output keeps its name: the new value takes it, or an Identity hands the value out under it."""
        name, output.name = output.name, self._names.fresh(f"{output.name}_replaced")
        if self._can_take_name(value, graph):
            value.name = name
            return value
        identity = ir.Node("", "Identity", [value], outputs=[ir.Value(name=name)])
        hand_down([node], [identity])
        graph.insert_before(node, identity)
        self._facts.order.place(identity, node)
        self._created(identity)  # of a constant, it is folded
        return identity.outputs[0]

    def _is_only_a_name(self, node: ir.Node, value: ir.Value | None) -> bool:
        """Whether a node is an Identity that names an output of a graph, and another would have to take its place."""
        output = node.outputs[0]
        if node.op_type != "Identity" or node.domain or not output.is_graph_output():
            return False
        return value is None or not self._can_take_name(value, output.graph)

    def _can_take_name(self, value: ir.Value, graph: ir.Graph | None) -> bool:
        """Whether a value can become an output of a graph under another name: it is made there, and is none yet."""
        maker = value.producer()
        if maker is None or maker.name in self._keep:
            return False
        return maker.graph is graph and not value.is_graph_output()

    def _discard(self, node: ir.Node) -> None:
        """Takes a node out of its graph, with all that its bodies hold."""
        # A body that another node has taken over stays.
        own = [body for body in bodies_of(node) if self._facts.owner(body) is node]
        gone = [node, *(each for body in own for each in body.all_nodes())] if own else [node]
        read: list[list[ir.Value]] = []
        for each in gone:
            inputs = each.inputs
            read.append([value for value in inputs if value is not None])
            for index, value in enumerate(inputs):
                if value is not None:
                    each.replace_input_with(index, None)
        for each in gone:  # what is in no graph any more is not offered to rules
            if each.graph is not None:
                each.graph.remove(each)
        for each, inputs in zip(gone, read, strict=True):
            for listener in self._listeners:
                listener.removed(each, inputs)


def _hand_out(graph: ir.Graph, output: ir.Value, value: ir.Value) -> None:
    """Lets a graph hand out another value. The IR's own way to do it is slow where there are thousands of outputs."""
    while output.is_graph_output():
        graph.outputs[graph.outputs.index(output)] = value


def _declare_as(value: ir.Value, output: ir.Value) -> None:
    """What the model declares of an output of a graph is part of the contract: it stays as it is written."""
    value.type, value.shape, value.doc_string = output.type, output.shape, output.doc_string
    value.metadata_props.update(output.metadata_props)


def _lacks(gone: Sequence[ir.Node], replacements: Sequence[ir.Value | None]) -> bool:
    """Whether nothing is given for an output that is read, as where a malformed node leaves an input out."""
    outputs = (output for each in gone for output in each.outputs)
    return any(
        value is None and (output.is_graph_output() or any(use.node not in gone for use in output.uses()))
        for output, value in zip(outputs, replacements, strict=False)
    )
