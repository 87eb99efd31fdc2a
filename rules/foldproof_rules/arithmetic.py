"""Rules that merge constants in chains of additions, and in chains of multiplications."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof_rules._operands import FLOATS, INTEGERS, Array, constant, is_amplified, is_private, maker_of

CANCELLING = 16
"""A sum of constants that is so many times smaller than one of them cancels digits of what they are added to."""


@dataclasses.dataclass(frozen=True)
class _Chained:
    """A node that combines a value with a constant.

    Attributes:
        source: The value.
        number: The constant, in float64 where it is a float.
        dtype: The type of both.
        is_reversed: Whether the constant is the left operand.
        op_type: The operator.
    """

    source: ir.Value
    number: Array
    dtype: ir.DataType
    is_reversed: bool
    op_type: str


@rule("Add", "Sub", exact=True, after=("Add", "Sub"))
def added_integers(node: ir.Node, facts: Facts) -> Outcome:
    """(x + a) + b = x + (a + b), and so for all chains of two additions or subtractions of integer constants.

    Integers wrap around on both sides.

    Example:
        g (int32[N] x) => (int32[N] y) <int32 a = {7}, int32 b = {2147483647}> { s = Add (x, a)  y = Sub (s, b) }
    """
    return _sum(node, facts, INTEGERS)


@rule("Add", "Sub", exact=False, level=3, after=("Add", "Sub"))
def added_constants(node: ir.Node, facts: Facts) -> Outcome:
    """(x + a) + b = x + (a + b), and so for all chains of two additions or subtractions of constants.

    Where a and b nearly cancel, the chain may round on purpose, as x + 1.5 * 2**23 - 1.5 * 2**23 does: it is left. No
    model of the corpus has such a chain, so that only level 3 pays for the other rounding.

    Example:
        g (float[N] x) => (float[N] y) <float a = {0.5}, float b = {1.5}> { s = Add (x, a)  y = Sub (b, s) }
    """
    return _sum(node, facts, FLOATS)


@rule("Mul", exact=True, after=("Mul",))
def multiplied_integers(node: ir.Node, facts: Facts) -> Outcome:
    """(x * a) * b = x * (a * b) for integer constants.

    Integers wrap around on both sides.

    Example:
        g (int32[N] x) => (int32[N] y) <int32 a = {65537}, int32 b = {65539}> { p = Mul (x, a)  y = Mul (b, p) }
    """
    return _product(node, facts, INTEGERS)


@rule("Mul", "Div", exact=False, after=("Mul", "Div"))
def multiplied_constants(node: ir.Node, facts: Facts) -> Outcome:
    """(x * a) * b = x * (a * b), and so for all chains of two multiplications or divisions by constants.

    Left where the merged constant overflows, or is too small to have all its digits. And where the last bit of the
    result decides about much: about a whole step of a bias that is quantized, about the digits of the sine of a phase.

    Example:
        g (float[N, 2] x) => (float[N, 2] y) <float[2] a = {3, 5}, float b = {7}> { p = Mul (x, a)  y = Div (p, b) }
    """
    return _product(node, facts, FLOATS)


@rule("Neg", exact=True, after=("Mul", "Div"))
def neg_of_product(node: ir.Node, facts: Facts) -> Outcome:
    """-(x * a) = x * (-a) and -(x / a) = x / (-a), where a is a constant.

    Rounding is symmetrical, and integers wrap around; the quotient is one of floats.

    Example:
        g (float[N] x) => (float[N] y) <float a = {0.1}> { p = Mul (x, a)  y = Neg (p) }
    """
    inner = _chained(maker_of(node.inputs[0], "Mul", "Div"), facts)
    if inner is None:
        return None
    if inner.op_type == "Div" and inner.dtype not in FLOATS:
        return Reason("it divides integers")
    if not is_private(node.inputs[0]):  # type: ignore[arg-type]
        return Reason("the value between is read elsewhere")
    return _combine(inner.op_type, inner.source, -inner.number, inner.dtype, is_reversed=inner.is_reversed)


@rule("Mul", "Div", exact=True, lowers=Cost.EXPRESSION, after=("Neg",))
def product_of_neg(node: ir.Node, facts: Facts) -> Outcome:
    """(-x) * a = x * (-a) and (-x) / a = x / (-a), where a is a constant.

    Rounding is symmetrical, and integers wrap around; the quotient is one of floats.

    Example:
        g (float[N] x) => (float[N] y) <float a = {0.1}> { n = Neg (x)  y = Div (n, a) }
    """
    outer = _chained(node, facts)
    inner = None if outer is None else maker_of(outer.source, "Neg")
    if outer is None or inner is None or inner.inputs[0] is None:
        return None
    if outer.op_type == "Div" and outer.dtype not in FLOATS:
        return Reason("it divides integers")
    return _combine(outer.op_type, inner.inputs[0], -outer.number, outer.dtype, is_reversed=outer.is_reversed)


@rule("Neg", exact=True, after=("Sub",))
def neg_of_integer_difference(node: ir.Node, facts: Facts) -> Outcome:
    """-(x - y) = y - x, where both are integers, which wrap around.

    Example:
        g (int64[N] x, int64[N] y) => (int64[N] z) { d = Sub (x, y)  z = Neg (d) }
    """
    return _turned(node, facts, INTEGERS)


@rule("Neg", exact=False, after=("Sub",))
def neg_of_difference(node: ir.Node, facts: Facts) -> Outcome:
    """-(x - y) = y - x.

    Where both are equal the zeros have different signs.

    Example:
        g (float[N] x, float[N] y) => (float[N] z) { d = Sub (x, y)  z = Neg (d) }
    """
    return _turned(node, facts, FLOATS)


def _turned(node: ir.Node, facts: Facts, dtypes: frozenset[ir.DataType]) -> Outcome:
    inner = maker_of(node.inputs[0], "Sub")
    if inner is None or facts.of(node.inputs[0]).dtype not in dtypes:
        return None
    if facts.opset_version(node) < 7:
        return Reason("its opset broadcasts one operand only")
    if not is_private(inner.outputs[0]):
        return Reason("the difference is read elsewhere")
    left, right = inner.inputs
    return Replace(lambda op: op.Sub(right, left))


def _sum(node: ir.Node, facts: Facts, dtypes: frozenset[ir.DataType]) -> Outcome:
    chain = _chain(node, facts, ("Add", "Sub"), dtypes)
    if not isinstance(chain, tuple):
        return chain
    inner, outer = chain
    # The inner one is ±x + a, the outer one ±y + b; so it all is ±x + (±a + b).
    with np.errstate(over="ignore"):  # integers wrap around
        inner_sign, a = _sign_and_shift(inner)
        outer_sign, b = _sign_and_shift(outer)
        a = a if outer_sign > 0 else -a
        number = a + b
    if inner.dtype in FLOATS and _cancels(a, b, number, inner.dtype):
        return Reason("its constants nearly cancel, so that digits of x are lost on purpose")
    if inner_sign * outer_sign < 0:
        return _combine("Sub", inner.source, number, inner.dtype, is_reversed=True, compare=chain)
    return _combine("Add", inner.source, number, inner.dtype, is_reversed=False, compare=chain)


def _sign_and_shift(node: _Chained) -> tuple[int, Array]:
    """What a node does to its source: y = sign * x + shift."""
    if node.op_type == "Add":
        return 1, node.number
    return (-1, node.number) if node.is_reversed else (1, -node.number)


def _cancels(a: Array, b: Array, total: Array, dtype: ir.DataType) -> bool:
    larger = np.maximum(np.abs(a), np.abs(b))
    harmless = 2.0 ** (_digits(dtype) - 14)
    return bool((larger > np.maximum(CANCELLING * np.abs(total), harmless)).any())


def _digits(dtype: ir.DataType) -> int:
    """The bits of a float type's fraction."""
    return {ir.DataType.BFLOAT16: 7, ir.DataType.FLOAT16: 10, ir.DataType.FLOAT: 23}.get(dtype, 52)


def _product(node: ir.Node, facts: Facts, dtypes: frozenset[ir.DataType]) -> Outcome:
    chain = _chain(node, facts, ("Mul", "Div") if dtypes is FLOATS else ("Mul",), dtypes)
    if not isinstance(chain, tuple):
        return chain
    inner, outer = chain
    a, b = inner.number, outer.number
    if inner.dtype in FLOATS and not (a.all() and b.all()):
        return Reason("one of its constants is 0")
    # The inner one is x * a, x / a or a / x.
    is_reversed = False
    with np.errstate(all="ignore"):
        if not _divides_by_source(inner) and not _divides_by_source(outer):
            by_both = inner.op_type == outer.op_type == "Div"
            factor = a * b if by_both or outer.op_type == inner.op_type else a / b if outer.op_type == "Div" else b / a
            op_type = "Div" if by_both else "Mul"
        elif _divides_by_source(inner) and _divides_by_source(outer):
            op_type, factor = "Mul", b / a
        elif _divides_by_source(inner):
            op_type, is_reversed, factor = "Div", True, a * b if outer.op_type == "Mul" else a / b
        else:
            op_type, is_reversed, factor = "Div", True, b / a if inner.op_type == "Mul" else b * a
    return _combine(op_type, inner.source, factor, inner.dtype, is_reversed=is_reversed, compare=chain)


def _divides_by_source(node: _Chained) -> bool:
    return node.op_type == "Div" and node.is_reversed


def _chain(
    node: ir.Node, facts: Facts, op_types: tuple[str, ...], dtypes: frozenset[ir.DataType]
) -> tuple[_Chained, _Chained] | Reason | None:
    """Two nodes one after the other, each of which combines a value with a constant of one of some types."""
    outer = _chained(node, facts)
    if outer is None or outer.dtype not in dtypes:
        return None
    inner = _chained(maker_of(outer.source, *op_types), facts)
    if inner is None:
        return None
    if not is_private(outer.source):
        return Reason("the value between is read elsewhere")
    if outer.dtype in FLOATS and is_amplified(node.outputs[0], facts):
        return Reason("its last bit may matter where it is rounded, or its sine is taken")
    return inner, outer


def _chained(node: ir.Node | None, facts: Facts) -> _Chained | None:
    """What a node combines with a constant. Before version 7, operators broadcast by an attribute: they are left."""
    if node is None or len(node.inputs) != 2 or facts.opset_version(node) < 7:
        return None
    for is_reversed in (False, True):
        source, other = reversed(node.inputs) if is_reversed else node.inputs
        dtype = facts.of(source).dtype
        if source is None or dtype not in FLOATS | INTEGERS or dtype is None or facts.of(source).constant is not None:
            continue
        number = constant(other, facts)
        if number is not None:
            number = number.astype(np.float64) if dtype in FLOATS else number
            return _Chained(source, number, dtype, is_reversed, node.op_type)
    return None


def _combine(
    op_type: str,
    source: ir.Value,
    number: Array,
    dtype: ir.DataType,
    *,
    is_reversed: bool,
    compare: tuple[_Chained, ...] = (),
) -> Outcome:
    """One node that combines a value with a constant, which is rounded once, and no larger than those before."""
    if compare and number.size > max(each.number.size for each in compare):
        return Reason("the merged constant has {} elements, more than each of them", number.size)
    with np.errstate(all="ignore"):
        stored = number.astype(dtype.numpy())
        if compare and dtype in FLOATS:
            back, least = stored.astype(np.float64), _least_normal(dtype)
            if not np.isfinite(back).all() or ((number != 0) & (np.abs(back) < least)).any():
                return Reason("the merged constant is not in the range of {}", dtype.name)
    if is_reversed:
        return Replace(lambda op: op.node(op_type, op.constant(stored), source))
    return Replace(lambda op: op.node(op_type, source, op.constant(stored)))


def _least_normal(dtype: ir.DataType) -> float:
    exponent = {ir.DataType.FLOAT16: -14, ir.DataType.DOUBLE: -1022}.get(dtype, -126)
    return float(2.0**exponent)
