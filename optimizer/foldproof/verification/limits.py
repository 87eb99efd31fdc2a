"""What is known of a model before it is run: that no run of it ends, or how much one may take.

Who runs a stranger's model lets it take what it likes. Where it is proven that a run takes little, nothing limits it
but what holds for all. Else it gets an allowance in proportion to what it reads, which models that are used stay below.
"""

from __future__ import annotations

import dataclasses
import math

import onnx_ir as ir

from foldproof.engines import Allowance
from foldproof.facts import Facts
from foldproof.graphs import all_graphs, bodies_of, bodies_within, node_label, operator_name
from foldproof.model_file.adopting import tensors_of
from foldproof.verification.scratch import scratch_of
from foldproof.verification.sizes import Sizes

MAX_BYTES = 1 << 30
"""A model in which a tensor has more bytes is not run at all, unless what it reads is large too."""

GROWTH = 64
"""A tensor may have so many times the bytes of all that the model reads, and a session may take as much in all."""

MAX_NODES = 30_000
"""A model of more nodes, those of the functions counted at each call, is not run at all, unless it has many itself."""

MAX_EXPANSION = 10
"""Its calls may come to so many times the nodes of the model."""

MAX_WORK = 10**7
"""A model in which a Loop takes more steps, nodes and iterations, is taken for one that never ends."""

MEMORY = 768 << 20
"""What a session may take of which that is not proven, in bytes, beside `GROWTH` times what the model reads."""

SECONDS = 3.0
"""What a run may take that is not proven to end soon, beside the time to read the weights a thousand times."""

BYTES_PER_SECOND = 16 << 20
"""So many bytes of weights are taken to be read a thousand times in a second."""

NODES_PER_SECOND = 1000
"""So many nodes are loaded in a second at the least."""

LOADING_SECONDS = 5.0
"""What loading a model may take, beside the time to read its weights and a millisecond for each node and input."""

_POINTER = 8
"""The bytes of a string at the least."""

SMALL_WORK = 10**5
"""Loops of fewer steps end soon."""

FEW_INPUTS = 5000
"""A run with no more inputs begins soon: the time that onnxruntime takes for them is quadratic."""

SMALL_BYTES = 512 << 20
"""What a model computes is little where all its tensors together have no more bytes, or than those that it reads."""

SIZE = 32
"""Symbolic dims of the inputs are taken to have this size, where it is asked how much a run may take."""


@dataclasses.dataclass(frozen=True)
class Limits:
    """What holds for the runs of a model that is not trusted.

    Attributes:
        reason: Why it is not run at all; None where it is.
        allowance: What a run may take.
        loading: How long it may take to be loaded, in seconds; None for as long as there is time.
    """

    reason: str | None = None
    allowance: Allowance = dataclasses.field(default_factory=Allowance)
    loading: float | None = None

    def __or__(self, other: Limits) -> Limits:
        """The limits where both models are run."""
        loading = max((each.loading for each in (self, other) if each.loading is not None), default=None)
        return Limits(self.reason or other.reason, self.allowance | other.allowance, loading)


def limits_before_loading(model: ir.Model) -> Limits:
    """What is known without a look at any value, and before a runtime is given the model."""
    calls = _calls(model)
    nodes = sum(len(graph) + len(graph.inputs) for graph in all_graphs(model))
    total = sum(count for _, count in calls)
    reason = None
    if total > max(MAX_NODES, MAX_EXPANSION * nodes):
        node, count = max(calls, key=lambda call: call[1])
        reason = _untrusted(f"{_place(node)} comes to {count} nodes, and all calls to {total}")
    loading = LOADING_SECONDS + _stored(model) / BYTES_PER_SECOND + (nodes + total) / NODES_PER_SECOND
    return Limits(reason, loading=loading)


def limits_of(model: ir.Model, facts: Facts) -> Limits:
    """What holds for the runs of a model.

    Args:
        model: The model.
        facts: What is proven of it.
    """
    before = limits_before_loading(model)
    reason = before.reason or _infeasible(model, facts)
    return Limits(reason, _allowance(model, facts), before.loading)


def _untrusted(reason: str) -> str:
    return f"{reason} (--trust-model runs it all the same)"


def _calls(model: ir.Model) -> list[tuple[ir.Node, int]]:
    """The calls of functions in the main graph and its bodies, each with the nodes that it comes to.

    A runtime puts all of these in the place of the call when it loads the model.
    """
    if not model.functions:
        return []
    facts = Facts(model)
    nodes = (node for graph in (model.graph, *bodies_within(model.graph)) for node in graph)
    called = ((node, facts.function(node)) for node in nodes)
    return [(node, facts.nodes_of_call(function)) for node, function in called if function is not None]


def _infeasible(model: ir.Model, facts: Facts) -> str | None:
    """Why no run of a model can come to its end; None where nothing proves that.

    Only what is proven to run counts: no branch of an If, and dims of the inputs as if they were 1.
    """
    least = Sizes(facts, 1, string=_POINTER)
    most = max(MAX_BYTES, GROWTH * (_stored(model) + _read(model, least)))
    for node in model.graph:
        work = _least_work(node, facts)
        if work > MAX_WORK:
            return _untrusted(f"{_place(node)} {'runs for ever' if work == math.inf else f'takes {work} steps'}")
        for output in node.outputs:
            size = least.bytes_of(output)
            if size is not None and size > most:
                return _untrusted(f"{_place(node)} makes a tensor of {size} bytes")
    return None


def _allowance(model: ir.Model, facts: Facts) -> Allowance:
    """What a run of a model may take: nothing is limited that is proven to be little."""
    stored = _stored(model)
    least = Sizes(facts, 1, string=_POINTER)
    given = stored + _read(model, least)
    little = max(SMALL_BYTES, GROWTH * given)
    grown = sum(least.bytes_of(value) or 0 for node in model.graph for value in node.outputs)
    of_calls = math.inf if _calls_repeat(model) else 0.0
    work = sum(_most_work(node, facts, of_calls) for node in model.graph)
    is_soon = grown <= max(MAX_BYTES, little) and work <= SMALL_WORK and len(model.graph.inputs) <= FEW_INPUTS
    return Allowance(
        memory=None if _takes_at_most(little, model, Sizes(facts, SIZE)) else MEMORY + GROWTH * stored,
        growth=GROWTH,
        seconds=None if is_soon else SECONDS + given / BYTES_PER_SECOND,
    )


def _place(node: ir.Node) -> str:
    return f"node {node_label(node)!r} ({operator_name(node)})"


# Sizes ----------------------------------------------------------------------------------------------------------------


def _stored(model: ir.Model) -> int:
    """The bytes of a model's weights. A string counts as a number, however long it is."""
    tensors = list(tensors_of(model))
    return sum(_POINTER * each.size if each.dtype is ir.DataType.STRING else each.nbytes for each in tensors)


def _read(model: ir.Model, least: Sizes) -> int:
    """The bytes of a model's inputs, at the least."""
    return sum(least.bytes_of(value) or 0 for value in model.graph.inputs)


def _takes_at_most(limit: int, model: ir.Model, sizes: Sizes) -> bool:
    """Whether all tensors that a model computes are proven to have no more bytes together, with what a node takes."""
    if model.functions:  # what is in them depends on the call
        return False
    total = most_scratch = 0
    for graph in all_graphs(model):
        for node in graph:
            scratch = scratch_of(node, sizes)
            made = [sizes.bytes_of(output) for output in node.outputs if output.name]
            if scratch is None or None in made:
                return False
            total += sum(size or 0 for size in made)
            most_scratch = max(most_scratch, scratch)  # it is gone when the node is done
        if total + most_scratch > limit:
            return False
    return True


# Steps ----------------------------------------------------------------------------------------------------------------


def _least_work(node: ir.Node, facts: Facts) -> float:
    """How many nodes and iterations a node is proven to take, those in bodies and calls too: `math.inf` for ever."""
    function = facts.function(node)
    if function is not None:
        return facts.nodes_of_call(function)
    trips = _trips(node, facts) if node.op_type == "Loop" and not node.domain else 0
    if not trips:
        return 1
    return 1 + trips * (1 + sum(_least_work(each, facts) for each in node.attributes["body"].as_graph()))


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


def _most_work(node: ir.Node, facts: Facts, of_calls: float) -> float:
    """How many nodes and iterations the bodies of a node are proven to take at most: `math.inf` where nothing is.

    Args:
        node: The node.
        facts: What is proven.
        of_calls: What a call of a function takes.
    """
    if facts.function(node) is not None:
        return of_calls
    bodies = bodies_of(node)
    if not bodies:
        return 0
    trips = 1 if _branches(node) else _most_trips(node, facts)
    return trips * sum(1 + _most_work(each, facts, of_calls) for body in bodies for each in body)


def _most_trips(node: ir.Node, facts: Facts) -> float:
    """How often a node is proven to run its bodies at most: `math.inf` where nothing is."""
    limit = None
    if node.op_type == "Loop" and not node.domain and node.inputs and node.inputs[0] is not None:
        numbers = facts.of(node.inputs[0]).ints
        limit = max(numbers, default=0) if numbers is not None else None
    elif node.op_type == "Scan" and not node.domain:
        # The sequences are among the inputs, along any axis.
        shapes = Sizes(facts, SIZE).shapes_of([value for value in node.inputs if value is not None])
        limit = max((dim for shape in shapes for dim in shape or ()), default=0) if None not in shapes else None
    return math.inf if limit is None else max(limit, 1)


def _branches(node: ir.Node) -> bool:
    return node.op_type == "If" and not node.domain


def _calls_repeat(model: ir.Model) -> bool:
    """Whether a function of the model has a node that may run its bodies more than once."""
    inner = (node for function in model.functions.values() for node in function.all_nodes())
    return any(bodies_of(node) and not _branches(node) for node in inner)
