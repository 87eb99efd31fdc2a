"""Random operators: two that look alike are two draws."""

from __future__ import annotations

import numpy as np
import onnx

from tests.fuzzing.families.common import both
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import shape
from tests.fuzzing.steps import step
from tests.fuzzing.values import Value


def float32(x: Value) -> bool:
    return x.dtype == np.float32


@step(float32)
def noise(g: Graph, x: Value) -> Value:
    """Noise that is added, from one draw or the difference of two."""
    if g.opset > 21:
        raise InadmissibleError  # of these onnxruntime has no later version
    drawn = [_draw(g, x) for _ in range(g.rng.randint(1, 2))]
    y = both(g, "Add", x, drawn[0])
    return both(g, "Sub", y, drawn[1]) if len(drawn) > 1 else y


def _draw(g: Graph, x: Value) -> Value:
    name = g.rng.choice(("RandomNormalLike", "RandomUniformLike", "Bernoulli", "RandomNormal", "Dropout"))
    if name == "RandomNormal":
        dims = [x.static(axis) for axis in range(x.rank)]
        if None in dims or not dims:
            raise InadmissibleError
        made = g.ops(
            name,
            f=lambda: np.zeros(tuple(each or 0 for each in dims)),
            dtypes=[np.float32],
            is_random=True,
            shape=[each or 0 for each in dims],
            dtype=onnx.TensorProto.FLOAT,
        )
    elif name == "Dropout":
        if g.opset < 12:
            raise InadmissibleError
        yes = g.constant(True, np.bool_)
        made = g.ops(name, x, g.constant(0.5, np.float32), yes, f=lambda a, *_: a, is_random=True, known=False)
    elif name == "Bernoulli":
        if g.opset < 15:
            raise InadmissibleError
        y = g.op("Sigmoid", x, f=np.asarray, known=False)
        made = g.ops(name, y, f=np.asarray, is_random=True, known=False)
    else:
        made = g.ops(name, x, f=np.asarray, is_random=True, known=False)
    return made[0]


@step(float32, 0.5)
def shape_of_noise(g: Graph, x: Value) -> Value:
    """The shape of what is random is not."""
    if g.opset > 21:
        raise InadmissibleError
    drawn = g.ops("RandomNormalLike", x, f=np.asarray, is_random=True, known=False)[0]
    return shape(g, drawn)
