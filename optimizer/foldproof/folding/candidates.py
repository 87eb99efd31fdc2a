"""Which nodes compute the same in every run: those that read nothing but constants, and what depends on them alone."""

from __future__ import annotations

import dataclasses
import itertools
from collections import deque
from collections.abc import Iterable, Iterator

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.folding.limits import executed, too_much
from foldproof.folding.sources import is_source
from foldproof.graphs import bodies_of, captured_by, has_name_among, reads_of
from foldproof.model_file.tensors import is_writable
from foldproof.rewriting.conformance import complaint


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Nodes that can be computed once and for all.

    Attributes:
        nodes: The nodes, each after those that it reads, with all values that it reads.
        facts: The facts of the model.
    """

    nodes: dict[ir.Node, tuple[ir.Value, ...]]
    facts: Facts

    def makers(self, node: ir.Node) -> Iterator[ir.Node]:
        """Those of the candidates that make what a candidate reads."""
        for value in self.nodes[node]:
            maker = value.producer()
            if maker is not None and maker in self.nodes:
                yield maker

    def holds(self, node: ir.Node | None) -> bool:
        """Whether a node is one of them, or stands in a body of one."""
        while node is not None:
            if node in self.nodes:
                return True
            node = None if node.graph is None else self.facts.owner(node.graph)
        return False

    def readers(self, value: ir.Value) -> Iterator[ir.Node]:
        """The nodes that read a value; of those in a body, the outermost one that computes all with it."""
        for use in value.uses():
            reader: ir.Node | None = use.node
            found = use.node
            while reader is not None:
                if reader in self.nodes:
                    found = reader
                reader = None if reader.graph is None else self.facts.owner(reader.graph)
            yield found


def read_outputs(node: ir.Node) -> list[ir.Value]:
    """The outputs of a node that anything reads."""
    return [output for output in node.outputs if output.uses() or output.is_graph_output()]


def find(nodes: Iterable[ir.Node], facts: Facts, keep: frozenset[str], failed: set[ir.Node]) -> Candidates:
    """Finds what can be folded among nodes and all that depends on them.

    Args:
        nodes: Where to look: those that are new, or of which an input is.
        facts: The facts of the model.
        keep: Names of nodes that stay, and with them what holds them in a body.
        failed: Nodes whose evaluation failed before.
    """
    found = Candidates({}, facts)
    made: set[ir.Value] = set()
    queue = deque(nodes)
    while queue:
        node = queue.popleft()
        if node in found.nodes or node.graph is None or node in failed or has_name_among(node, keep):
            continue
        # One after the other, as the first that is not constant is enough: bodies may be large.
        reads = (value for value in itertools.chain(node.inputs, captured_by(node)) if value is not None)
        if not all(value in made or is_source(value, facts) for value in reads):
            continue
        if _is_name_of_constant(node, facts):
            continue
        if not _is_computable(node, facts):
            continue
        found.nodes[node] = reads_of(node)
        for output in node.outputs:
            made.add(output)
            for use in output.uses():
                reader: ir.Node | None = use.node
                while reader is not None:
                    queue.append(reader)
                    reader = None if reader.graph is None else facts.owner(reader.graph)
    _drop_inner(found)
    return found


def _is_computable(node: ir.Node, facts: Facts) -> bool:
    return (
        not _refers(node)
        and all(is_writable(each) for inner in executed(node, facts) for each in inner.attributes.values())
        and facts.is_deterministic(node)
        and complaint(node, facts) is None
        and too_much(node, facts) is None
    )


def _is_name_of_constant(node: ir.Node, facts: Facts) -> bool:
    """Whether a node is a Constant, or hands out one that rules can read instead, as an Identity does."""
    if any(facts.of(output).constant is None for output in node.outputs):
        return False
    return not node.inputs or not any(output.is_graph_output() for output in node.outputs)


def _refers(node: ir.Node) -> bool:
    """Whether an attribute, here or in a body, is that of an enclosing function."""
    if not node.attributes:
        return False
    nodes = [node, *(each for body in bodies_of(node) for each in body.all_nodes())]
    return any(attribute.is_ref() for each in nodes for attribute in each.attributes.values())


def _drop_inner(found: Candidates) -> None:
    """What stands in a body of a node that is folded whole is not folded by itself."""
    for node in list(found.nodes):
        graph = node.graph
        if graph is not None and found.holds(found.facts.owner(graph)):
            del found.nodes[node]
