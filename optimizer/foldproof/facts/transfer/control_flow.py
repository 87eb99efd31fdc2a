"""If, Scan and SequenceMap. Loop, which needs an induction, has a module of its own.

A symbol that is born inside the body of a Scan or a SequenceMap stands for another number in each run of the
body, so it never gets outside. A branch of an If runs at most once.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike
from foldproof.facts.fact import Fact, Kind
from foldproof.facts.registry import NodeView, infers, infers_body
from foldproof.facts.transfer._bodies import locality
from foldproof.facts.transfer._join import item_at, join, join_all, outside

MAX_MAPPED = 16
"""Sequences of at most so many known items are mapped item by item."""


@infers("If")
def if_(node: NodeView) -> list[Fact] | None:
    """If-1..25: what both branches agree on, or the taken branch alone where the condition is proven."""
    branches = node.attribute("then_branch"), node.attribute("else_branch")
    if not all(isinstance(branch, ir.Graph) for branch in branches):
        return None
    then_facts, else_facts = ([node.facts.of(output) for output in branch.outputs] for branch in branches)
    condition = node.input(0).ints
    if condition is not None and len(condition) == 1:
        return then_facts if condition[0] else else_facts
    return [
        join(a, b, functools.partial(node.fresh, output=index))
        for index, (a, b) in enumerate(zip(then_facts, else_facts, strict=False))
        if index < node.output_count
    ]


@dataclasses.dataclass(frozen=True)
class _Scan:
    """A Scan, taken apart.

    Attributes:
        states: The facts of the initial states, as the body sees them.
        elements: The facts of what the body sees of each scan input.
        batch: The batch dim, which Scan-8 has in front and the body doesn't see; empty from version 9 on.
        length: The length of the sequences.
    """

    states: list[Fact]
    elements: list[Fact]
    batch: tuple[DimLike, ...]
    length: DimLike | None


@infers("Scan")
def scan(node: NodeView) -> list[Fact] | None:
    """Scan-8..25: states keep their shape; scan outputs have the length of the sequences as one more dim.

    A sequence of length 0 leaves the dims of what is stacked open; onnxruntime refuses it.
    """
    body = node.attribute("body")
    parts = _scan(node)
    if parts is None or not isinstance(body, ir.Graph):
        return None
    if not body.inputs or len(body.outputs) < node.output_count:
        return None
    is_local = locality(node, body)
    assumption = node.facts.assuming(body, [*parts.states, *parts.elements])
    facts = [assumption.of(output) for output in body.outputs]
    results: list[Fact] = []
    for index, fact in enumerate(facts[: node.output_count]):
        if index < len(parts.states):
            state = parts.states[index]
            shape = None if state.shape is None else (*parts.batch, *state.shape)
            results.append(Fact(dtype=state.dtype, shape=shape, basis=state.basis | fact.basis))
            continue
        results.append(Fact(dtype=fact.dtype, basis=fact.basis))
        entry = 0 if node.version < 9 else _entry(node, "scan_output_axes", index - len(parts.states))
        axis = None if fact.shape is None else _normalized(entry, len(fact.shape) + 1)
        if fact.shape is not None and axis is not None:
            dims = [None if isinstance(dim, Dim) and is_local(dim) else dim for dim in fact.shape]
            dims = [*parts.batch, *dims[:axis], parts.length, *dims[axis:]]
            shape = tuple(node.fresh(k, index) if dim is None else dim for k, dim in enumerate(dims))
            results[-1] = dataclasses.replace(results[-1], shape=shape)
    return results


@infers_body("Scan")
def scan_body(node: NodeView, graph: ir.Graph) -> Sequence[Fact]:
    """The states, which keep their shape, and one slice of each scan input."""
    parts = _scan(node)
    return [] if parts is None else [*parts.states, *parts.elements]


def _scan(node: NodeView) -> _Scan | None:
    """Takes a Scan apart; None for an invalid one."""
    given = node.inputs if node.version >= 9 else node.inputs[1:]
    scanned = node.attribute("num_scan_inputs")
    if not isinstance(scanned, int) or not 1 <= scanned <= len(given):
        return None
    states, inputs = given[:-scanned], given[-scanned:]
    batch: tuple[DimLike, ...] = ()
    if node.version < 9:
        firsts = [fact.shape[0] for fact in given if fact.shape]
        batch = (_agreed(firsts) if firsts else node.fresh(0),)
        states, inputs = ([_without(fact, 0) for fact in facts] for facts in (states, inputs))
    lengths: list[DimLike] = []
    elements = []
    for index, fact in enumerate(inputs):
        entry = 0 if node.version < 9 else _entry(node, "scan_input_axes", index)
        axis = None if fact.shape is None else _normalized(entry, len(fact.shape))
        if fact.shape is not None and axis is not None:
            lengths.append(fact.shape[axis])
        elements.append(_without(fact, axis))
    states = [Fact(dtype=fact.dtype, shape=fact.shape, basis=fact.basis) for fact in states]
    return _Scan(states, elements, batch, _agreed(lengths) if lengths else None)


def _agreed(dims: Sequence[DimLike]) -> DimLike:
    """The best of several expressions for dims that must be equal, or else the run fails."""
    return next((dim for dim in dims if isinstance(dim, int)), dims[0])


def _entry(node: NodeView, name: str, index: int) -> int:
    """One entry of an attribute that holds a number for each input or output, 0 where it is left out."""
    entries = node.attribute(name, ())
    return int(entries[index]) if index < len(entries) else 0


def _normalized(axis: int, rank: int) -> int | None:
    return axis % rank if -rank <= axis < rank else None


def _without(fact: Fact, axis: int | None) -> Fact:
    """The type of a tensor, and its dims without that of an axis; no dims where the axis is None."""
    shape = None
    if axis is not None and fact.shape is not None and axis < len(fact.shape):
        shape = fact.shape[:axis] + fact.shape[axis + 1 :]
    return Fact(dtype=fact.dtype, shape=shape, basis=fact.basis)


# SequenceMap ----------------------------------------------------------------------------------------------


@infers("SequenceMap")
def sequence_map(node: NodeView) -> list[Fact] | None:
    """SequenceMap-17: sequences as long as the first input, of what the body makes of each item."""
    body = node.attribute("body")
    if not isinstance(body, ir.Graph) or not body.inputs or len(body.outputs) < node.output_count:
        return None
    is_local = locality(node, body)

    def mapped(inputs: list[Fact]) -> list[Fact]:
        assumption = node.facts.assuming(body, inputs)
        return [outside(assumption.of(output), is_local, None) for output in body.outputs]

    anywhere = mapped(_mapped_inputs(node, None))
    known = node.input(0).items
    if known is None or len(known) > MAX_MAPPED:
        return [Fact(kind=Kind.SEQUENCE, item=fact) for fact in anywhere]
    each = [mapped(_mapped_inputs(node, position)) for position in range(len(known))]
    results = []
    for index, fact in enumerate(anywhere):
        items = tuple(facts[index] for facts in each)
        results.append(Fact(kind=Kind.SEQUENCE, item=join_all(items) or fact, items=items))
    return results


@infers_body("SequenceMap")
def sequence_map_body(node: NodeView, graph: ir.Graph) -> Sequence[Fact]:
    """An item of each sequence, and each tensor as it is."""
    return _mapped_inputs(node, None)


def _mapped_inputs(node: NodeView, position: int | None) -> list[Fact]:
    """The facts of the body's inputs at one position, or, for None, at any."""
    return [item_at(fact, position) if fact.kind is Kind.SEQUENCE else fact for fact in node.inputs]
