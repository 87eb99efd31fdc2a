"""Which node of one model is which of the other.

First those go together that are computed in the same way from the same inputs. A change leaves all that comes after it
without a partner: from what is matched already, the rest is found along the edges, and by name where names agree.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import onnx_ir as ir

from foldproof.diffing.contents import constant_of
from foldproof.diffing.numbering import Numbering, operator_key
from foldproof.graphs import bodies_of

_Pair: TypeAlias = tuple[ir.Value, ir.Value]

ROUNDS = 8
"""How often what is left is gone through."""


class Matching:
    """The partners of nodes and values, over all graphs of two models.

    Args:
        numbering: The numbers of both.

    Attributes:
        nodes: For each node of the first model that has one, its partner in the second.
        values: The same of values that nodes make and of inputs.
    """

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self.nodes: dict[ir.Node, ir.Node] = {}
        self.values: dict[ir.Value, ir.Value] = {}
        self._taken: set[ir.Node] = set()

    def correspond(self, a: ir.Value | None, b: ir.Value | None) -> bool:
        """Whether two values are the same thing: partners, constants of the same content, or one name of nothing."""
        if a is None or b is None:
            return a is b
        if self.values.get(a) is b:
            return True
        if _is_defined_nowhere(a) and _is_defined_nowhere(b):
            return a.name == b.name
        is_constant = constant_of(a) is not None and constant_of(b) is not None
        return is_constant and self._numbering.of(a) == self._numbering.of(b)

    def number_of(self, value: ir.Value) -> int:
        """A number that is the same for all constants of the same content, in both models."""
        return self._numbering.of(value)

    def is_free(self, a: ir.Node, b: ir.Node) -> bool:
        """Whether two nodes have no partners yet, and call the same."""
        return a not in self.nodes and b not in self._taken and operator_key(a) == operator_key(b)

    def is_taken(self, b: ir.Node) -> bool:
        """Whether a node of the second model has a partner."""
        return b in self._taken

    def match(
        self, a: ir.Graph, b: ir.Graph, inputs: Iterable[_Pair], outputs: Iterable[_Pair]
    ) -> Iterator[tuple[ir.Graph, ir.Graph]]:
        """Matches two graphs, and the bodies of what is matched.

        Args:
            a: The graph of the first model.
            b: That of the second.
            inputs: Inputs that are partners.
            outputs: Outputs that are meant to be the same.

        Yields:
            The graphs, and the pairs of bodies below.
        """
        self.values.update(inputs)
        given = list(outputs)
        _GraphMatcher(self, self._numbering, a, b).run(given)
        yield a, b
        for node in a:
            partner = self.nodes.get(node)
            if partner is not None and node.attributes:
                for mine, theirs in zip(bodies_of(node), bodies_of(partner), strict=False):
                    inputs, outputs = in_place(mine.inputs, theirs.inputs), in_place(mine.outputs, theirs.outputs)
                    yield from self.match(mine, theirs, inputs, outputs)

    def pair(self, a: ir.Node, b: ir.Node) -> None:
        """Makes two nodes partners, and their outputs."""
        self.nodes[a] = b
        self._taken.add(b)
        self.values.update(zip(a.outputs, b.outputs, strict=False))


class _GraphMatcher:
    """Matches the nodes of two graphs."""

    def __init__(self, matching: Matching, numbering: Numbering, a: ir.Graph, b: ir.Graph) -> None:
        self._matching = matching
        self._numbering = numbering
        self._a = a
        self._b = b
        self._queue: deque[_Pair] = deque()

    def run(self, outputs: Sequence[_Pair]) -> None:
        self._same_numbers()
        ends = [
            (a.producer(), b.producer()) for a, b in outputs if a.producer() is not None and b.producer() is not None
        ]
        for value in dict.fromkeys(each for node in self._a for each in node.inputs if each is not None):
            partner = self._matching.values.get(value)
            if partner is not None:  # an input, or of a graph around these
                self._queue.append((value, partner))
        for node in self._a:
            if node in self._matching.nodes:
                self._follow(node, self._matching.nodes[node])
        for _ in range(ROUNDS):
            before = len(self._matching.nodes)
            self._along_edges()
            for first, second in ends:
                if first is not None and second is not None and self._are_alike(first, second):
                    self._pair(first, second)
            self._along_edges()
            self._by_name()
            self._along_edges()
            self._with_other_attributes(ends)
            if len(self._matching.nodes) == before:
                break

    def _same_numbers(self) -> None:
        """Pairs nodes of the same number, what reads others first.

        Where there are several, those go together that are read by partners; then those of the same name; then the rest
        in their order.
        """
        theirs: dict[int, list[ir.Node]] = defaultdict(list)
        for node in self._b:
            theirs[self._numbering.nodes[node]].append(node)
        mine: dict[int, list[ir.Node]] = defaultdict(list)
        for node in self._a:
            if self._numbering.nodes[node] in theirs:
                mine[self._numbering.nodes[node]].append(node)
        for number, nodes in reversed(mine.items()):  # what reads a node has a number that comes up later
            others = theirs[number]
            if len(nodes) > 1 or len(others) > 1:
                nodes, others = self._by_readers(nodes, others)
            for a, b in _in_order(nodes, others, _name):
                self._matching.pair(a, b)

    def _by_readers(self, a: Sequence[ir.Node], b: Sequence[ir.Node]) -> tuple[list[ir.Node], list[ir.Node]]:
        """Pairs nodes that compute the same and are read by partners in the same places; those that are left."""
        theirs: dict[Hashable, list[ir.Node]] = defaultdict(list)
        for node in b:
            theirs[_read_by(node, self._b, {})].append(node)
        left = []
        for node in a:
            same = theirs.get(_read_by(node, self._a, self._matching.nodes))
            if same:
                self._matching.pair(node, same.pop(0))
            else:
                left.append(node)
        return left, [node for node in b if not self._matching.is_taken(node)]

    def _pair(self, a: ir.Node, b: ir.Node) -> None:
        self._matching.pair(a, b)
        self._follow(a, b)

    def _follow(self, a: ir.Node, b: ir.Node) -> None:
        """Queues what is around two partners: what they make, and what makes what they read."""
        self._queue.extend(zip(a.outputs, b.outputs, strict=False))
        for first, second in zip(a.inputs, b.inputs, strict=False):
            if first is not None and second is not None and first not in self._matching.values:
                self._queue.append((first, second))

    def _along_edges(self) -> None:
        while self._queue:
            a, b = self._queue.popleft()
            first, second = a.producer(), b.producer()
            if first is not None and second is not None and self._are_alike(first, second):
                self._pair(first, second)
            self._readers(a, b)

    def _readers(self, a: ir.Value, b: ir.Value) -> None:
        """Pairs what reads two partners in the same place, with the same attributes."""
        if self._matching.values.get(a) is not b:
            return
        theirs: dict[Hashable, list[ir.Node]] = defaultdict(list)
        for use in b.uses():
            if use.node.graph is self._b and not self._matching.is_taken(use.node):
                theirs[self._place(use.node, use.idx)].append(use.node)
        if not theirs:
            return
        mine: dict[Hashable, list[ir.Node]] = defaultdict(list)
        for use in a.uses():
            if use.node.graph is self._a and use.node not in self._matching.nodes:
                mine[self._place(use.node, use.idx)].append(use.node)
        for place, nodes in mine.items():
            others = theirs.get(place, [])
            if len(nodes) == len(others) == 1 or {*map(_name, nodes)} & {*map(_name, others)}:
                for first, second in _in_order(nodes, others, _name, only_named=len(nodes) > 1):
                    if self._matching.is_free(first, second):
                        self._pair(first, second)

    def _place(self, node: ir.Node, index: int) -> Hashable:
        attributes = tuple(sorted(self._numbering.attributes(node).items()))
        return (*operator_key(node), index, len(node.inputs), attributes)

    def _by_name(self) -> None:
        """Pairs nodes whose outputs have the same name, if names can be trusted or anything else around agrees."""
        agree = sum(_name(a) == _name(b) for a, b in self._matching.nodes.items())
        is_trusted = 2 * agree >= len(self._matching.nodes)
        theirs = {_name(node): node for node in self._b if not self._matching.is_taken(node)}
        for node in self._a:
            other = theirs.get(_name(node))
            if other is None or not self._matching.is_free(node, other):
                continue
            if is_trusted or self._is_near(node, other):
                self._pair(node, other)

    def _is_near(self, a: ir.Node, b: ir.Node) -> bool:
        """Whether two nodes read or make anything that is the same."""
        if any(x is not None and self._matching.correspond(x, y) for x, y in zip(a.inputs, b.inputs, strict=False)):
            return True
        readers = {self._matching.nodes.get(use.node) for output in a.outputs for use in output.uses()}
        if any(use.node in readers for output in b.outputs for use in output.uses()):
            return True
        return any(
            x.is_graph_output() and y.is_graph_output() and x.name == y.name
            for x, y in zip(a.outputs, b.outputs, strict=False)
        )

    def _with_other_attributes(self, ends: Sequence[tuple[ir.Node | None, ir.Node | None]]) -> None:
        """Pairs nodes in the same place that differ in their attributes."""
        for first, second in ends:
            if first is not None and second is not None and self._are_free(first, second):
                self._pair(first, second)
        for node in self._a:
            if node in self._matching.nodes:
                self._inputs_of(node, self._matching.nodes[node])
                continue
            for value in node.inputs:
                partner = None if value is None else self._matching.values.get(value)
                if value is None or partner is None:
                    continue
                others = [
                    use.node
                    for use in partner.uses()
                    if use.node.graph is self._b and self._matching.is_free(node, use.node)
                ]
                if len(others) == 1:
                    self._pair(node, others[0])
                    break

    def _inputs_of(self, a: ir.Node, b: ir.Node) -> None:
        for x, y in zip(a.inputs, b.inputs, strict=False):
            first, second = (None if value is None else value.producer() for value in (x, y))
            if first is not None and second is not None and self._are_free(first, second):
                self._pair(first, second)

    def _are_free(self, a: ir.Node, b: ir.Node) -> bool:
        """Whether two nodes of these graphs have no partners yet, and call the same."""
        return a.graph is self._a and b.graph is self._b and self._matching.is_free(a, b)

    def _are_alike(self, a: ir.Node, b: ir.Node) -> bool:
        """Whether two nodes are free, and have the same attributes."""
        if not self._are_free(a, b) or len(a.inputs) != len(b.inputs):
            return False
        return self._numbering.attributes(a) == self._numbering.attributes(b)


def _is_defined_nowhere(value: ir.Value) -> bool:
    """Whether only its name is known, as in a function that nothing calls."""
    return value.graph is None and value.producer() is None


def in_place(a: Sequence[ir.Value], b: Sequence[ir.Value]) -> list[_Pair]:
    """Inputs or outputs of two bodies that go together: by their place, or by name where there are more in one."""
    return list(zip(a, b, strict=True)) if len(a) == len(b) else by_name(a, b)


def by_name(a: Iterable[ir.Value], b: Iterable[ir.Value]) -> list[_Pair]:
    """Values that have the same name."""
    theirs = {value.name: value for value in b}
    return [(value, theirs[value.name]) for value in a if value.name in theirs]


def _in_order(
    a: Sequence[ir.Node], b: Sequence[ir.Node], name: Callable[[ir.Node], str], *, only_named: bool = False
) -> Iterator[tuple[ir.Node, ir.Node]]:
    """Pairs of nodes: those of the same name first, the rest in their order."""
    if len(a) == len(b) == 1:
        yield a[0], b[0]
        return
    theirs = {name(node): node for node in b}
    left, taken = [], set()
    for node in a:
        other = theirs.get(name(node))
        if other is None or other in taken:
            left.append(node)
        else:
            taken.add(other)
            yield node, other
    if not only_named:
        yield from zip(left, (node for node in b if node not in taken), strict=False)


def _read_by(node: ir.Node, graph: ir.Graph, partners: Mapping[ir.Node, ir.Node]) -> Hashable:
    """What reads the outputs of a node in its graph, and where; partners stand for those that have one."""
    return frozenset(
        (index, use.idx, partners.get(use.node, use.node))
        for index, output in enumerate(node.outputs)
        for use in output.uses()
        if use.node.graph is graph
    )


def _name(node: ir.Node) -> str:
    return next((output.name for output in node.outputs if output.name), node.name or "")
