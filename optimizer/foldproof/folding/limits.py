"""What is too much to compute: found out from facts before anything runs."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.folding.sources import size_of
from foldproof.graphs import bodies_of
from foldproof.rewriting.rule import Reason

MAX_BYTES = 256 << 20
"""A tensor of more bytes is computed only where it is made of as many."""

MAX_TRIPS = 10_000
"""A Loop of more iterations is not computed."""

STRING_BYTES = 4 << 20
"""What makes strings is computed where those that it reads have no more bytes, and is kept if the new ones don't."""

BATCH_BYTES = 128 << 20
"""The tensors that one session holds, inputs and results, as far as their sizes are known before."""

SECONDS = 20.0
"""A session is stopped after this time."""

ENDLESS_SECONDS = 4.0
"""The same for what may never end."""

MEMORY = 512 << 20
"""A session may take so many bytes, and `MEMORY_FACTOR` times what its values are proven to take."""

MEMORY_FACTOR = 4

PATIENCE = 12.0
"""So many seconds of a run may be lost with sessions that were stopped, before what may never end is not begun."""


def too_much(node: ir.Node, facts: Facts) -> Reason | None:
    """Why a node is not computed: its result or the number of its iterations is too large."""
    largest = max((size_of(output, facts) or 0 for output in node.outputs), default=0)
    if largest > MAX_BYTES and largest > sum(size_of(value, facts) or 0 for value in node.inputs if value is not None):
        return Reason("its result has {} bytes", largest)
    if node.op_type == "Loop" and node.inputs and node.inputs[0] is not None:
        trips = facts.of(node.inputs[0]).ints
        if trips and trips[0] > MAX_TRIPS:
            return Reason("it runs {} times", trips[0])
    return None


def is_endless(node: ir.Node, facts: Facts) -> bool:
    """Whether a node may run for ever: a Loop of which the number of iterations is not proven, or what holds one."""
    if node.op_type == "Loop" and not node.domain:
        trips = facts.of(node.inputs[0]).ints if node.inputs and node.inputs[0] is not None else None
        return trips is None
    return any(each.op_type == "Loop" for each in executed(node, facts) if each is not node)


def makes_strings(node: ir.Node, facts: Facts) -> bool:
    """Whether a node or one inside it makes strings, or a sequence of such: how long they will be, no fact says."""
    outputs = (facts.of(output) for each in executed(node, facts) for output in each.outputs)
    return any(ir.DataType.STRING in (fact.dtype, fact.item and fact.item.dtype) for fact in outputs)


def executed(node: ir.Node, facts: Facts) -> Iterator[ir.Node]:
    """A node, and those in its bodies or in the function that it calls, at any depth; of a function only once."""
    yield node
    called: set[ir.OperatorIdentifier] = set()
    waiting = [node]
    while waiting:
        current = waiting.pop()
        bodies = list(bodies_of(current)) if current.attributes else []
        function = facts.function(current)
        if function is not None and function.identifier() not in called:
            called.add(function.identifier())
            bodies.append(function.graph)
        for body in bodies:
            yield from body
            waiting.extend(body)
