"""Random models: what to put where, in which proportions."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

import tests.fuzzing.families  # noqa: F401  its import registers the steps
from tests.fuzzing.families.common import filled
from tests.fuzzing.families.control import FUNCTIONS
from tests.fuzzing.graph import Binding, Graph, InadmissibleError, declared
from tests.fuzzing.steps import STEPS, Step
from tests.fuzzing.values import Array, Value

OPSETS = (9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24)
WITH_EMPTY: tuple[Binding, ...] = (
    {"N": 7, "M": 3},
    {"N": 1, "M": 1},
    {"N": 2, "M": 5},
    {"N": 0, "M": 2},
    {"N": 3, "M": 0},
)
WITHOUT_EMPTY: tuple[Binding, ...] = ({"N": 7, "M": 3}, {"N": 1, "M": 1}, {"N": 2, "M": 5}, {"N": 1, "M": 4})
"""What the symbols are bound to. Half of the graphs can't run on empty tensors: these may hold more operators."""

FAMILIES = {
    "affine": 1.2,
    "blocks": 1.2,
    "casts": 0.6,
    "control": 0.6,
    "draws": 0.15,
    "elementwise": 1.2,
    "indexing": 1.0,
    "joining": 0.9,
    "layers": 1.2,
    "layout": 1.0,
    "logic": 0.8,
    "quantization": 0.25,
    "reductions": 0.8,
    "reshaping": 1.0,
    "shapes": 1.0,
}
"""How often a step is of each family."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A random model, and how to run it.

    Attributes:
        seed: What it was made of.
        model: The model.
        bindings: Where it runs.
        random_outputs: The outputs that random operators have a part in.
    """

    seed: int
    model: onnx.ModelProto
    bindings: tuple[Binding, ...]
    random_outputs: frozenset[str]


def make(seed: int) -> Case:
    """Makes the random model of a seed."""
    rng = random.Random(seed)
    bindings = WITH_EMPTY if rng.random() < 0.5 else WITHOUT_EMPTY
    opset = rng.choice(OPSETS)
    g = Graph(rng, opset, bindings)
    _inputs(g, symbols=("N", "M") if rng.random() < 0.8 else (2, 3))
    theme = rng.choice((None, None, *FAMILIES))
    length = rng.randint(3, 12)
    for _ in range(length):
        steps = [each for each in STEPS if each.family == theme] if theme and rng.random() < 0.4 else STEPS
        take_step(g, steps)
        if len(g.nodes) >= 30:
            break
    outputs = _outputs(g)
    graph = g.to_proto([_declared_output(g, value) for value in outputs])
    model = helper.make_model(
        graph,
        functions=g.functions,
        opset_imports=[helper.make_opsetid("", opset), *([helper.make_opsetid(FUNCTIONS, 1)] if g.functions else [])],
        ir_version=rng.choice((8, 9, 10)) if opset < 23 else 10 if opset < 24 else 11,
        producer_name="fuzzing",
    )
    model.metadata_props.add(key="seed", value=str(seed))
    return Case(seed, model, bindings, frozenset(value.name for value in outputs if value.is_random))


def take_step(g: Graph, steps: Sequence[Step]) -> None:
    """Takes one random step that starts from a value of the graph; nothing where none suits."""
    x = g.pick()
    suitable = [each for each in steps if each.accepts(x)]
    if not suitable:
        return
    families = {each.family for each in suitable}
    family = g.rng.choices(sorted(families), [FAMILIES[each] for each in sorted(families)])[0]
    suitable = [each for each in suitable if each.family == family]
    chosen = g.rng.choices(suitable, [each.weight for each in suitable])[0]
    with contextlib.suppress(InadmissibleError):
        chosen.add(g, x)


def _inputs(g: Graph, symbols: tuple[str | int, str | int]) -> None:
    """The inputs of a graph: an image or another float tensor, often a second one of its shape, and others."""
    rng = g.rng
    n, m = symbols
    kind = rng.random()
    dtype = np.float64 if kind < 0.05 else np.float32
    if rng.random() < 0.35:
        dims: list[str | int] = [rng.choice((n, n, 1, 2)), rng.choice((1, 2, 3, 4))]
        dims += [rng.choice((5, 6, 8)) for _ in range(rng.choice((1, 2, 2)))]
        g.input(dims, np.float32)
    else:
        g.input([rng.choice((n, n, m, 1, 2, 3, 4, 6)) for _ in range(rng.choice((1, 2, 2, 3, 3, 4)))], dtype)
    first = g.input_infos[0].type.tensor_type.shape.dim
    if rng.random() < 0.5:
        g.input([dim.dim_param or dim.dim_value for dim in first], g.inputs[0].dtype)
    if rng.random() < 0.3:
        dims = [rng.choice((n, m, 1, 2, 3)) for _ in range(rng.choice((1, 2, 3, 4)))]
        g.input(dims, rng.choice((np.int64, np.int32)))
    if rng.random() < 0.25:
        g.input([], np.bool_)
    if rng.random() < 0.15:
        g.input([1 if rng.random() < 0.3 else dim.dim_param or dim.dim_value for dim in first], np.bool_)
    if rng.random() < 0.2:
        shape = rng.choice(((), (1,), (3,), tuple(dim.dim_value or 1 for dim in first)))
        g.default(filled(g, shape, g.inputs[0].dtype))
    g.rng.shuffle(g.values)


def _outputs(g: Graph) -> list[Value]:
    """What nothing reads, and some of the rest."""
    made = {name for node in g.nodes for name in node.output}
    read = {name for node in g.nodes for name in node.input}
    ends = [v for v in g.values if v.name in made and v.name not in read and g.rng.random() < 0.95]
    inner = [v for v in g.values if v.name in made and v.name in read and g.rng.random() < 0.06]
    outputs = ends + inner
    if not outputs:
        outputs = [g.op("Identity", g.pick(), f=np.asarray)]
    if len(outputs) > 1 and g.rng.random() < 0.3:
        g.rng.shuffle(outputs)
    return outputs


def _declared_output(g: Graph, value: Value) -> onnx.ValueInfoProto:
    if g.rng.random() < 0.2:
        return declared(value, None)
    return declared(value, [f"{value.name}_{axis}" for axis in range(value.rank)])


def default_values(model: onnx.ModelProto) -> dict[str, Array]:
    """The initializers that the caller may override."""
    inputs = {value.name for value in model.graph.input}
    return {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer if t.name in inputs}
