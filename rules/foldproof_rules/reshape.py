"""Rules about operators that keep the elements and their order: Reshape, Flatten, Squeeze, Unsqueeze."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from foldproof.facts import Dim, DimLike, Element, Facts
from foldproof.facts.dim import at_least
from foldproof.rewriting import Cost, Forward, Outcome, Reason, Replace, rule
from foldproof_rules._moves import (
    MIN_RESHAPE,
    attribute,
    axes_in,
    constant_target,
    has_reference,
    input_of,
    ints_of,
    maker_of,
    reshape,
    with_axes,
)

SHAPES_ONLY = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
"""Operators that give the elements of their first input in the same order, under other dims."""


@rule("Reshape", exact=True, level=1, lowers=Cost.EXPRESSION, early=True)
def reshape_target(node: ir.Node, facts: Facts) -> Outcome:
    """Reshape(x, s) = Reshape(x, c), where each dim of the result is an integer, one that stays, or the only free one.

    c holds integers, 0 for a dim that is copied from x, and -1 for one free dim. -1 needs all others to be
    proven positive, unless s has it: by a dim that is 0 in some run, the runtime can't divide.

    Example:
        g (float[N, M, 4] x) => (float[N, K] y) <int64[1] rest = {-1}> {
            n = Shape <end = 1> (x)  s = Concat <axis = 0> (n, rest)  y = Reshape (x, s) }
    """
    if len(node.inputs) != 2 or facts.of(node.inputs[1]).ints is not None or has_reference(node):
        return None
    before, after = facts.shape(node.inputs[0]), facts.shape(node.outputs[0])
    if before is None or after is None:
        return Reason("its shape is unknown")
    target = constant_target(before, after) or _by_element(node, facts, before)
    if target is None:
        return Reason("no constant makes [{}] of [{}]", ", ".join(map(str, after)), ", ".join(map(str, before)))
    if attribute(node, "allowzero", 0) and 0 in target and not _is_explicit(facts.of(node.inputs[1]).elements):
        # A -1 beside a 0 that is no copy: onnxruntime leaves such a 0 out of the division.
        return Reason("with allowzero, a copied dim may stand beside a -1")
    source = node.inputs[0]
    return Replace(lambda op: reshape(op, source, target))


def _is_explicit(elements: Sequence[Element] | None) -> bool:
    """Whether each element of a target is known, and none is -1."""
    return elements is not None and all(isinstance(each, (int, Dim)) and each != -1 for each in elements)


def _by_element(node: ir.Node, facts: Facts, before: Sequence[DimLike]) -> list[int] | None:
    """A constant that stands for the target element by element; None where there is none.

    Where an element is 0 in some run, the dim of x is 0 too, so that copying it gives the same.
    """
    elements = facts.of(node.inputs[1]).dims
    if elements is None or len(elements) == 0:
        return None
    target = []
    for axis, element in enumerate(elements):
        if axis < len(before) and before[axis] == element:
            target.append(0)
        elif isinstance(element, Dim) or (element == 0 and attribute(node, "allowzero", 0)):
            return None
        else:
            target.append(element)
    return target


@rule(*SHAPES_ONLY, exact=True, benefit=3, level=1, lowers=Cost.EXPRESSION, after=SHAPES_ONLY)
def one_reshape(node: ir.Node, facts: Facts) -> Outcome:
    """f(g(x)) = h(x), for f and g of Reshape, Flatten, Squeeze and Unsqueeze, where h is proven to give the same dims.

    All of them keep the elements in their order, so that the dims of the result are all that counts. h is x itself, an
    Unsqueeze of two, a Squeeze of two, a Reshape with a constant target (a 0 of the outer target stands for a dim of
    g(x), so it is never taken over as it is), or the outer Reshape where it is proven not to look at the dims of g(x).
    g(x) stays where others read it: it moves nothing.

    Example:
        g (float[N, 3, 4] x) => (float[N, 2, 6] y) <int64[2] flat = {0, 12}, int64[3] two = {-1, 2, 6}> {
            z = Reshape (x, flat)  y = Reshape (z, two) }
    """
    inner = maker_of(node.inputs[0], *SHAPES_ONLY)
    if inner is None or has_reference(node):
        return None
    source = inner.inputs[0]
    before, after = facts.shape(source), facts.shape(node.outputs[0])
    if before is not None and before == after and source is not None:
        return Forward(source)
    version = facts.opset_version(node)
    if node.op_type == inner.op_type in ("Squeeze", "Unsqueeze"):
        axes = _both_axes(node, inner, facts)
        if axes is not None:
            return Replace(lambda op: with_axes(op, node.op_type, source, axes, version))
    if before is not None and after is not None:
        target = constant_target(before, after)
        if target is not None and version >= MIN_RESHAPE:
            return Replace(lambda op: reshape(op, source, target))
        if (added := _ones_between(before, after)) is not None:
            return Replace(lambda op: with_axes(op, "Unsqueeze", source, added, version))
        if (dropped := _ones_between(after, before)) is not None:
            return Replace(lambda op: with_axes(op, "Squeeze", source, dropped, version))
    return _outer_alone(node, inner, facts, version)


def _both_axes(node: ir.Node, inner: ir.Node, facts: Facts) -> tuple[int, ...] | None:
    """The axes of one Squeeze or Unsqueeze that does what two do; None where they are not known."""
    # Unsqueeze names axes of its output, Squeeze of its input: told apart, the two are the same.
    outermost, then = (node, inner) if node.op_type == "Unsqueeze" else (inner, node)
    wide = node.outputs[0] if node.op_type == "Unsqueeze" else inner.inputs[0]
    first = axes_in(ints_of(outermost, facts, "axes", 1), facts.of(wide).rank)
    second = axes_in(ints_of(then, facts, "axes", 1), facts.of(node.inputs[0]).rank)
    if not first or not second:  # Squeeze without axes looks for dims of 1
        return None
    rank = len(first) + len(second) + max(*first, *second) + 1
    others = [axis for axis in range(rank) if axis not in first]
    return tuple(sorted((*first, *(others[axis] for axis in second))))


def _ones_between(few: Sequence[DimLike], many: Sequence[DimLike]) -> tuple[int, ...] | None:
    """The axes of `many` at which a dim of 1 makes it of `few`; None where more than that would be needed."""
    axes: list[int] = []
    for axis, dim in enumerate(many):
        place = axis - len(axes)
        if place < len(few) and few[place] == dim:
            continue
        if dim != 1:
            return None
        axes.append(axis)
    return tuple(axes) if axes and len(many) - len(axes) == len(few) else None


def _outer_alone(node: ir.Node, inner: ir.Node, facts: Facts, version: int) -> Outcome:
    """The outer Reshape, applied to the source of the inner node, where its target does not copy a dim of that one."""
    shape, source = input_of(node, 1), inner.inputs[0]
    if node.op_type != "Reshape" or shape is None or version < MIN_RESHAPE:
        return Reason("no constant is proven to give the dims of both at once")
    target, allowzero = facts.of(shape).dims, bool(attribute(node, "allowzero", 0))
    if target is None:
        return Reason("its target is not known")
    if allowzero or all(dim == -1 or at_least(dim, 1) for dim in target):
        return Replace(lambda op: op.Reshape(source, shape, **({"allowzero": 1} if allowzero else {})))
    composed = _composed(target, facts.of(input_of(inner, 1)).ints) if inner.op_type == "Reshape" else None
    if composed is not None and not allowzero and not attribute(inner, "allowzero", 0):
        return Replace(lambda op: reshape(op, source, composed))
    # The target's dims are those of the result, in every run: so a 0 in it may be meant as such.
    if version >= 14 and target == facts.shape(node.outputs[0]):
        return Replace(lambda op: op.Reshape(source, shape, allowzero=1))
    return Reason("its target copies a dim")


def _composed(outer: Sequence[DimLike], inner: Sequence[int] | None) -> list[int] | None:
    """The outer target, with each 0 replaced by what the inner one has there; None where that is its -1."""
    target: list[int] = []
    for axis, wanted in enumerate(outer):
        if inner is None or isinstance(wanted, Dim) or (wanted == 0 and (axis >= len(inner) or inner[axis] == -1)):
            return None
        target.append(wanted or inner[axis])
    return target
