"""The worklist: each node is offered to the rules of its operator, until none has anything to do."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import onnx_ir as ir

from foldproof.errors import FoldproofError, RuleError
from foldproof.facts import Facts
from foldproof.facts.description import known_shapes
from foldproof.facts.fact import is_more
from foldproof.graphs import all_graphs, annotated_names, bodies_of, node_label, operator_name
from foldproof.rewriting.builder import Builder, CannotBuild
from foldproof.rewriting.conformance import complaint, malformation
from foldproof.rewriting.constants import Constants, as_tensor
from foldproof.rewriting.inlining import inline
from foldproof.rewriting.ledger import Entry, Ledger
from foldproof.rewriting.names import Names
from foldproof.rewriting.rule import ANY, Action, Constant, Forward, Inline, Outcome, Reason, Remove, Replace, Rule

if TYPE_CHECKING:
    from foldproof.folding import Folder

FUEL_PER_NODE = 100
"""Rewrites per node of the given model, after which a set of rules is taken to undo each other for ever."""


class Rewriter:
    """Rewrites a model in place.

    Args:
        model: The model.
        facts: What is proven of its values.
        rules: The rules, in the order in which they are tried.
        keep_node: Names of nodes that no rule may take away or change.
        overridable: Names of the initializers whose value is only a default.
        inputs_list_initializers: Whether a new initializer must be listed as an input too (IR version 3).
        initializers_are_inputs: Whether what is listed so counts as an input, so that no initializer can be added.
        folder: Computes what is constant, before the rules start and whenever none of them has anything to do.

    Attributes:
        ledger: What was done.
        entries: For each node that a rule took away, the ledger's entry.
        reasons: For each node that is left, why the rules of its operator did not apply, by rule name.
    """

    def __init__(
        self,
        model: ir.Model,
        facts: Facts,
        rules: Iterable[Rule],
        *,
        keep_node: Iterable[str] = (),
        overridable: frozenset[str] = frozenset(),
        inputs_list_initializers: bool = False,
        initializers_are_inputs: bool = False,
        folder: Folder | None = None,
    ) -> None:
        self._model = model
        self._facts = facts
        self._rules = sorted(rules, key=lambda rule: -rule.benefit)
        self._rules_of: dict[tuple[str, str], list[Rule]] = {}
        self._keep = frozenset(keep_node)
        self._names = Names(model)
        self._constants = Constants(
            model,
            self._names,
            overridable,
            inputs_list_initializers=inputs_list_initializers,
            initializers_are_inputs=initializers_are_inputs,
        )
        self._queue: deque[ir.Node] = deque()
        self._queued: set[ir.Node] = set()
        self._folder = folder
        self._settled: list[ir.Node] = []
        self._fuel = 0
        self._malformed: dict[ir.Node, Reason | None] = {}
        self.ledger = Ledger()
        self.entries: dict[ir.Node, Entry] = {}
        self.reasons: dict[ir.Node, dict[str, Reason]] = {}

    def run(self) -> Ledger:
        """Applies the rules until none applies.

        Returns:
            The ledger.

        Raises:
            RuleError: A rule failed at a node, or the rules go on for ever.
        """
        self._clean_initializers()
        nodes = [node for graph in all_graphs(self._model) for node in graph]
        self._settled.extend(nodes)
        self._fold()  # first, so that no rule changes how a constant is rounded
        self._fuel = FUEL_PER_NODE * (len(nodes) + 1)
        rewrites = -1
        while rewrites < len(self.ledger):
            # A rewrite queues what it touches. What else it may enable far away, another round finds.
            rewrites = len(self.ledger)
            self._enqueue(node for graph in all_graphs(self._model) for node in graph)
            self._drain()
        self._clean_initializers()
        return self.ledger

    def _drain(self) -> None:
        """Offers each queued node to the rules until the queue is empty."""
        while self._queue:
            node = self._queue.popleft()
            self._queued.discard(node)
            while node.graph is not None and self._rewrite(node):
                self._fuel -= 1
                if self._fuel < 0:
                    raise RuleError(
                        f"the rules go on for ever, the last one was {self.ledger.entries[-1].rule!r}",
                        node=node_label(node),
                        operator=operator_name(node),
                        hint="Leave that rule out with --skip-rules, and report it",
                    )
            self._settled.append(node)
            if not self._queue:
                self._fold()

    # Asking the rules ------------------------------------------------------------------------------------------------

    def _rules_at(self, node: ir.Node) -> list[Rule]:
        """The rules of a node's operator, the most beneficial first."""
        key = node.domain, node.op_type
        if key not in self._rules_of:
            self._rules_of[key] = [
                rule
                for rule in self._rules
                if ANY in rule.op_types or (rule.domain == node.domain and node.op_type in rule.op_types)
            ]
        return self._rules_of[key]

    def _rewrite(self, node: ir.Node) -> bool:
        """Applies the first rule that applies at a node; whether one did."""
        if self._keep and self._is_kept(node):
            return False
        if node not in self._malformed:
            self._malformed[node] = malformation(node, self._facts)
        malformed = self._malformed[node]
        if malformed is not None:
            self.reasons[node] = {"validity": malformed}
            return False
        for rule in self._rules_at(node):
            outcome = self._ask(rule, node, node)
            if outcome is None:
                continue
            if not isinstance(outcome, Reason):
                refusal = None if isinstance(outcome, Remove) else complaint(node, self._facts)
                outcome = refusal or self._apply(rule, node, outcome)
            if not isinstance(outcome, Reason):
                return True
            self.reasons.setdefault(node, {})[rule.name] = outcome
        return False

    def _is_kept(self, node: ir.Node) -> bool:
        """Whether the person wants a node to stay, or one that it holds in its bodies."""
        return node.name in self._keep or any(
            inner.name in self._keep for body in bodies_of(node) for inner in body.all_nodes()
        )

    def _ask(self, rule: Rule, subject: ir.Node | ir.Value, node: ir.Node | None) -> Outcome:
        try:
            return rule.apply(subject, self._facts)
        except FoldproofError:
            raise
        except Exception as error:
            raise RuleError(
                f"the rule {rule.name!r} failed with {type(error).__name__}: {error}",
                node=subject.name if node is None else node_label(node),
                operator="initializer" if node is None else operator_name(node),
                hint=f"Go on with --skip-rules {rule.name}, and report it",
            ) from error

    def _fold(self) -> None:
        """Lets the folder compute what has become constant. What reads it is queued."""
        nodes = [node for node in self._settled if node.graph is not None]
        self._settled.clear()
        if self._folder is None:
            return
        rule = self._folder.rule
        for node, found in self._folder.fold(nodes):
            outcome = found if isinstance(found, Reason) else self._apply(rule, node, found)
            if isinstance(outcome, Reason):
                self.reasons.setdefault(node, {})[rule.name] = outcome

    # Doing what they say ---------------------------------------------------------------------------------------------

    def _apply(self, rule: Rule, node: ir.Node, action: Action) -> Action | Reason:
        """Carries out an action at a node, and writes it down."""
        assert node.graph is not None
        added: list[ir.Node] = []
        if isinstance(action, Remove):
            replacements: Sequence[ir.Value | None] = [None] * len(node.outputs)
        elif isinstance(action, Forward):
            if self._is_only_a_name(node, action.values[0]):
                return Reason("it gives an output of the graph its name")
            replacements = action.values
        elif isinstance(action, Constant):
            replacements = []
            for output, tensor in zip(node.outputs, action.tensors, strict=True):
                stored = None if tensor is None else self._store(output, as_tensor(tensor))
                if isinstance(stored, Reason):
                    return stored
                replacements.append(stored)
        elif isinstance(action, Inline):
            root = self._facts.root(node.graph)
            moved = inline(action.body, node, root, self._facts, self._names, self._constants)
            if isinstance(moved, Reason):
                return moved
            replacements, added = moved
        else:
            try:
                replacements, added = self._build(node, action)
            except CannotBuild as failure:
                return failure.reason
        place, graph, removed = _place(node), self._path(node.graph), (_text(node),)
        put_in, because = ((), ()) if isinstance(action, Remove) else self._shown(node, replacements)
        for output, value in zip(node.outputs, replacements, strict=True):
            if value is not None:
                self._replace(output, value, node)
        self._discard(node)
        self._enqueue(added)
        self.entries[node] = self.ledger.add(rule.name, rule.exact, place, graph, removed, put_in, because)
        return action

    def _store(self, output: ir.Value, tensor: ir.TensorProtocol) -> ir.Value | Reason:
        """Stores the constant that an output becomes."""
        graph = output.graph
        assert graph is not None
        root = self._facts.root(graph)
        if output.is_graph_output():
            return self._constants.store_as_output(tensor, str(output.name), graph, root)
        return self._constants.store(tensor, str(output.name), root, replaces=True)

    def _build(self, node: ir.Node, action: Replace) -> tuple[Sequence[ir.Value | None], list[ir.Node]]:
        assert node.graph is not None
        root = self._facts.root(node.graph)
        store = partial(self._constants.store, graph=root)
        builder = Builder(self._names.fresh, store, _place(node))
        built = action.build(builder)
        node.graph.insert_before(node, builder.nodes)
        for new in builder.nodes:
            self._facts.order.place(new, node)
            new.metadata_props.update(node.metadata_props)
        return ([built] if isinstance(built, ir.Value) else built), builder.nodes

    def _replace(self, output: ir.Value, value: ir.Value, node: ir.Node) -> None:
        """Lets all that reads an output read another value, under the output's name where that is a graph's output."""
        before = self._facts.of(output)
        self._facts.learn(value, before)
        teaches = is_more(self._facts.of(value), before)
        self._enqueue(use.node for use in output.uses())
        graph = output.graph
        assert graph is not None
        if output.is_graph_output():
            if value.graph is not graph or value.name != output.name:
                value = self._under_its_name(output, value, node, graph)
            _declare_as(value, output)
        output.replace_all_uses_with(value, replace_graph_outputs=True)
        if teaches:
            self._enqueue(self._facts.spread(value))

    def _under_its_name(self, output: ir.Value, value: ir.Value, node: ir.Node, graph: ir.Graph) -> ir.Value:
        """A graph's output keeps its name: the new value takes it, or an Identity hands the value out under it."""
        name, output.name = output.name, self._names.fresh(f"{output.name}_replaced")
        if self._can_take_name(value, graph):
            value.name = name
            return value
        identity = ir.Node("", "Identity", [value], outputs=[ir.Value(name=name)])
        graph.insert_before(node, identity)
        self._facts.order.place(identity, node)
        self._enqueue([identity])  # of a constant, it is folded
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
        """Takes a node out of its graph, with all that its bodies read."""
        graph = node.graph
        assert graph is not None
        inside = [each for body in bodies_of(node) for each in body.all_nodes()]
        for inner in [node, *inside]:
            for index, value in enumerate(inner.inputs):
                if value is None:
                    continue
                inner.replace_input_with(index, None)
                producer = value.producer()
                if producer is not None and not value.uses():
                    self._enqueue([producer])
        for inner in [node, *inside]:  # what is in no graph any more is not offered to rules
            if inner.graph is not None:
                inner.graph.remove(inner)
            self.reasons.pop(inner, None)

    def _clean_initializers(self) -> None:
        rules = [rule for rule in self._rules if rule.of_initializers]
        annotated = annotated_names(self._model) if rules else set()
        for graph in all_graphs(self._model):
            for value in [each for each in graph.initializers.values() if each.name not in annotated]:
                for rule in rules:
                    outcome = self._ask(rule, value, None)
                    if isinstance(outcome, (Remove, Forward)):
                        self._remove_initializer(rule, value, graph, outcome)
                        break

    def _remove_initializer(self, rule: Rule, value: ir.Value, graph: ir.Graph, outcome: Remove | Forward) -> None:
        """Takes an initializer away; what reads it reads the one that it is forwarded to."""
        name = str(value.name)
        added: tuple[str, ...] = ()
        if isinstance(outcome, Forward) and outcome.values[0] is not None:
            added = (f"initializer {outcome.values[0].name}",)
            value.replace_all_uses_with(outcome.values[0])
        del graph.initializers[name]
        if value.is_graph_input():
            graph.inputs.remove(value)
        self.ledger.add(rule.name, rule.exact, name, self._path(graph), (f"initializer {name}",), added)

    # Small helpers ---------------------------------------------------------------------------------------------------

    def _enqueue(self, nodes: Iterable[ir.Node]) -> None:
        for node in nodes:
            if node not in self._queued:
                self._queued.add(node)
                self._queue.append(node)

    def _path(self, graph: ir.Graph) -> str:
        names = [graph.name or "graph"]
        while (owner := self._facts.owner(graph)) is not None and owner.graph is not None:
            graph = owner.graph
            names.append(graph.name or "graph")
        return "/".join(reversed(names))

    def _shown(self, node: ir.Node, replacements: Sequence[ir.Value | None]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the ledger says of a rewrite: what came in, and the facts at its boundary."""
        added = tuple(_value_text(value) for value in replacements if value is not None)
        return added, known_shapes(node.inputs, self._facts)


def _declare_as(value: ir.Value, output: ir.Value) -> None:
    """What the model declares of an output of a graph is part of the contract: it stays as it is written."""
    value.type, value.shape, value.doc_string = output.type, output.shape, output.doc_string
    value.metadata_props.update(output.metadata_props)


def _place(node: ir.Node) -> str:
    return next((str(output.name) for output in node.outputs if output.name), node.name or node.op_type)


def _text(node: ir.Node) -> str:
    inputs = ", ".join("" if value is None else str(value.name) for value in node.inputs)
    outputs = ", ".join(str(output.name) for output in node.outputs)
    return f"{operator_name(node)}({inputs}) -> {outputs}"


def _value_text(value: ir.Value) -> str:
    producer = value.producer()
    if producer is not None:
        return _text(producer)
    if value.const_value is not None and value.const_value.size <= 16 and value.const_value.dtype.is_integer():
        return f"{value.name} = {value.const_value.numpy().tolist()}"
    return str(value.name)
