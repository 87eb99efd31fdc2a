"""What is too much to compute: found out from facts before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import onnx_ir as ir

from foldproof.facts import Dim, Facts
from foldproof.folding.sources import size_of
from foldproof.graphs import bodies_of, node_label, operator_name
from foldproof.model_file.adopting import tensors_of
from foldproof.rewriting.rule import Reason

MAX_BYTES = 256 << 20
"""A tensor of more bytes is computed only where it is made of as many."""

MAX_TRIPS = 10_000
"""A Loop of more iterations is not computed."""

BATCH_BYTES = 128 << 20
"""The tensors that one session holds, inputs and results, as far as their sizes are known before."""

SECONDS = 20.0
"""A session is stopped after this time."""

ENDLESS_SECONDS = 4.0
"""The same for what may never end."""

MEMORY = 512 << 20
"""A session may take so many bytes, and `MEMORY_FACTOR` times what its values are proven to take."""

MEMORY_FACTOR = 4

MAX_RUN_BYTES = 1 << 30
"""A model in which a tensor has more bytes is not run at all, unless what it reads is large too."""

MAX_RUN_GROWTH = 64
"""A tensor may have so many times the bytes of all that the model reads."""

MAX_RUN_NODES = 10**6
"""A model in which a call of a function comes to more nodes, with all calls in it, is not run at all."""

MAX_RUN_WORK = 10**7
"""A model in which a Loop takes more steps, nodes and iterations, is taken for one that never ends."""

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


def infeasible(model: ir.Model, facts: Facts) -> str | None:
    """Why no run of a model can come to its end, as a sentence without its full stop; None where nothing proves that.

    Only what is proven to run counts: no branch of an If, and dims of the inputs as if they were 1.
    """
    most = max(MAX_RUN_BYTES, MAX_RUN_GROWTH * _given(model, facts))
    for node in model.graph:
        place = f"node {node_label(node)!r} ({operator_name(node)})"
        function = facts.function(node)
        if function is not None and facts.nodes_of_call(function) > MAX_RUN_NODES:
            return f"{place} comes to {facts.nodes_of_call(function)} nodes"
        work = _work(node, facts)
        if work > MAX_RUN_WORK:
            return f"{place} {'runs for ever' if work == math.inf else f'takes {work} steps'}"
        for output in node.outputs:
            size = _least_size(output, facts)
            if size > most:
                return f"{place} makes a tensor of {size} bytes"
    return None


def _given(model: ir.Model, facts: Facts) -> int:
    """The bytes of all that a model reads: its weights, and its inputs at the least."""
    stored = sum(tensor.nbytes for tensor in tensors_of(model) if tensor.dtype is not ir.DataType.STRING)
    return stored + sum(_least_size(value, facts) for value in model.graph.inputs)


def _least_size(value: ir.Value, facts: Facts) -> int:
    """The bytes of a tensor where the dims of the model's inputs are 1; 0 where they are not known."""
    count, dtype = facts.of(value).element_count, facts.of(value).dtype
    if isinstance(count, Dim) and all(symbol.scope == 0 for symbol in count.symbols):
        count = count.evaluate(dict.fromkeys(count.symbols, 1))
    if not isinstance(count, int) or not dtype or dtype is ir.DataType.STRING:
        return 0
    return count * dtype.bitwidth // 8


def _work(node: ir.Node, facts: Facts) -> float:
    """How many nodes and iterations a node is proven to take, those in bodies and calls too: `math.inf` for ever."""
    function = facts.function(node)
    if function is not None:
        return facts.nodes_of_call(function)
    trips = _trips(node, facts) if node.op_type == "Loop" and not node.domain else 0
    if not trips:
        return 1
    return 1 + trips * (1 + sum(_work(each, facts) for each in node.attributes["body"].as_graph()))


def _trips(node: ir.Node, facts: Facts) -> float:
    """How often a Loop is proven to run: `math.inf` for ever, 0 where nothing is proven."""
    body = node.attributes.get("body")
    inputs = (*node.inputs, None, None)
    starts = inputs[1] is None or facts.of(inputs[1]).ints == (1,)
    if body is None or body.type is not ir.AttributeType.GRAPH or not starts:
        return 0
    outputs = body.as_graph().outputs
    if not outputs or facts.of(outputs[0]).ints != (1,):
        return 0
    if inputs[0] is None:
        return math.inf
    limit = facts.of(inputs[0]).ints
    return limit[0] if limit is not None and len(limit) == 1 else 0
