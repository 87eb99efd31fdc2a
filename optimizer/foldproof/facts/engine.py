"""Facts, computed on demand, node by node, and never twice.

Facts only grow: values are in SSA form and a rewrite keeps the meaning of every value that others read, so a fact once
proven stays true and nothing is ever invalidated.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import onnx_ir as ir

from foldproof.errors import ModelError, RuleError
from foldproof.facts import schema_inference
from foldproof.facts import transfer as _transfer  # noqa: F401  registers the transfer functions
from foldproof.facts.calls import MAX_CALL_DEPTH, Calls
from foldproof.facts.declared import declared_fact, declared_symbol
from foldproof.facts.determinism import is_deterministic
from foldproof.facts.dim import Dim, DimLike, Symbol, TooComplexError
from foldproof.facts.equivalents import Equivalents, Order
from foldproof.facts.fact import UNKNOWN, Basis, Fact, Kind, constant_fact, is_more, meet
from foldproof.facts.fills import filled
from foldproof.facts.reading import Readers
from foldproof.facts.registry import NodeView, body_inputs_of, transfer_of
from foldproof.facts.schema_form import malformation
from foldproof.graphs import bodies_of, node_label, operator_name

_BASES = [Basis(mask) for mask in range(sum(basis.value for basis in Basis) + 1)]
"""Each union of bases: to look one up is much cheaper than to make it."""


class Facts:
    """What is proven of each value of a model.

    Args:
        model: The model. It may be rewritten while its facts are in use.
        overridable: The names of the main graph's initializers whose value is only a default that the caller may
            override: those that are also graph inputs, from IR version 4 on.

    Attributes:
        problems: Faults of transfer functions, each at the node where it came up. Nothing is known there.
        order: Which nodes come before which.
        equivalents: Values that are proven to be equal.
    """

    def __init__(self, model: ir.Model, overridable: Iterable[str] = ()) -> None:
        self._model = model
        self._overridable = frozenset(overridable)
        self._known: dict[ir.Value, Fact] = {}
        self._owners: dict[ir.Graph, ir.Node] = {}
        self._scopes = itertools.count(1)
        self._fresh: dict[tuple[ir.Value, int], Dim] = {}
        self._imports: dict[ir.Graph, dict[str, int]] = {}
        self._depth = 0
        self._calls = Calls(model)
        self._readers = Readers()
        self.problems: list[RuleError] = []
        self.order = Order(self.owner)
        self.equivalents = Equivalents(self)
        for graph in (model.graph, *(function.graph for function in model.functions.values())):
            self._index_bodies(graph)

    def _index_bodies(self, graph: ir.Graph) -> None:
        for node in graph:
            if node.attributes:
                for body in bodies_of(node):
                    self._owners[body] = node
                    self._index_bodies(body)

    # What rules and transfer functions ask ---------------------------------------------------------------------------

    def of(self, value: ir.Value | None) -> Fact:
        """All that is proven of a value; `UNKNOWN` for an input that is left out."""
        if value is None:
            return UNKNOWN
        fact = self._known.get(value)
        if fact is None:
            self._infer(value)
            fact = self._known[value]
        return fact

    def shape(self, value: ir.Value | None) -> tuple[DimLike, ...] | None:
        """The dims of a tensor, None where its rank is unknown."""
        return self.of(value).shape

    def element_count(self, value: ir.Value | None) -> DimLike | None:
        """The number of elements of a tensor, None where its rank is unknown."""
        return self.of(value).element_count

    def opset_version(self, node: ir.Node) -> int:
        """The version of the node's domain that is in force where the node stands, 0 where none is imported."""
        imports = self._imports.get(node.graph) if node.graph is not None else None
        return self.version_at(node, node.domain) if imports is None else imports.get(node.domain, 0)

    def version_at(self, node: ir.Node, domain: str) -> int:
        """The version of any domain that is in force where a node stands, 0 where none is imported."""
        graph = node.graph
        if graph is None:
            return self._model.graph.opset_imports.get(domain, 0)
        imports = self._imports.get(graph)
        if imports is None:
            imports = self._imports[graph] = self.root(graph).opset_imports or self._model.graph.opset_imports
        return imports.get(domain, 0)

    def attribute(self, node: ir.Node, name: str) -> ir.Attr | None:
        """An attribute of a node; a reference to an attribute of a function whose call is known is followed."""
        return node.attributes.get(name)

    def fresh(self, value: ir.Value, axis: int) -> Dim:
        """A symbol for a dim of which nothing is known; always the same one for the same value and axis.

        It has the name that the author declared there, if any, but is another symbol than that of the contract.
        """
        key = (value, axis)
        if key not in self._fresh:
            name = declared_symbol(value, axis) or f"{value.name}:{axis}"
            self._fresh[key] = Dim.symbol(name, next(self._scopes))
        return self._fresh[key]

    def birthplace(self, symbol: Symbol) -> tuple[ir.Value, int] | None:
        """The value and the axis at which a symbol came up of which nothing is known, as `fresh` gave it.

        None for a symbol of the contract, and for one that other facts gave.
        """
        return next((place for place, dim in self._fresh.items() if symbol in dim.symbols), None)

    @property
    def depth(self) -> int:
        """How many assumptions and calls these facts stand in: 0 for those of the whole model."""
        return self._depth

    def function(self, node: ir.Node) -> ir.Function | None:
        """The model-local function that a node calls, None where it is an operator."""
        return self._calls.function(node)

    def is_ambiguous(self, node: ir.Node) -> bool:
        """Whether a node calls a function of the model that has the name of a known operator.

        By the specification each runtime decides which of the two it runs: onnxruntime runs the operator.
        """
        if self.function(node) is None:
            return False
        schema = schema_inference.schema_of(node.domain, node.op_type, self.opset_version(node))
        return schema is not None or transfer_of(node) is not None

    def owner(self, graph: ir.Graph) -> ir.Node | None:
        """The node that holds a graph as its body; None for the main graph and for a function's."""
        return self._owners.get(graph)

    @property
    def has_functions(self) -> bool:
        """Whether the model has functions of its own, so that an attribute may refer to one of a call."""
        return bool(self._model.functions)

    def root(self, graph: ir.Graph) -> ir.Graph:
        """The main graph or function in which a graph stands."""
        while (owner := self._owners.get(graph)) is not None and owner.graph is not None:
            graph = owner.graph
        return graph

    def is_in_main(self, graph: ir.Graph | None) -> bool:
        """Whether a graph is the main graph or a body in it, so that the main graph's values can be read there."""
        return graph is not None and self.root(graph) is self._model.graph

    def is_overridable(self, value: ir.Value) -> bool:
        """Whether a value is an initializer that the caller may override, because it is a graph input too."""
        return value.name in self._overridable and value.is_graph_input() and value.graph is self._model.graph

    def is_opaque(self, node: ir.Node) -> bool:
        """Whether it is unknown what a node does, be it in a body that it holds or a function that it calls."""
        return self._is_opaque(node, {}, 0)

    def _is_opaque(self, node: ir.Node, known: dict[ir.OperatorIdentifier, bool], depth: int) -> bool:
        identifier = node.op_identifier()
        function = self.function(node)
        inner: Iterable[ir.Node] = (each for body in bodies_of(node) for each in body)
        if depth > MAX_CALL_DEPTH:
            return True
        if function is not None:
            if self.is_ambiguous(node):
                return True
            if identifier not in known:
                known[identifier] = True  # should it call itself
                known[identifier] = any(self._is_opaque(each, known, depth + 1) for each in function)
            return known[identifier]
        if schema_inference.schema_of(node.domain, node.op_type, self.opset_version(node)) is None:
            return True
        return any(self._is_opaque(each, known, depth + 1) for each in inner)

    def adopt(self, node: ir.Node) -> None:
        """Takes notice of a new node that holds bodies, be they new or those of a node that it takes the place of."""
        for body in bodies_of(node):
            is_new = body not in self._owners
            self._owners[body] = node
            if is_new:
                self._index_bodies(body)

    def is_deterministic(self, node: ir.Node) -> bool:
        """Whether a node is known to give the same outputs for the same inputs."""
        return is_deterministic(node, self)

    def learn(self, value: ir.Value, fact: Fact) -> None:
        """Adds what is proven otherwise, such as the facts of the value that this one replaces."""
        self._known[value] = meet(self.of(value), fact)

    def spread(self, value: ir.Value) -> list[ir.Node]:
        """Infers again what reads a value of which more became known: see `infer_again`."""
        return self.infer_again(self.readers(value))

    def readers(self, value: ir.Value) -> Iterator[ir.Node]:
        """The nodes that read a value, and the one that holds the body which hands it out."""
        for use in value.uses():
            yield use.node
        owner = self.owner(value.graph) if value.is_graph_output() and value.graph is not None else None
        if owner is not None:
            yield owner

    def any_reader(self, value: ir.Value) -> ir.Node | None:
        """One of the nodes that read a value, None where there is none: much faster than `readers` where many do."""
        return self._readers.any_of(value)

    def is_read(self, value: ir.Value) -> bool:
        """Whether a node reads a value, or a graph hands it out."""
        return value.is_graph_output() or self._readers.any_of(value) is not None

    def infer_again(self, nodes: Iterable[ir.Node]) -> list[ir.Node]:
        """Infers nodes again that read more than before, and what reads them, as long as that teaches anything.

        Returns:
            The nodes of whose outputs more is known now.
        """
        taught: dict[ir.Node, None] = {}
        queue = dict.fromkeys(nodes)  # in which no node stands twice
        while queue:
            node = next(iter(queue))
            del queue[node]
            before = [self._known.get(output) for output in node.outputs]
            if None in before:
                continue  # it will be inferred when somebody asks
            self._infer_node(node)
            learnt = False
            for output, old in zip(node.outputs, before, strict=True):
                assert old is not None
                new = self._known[output] = meet(old, self._known[output])
                if is_more(new, old):
                    learnt = True
                    queue.update(dict.fromkeys(self.readers(output)))
            if learnt:
                taught[node] = None
        return list(taught)

    def assuming(
        self, graph: ir.Graph, inputs: Sequence[Fact], attributes: Mapping[str, ir.Attr] | None = None
    ) -> Facts:
        """The facts of the values of a body or function, if its inputs had the given facts.

        Values of enclosing graphs keep what is proven of them. Nothing that is inferred there gets out by itself.

        Args:
            graph: The body, or the graph of a model-local function.
            inputs: A fact for each input of the graph; those that are left out are unknown.
            attributes: The attributes of a function's call. None within a body: it sees those around it.
        """
        return _Assumption(self, graph, inputs, attributes)

    def supposing(self, facts: Mapping[ir.Value, Fact]) -> Supposition:
        """The facts if some values had other facts than those that are proven of them.

        Args:
            facts: What is supposed. All other values keep what is proven, those that are made of them too, until
                `Supposition.infer` is asked.
        """
        return Supposition(self, facts)

    def called(self, node: ir.Node) -> Facts | None:
        """The facts of the values in the model-local function that a node calls, as they are in this call.

        None where the node calls none, or where calls are nested too deep to be followed.
        """
        function = self.function(node)
        if function is None or not self._calls.follows(function, self._depth):
            return None
        inputs = [self.of(value) for value in node.inputs]
        return self.assuming(function.graph, inputs[: len(function.inputs)], self.arguments(node, function))

    def nodes_of_call(self, function: ir.Function) -> int:
        """How many nodes a call comes to, with those of all calls in it; at most 10**9."""
        return self._calls.nodes_of(function)

    def arguments(self, node: ir.Node, function: ir.Function) -> dict[str, ir.Attr]:
        """The attributes of a call, and the defaults of those that the call leaves out."""
        attributes = {name: default for name, default in function.attributes.items() if default.value is not None}
        for name in node.attributes:
            given = self.attribute(node, name)
            if given is not None:
                attributes[name] = given
        return attributes

    # How it is found out ---------------------------------------------------------------------------------------------

    def _infer(self, value: ir.Value) -> None:
        """Infers a value after all that it depends on, without recursion along the graph's depth."""
        stack = [value]
        while stack:
            current = stack[-1]
            node = current.producer()
            if current in self._known:
                stack.pop()
            elif node is None:
                self._known[current] = self._of_source(current)
                stack.pop()
            elif missing := [i for i in node.inputs if i is not None and self._is_missing(i)]:
                stack.extend(missing)
            else:
                self._infer_node(node)
                stack.pop()

    def _is_missing(self, value: ir.Value) -> bool:
        return value not in self._known

    def _of_source(self, value: ir.Value) -> Fact:
        """The fact of a value that no node makes: an initializer or an input of a graph."""
        graph = value.graph
        tensor = value.const_value
        if tensor is not None and value.is_initializer() and not self.is_overridable(value):
            return constant_fact(tensor)
        if graph is self._model.graph and value.is_graph_input():
            return self._contract(value)
        owner = None if graph is None else self._owners.get(graph)
        if owner is None or graph is None:
            return UNKNOWN
        infer = body_inputs_of(owner)
        facts = () if infer is None else self._guarded(owner, lambda: infer(NodeView(owner, self), graph))
        for body_input, fact in zip(graph.inputs, facts, strict=False):
            self._known.setdefault(body_input, fact or UNKNOWN)
        return self._known.get(value, UNKNOWN)

    def _contract(self, value: ir.Value) -> Fact:
        """What the declaration of a graph input promises."""
        shape = None
        if value.shape is not None:
            shape = tuple(
                dim
                if isinstance(dim, int) and dim >= 0
                else Dim.symbol(dim.value)
                if isinstance(dim, ir.SymbolicDim) and dim.value
                else self._unnamed(value, axis)
                for axis, dim in enumerate(value.shape)
            )
        return declared_fact(value.type, shape, Basis.CONTRACT)

    def _unnamed(self, value: ir.Value, axis: int) -> Dim:
        # Not fresh(): a person may bind this dim, as `x:0`, so it is a symbol of the contract.
        return self._fresh.setdefault((value, axis), Dim.symbol(f"{value.name}:{axis}", -1))

    def _infer_node(self, node: ir.Node) -> None:
        """Infers all outputs of a node whose inputs are known."""
        view = NodeView(node, self)
        facts = self._guarded(node, lambda: self._apply(view))
        mask = Basis.INFERENCE.value
        for known in view.inputs:
            mask |= known.basis.value
        basis = _BASES[mask]
        for index, output in enumerate(node.outputs):
            fact = (facts[index] if index < len(facts) else None) or UNKNOWN
            dtype = schema_inference.output_dtype(view, index) if fact.dtype is None else fact.dtype
            completed = _completed(fact, dtype, basis)
            self._known[output] = filled(view, completed) if facts else completed  # nothing is known of the malformed

    def _apply(self, view: NodeView) -> Sequence[Fact | None]:
        node = view.node
        function = self.function(node)
        if function is not None:
            return [] if self.is_ambiguous(node) else self._call(view, function)
        # An attribute that refers to the enclosing function's, at no known call, may have any value.
        if view.has_unknown_attribute():
            return []
        if malformation(node, view.version) is not None:
            return []
        transfer = transfer_of(node)
        result = None if transfer is None else transfer(view)
        if result is not None:
            return [result] if isinstance(result, Fact) else result
        inferred = schema_inference.infer(view)
        return [self._claim(output) for output in node.outputs] if inferred is None else inferred

    def _claim(self, value: ir.Value) -> Fact | None:
        """The declaration of an unknown operator's output: it is all there is, but only its integers are used."""
        if value.is_graph_output() or value.shape is None:
            return None
        shape = tuple(
            dim if isinstance(dim, int) and dim >= 0 else self.fresh(value, k) for k, dim in enumerate(value.shape)
        )
        return declared_fact(value.type, shape, Basis.CLAIM)

    def _call(self, view: NodeView, function: ir.Function) -> Sequence[Fact | None]:
        """The outputs of a call of a model-local function: its body, with the facts of this call."""
        call = self.called(view.node)
        return [] if call is None else [call.of(output) for output in function.outputs]

    def _guarded(self, node: ir.Node, compute: Callable[[], Sequence[Fact | None]]) -> Sequence[Fact | None]:
        """Keeps a fault of one transfer function from spoiling the rest; `problems` tells of it."""
        try:
            return compute()
        except ModelError:
            raise
        except TooComplexError:
            return []
        except Exception as error:  # noqa: BLE001  any fault at all, told below with the node
            if schema_inference.contradicts(NodeView(node, self)):
                return []
            self.problems.append(
                RuleError(
                    f"inference failed with {type(error).__name__}: {error}",
                    node=node_label(node),
                    operator=operator_name(node),
                    hint="Nothing is known there. This is a fault of Foldproof: please report it with the model",
                )
            )
            return []


class _Inner(Facts):
    """Facts that stand in others: what these don't say, those do."""

    def __init__(self, outer: Facts) -> None:
        self._outer = outer
        self._model = outer._model
        self._overridable = outer._overridable
        self._owners = outer._owners
        self._scopes = outer._scopes
        self._imports = outer._imports
        self._fresh = {}
        self._depth = outer._depth + 1
        self._calls = outer._calls
        self._readers = outer._readers
        self.problems = outer.problems


class Supposition(_Inner):
    """The facts if some values had other facts than those that are proven of them."""

    def __init__(self, outer: Facts, known: Mapping[ir.Value, Fact]) -> None:
        super().__init__(outer)
        self._known = dict(known)

    def of(self, value: ir.Value | None) -> Fact:
        """What is supposed of a value, or else proven."""
        known = None if value is None else self._known.get(value)
        return self._outer.of(value) if known is None else known

    def attribute(self, node: ir.Node, name: str) -> ir.Attr | None:
        """As in the facts that these stand in."""
        return self._outer.attribute(node, name)

    def infer(self, node: ir.Node) -> None:
        """Infers the outputs of a node of what is supposed of its inputs."""
        self._infer_node(node)


class _Assumption(_Inner):
    """The facts inside one body or one call of a function, if its inputs had given facts."""

    def __init__(
        self, outer: Facts, graph: ir.Graph, inputs: Sequence[Fact], attributes: Mapping[str, ir.Attr] | None
    ) -> None:
        super().__init__(outer)
        self._attributes = attributes
        self._graphs = {graph, *graph.subgraphs()}
        self._known = {value: inputs[k] if k < len(inputs) else UNKNOWN for k, value in enumerate(graph.inputs)}

    def of(self, value: ir.Value | None) -> Fact:
        if value is None:
            return UNKNOWN
        return super().of(value) if self._holds(value) else self._outer.of(value)

    def fresh(self, value: ir.Value, axis: int) -> Dim:
        return super().fresh(value, axis) if self._holds(value) else self._outer.fresh(value, axis)

    def attribute(self, node: ir.Node, name: str) -> ir.Attr | None:
        if self._attributes is None:
            return self._outer.attribute(node, name)
        attribute = node.attributes.get(name)
        if attribute is None or not attribute.is_ref():
            return attribute
        given = self._attributes.get(str(attribute.ref_attr_name))
        return attribute if given is not None and given.type is not attribute.type else given

    def _holds(self, value: ir.Value) -> bool:
        return value.graph in self._graphs

    def _is_missing(self, value: ir.Value) -> bool:
        return self._holds(value) and value not in self._known


def _completed(fact: Fact, dtype: ir.DataType | None, basis: Basis) -> Fact:
    """A transfer function's answer with what it leaves to the engine."""
    if fact.known_elements is not None and fact.is_static and fact.element_count != len(fact.known_elements):
        # Only a node that can't run has as many elements as its shape does not: an untaken branch may hold one.
        fact = dataclasses.replace(fact, known_elements=None)
    gets_basis = fact.basis is Basis.NOTHING
    gets_dtype = fact.dtype is None and dtype is not None and fact.kind is Kind.TENSOR
    if not gets_basis and not gets_dtype:
        return fact
    return fact.settled(dtype if gets_dtype else fact.dtype, basis if gets_basis else fact.basis)
