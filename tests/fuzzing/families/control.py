"""If, Loop and Scan, whose bodies are random graphs too and read values around them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

from tests.fuzzing.families.common import axis_of
from tests.fuzzing.families.elementwise import any_unary, plain
from tests.fuzzing.families.shapes import dim_of
from tests.fuzzing.graph import Graph, InadmissibleError, declared
from tests.fuzzing.operators import cast, elementwise, expand, reduce, shape, size, squeeze
from tests.fuzzing.steps import STEPS, anything, is_float, numbers, step
from tests.fuzzing.values import Shape, Value

MAX_DEPTH = 2
FUNCTIONS = "fuzzing"
"""The domain of the model's own functions."""


def grow(g: Graph, count: int) -> None:
    """Some random steps in a body."""
    from tests.fuzzing.generator import take_step

    for _ in range(count):
        take_step(g, [each for each in STEPS if each.family != "draws"])


def out(g: Graph, value: Value, *, typed: bool = True) -> onnx.ValueInfoProto:
    """The declaration of a body's output; it must be made by the body itself."""
    return declared(value, None if g.chance(0.6) else [None] * value.rank)


def own(g: Graph, value: Value) -> Value:
    """A value that the body itself makes."""
    return value if any(value.name in node.output for node in g.nodes) else g.op("Identity", value, f=np.asarray)


def shaped_like(g: Graph, wanted: Value) -> Value:
    """A value of the type and the shape of one in another branch."""
    found = [v for v in g.visible() if v.dtype == wanted.dtype and v.shapes == wanted.shapes and v is not wanted]
    if found:
        return g.rng.choice(found)
    raise InadmissibleError


def condition(g: Graph) -> Value:
    """A boolean scalar: known, known at each binding, or unknown."""
    form = g.rng.randrange(5)
    if form == 0:
        return g.constant(g.chance(0.5), np.bool_)
    if form == 1:
        x = g.pick(lambda v: v.rank > 0)
        dim = squeeze(g, dim_of(g, x, g.rng.randrange(x.rank)), [0])
        return elementwise(g, g.rng.choice(("Greater", "Less")), dim, g.constant(g.rng.randint(0, 3)))
    if form == 2:
        return elementwise(g, "Equal", size(g, g.pick()), g.constant(g.rng.choice((0, 1, 24))))
    flags = [v for v in g.visible() if v.dtype == np.bool_ and not v.rank and not v.is_random]
    if flags and g.chance(0.7):
        return g.rng.choice(flags)
    x = g.pick(lambda v: v.dtype == np.float32 and not v.is_random)
    return elementwise(g, "Greater", reduce(g, "ReduceSum", x, None, 0), g.constant(0.0, np.float32))


@step(anything, 2)
def branch(g: Graph, x: Value) -> Value:
    """If, with branches that may differ in shape where the condition is known at each binding."""
    if g.depth >= MAX_DEPTH:
        raise InadmissibleError
    when = condition(g)
    if g.chance(0.15):
        when = elementwise(g, "Not", when)
    then, other = g.body(), g.body()
    grow(then, g.rng.randint(1, 4))
    grow(other, g.rng.randint(1, 4))
    # Before opset 11 both branches give the same shape.
    may_differ = when.known is not None and g.opset >= 11
    pairs: list[tuple[Value, Value]] = []
    for left in [v for v in (then.values or [x])[-3:] if not v.is_random]:
        alike = [
            v
            for v in other.visible()
            if v.dtype == left.dtype
            and v.rank == left.rank
            and not v.is_random
            and (may_differ or v.shapes == left.shapes)
        ]
        if alike:
            pair = own(then, left), own(other, g.rng.choice(alike[-4:]))
            # What is an output twice, onnxruntime gives once.
            if not any(pair[0] is a or pair[1] is b for a, b in pairs):
                pairs.append(pair)
    if not pairs:
        y = own(then, plain(then, x) if numbers(x) else x)
        pairs = [(y, own(other, x))]
    made = []
    for left, right in pairs:
        chosen = _chosen(when, left, right)
        made.append(Value(g.fresh("v"), left.dtype, chosen, None, x.is_random))
    g.node(
        "If",
        [when],
        made,
        then_branch=then.to_proto([out(then, left) for left, _ in pairs]),
        else_branch=other.to_proto([out(other, right) for _, right in pairs]),
    )
    return made[0]


def _chosen(when: Value, left: Value, right: Value) -> tuple[Shape, ...]:
    if when.known is None:
        return left.shapes
    return tuple(
        (a if flag else b)
        for flag, a, b in zip((bool(each) for each in when.known), left.shapes, right.shapes, strict=True)
    )


def trips(g: Graph) -> Value:
    """A number of iterations that is known at each binding."""
    if g.chance(0.7):
        return g.constant(g.rng.choice((0, 1, 1, 2, 3)))
    x = g.pick(lambda v: v.rank > 0)
    dim = squeeze(g, dim_of(g, x, g.rng.randrange(x.rank)), [0])
    if g.opset >= 12:
        return elementwise(g, "Min", dim, g.constant(3))
    return dim


@step(is_float, 1.5)
def loop(g: Graph, x: Value) -> Value:
    """Loop that carries a tensor of one shape, and gathers another."""
    if g.depth >= MAX_DEPTH or x.is_random:
        raise InadmissibleError
    count = trips(g)
    assert count.known is not None
    total = [int(each) for each in count.known]
    if max(total) > 8:
        raise InadmissibleError
    stops = g.chance(0.25)
    body = g.body()
    number = body.body_input(np.int64, ((),) * len(g.bindings))
    go = body.body_input(np.bool_, ((),) * len(g.bindings))
    carried = body.body_input(x.dtype, x.shapes)
    grow(body, g.rng.randint(0, 3))
    following = carried
    for _ in range(g.rng.randint(0, 2)):
        following = any_unary(body, following)
    if g.chance(0.5):
        try:
            following = elementwise(body, "Add", following, shaped_like(body, carried))
        except InadmissibleError:
            following = plain(body, following)
    if following.shapes != x.shapes or following.is_random:
        following = carried
    again = elementwise(body, "Less", number, body.constant(g.rng.randint(0, 2))) if stops else go
    # An output must be made by the body, and each of them once.
    results = [_made(body, again), _made(body, following)]
    gathered = [v for v in body.values if not v.is_random and v.rank <= 4][-1:] if not stops else []
    gathered = [v for v in gathered if g.chance(0.7)]
    results += [_made(body, each) for each in gathered]
    outputs = [Value(g.fresh("v"), x.dtype, x.shapes)]
    for each in gathered:
        shapes = tuple((times, *shape_) for times, shape_ in zip(total, each.shapes, strict=True))
        if any(0 in shape_ for shape_ in shapes) and g.chance(0.5):
            raise InadmissibleError
        if max(int(np.prod(shape_)) for shape_ in shapes) > 3000:
            raise InadmissibleError
        outputs.append(Value(g.fresh("v"), each.dtype, _known_rank(shapes)))
    first = g.constant(True, np.bool_) if g.chance(0.7) else None
    g.node("Loop", [count, first, x], outputs, body=body.to_proto([out(body, each) for each in results]))
    return outputs[-1] if g.chance(0.5) else outputs[0]


def _known_rank(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """After no iteration at all a runtime doesn't know the dims that would have been gathered: they are 0 or left out."""
    if any(shape_[0] == 0 for shape_ in shapes):
        raise InadmissibleError
    return tuple(shapes)


def _made(body: Graph, value: Value) -> Value:
    return body.op("Identity", value, f=np.asarray)


@step(is_float)
def scan(g: Graph, x: Value) -> Value:
    """Scan over the first axis. onnxruntime needn't survive one that is empty."""
    if g.depth >= MAX_DEPTH or x.is_random or not 1 <= x.rank <= 3 or x.is_ever_empty or x.dtype != np.float32:
        raise InadmissibleError
    start = reduce(g, "ReduceSum", x, [0], 0)
    body = g.body()
    state = body.body_input(x.dtype, start.shapes)
    row = body.body_input(x.dtype, start.shapes)
    grow(body, g.rng.randint(0, 2))
    total = elementwise(body, "Add", state, any_unary(body, row))
    each = [v for v in body.values if v.rank <= 3 and not v.is_random and not v.is_ever_empty][-1]
    results = [_made(body, total), _made(body, each)]
    stacked = tuple((a[0], *b) for a, b in zip(x.shapes, each.shapes, strict=True))
    outputs = [Value(g.fresh("v"), x.dtype, start.shapes), Value(g.fresh("v"), each.dtype, stacked)]
    g.node(
        "Scan",
        [start, x],
        outputs,
        body=body.to_proto([declared(value, None) for value in results]),
        num_scan_inputs=1,
        scan_input_directions=[g.rng.randint(0, 1)],
    )
    return outputs[g.rng.randint(0, 1)]


@step(is_float, 0.6)
def call(g: Graph, x: Value) -> Value:
    """A function of the model, called once or twice."""
    if g.depth >= MAX_DEPTH or x.is_random:
        raise InadmissibleError
    inner = g.function()
    inner.body_input(x.dtype, x.shapes)
    grow(inner, g.rng.randint(1, 3))
    result = own(inner, next(v for v in reversed(inner.values) if not v.is_random))
    name = g.fresh("f")
    imports = [helper.make_opsetid("", g.opset), helper.make_opsetid(FUNCTIONS, 1)]
    given = [each.name for each in inner.inputs]
    g.main.functions.append(
        helper.make_function(FUNCTIONS, name, given, [result.name], inner.nodes, opset_imports=imports)
    )
    made = [Value(g.fresh("v"), result.dtype, result.shapes) for _ in range(g.rng.randint(1, 2))]
    for each in made:
        argument = g.pick(lambda v: v.dtype == x.dtype and v.shapes == x.shapes and not v.is_random, newest=0.5)
        g.node(name, [argument], [each], domain=FUNCTIONS)
    return made[-1]


@step(is_float, 0.5)
def whole_reader(g: Graph, x: Value) -> Value:
    """Something in a body that is computed outside too: it is the same."""
    if g.depth >= MAX_DEPTH or not x.rank:
        raise InadmissibleError
    axis = axis_of(g, x, negative=0)
    outside = plain(g, x)
    then, other = g.body(), g.body()
    state = g.rng.getstate()
    left = own(then, plain(then, x))
    g.rng.setstate(state)
    right = own(other, expand(other, x, shape(other, x)) if axis % 2 else cast(other, x, x.dtype))
    made = Value(g.fresh("v"), x.dtype, x.shapes, None, x.is_random)
    when = condition(g)
    g.node(
        "If",
        [when],
        [made],
        then_branch=then.to_proto([out(then, left)]),
        else_branch=other.to_proto([out(other, right)]),
    )
    return elementwise(g, "Add", made, outside)
