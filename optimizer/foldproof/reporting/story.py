"""What a run did to the graph, kept node by node, so that each rewrite can be drawn with what stands around it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.facts.description import path_of
from foldproof.graphs import all_graphs, bodies_of, inner_nodes, operator_name, reads_of
from foldproof.rewriting import Entry, Listener
from foldproof.rewriting.description import MAX_SHOWN

MAX_NEIGHBOURS = 12
"""So many readers of what a rewrite replaces are kept: a weight may have hundreds."""

MAX_TEXT = 120
"""Longer attributes are cut off."""


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A node as it stood at some time. Two of the same node are equal where it stayed as it was.

    Attributes:
        operator: Its operator.
        name: Its name, often empty.
        graph: Where it stands: the main graph's name, with the bodies' names behind it.
        inputs: The numbers of the values that it reads; those that its bodies take from around it come last.
        outputs: The numbers of the values that it makes.
        attributes: Its attributes as a person writes them, and what its bodies hold.
    """

    operator: str
    name: str
    graph: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attributes: str


@dataclasses.dataclass
class DrawnValue:
    """A value.

    Attributes:
        name: Its name when it was first seen.
        kind: What makes it: `input` (of the main graph or of a body), `constant` or `node`.
        type: Its dtype and shape as proven, such as `FLOAT[N, 3]`; empty where nothing is known.
        constant: The elements of a small constant.
        is_new: Whether a rewrite put it in.
        is_output: Whether it is an output of the main graph, when it is first seen.
        since: The step by which it gets another name, or becomes an output or none; 0 where none does.
        later: Its name after that.
        is_later_output: Whether it is an output of the main graph after that.
    """

    name: str
    kind: str
    type: str
    constant: str = ""
    is_new: bool = False
    is_output: bool = False
    since: int = 0
    later: str = ""
    is_later_output: bool = False

    def becomes(self, name: str, is_output: bool, step: int) -> None:
        """It has this name after a step, and is an output or not."""
        last = (self.later, self.is_later_output) if self.since else (self.name, self.is_output)
        if (name, is_output) != last:
            self.since, self.later, self.is_later_output = step, name, is_output


@dataclasses.dataclass(frozen=True)
class Step:
    """One rewrite, with the nodes around it.

    Attributes:
        number: Its number in the ledger.
        removed: The nodes that it took away.
        added: The nodes that it put in.
        constants: The numbers of the values that it stored.
        around_before: The nodes next to it before: what made the inputs, and what read the outputs.
        around_after: The same after it.
    """

    number: int
    removed: tuple[Drawn, ...]
    added: tuple[Drawn, ...]
    constants: tuple[int, ...]
    around_before: tuple[Drawn, ...]
    around_after: tuple[Drawn, ...]


@dataclasses.dataclass(frozen=True)
class Story:
    """Both graphs, and what lies between them.

    Attributes:
        before: All nodes of the model as it was given, in the order of the file.
        after: All nodes of the optimized model.
        steps: The rewrites of nodes, in the order of the ledger. What only concerns initializers is not among them.
        values: All values, by their number.
    """

    before: tuple[Drawn, ...]
    after: tuple[Drawn, ...]
    steps: tuple[Step, ...]
    values: tuple[DrawnValue, ...]


class Storyteller(Listener):
    """Keeps what each rewrite does. It changes nothing.

    Args:
        model: The model, before it is rewritten.
        facts: Its facts.
    """

    def __init__(self, model: ir.Model, facts: Facts) -> None:
        self._model = model
        self._facts = facts
        self._numbers: dict[ir.Value, int] = {}
        self._values: list[DrawnValue] = []
        self._steps: list[Step] = []
        self._is_rewriting = False
        self._before = self._all()
        self._is_rewriting = True
        self._reset()

    def _reset(self) -> None:
        self._begun: dict[ir.Node, Drawn] = {}
        self._gone: list[Drawn] = []
        self._created: list[ir.Node] = []
        self._replacements: list[ir.Value] = []
        self._makers: list[Drawn] = []
        self._readers: list[ir.Node] = []
        self._readers_before: list[Drawn] = []

    def story(self) -> Story:
        """What was done until now."""
        return Story(self._before, self._all(), tuple(self._steps), tuple(self._values))

    # What the rewriter tells -----------------------------------------------------------------------------------------

    def begins(self, nodes: Sequence[ir.Node]) -> None:
        """See `Listener`: how the nodes and their neighbours look now."""
        self._reset()
        self._begun = {node: self._drawn(node) for node in nodes}
        makers = (value.producer() for node in nodes for value in reads_of(node))
        self._makers = [
            self._drawn(maker)
            for maker in dict.fromkeys(makers)
            if maker is not None and maker.graph is not None and maker not in nodes
        ]
        self._readers = _readers((output for node in nodes for output in node.outputs), nodes)
        self._readers_before = [self._drawn(reader) for reader in self._readers]

    def created(self, node: ir.Node) -> None:
        """See `Listener`."""
        self._created.append(node)

    def replaced(self, output: ir.Value, value: ir.Value) -> None:
        """See `Listener`."""
        self._replacements.append(value)

    def removed(self, node: ir.Node, inputs: Sequence[ir.Value]) -> None:
        """See `Listener`."""
        if node in self._begun:
            self._gone.append(self._begun[node])

    def written(self, entry: Entry) -> None:
        """See `Listener`: an entry without a node is about an initializer."""
        if self._gone:
            for value in self._replacements:  # it may have taken the name of an output
                drawn = self._values[self._number(value)]
                drawn.becomes(str(value.name), _is_output(value, self._model), entry.number)
            stored = [each for each in self._replacements if each.producer() is None and each.is_initializer()]
            added = tuple(self._drawn(node) for node in self._created if node.graph is not None)
            readers = tuple(self._drawn(reader) for reader in self._readers if reader.graph is not None)
            self._steps.append(
                Step(
                    entry.number,
                    tuple(self._gone),
                    added,
                    tuple(dict.fromkeys(map(self._number, stored))),
                    (*self._makers, *self._readers_before),
                    (*self._makers, *readers),
                )
            )

    # Nodes and values as they are now --------------------------------------------------------------------------------

    def _all(self) -> tuple[Drawn, ...]:
        return tuple(self._drawn(node) for graph in all_graphs(self._model) for node in graph)

    def _drawn(self, node: ir.Node) -> Drawn:
        given = [value for value in node.inputs if value is not None]
        captured = [value for value in reads_of(node) if value not in given] if node.attributes else []
        return Drawn(
            operator_name(node),
            node.name or "",
            "" if node.graph is None else path_of(node.graph, self._facts),
            tuple(map(self._number, [*given, *captured])),
            tuple(self._number(output) for output in node.outputs if output.name),
            attributes_text(node),
        )

    def _number(self, value: ir.Value) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self._values)
            self._values.append(self._described(value))
        return number

    def _described(self, value: ir.Value) -> DrawnValue:
        is_constant = value.producer() is None and value.is_initializer()
        kind = "node" if value.producer() is not None else "constant" if is_constant else "input"
        constant = elements_text(value.const_value) if is_constant else ""
        text = _type(value, self._facts)
        return DrawnValue(str(value.name), kind, text, constant, self._is_rewriting, _is_output(value, self._model))


def _readers(values: Iterable[ir.Value], besides: Sequence[ir.Node]) -> list[ir.Node]:
    found: dict[ir.Node, None] = {}
    for value in values:
        for use in value.uses():
            if len(found) == MAX_NEIGHBOURS:
                return list(found)
            if use.node not in besides:
                found[use.node] = None
    return list(found)


def _is_output(value: ir.Value, model: ir.Model) -> bool:
    return value.is_graph_output() and value.graph is model.graph


def _type(value: ir.Value, facts: Facts) -> str:
    fact = facts.of(value)
    dtype = fact.dtype or value.dtype
    if fact.shape is None:
        return "" if dtype is None else dtype.name
    return _cut(f"{'' if dtype is None else dtype.name}[{', '.join(map(str, fact.shape))}]")


def elements_text(tensor: ir.TensorProtocol | None) -> str:
    """The elements of a small tensor; empty for others."""
    return "" if tensor is None or not 0 < tensor.size <= MAX_SHOWN else _cut(str(tensor.numpy().tolist()))


def attributes_text(node: ir.Node) -> str:
    """The attributes of a node as a person writes them, and what its bodies hold."""
    texts = [_attribute(each) for name, each in sorted(node.attributes.items())]
    bodies = list(bodies_of(node)) if node.attributes else []
    if bodies:
        count = sum(1 for _ in inner_nodes(node))
        texts.append(f"{len(bodies)} {'body' if len(bodies) == 1 else 'bodies'} of {count} nodes")
    return _cut(", ".join(filter(None, texts)))


def _attribute(attribute: ir.Attr) -> str:
    if attribute.is_ref():
        return f"{attribute.name}=@{attribute.ref_attr_name}"
    if attribute.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
        return ""
    value = attribute.value
    if attribute.type is ir.AttributeType.TENSOR:
        if value.size <= MAX_SHOWN:
            return f"{attribute.name}={value.numpy().tolist()}"
        return f"{attribute.name}={value.dtype.name}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"{attribute.name}=[{', '.join(map(str, value[: MAX_TEXT // 2]))}]"
    return f"{attribute.name}={value:.6g}" if isinstance(value, float) else f"{attribute.name}={value}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
