"""Loop: what is carried from one iteration to the next, by induction, and what is gathered from all of them.

A symbol that is born inside the body stands for another number in each iteration, so it never gets outside.
Symbols of the enclosing graphs are the same number in all iterations.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike, lower_bound, maximum
from foldproof.facts.fact import UNKNOWN, Fact, Kind, tensor_fact
from foldproof.facts.registry import NodeView, infers, infers_body
from foldproof.facts.transfer._bodies import locality
from foldproof.facts.transfer._join import join, outside, same

ROUNDS = (6, 3, 2, 1, 1, 1, 1, 1)
"""How often a body is inferred in search of what it reproduces, by the depth of assumptions around it.

An inner Loop is inferred anew in each round of an outer one. So there are few rounds deep down, and from some depth
on nothing but the element type of what is carried is assumed, which needs no proof: the work stays linear there.
"""


@dataclasses.dataclass(frozen=True)
class _Induction:
    """What holds in each iteration of a Loop.

    Attributes:
        inputs: The facts of the body's inputs: iteration number, condition, carried values.
        outputs: The facts of the body's outputs if its inputs have those.
        is_local: Whether a dim may differ from one iteration to the next.
    """

    inputs: list[Fact]
    outputs: list[Fact]
    is_local: Callable[[Dim], bool]


@infers("Loop")
def loop(node: NodeView) -> list[Fact] | None:
    """Loop-1..25: carried values are the initial or the body's ones; scan outputs get a new first axis."""
    body = _loop_body(node)
    if body is None:
        return None
    induction = _induction(node, body)
    initial = _carried(node)
    after = induction.outputs[1:]
    trips = _trips(node, induction)
    at_least_once = _starts(node) and (not node.has_input(0) or _at_least_one(_limit(node)))
    never = trips == 0
    results: list[Fact] = []
    for index in range(node.output_count):
        fresh = functools.partial(node.fresh, output=index)
        if index < len(initial):
            last = outside(after[index], induction.is_local, fresh)
            if never:
                results.append(initial[index])
            else:
                results.append(last if at_least_once else join(initial[index], last, fresh))
        elif index < len(after):
            stacked = outside(_stacked(after[index], trips, fresh), induction.is_local, fresh)
            if not at_least_once:
                stacked = _as_declared(stacked, body.outputs[1 + index], fresh)
            results.append(stacked)
    return results


@infers_body("Loop")
def loop_body(node: NodeView, graph: ir.Graph) -> Sequence[Fact]:
    """The iteration number, the condition and the carried values, as they are in each iteration."""
    body = _loop_body(node)
    return [] if body is None or body is not graph else _induction(node, body).inputs


def _loop_body(node: NodeView) -> ir.Graph | None:
    """The body of a Loop; None where its inputs and outputs don't match the node's."""
    body = node.attribute("body")
    carried = len(_carried(node))
    if not isinstance(body, ir.Graph) or len(body.inputs) != 2 + carried or len(body.outputs) < 1 + carried:
        return None
    return body


def _carried(node: NodeView) -> list[Fact]:
    return node.inputs[2:]


def _induction(node: NodeView, body: ir.Graph) -> _Induction:
    """Finds by induction what the carried values keep.

    It assumes the initial facts, infers the body, keeps what the body reproduces and widens the rest, until
    the body reproduces all that is assumed.
    """
    facts = node.facts
    is_local = locality(node, body)
    initial = [tensor_fact(ir.DataType.BOOL, (), [1]), *_carried(node)]
    if _declares_rank(body.inputs[1], 1):
        initial[0] = tensor_fact(ir.DataType.BOOL)
    iteration = tensor_fact(ir.DataType.INT64, (), [facts.fresh(body.inputs[0], 0)])
    if _declares_rank(body.inputs[0], 1):  # onnxruntime goes by the declaration
        iteration = tensor_fact(ir.DataType.INT64)

    def run(state: list[Fact]) -> _Induction:
        inputs = [iteration, *state]
        assumption = facts.assuming(body, inputs)
        return _Induction(inputs, [assumption.of(output) for output in body.outputs], is_local)

    rounds = ROUNDS[facts.depth] if facts.depth < len(ROUNDS) else 0
    # The elements of counters change, and a single round has none to spare for finding that out.
    state = initial if rounds > 1 else [_shape_alone(fact) for fact in initial]
    for _ in range(rounds):
        induction = run(state)
        widened = []
        for index, (assumed, reproduced) in enumerate(zip(state, induction.outputs, strict=False)):
            fresh = functools.partial(facts.fresh, body.inputs[1 + index])
            joined = join(assumed, outside(reproduced, is_local, fresh), fresh)
            widened.append(_typed(joined, assumed))
        if all(map(same, state, widened)):
            return induction
        state = widened
    return run([_type_alone(fact) for fact in initial])


def _declares_rank(value: ir.Value, rank: int) -> bool:
    return value.shape is not None and value.shape.rank() == rank


def _typed(fact: Fact, assumed: Fact) -> Fact:
    """A fact with the type of what is carried: the specification demands that it stays the same."""
    if fact.kind is not assumed.kind or fact.dtype is not None or assumed.dtype is None:
        return fact
    return dataclasses.replace(fact, dtype=assumed.dtype)


def _shape_alone(fact: Fact) -> Fact:
    """A fact without its elements."""
    return dataclasses.replace(fact, known_elements=None, known_fill=None, constant=None, items=None)


def _type_alone(fact: Fact) -> Fact:
    """What of a fact needs no proof: the type stays the same in all iterations."""
    item = None if fact.item is None else _type_alone(fact.item)
    return Fact(dtype=fact.dtype, kind=fact.kind, item=item, basis=fact.basis)


def _starts(node: NodeView) -> bool:
    """Whether the condition of a Loop is proven true, or absent, before the first iteration."""
    return not node.has_input(1) or node.input(1).ints == (1,)


def _limit(node: NodeView) -> DimLike | None:
    """The greatest trip count that a Loop is given, where it is known."""
    dims = node.input(0).dims
    return dims[0] if dims is not None and len(dims) == 1 else None


def _at_least_one(limit: DimLike | None) -> bool:
    bound = None if limit is None else lower_bound(limit)
    return bound is not None and bound >= 1


def _trips(node: NodeView, induction: _Induction) -> DimLike | None:
    """The number of iterations, where it is proven.

    onnxruntime and the specification don't agree on whether the body's condition counts where the node has
    none. So it must be proven true there, too.
    """
    limit = _limit(node)
    if (isinstance(limit, int) and limit <= 0) or (node.has_input(1) and node.input(1).ints == (0,)):
        return 0
    if limit is None or not _starts(node) or induction.outputs[0].ints != (1,):
        return None
    return maximum(limit, 0)


def _stacked(fact: Fact, trips: DimLike | None, fresh: Callable[[int], Dim]) -> Fact:
    """A scan output: its dims are the trip count and those of the body's output."""
    if fact.kind is not Kind.TENSOR:
        return UNKNOWN
    shape = None if fact.shape is None else (fresh(0) if trips is None else trips, *fact.shape)
    return Fact(dtype=fact.dtype, shape=shape, basis=fact.basis)


def _as_declared(stacked: Fact, output: ir.Value, fresh: Callable[[int], Dim]) -> Fact:
    """What holds of the dims of a scan output even if there may be no iteration at all.

    The specification is silent on that. onnxruntime takes the dims that the body's output is declared with,
    and 0 for those that are not declared as a number.
    """
    if stacked.shape is None:
        return stacked
    trips, *inner = stacked.shape
    declared = output.shape if output.shape is not None and output.shape.rank() == len(inner) else None
    dims = [
        dim if isinstance(dim, int) and declared is not None and declared[axis] == dim else fresh(axis + 1)
        for axis, dim in enumerate(inner)
    ]
    return dataclasses.replace(stacked, shape=(trips, *dims))
