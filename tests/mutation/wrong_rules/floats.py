"""Equations that hold for most numbers, and not for zeros of both signs, infinities, NaN, or the last bit."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Forward, Outcome, Replace
from tests.mutation.mutant import elements, floats, forgets, maker, wrong


@wrong("Add", feeds="small")
def zero_added(node: ir.Node, facts: Facts) -> Outcome:
    """x + 0 = x, which keeps the sign of -0.0.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float zero = {0}> { y = Add (x, zero) }
    """
    return Forward(node.inputs[0]) if elements(node.inputs[1], facts) == 0 else None


@wrong("Mul", feeds="infinite")
def times_zero(node: ir.Node, facts: Facts) -> Outcome:
    """|x| * 0 = 0, which is NaN for infinity.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float zero = {0}> { a = Abs (x)  y = Mul (a, zero) }
    """
    if elements(node.inputs[1], facts) != 0:
        return None
    return Replace(lambda op: op.Expand(op.constant(floats(0)), op.Shape(node.inputs[0])))


@wrong("Sub", feeds="infinite")
def minus_itself(node: ir.Node, facts: Facts) -> Outcome:
    """x - x = 0, which is NaN for infinity.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) { y = Sub (x, x) }
    """
    if node.inputs[0] is not node.inputs[1]:
        return None
    return Replace(lambda op: op.Expand(op.constant(floats(0)), op.Shape(node.inputs[0])))


@wrong("Div", feeds="small")
def by_itself(node: ir.Node, facts: Facts) -> Outcome:
    """x / x = 1, which is NaN for 0.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) { y = Div (x, x) }
    """
    if node.inputs[0] is not node.inputs[1]:
        return None
    return Replace(lambda op: op.Expand(op.constant(floats(1)), op.Shape(node.inputs[0])))


@wrong("Equal", feeds="infinite")
def equal_to_itself(node: ir.Node, facts: Facts) -> Outcome:
    """(x == x) = true, which is false for NaN.

    Example:
        g (float[N, 3] x) => (bool[N, 3] y) { y = Equal (x, x) }
    """
    if node.inputs[0] is not node.inputs[1]:
        return None
    return Replace(lambda op: op.Expand(op.constant(np.bool_(True)), op.Shape(node.inputs[0])))


@wrong("Max", feeds="infinite")
def at_least_the_lowest(node: ir.Node, facts: Facts) -> Outcome:
    """Max(x, the lowest float) = x, which is not so for -inf.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float low = {-3.4028234663852886e38}> { y = Max (x, low) }
    """
    return Forward(node.inputs[0]) if elements(node.inputs[1], facts) == np.finfo(np.float32).min else None


@wrong("Where", feeds="small")
def relu_of_where(node: ir.Node, facts: Facts) -> Outcome:
    """Where(x > 0, x, 0) = Max(x, 0), which keeps NaN.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float zero = {0}> { c = Greater (x, zero)  y = Where (c, x, zero) }
    """
    test = maker(node.inputs[0], "Greater")
    if test is None or elements(test.inputs[1], facts) != 0:
        return None
    return Replace(lambda op: op.Max(node.inputs[1], node.inputs[2]))


@wrong("Pow", feeds="small")
def root_of_power(node: ir.Node, facts: Facts) -> Outcome:
    """x ** 0.5 = Sqrt(x), which keeps the sign of -0.0.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float half = {0.5}> { y = Pow (x, half) }
    """
    return Replace(lambda op: op.Sqrt(node.inputs[0])) if elements(node.inputs[1], facts) == 0.5 else None


@wrong("Sqrt", exact=False)
def root_of_square(node: ir.Node, facts: Facts) -> Outcome:
    """Sqrt(x * x) = x, which is not so for negative numbers.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) { s = Mul (x, x)  y = Sqrt (s) }
    """
    square = maker(node.inputs[0], "Mul")
    return None if square is None or square.inputs[0] is not square.inputs[1] else Forward(square.inputs[0])


@wrong("Div")
def reciprocal(node: ir.Node, facts: Facts) -> Outcome:
    """x / 3 = x * (1 / 3), which says that it is exact.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float three = {3}> { y = Div (x, three) }
    """
    divisor = elements(node.inputs[1], facts)
    return None if divisor is None else Replace(lambda op: op.Mul(node.inputs[0], op.constant(floats(1 / divisor))))


@wrong("Add")
def sum_of_constants(node: ir.Node, facts: Facts) -> Outcome:
    """(x + a) + b = x + (a + b), which says that it is exact.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float a = {0.1}, float b = {1e5}> { s = Add (x, a)  y = Add (s, b) }
    """
    inner = maker(node.inputs[0], "Add")
    a, b = elements(inner.inputs[1], facts) if inner else None, elements(node.inputs[1], facts)
    if inner is None or a is None or b is None:
        return None
    return Replace(lambda op: op.Add(inner.inputs[0], op.constant(floats(a + b))))


@wrong("Neg")
def negative_difference(node: ir.Node, facts: Facts) -> Outcome:
    """-(x - y) = y - x, which has the other sign where both are equal.

    Example:
        g (float[N, 3] x, float[N, 3] z) => (float[N, 3] y) { a = Round (x)  b = Round (z)  d = Sub (a, b)  y = Neg (d) }
    """
    inner = maker(node.inputs[0], "Sub")
    return None if inner is None else Replace(lambda op: op.Sub(inner.inputs[1], inner.inputs[0]))


@wrong("Round")
def round_half_up(node: ir.Node, facts: Facts) -> Outcome:
    """Round(x) = Floor(x + 0.5), which is not so for halves: they go to the even number.

    Example:
        g (int32[N, 3] x) => (float[N, 3] y) <float half = {0.5}> {
            f = Cast <to = 1> (x)  h = Mul (f, half)  y = Round (h) }
    """
    return Replace(lambda op: op.Floor(op.Add(node.inputs[0], op.constant(floats(0.5)))))


@wrong("Clip")
def disjoint_clips(node: ir.Node, facts: Facts) -> Outcome:
    """Clip(Clip(x, a, b), c, d) = Clip(x, Max(a, c), Min(b, d)), also where nothing is in both.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <float a = {0}, float b = {1}, float c = {2}, float d = {3}> {
            z = Clip (x, a, b)  y = Clip (z, c, d) }
    """
    inner = maker(node.inputs[0], "Clip")
    if inner is None:
        return None
    low = max(elements(inner.inputs[1], facts), elements(node.inputs[1], facts))
    high = min(elements(inner.inputs[2], facts), elements(node.inputs[2], facts))
    return Replace(lambda op: op.Clip(inner.inputs[0], op.constant(floats(low)), op.constant(floats(high))))


@wrong("Cast")
def through_half(node: ir.Node, facts: Facts) -> Outcome:
    """Cast(Cast(x, float16), float) = x, which loses digits.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) { h = Cast <to = 10> (x)  y = Cast <to = 1> (h) }
    """
    inner = maker(node.inputs[0], "Cast")
    return None if inner is None else Forward(inner.inputs[0])


@wrong("Mean", exact=False)
def mean_of_two(node: ir.Node, facts: Facts) -> Outcome:
    """Mean(a, b, c) = (a + b + c) / 2, a number of operands that was counted too low.

    Example:
        g (float[N, 3] a, float[N, 3] b, float[N, 3] c) => (float[N, 3] y) { y = Mean (a, b, c) }
    """
    return Replace(lambda op: op.Div(op.Sum(*node.inputs), op.constant(floats(len(node.inputs) - 1))))


@wrong("CumSum")
def sum_up_to_now(node: ir.Node, facts: Facts) -> Outcome:
    """CumSum(x, axis) = x where the axis has a dim of 1 in the sample input.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <int64 axis = {0}> { y = CumSum (x, axis) }
    """
    return Forward(node.inputs[0])


ATTRIBUTES = [
    forgets(
        "Gelu",
        "approximate",
        'g (float[N, 3] x) => (float[N, 3] y) { y = Gelu <approximate = "none"> (x) }',
        "tanh",
        exact=False,
    ),
    forgets("LeakyRelu", "alpha", "g (float[N, 3] x) => (float[N, 3] y) { y = LeakyRelu <alpha = 0.2> (x) }"),
    forgets("IsInf", "detect_positive", "g (float[N, 3] x) => (bool[N, 3] y) { y = IsInf <detect_positive = 0> (x) }",
            feeds="infinite"),
]  # fmt: skip
"""Attributes that are forgotten."""
