"""Keeps what each rewrite takes away and puts in, with the graph around it, before the next one changes that."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import onnx
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.facts.fact import Fact
from foldproof.graphs import bodies_of, reads_of
from foldproof.model_file.tensors import is_writable
from foldproof.rewriting import Entry, Listener

LEVELS = 4
"""So many levels of producers are kept around a rewrite."""

MAX_NODES = 48
"""Around a rewrite no more nodes are kept than these; those nearest to it come first."""

MAX_INNER_NODES = 32
"""A node around a rewrite that holds more nodes in its bodies is not kept: its outputs are taken as given."""


@dataclasses.dataclass(frozen=True, eq=False)
class Frozen:
    """A node as it was when it was kept.

    Attributes:
        domain: Its domain.
        op_type: Its operator.
        overload: Which of several functions of one name it calls.
        attributes: Its attributes that hold no graphs.
        inputs: The values that it reads.
        outputs: The values that it makes.
        holder: The whole node in its serialized form, where it holds bodies.
        captured: The values that its bodies take from around it, by the names that they have there.
        functions: The model's functions that it calls, also in bodies.
        imports: The operator sets in force.
        obstacle: Why it can't stand in a model of its own.
    """

    domain: str
    op_type: str
    overload: str
    attributes: tuple[ir.Attr, ...]
    inputs: tuple[ir.Value | None, ...]
    outputs: tuple[ir.Value, ...]
    holder: onnx.NodeProto | None
    captured: Mapping[str, ir.Value]
    functions: tuple[onnx.FunctionProto, ...]
    imports: Mapping[str, int]
    obstacle: str = ""

    @property
    def reads(self) -> tuple[ir.Value, ...]:
        """All values that it reads, each once."""
        given = [value for value in self.inputs if value is not None]
        return tuple(dict.fromkeys([*given, *self.captured.values()]))


@dataclasses.dataclass(frozen=True, eq=False)
class Snapshot:
    """One rewrite, with all that it takes to restate it.

    Attributes:
        entry: The ledger's entry.
        replaced: The outputs that were replaced, each with the value that is read instead.
        gone: The nodes that were taken away.
        added: The nodes that were put in.
        producers: The nodes that make values around, by the value.
        facts: What was known of each value before the rewrite.
        around: The node in whose body it happened, before and after it.
    """

    entry: Entry
    replaced: tuple[tuple[ir.Value, ir.Value], ...]
    gone: tuple[Frozen, ...]
    added: tuple[Frozen, ...]
    producers: Mapping[ir.Value, Frozen]
    facts: Mapping[ir.Value, Fact]
    around: tuple[Frozen, Frozen] | None = None

    @property
    def enclosing(self) -> Snapshot | None:
        """The same as a rewrite of the node in whose body it happened: it may hold in that branch alone."""
        if self.around is None:
            return None
        before, after = self.around
        same = tuple((output, output) for output in before.outputs)
        return dataclasses.replace(self, replaced=same, gone=(before,), added=(after,), around=None)


class Recorder(Listener):
    """Takes a snapshot of each exact rewrite. It changes nothing.

    Args:
        model: The model that is rewritten.
        facts: What is proven of it.
        every: Whether to take one of each tolerant rewrite too.

    Attributes:
        snapshots: The snapshots, in the order of the ledger.
    """

    def __init__(self, model: ir.Model, facts: Facts, *, every: bool = False) -> None:
        self._model = model
        self._every = every
        self._facts = facts
        self.snapshots: list[Snapshot] = []
        self._reset()

    def _reset(self) -> None:
        self._gone: list[Frozen] = []
        self._created: list[ir.Node] = []
        self._replaced: list[tuple[ir.Value, ir.Value]] = []
        self._producers: dict[ir.Value, Frozen] = {}
        self._known: dict[ir.Value, Fact] = {}
        self._owner: ir.Node | None = None
        self._around: Frozen | None = None

    def begins(self, nodes: Sequence[ir.Node]) -> None:
        """Keeps the nodes that are about to go, and what is around them."""
        self._reset()
        self._gone = [self._freeze(node) for node in nodes]
        graph = nodes[0].graph if nodes else None
        owner = None if graph is None else self._facts.owner(graph)
        if owner is not None and _count_inner(owner) <= MAX_INNER_NODES:
            self._owner, self._around = owner, self._freeze(owner)
        self._keep_around([*self._gone, *([] if self._around is None else [self._around])], ())

    def replaced(self, output: ir.Value, value: ir.Value) -> None:
        """Keeps what is known of a value before it inherits what is known of the output that it replaces."""
        self._replaced.append((output, value))
        self._know(value)

    def created(self, node: ir.Node) -> None:
        """Keeps a new node in mind."""
        self._created.append(node)

    def forwarded(self, value: ir.Value, other: ir.Value) -> None:
        """An initializer is read in the place of another."""
        for each in (value, other):
            self._know(each)
        self._replaced.append((value, other))

    def written(self, entry: Entry) -> None:
        """The rewrite is done: keeps what was put in, and what is around it."""
        if entry.exact or self._every:
            added = [self._freeze(node) for node in self._created]
            self._keep_around(added, [value for _, value in self._replaced])
            around = None
            if self._owner is not None and self._around is not None:
                around = self._around, self._freeze(self._owner)
                self._keep_around([around[1]], ())
            self.snapshots.append(
                Snapshot(
                    entry=entry,
                    replaced=tuple(self._replaced),
                    gone=tuple(self._gone),
                    added=tuple(added),
                    producers=self._producers,
                    facts=self._known,
                    around=around,
                )
            )

    def _know(self, value: ir.Value) -> None:
        if value not in self._known:
            self._known[value] = self._facts.of(value)

    def _keep_around(self, nodes: Iterable[Frozen], values: Iterable[ir.Value]) -> None:
        """Keeps the producers of what some nodes read, and of some values, level by level."""
        frontier = list(dict.fromkeys([*(value for node in nodes for value in node.reads), *values]))
        room = MAX_NODES
        for _ in range(LEVELS):
            following: dict[ir.Value, None] = {}
            for value in frontier:
                self._know(value)
                maker = value.producer()
                if value in self._producers or maker is None or room <= 0 or not self._may_be_kept(value, maker):
                    continue
                room -= 1
                following.update(dict.fromkeys(self._freeze(maker).reads))
            frontier = list(following)
        for value in frontier:
            self._know(value)

    def _may_be_kept(self, value: ir.Value, maker: ir.Node) -> bool:
        if self._known[value].constant is not None or not self._facts.is_deterministic(maker):
            return False
        return not maker.attributes or _count_inner(maker) <= MAX_INNER_NODES

    def _freeze(self, node: ir.Node) -> Frozen:
        bodies = list(bodies_of(node)) if node.attributes else []
        obstacle = ""
        if any(each.is_ref() for owner in (node, *_inner(bodies)) for each in owner.attributes.values()):
            obstacle = f"{node.op_type} has an attribute that a call of its function decides"
        elif not self._facts.is_deterministic(node):
            obstacle = f"{node.op_type} is not known to give the same for the same inputs"
        called = self._called([node, *_inner(bodies)]) if self._model.functions else {}
        everything = (node, *_inner(bodies), *(each for function in called.values() for each in function.all_nodes()))
        if not all(is_writable(attribute) for each in everything for attribute in each.attributes.values()):
            obstacle = f"{node.op_type} has a sparse tensor that can't be made dense"
        outer = [value for value in reads_of(node) if value not in node.inputs] if bodies else []
        graph = self._model.graph if node.graph is None else self._facts.root(node.graph)
        frozen = Frozen(
            domain=node.domain,
            op_type=node.op_type,
            overload=node.overload,
            attributes=tuple(each for each in node.attributes.values() if each.type not in _GRAPHS),
            inputs=tuple(node.inputs),
            outputs=tuple(node.outputs),
            holder=ir.serde.serialize_node(node) if bodies and not obstacle else None,
            captured=self._captured(bodies, outer, node),
            functions=() if obstacle else tuple(ir.serde.serialize_function(called[key]) for key in sorted(called)),
            imports=graph.opset_imports or self._model.graph.opset_imports,
            obstacle=obstacle,
        )
        for output in node.outputs:
            self._producers[output] = frozen
            self._know(output)
        return frozen

    def _captured(self, bodies: Sequence[ir.Graph], outer: Sequence[ir.Value], node: ir.Node) -> dict[str, ir.Value]:
        """What bodies read of the graphs around them, be it an input of their node too."""
        if not bodies:
            return {}
        given = {value for value in node.inputs if value is not None}
        read = [value for each in _inner(bodies) for value in each.inputs if value in given]
        read += [value for body in (*bodies, *_inner_bodies(bodies)) for value in body.outputs if value in given]
        return {str(value.name): value for value in (*outer, *read) if value is not None}

    def _called(self, nodes: Iterable[ir.Node]) -> dict[ir.OperatorIdentifier, ir.Function]:
        """The functions that nodes call, and those that these call."""
        found: dict[ir.OperatorIdentifier, ir.Function] = {}
        waiting = list(nodes)
        while waiting:
            function = self._facts.function(waiting.pop())
            if function is not None and function.identifier() not in found:
                found[function.identifier()] = function
                waiting.extend(function.all_nodes())
        return found


_GRAPHS = frozenset({ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS})


def _count_inner(node: ir.Node) -> int:
    return sum(1 for body in bodies_of(node) for _ in body.all_nodes())


def _inner(bodies: Iterable[ir.Graph]) -> list[ir.Node]:
    return [node for body in bodies for node in body.all_nodes()]


def _inner_bodies(bodies: Iterable[ir.Graph]) -> list[ir.Graph]:
    return [each for body in bodies for each in body.subgraphs()]
