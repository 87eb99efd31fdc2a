"""Rules that move Reshape, Flatten, Squeeze and Unsqueeze through other operators, to where they meet their like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import onnx_ir as ir

from foldproof.facts import Dim, DimLike, Facts
from foldproof.facts.dim import Symbol, product
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof.rewriting.builder import Builder
from foldproof_rules._moves import (
    MIN_RESHAPE,
    constant_target,
    has_reference,
    input_of,
    int64s,
    ints_of,
    is_private,
    maker_of,
    perm_of,
    reshape,
)
from foldproof_rules.layout import PLAIN, ROUNDED, has_scalar_parameters
from foldproof_rules.reshape import SHAPES_ONLY
from foldproof_rules.transpose import transposed

UNARY = (PLAIN | ROUNDED) - {
    *("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"),
    *("Where", "Concat", "Pow", "Sum", "Mean", "Max", "Min"),
}
"""Operators that compute each element of their first input by itself, where all other inputs are scalars."""

MAX_BETWEEN = 8
"""A Reshape is not moved through more operators at once."""


@rule(*SHAPES_ONLY, exact=True, benefit=2, after=("Transpose",))
def transpose_between_reshapes(node: ir.Node, facts: Facts) -> Outcome:
    """Reshape(Transpose(Reshape(x, a), p), b) = Transpose(x, q), where a joins dims that b takes apart again.

    The dims of the inner result are products of dims of x that follow on each other, and the dims of the result are
    these same dims of x, group by group in the order of p. Of an empty tensor only the shape counts.

    Example:
        g (float[N, 2, 3, 4] x) => (float[4, 2, 3, N] y) <int64[3] a = {0, 6, 4}, int64[4] b = {4, 2, 3, -1}> {
            r = Reshape (x, a)  t = Transpose <perm = [2, 1, 0]> (r)  y = Reshape (t, b) }
    """
    middle = maker_of(node.inputs[0], "Transpose")
    inner = None if middle is None else maker_of(middle.inputs[0], *SHAPES_ONLY)
    if middle is None or inner is None or has_reference(node):
        return None
    if not is_private(node.inputs[0], node):
        return Reason("what it takes apart is read elsewhere")
    before, joined = facts.shape(inner.inputs[0]), facts.shape(middle.inputs[0])
    after, perm = facts.shape(node.outputs[0]), perm_of(middle, facts)
    if before is None or joined is None or after is None or perm is None or len(perm) != len(joined):
        return Reason("a shape, or the permutation, is not known")
    groups = _groups(*_where_not_empty(before, joined))
    if groups is None:
        return Reason("the inner Reshape does more than to join dims")
    order = [axis for group in perm for axis in groups[group]]
    if [before[axis] for axis in order] != list(after):
        return Reason("the dims that are joined are not those that are taken apart")
    source = inner.inputs[0]
    return Replace(lambda op: transposed(op, source, order))


def _where_not_empty(before: Sequence[DimLike], joined: Sequence[DimLike]) -> tuple[list[DimLike], list[DimLike]]:
    """Two shapes of one tensor for the runs in which it is not empty; of an empty one, nothing moves.

    A target that is 0 in some run copies a dim there, so that the shape is more than a product.
    """
    plain = {symbol: symbol_dim for dim in before for symbol, symbol_dim in _as_symbol(dim)}
    at_least_one = {symbol: symbol_dim + 1 for symbol, symbol_dim in plain.items()}
    first, second = (
        [dim.substitute(at_least_one) if isinstance(dim, Dim) else dim for dim in shape] for shape in (before, joined)
    )
    return first, second


def _as_symbol(dim: DimLike) -> Iterator[tuple[Symbol, Dim]]:
    """The symbol that a dim is, if it is one."""
    for symbol in dim.symbols if isinstance(dim, Dim) else ():
        if Dim.symbol(*symbol) == dim:
            yield symbol, Dim.symbol(*symbol)


def _groups(before: Sequence[DimLike], joined: Sequence[DimLike]) -> list[list[int]] | None:
    """For each joined dim, the axes whose product it is, all axes in their order; None where it is not so."""
    groups: list[list[int]] = []
    at = 0
    for place, dim in enumerate(joined):
        group: list[int] = []
        total: DimLike = 1
        while total != dim or not group:
            if at == len(before) or (dim == 1 and before[at] != 1):
                break
            group.append(at)
            total = product((total, before[at]))
            at += 1
        if total != dim:
            return None
        last = place == len(joined) - 1
        while last and at < len(before) and before[at] == 1:
            group.append(at)
            at += 1
        groups.append(group)
    return groups if at == len(before) else None


@rule(*SHAPES_ONLY, exact=True, after=UNARY)
def reshape_of_unary(node: ir.Node, facts: Facts) -> Outcome:
    """Reshape(f(Reshape(x, a)), b) = f(Reshape(x, c)), where f computes each element by itself.

    f may be several operators, such as QuantizeLinear and DequantizeLinear with one scale for all elements. Nothing
    else may read what lies between.

    Example:
        g (float[N, 2, 3] x) => (float[N, 2, 3] y) <int64[2] a = {0, 6}, int64[3] b = {0, 2, 3}> {
            r = Reshape (x, a)  f = Relu (r)  y = Reshape (f, b) }
    """
    middles: list[ir.Node] = []  # the last one first
    reader = node
    while (middle := maker_of(reader.inputs[0], *UNARY)) is not None and len(middles) < MAX_BETWEEN:
        middles.append(middle)
        if not is_private(reader.inputs[0], reader):
            return Reason("a value between is read elsewhere")
        reader = middle
    inner = maker_of(reader.inputs[0], *SHAPES_ONLY)
    if not middles or inner is None or has_reference(node):
        return None
    if not is_private(reader.inputs[0], reader) or not all(has_scalar_parameters(each, facts) for each in middles):
        return Reason("a value between is read elsewhere, or quantized with more than one scale")
    before, after = facts.shape(inner.inputs[0]), facts.shape(node.outputs[0])
    target = None if before is None or after is None else constant_target(before, after)
    if target is None or facts.opset_version(node) < MIN_RESHAPE:
        return Reason("no constant is proven to give the dims of both at once")
    source = inner.inputs[0]

    def build(op: Builder) -> Any:
        x: Any = source if before == after else reshape(op, source, target)
        for each in reversed(middles):
            x = op.node(each.op_type, x, *each.inputs[1:], **dict[str, Any](each.attributes))
        return x

    return Replace(build)


@rule(*SHAPES_ONLY, exact=True, lowers=Cost.EXPRESSION, after=("Pad",))
def reshape_of_pad(node: ir.Node, facts: Facts) -> Outcome:
    """Unsqueeze(Pad(Reshape(x, a), p)) = Pad(Reshape(x, c), p'), where dims of 1 that are not padded come in or go.

    The Reshape meets its like there, so that one is left.

    Example:
        g (float[N, 3] x) => (float[N, 1, V, 1] y)
            <int64[1] one = {1}, int64[6] pads = {0, 0, 1, 0, 0, 2}, int64[1] last = {3}> {
            u = Unsqueeze (x, one)  p = Pad (u, pads)  y = Unsqueeze (p, last) }
    """
    pad = maker_of(node.inputs[0], "Pad")
    inner = None if pad is None else maker_of(pad.inputs[0], *SHAPES_ONLY)
    if pad is None or inner is None or has_reference(node):
        return None
    if not is_private(node.inputs[0], node) or input_of(pad, 3) is not None:
        return Reason("what it pads is read elsewhere, or only some axes are named")
    before, padded, after = facts.shape(pad.inputs[0]), facts.shape(pad.outputs[0]), facts.shape(node.outputs[0])
    source_shape, pads = facts.shape(inner.inputs[0]), ints_of(pad, facts, "pads", 1)
    if before is None or padded is None or after is None or source_shape is None or pads is None:
        return Reason("a shape, or the pads, are not known")
    version = facts.opset_version(node)
    axes = _kept_axes(padded, after, before, pads)
    if version < MIN_RESHAPE or axes is None or len(pads) != 2 * len(before):
        return Reason("more than dims of 1 that are not padded come in or go")
    wanted = [1 if axis is None else before[axis] for axis in axes]
    target = constant_target(source_shape, wanted)
    if target is None:
        return Reason("no constant target gives the dims to be padded")
    first = [0 if axis is None else pads[axis] for axis in axes]
    last = [0 if axis is None else pads[axis + len(before)] for axis in axes]
    source, others = inner.inputs[0], pad.inputs[2:]

    def build(op: Builder) -> Any:
        x = reshape(op, source, target)
        attributes: dict[str, Any] = {name: value for name, value in pad.attributes.items() if name != "pads"}
        if version < 11:
            return op.node("Pad", x, pads=(*first, *last), **attributes)
        return op.node("Pad", x, op.constant(int64s((*first, *last))), *others, **attributes)

    return Replace(build)


def _kept_axes(
    padded: Sequence[DimLike], after: Sequence[DimLike], before: Sequence[DimLike], pads: Sequence[int]
) -> list[int | None] | None:
    """For each dim of the result the axis of Pad that it is, None for a new dim of 1; None where more changes."""
    axes: list[int | None] = []
    at = 0
    for dim in after:
        while at < len(padded) and padded[at] != dim and _is_plain_one(at, before, pads):
            at += 1  # a dim of 1 that goes
        if at < len(padded) and padded[at] == dim:
            axes.append(at)
            at += 1
        elif dim == 1:
            axes.append(None)
        else:
            return None
    rest = range(at, len(padded))
    return axes if all(_is_plain_one(axis, before, pads) for axis in rest) else None


def _is_plain_one(axis: int, before: Sequence[DimLike], pads: Sequence[int]) -> bool:
    return before[axis] == 1 and not pads[axis] and not pads[axis + len(before)]
