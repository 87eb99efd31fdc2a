"""Rules about Pad that meets Pad or Slice."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Forward, Outcome, Reason, Replace, rule
from foldproof_rules._moves import (
    INT64_MAX,
    attribute,
    has_reference,
    input_of,
    int64s,
    ints_of,
    is_private,
    kept_attributes,
    maker_of,
    size_of,
)
from foldproof_rules.slicing import cuts_of


@rule("Pad", exact=True, benefit=2, level=1)
def pad_of_pad(node: ir.Node, facts: Facts) -> Outcome:
    """Pad(Pad(x, p, v), q, v) = Pad(x, p + q, v), where both pad with one constant, and take nothing away.

    Example:
        g (float[N, M] x) => (float[A, B] y) <int64[4] p = {0, 1, 0, 2}, int64[4] q = {1, 0, 0, 1}> {
            z = Pad (x, p)  y = Pad (z, q) }
    """
    inner = maker_of(node.inputs[0], "Pad")
    if inner is None or has_reference(node):
        return None
    if not is_private(node.inputs[0], node):
        return Reason("what it pads is read elsewhere too")
    first, second = _pads(inner, facts), _pads(node, facts)
    modes = {attribute(each, "mode", "constant") for each in (inner, node)}
    if first is None or second is None or len(first) != len(second) or modes != {"constant"}:
        return Reason("one of both takes away, or pads with more than a constant, or its pads are not known")
    if input_of(inner, 2) is not input_of(node, 2) or attribute(inner, "value", 0.0) != attribute(node, "value", 0.0):
        return Reason("the constants are not the same one")
    source, pads = inner.inputs[0], [a + b for a, b in zip(first, second, strict=True)]
    if any(pad > INT64_MAX for pad in pads):
        return Reason("no tensor is that large")
    others = kept_attributes(node, "pads")
    if input_of(node, 1) is None:
        return Replace(lambda op: op.Pad(source, pads=pads, **others))
    return Replace(lambda op: op.Pad(source, op.constant(int64s(pads)), *node.inputs[2:], **others))


@rule("Slice", exact=True, benefit=2, level=1, after=("Pad",))
def slice_of_pad(node: ir.Node, facts: Facts) -> Outcome:
    """Slice(Pad(x, p), ...) = x, where it takes away what was put on, and nothing else.

    Example:
        g (float[N, 3] x) => (float[N, 3] y)
            <int64[4] pads = {0, 1, 0, 2}, int64[1] start = {1}, int64[1] end = {-2}, int64[1] axis = {1}> {
            p = Pad (x, pads)  s = Slice (p, start, end, axis)  y = Neg (s) }
    """
    inner = maker_of(node.inputs[0], "Pad")
    if inner is None:
        return None
    pads, cuts, source = _pads(inner, facts), cuts_of(node, facts), inner.inputs[0]
    if pads is None or cuts is None or source is None:
        return Reason("its bounds, or the pads, are not known")
    rank = len(pads) // 2
    by_axis = {cut.axis: cut for cut in cuts}
    for axis in range(rank):
        before, after, cut = pads[axis], pads[axis + rank], by_axis.get(axis)
        dim = size_of(source, axis, facts)
        if cut is None:
            whole = not before and not after
        else:
            end_is_known = isinstance(dim, int) and cut.end == before + dim
            ends = end_is_known or (cut.end == -after if after else cut.is_to_the_end)
            whole = cut.start == before and cut.step == 1 and ends
        if not whole:
            return Reason("on axis {} it takes something else than what was padded", axis)
    return Forward(source)


def _pads(node: ir.Node, facts: Facts) -> tuple[int, ...] | None:
    """The pads of a Pad that puts on, or nothing, on all axes; None where they are not known."""
    if input_of(node, 3) is not None:
        return None
    pads = ints_of(node, facts, "pads", 1)
    return pads if pads is not None and all(pad >= 0 for pad in pads) and len(pads) % 2 == 0 else None
