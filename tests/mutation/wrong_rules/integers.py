"""Integers: what is rounded and towards where, what wraps around, what is equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Forward, Outcome, Replace
from foldproof.rewriting.builder import Builder
from tests.mutation.mutant import attribute, elements, forgets, maker, wrong


@wrong("Mul")
def product_of_quotient(node: ir.Node, facts: Facts) -> Outcome:
    """(x / a) * a = x, which forgets that the quotient is rounded.

    Example:
        g (int32[N, 3] x) => (int32[N, 3] y) <int32 two = {2}> { q = Div (x, two)  y = Mul (q, two) }
    """
    inner = maker(node.inputs[0], "Div")
    return None if inner is None or inner.inputs[1] is not node.inputs[1] else Forward(inner.inputs[0])


@wrong("Div")
def rounded_down(node: ir.Node, facts: Facts) -> Outcome:
    """x / a = Floor(x / a), which is not so for negative numbers: an integer quotient is rounded towards 0.

    Example:
        g (int32[N, 3] x) => (int32[N, 3] y) <int32 two = {2}> { y = Div (x, two) }
    """
    if facts.of(node.inputs[0]).dtype is not ir.DataType.INT32:
        return None

    def build(op: Builder) -> Any:
        wide = [op.Cast(value, to=ir.DataType.DOUBLE.value) for value in node.inputs]
        return op.Cast(op.Floor(op.Div(*wide)), to=ir.DataType.INT32.value)

    return Replace(build)


@wrong("Mod")
def remainder_of_the_dividend(node: ir.Node, facts: Facts) -> Outcome:
    """Mod(x, a) = x - (x / a) * a, which has the sign of x, and Mod of integers that of a.

    Example:
        g (int32[N, 3] x) => (int32[N, 3] y) <int32 three = {3}> { y = Mod (x, three) }
    """
    x, a = node.inputs
    return Replace(lambda op: op.Sub(x, op.Mul(op.Div(x, a), a)))


@wrong("Cast", feeds="largest")
def wider_sum(node: ir.Node, facts: Facts) -> Outcome:
    """Cast(x + a, int64) = Cast(x, int64) + a, which does not wrap around any more.

    Example:
        g (int32[N, 3] x) => (int64[N, 3] y) <int32 a = {7}> { s = Add (x, a)  y = Cast <to = 7> (s) }
    """
    inner = maker(node.inputs[0], "Add")
    if inner is None:
        return None
    return Replace(lambda op: op.Add(*(op.Cast(value, to=ir.DataType.INT64.value) for value in inner.inputs)))


@wrong("Cast")
def signed_difference(node: ir.Node, facts: Facts) -> Outcome:
    """Cast(x - y, int32) = Cast(x, int32) - Cast(y, int32), where x - y wraps around in uint8.

    Example:
        g (uint8[N, 3] x, uint8[N, 3] z) => (int32[N, 3] y) { d = Sub (x, z)  y = Cast <to = 6> (d) }
    """
    inner = maker(node.inputs[0], "Sub")
    if inner is None:
        return None
    return Replace(lambda op: op.Sub(*(op.Cast(value, to=ir.DataType.INT32.value) for value in inner.inputs)))


@wrong("GreaterOrEqual", feeds="largest")
def never_negative(node: ir.Node, facts: Facts) -> Outcome:
    """(|x| >= 0) = true, which is not so for the least integer.

    Example:
        g (int32[N, 3] x) => (bool[N, 3] y) <int32 zero = {0}> { a = Abs (x)  y = GreaterOrEqual (a, zero) }
    """
    inner = maker(node.inputs[0], "Abs")
    if inner is None or elements(node.inputs[1], facts) != 0:
        return None
    return Replace(lambda op: op.Expand(op.constant(np.bool_(True)), op.Shape(inner.inputs[0])))


@wrong("Not")
def not_less(node: ir.Node, facts: Facts) -> Outcome:
    """Not(x < y) = (x > y), which is not so where both are equal.

    Example:
        g (int32[N, 3] x, int32[N, 3] z) => (bool[N, 3] y) { l = Less (x, z)  y = Not (l) }
    """
    inner = maker(node.inputs[0], "Less")
    return None if inner is None else Replace(lambda op: op.Greater(*inner.inputs))


@wrong("Cast")
def floor_of_cast(node: ir.Node, facts: Facts) -> Outcome:
    """Cast(Floor(x), int32) = Cast(x, int32), which is not so for negative numbers.

    Example:
        g (float[N, 3] x) => (int32[N, 3] y) { f = Floor (x)  y = Cast <to = 6> (f) }
    """
    inner = maker(node.inputs[0], "Floor")
    return None if inner is None else Replace(lambda op: op.Cast(inner.inputs[0], to=ir.DataType.INT32.value))


@wrong("Cast")
def rounded_cast(node: ir.Node, facts: Facts) -> Outcome:
    """Cast(Cast(x, int32), float) = Round(x), and it cuts off.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) { i = Cast <to = 6> (x)  y = Cast <to = 1> (i) }
    """
    inner = maker(node.inputs[0], "Cast")
    return None if inner is None else Replace(lambda op: op.Round(inner.inputs[0]))


@wrong("Cast")
def truth_as_number(node: ir.Node, facts: Facts) -> Outcome:
    """Cast(Cast(x, bool), float) = x, which is so for 0 and 1 alone.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) { b = Cast <to = 9> (x)  y = Cast <to = 1> (b) }
    """
    inner = maker(node.inputs[0], "Cast")
    return None if inner is None or attribute(inner, "to") != 9 else Forward(inner.inputs[0])


@wrong("Cast")
def number_of_no_element(node: ir.Node, facts: Facts) -> Outcome:
    """Cast(x, uint8) = x of another type, so the graph's output has the wrong one.

    Example:
        g (int32[N, 3] x) => (uint8[N, 3] y) { y = Cast <to = 2> (x) }
    """
    return Replace(lambda op: op.Abs(node.inputs[0]))


@wrong("Not")
def not_of_and(node: ir.Node, facts: Facts) -> Outcome:
    """Not(a And b) = Not(a) And Not(b), and it is Or.

    Example:
        g (bool[N, 3] a, bool[N, 3] b) => (bool[N, 3] y) { c = And (a, b)  y = Not (c) }
    """
    inner = maker(node.inputs[0], "And")
    return None if inner is None else Replace(lambda op: op.And(*map(op.Not, inner.inputs)))


@wrong("Equal")
def both_true(node: ir.Node, facts: Facts) -> Outcome:
    """(a == b) = a And b, which is not so where both are false.

    Example:
        g (bool[N, 3] a, bool[N, 3] b) => (bool[N, 3] y) { y = Equal (a, b) }
    """
    return Replace(lambda op: op.And(*node.inputs))


ATTRIBUTES = [
    forgets("BitShift", "direction", 'g (uint8[N, 3] x, uint8[N, 3] s) => (uint8[N, 3] y) { y = BitShift <direction = "LEFT"> (x, s) }', "RIGHT"),
    forgets("Mod", "fmod", "g (int32[N, 3] x) => (int32[N, 3] y) <int32 two = {2}, int32 three = {3}> { z = Sub (x, two)  y = Mod <fmod = 1> (z, three) }"),
]  # fmt: skip
"""Attributes that are forgotten."""
