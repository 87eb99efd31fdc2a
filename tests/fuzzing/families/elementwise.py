"""Operators that compute each element by itself."""

from __future__ import annotations

import numpy as np

from tests.fuzzing.families.common import alike, both, number, operand, partner, swap
from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.operators import clip, dropout, elementwise
from tests.fuzzing.steps import anything, integers, is_float, numbers, step
from tests.fuzzing.values import Value

SMOOTH = {
    "Sigmoid": 9,
    "Tanh": 9,
    "Erf": 9,
    "Softplus": 9,
    "Softsign": 9,
    "Elu": 9,
    "Selu": 9,
    "HardSigmoid": 9,
    "LeakyRelu": 9,
    "ThresholdedRelu": 10,
    "Celu": 12,
    "HardSwish": 14,
    "Mish": 18,
    "Sin": 9,
    "Cos": 9,
    "Atan": 9,
    "Exp": 9,
    "Sqrt": 9,
    "Log": 9,
    "Reciprocal": 9,
}
"""Each with its first opset. Those of float32 only are among them."""

DOUBLE = {"Sigmoid", "Tanh", "Softplus", "Exp", "Sqrt", "Log", "Reciprocal", "Sin", "Cos"}
ROUNDING = ("Floor", "Ceil", "Round", "Sign")


def smooth(g: Graph, x: Value) -> Value:
    """A function of real numbers."""
    names = [name for name, since in SMOOTH.items() if since <= g.opset and (x.dtype == np.float32 or name in DOUBLE)]
    name = g.rng.choice(names)
    # A logarithm of almost nothing is nothing that can be compared.
    if name == "Log" or (name in ("Exp", "Sqrt", "Reciprocal") and g.chance(0.6)):
        x = g.op("Sigmoid", x, f=np.asarray, known=False)  # so that what follows stays finite
    return g.op(name, x, f=np.asarray, known=False)


def plain(g: Graph, x: Value) -> Value:
    """An operator that does not round, of numbers."""
    if x.is_float:
        return elementwise(g, g.rng.choice(("Relu", "Neg", "Abs", "Identity", *ROUNDING[:2])), x)
    return elementwise(g, g.rng.choice(("Neg", "Abs", "Identity")), x)


def any_unary(g: Graph, x: Value) -> Value:
    return smooth(g, x) if x.is_float and g.chance(0.4) else plain(g, x)


@step(is_float)
def one(g: Graph, x: Value) -> Value:
    return smooth(g, x)


@step(is_float, 1.5)
def repeated(g: Graph, x: Value) -> Value:
    """Functions that change nothing the second time, and pairs that cancel."""
    pairs = ["Relu Relu", "Abs Abs", "Floor Floor", "Neg Neg", "Neg Abs", "Abs Relu", "Relu Abs", "Round Floor"]
    pairs += ["Sign Sign", "Reciprocal Reciprocal", "Ceil Round", "Identity Identity", "Abs Neg", "Relu Sign"]
    first, second = g.rng.choice(pairs).split()
    if "Round" in (first, second) and g.opset < 11:
        raise InadmissibleError
    return elementwise(g, second, elementwise(g, first, x))


@step(integers)
def repeated_integers(g: Graph, x: Value) -> Value:
    first, second = g.rng.choice(("Neg Neg", "Abs Abs", "Neg Abs", "Abs Neg")).split()
    if g.opset >= 18 and g.chance(0.3):
        return g.op("BitwiseNot", g.op("BitwiseNot", x))
    return elementwise(g, second, elementwise(g, first, x))


@step(numbers, 2)
def binary(g: Graph, x: Value) -> Value:
    name = g.rng.choice(("Add", "Sub", "Mul", "Add", "Mul", "Max", "Min", "Div"))
    if x.dtype.kind == "i" and (name == "Div" or (name in ("Max", "Min") and g.opset < 12)):
        # A runtime needn't survive a quotient of integers that is not defined.
        return elementwise(g, "Mul", *swap(g, (x, partner(g, x))))
    return elementwise(g, name, *swap(g, (x, partner(g, x))))


@step(numbers, 1.5)
def neutral(g: Graph, x: Value) -> Value:
    """What adds nothing, or multiplies by one."""
    name, values = g.rng.choice(
        (("Add", (0, -0.0)), ("Sub", (0, -0.0)), ("Mul", (1,)), ("Div", (1,)), ("Pow", (1,)), ("Mul", (0, -1)))
    )
    if not x.is_float and name == "Pow":
        name = "Mul"
    shape = g.rng.choice(((), (), (1,), (1,) * x.rank, (1,) * (x.rank + 1)))
    k = g.constant(np.full(shape, g.rng.choice(values)), x.dtype)
    if name in ("Add", "Mul"):
        return both(g, name, x, k)
    return elementwise(g, name, x, k)


@step(numbers, 2)
def signs(g: Graph, x: Value) -> Value:
    """Neg beside sums, products and differences."""
    y = partner(g, x)
    form = g.rng.randrange(7)
    if form == 0:
        return elementwise(g, "Sub", x, elementwise(g, "Neg", y))
    if form == 1:
        return both(g, "Add", x, elementwise(g, "Neg", y))
    if form == 2:
        return elementwise(g, "Neg", elementwise(g, "Sub", x, y))
    k = operand(g, x)
    if form == 3:
        return elementwise(g, "Neg", both(g, "Mul", x, k))
    if form == 4:
        return both(g, "Mul", elementwise(g, "Neg", x), k)
    if not x.is_float:
        return elementwise(g, "Sub", elementwise(g, "Neg", x), k)
    if form == 5:
        return elementwise(g, "Neg", elementwise(g, "Div", x, k))
    return elementwise(g, "Div", elementwise(g, "Neg", x), k)


@step(numbers, 2)
def bounds(g: Graph, x: Value) -> Value:
    """Chains of Clip, Relu, Min and Max, whose ranges may be disjoint."""
    for _ in range(g.rng.randint(1, 3)):
        kind = g.rng.randrange(4)
        low, high = sorted((number(g, x.dtype), number(g, x.dtype)))
        if kind == 0 and x.is_float:
            x = elementwise(g, "Relu", x)
        elif kind == 1 or (x.dtype.kind == "i" and g.opset < 12):
            x = clip(g, x, low if g.chance(0.8) else None, high if g.chance(0.8) else None)
        else:
            shape = g.rng.choice(((), (), (1,)))
            if g.opset < 8:
                raise InadmissibleError
            x = both(
                g, "Max" if kind == 2 else "Min", x, g.constant(np.full(shape, low if kind == 2 else high), x.dtype)
            )
    return x


@step(numbers)
def no_bounds(g: Graph, x: Value) -> Value:
    """Clip that takes nothing away, or all but one number."""
    if x.is_float:
        return clip(g, x, *g.rng.choice(((None, None), (-np.inf, np.inf), (0, 0), (2, 1), (np.nan, 1))))
    info = np.iinfo(x.dtype)
    return clip(g, x, *g.rng.choice(((info.min, info.max), (None, info.max), (0, info.max))))


@step(is_float, 1.5)
def nested(g: Graph, x: Value) -> Value:
    """Max of Max, Min of Min, Sum of Sum, and one of them of a single operand."""
    name = g.rng.choice(("Max", "Min", "Sum", "Mean"))
    if g.chance(0.3):
        return elementwise(g, name, x)
    if g.chance(0.2):
        return elementwise(g, name, x, x)
    inner = elementwise(g, name, *swap(g, (x, alike(g, x))))
    return elementwise(g, name, inner, operand(g, x)) if g.chance(0.5) else both(g, name, inner, alike(g, x))


@step(anything)
def nothing(g: Graph, x: Value) -> Value:
    """Identity and Dropout."""
    if x.is_float and g.chance(0.6):
        return dropout(g, x, g.rng.choice((None, 0.0, 0.3)))[0]
    return g.op("Identity", x, f=np.asarray)


@step(is_float)
def reciprocal(g: Graph, x: Value) -> Value:
    """A product with a reciprocal, written in either way."""
    y = alike(g, x)
    if g.chance(0.5):
        return both(g, "Mul", y, elementwise(g, "Reciprocal", x))
    return both(g, "Mul", y, elementwise(g, "Div", g.constant(1, x.dtype), x))


@step(is_float, 1.5)
def twice(g: Graph, x: Value) -> Value:
    """The same computation two times."""
    state = g.rng.getstate()
    first = any_unary(g, x)
    later = g.rng.getstate()
    g.rng.setstate(state)
    second = any_unary(g, x)
    g.rng.setstate(later)
    return both(g, g.rng.choice(("Add", "Sub", "Max")), first, second)


@step(is_float)
def power(g: Graph, x: Value) -> Value:
    k = g.constant(g.rng.choice((2.0, 3.0, 0.5, 1.0, 0.0, -1.0)), x.dtype)
    return elementwise(g, "Pow", x, k)


@step(integers)
def modulo(g: Graph, x: Value) -> Value:
    if g.opset < 10:
        raise InadmissibleError
    k = g.constant(g.rng.choice((2, 3, 7)), x.dtype)
    if g.chance(0.5):
        return g.op("Mod", x, k)
    return elementwise(g, "Div", x, k)
