"""Rules that give the padding of a `Pad` to the operator that reads it."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.facts.dim import at_least
from foldproof.rewriting import Outcome, Reason, Replace, rule
from foldproof_rules._patterns import maker_of
from foldproof_rules._weights import (
    again,
    attribute_float,
    attribute_int,
    attribute_ints,
    attribute_string,
    input_of,
    is_private,
    single,
)


@rule("Conv", exact=False, benefit=5, after=("Pad",))
def pad_into_conv(node: ir.Node, facts: Facts) -> Outcome:
    """Conv(Pad(x, p), pads=q) = Conv(x, pads=p + q), where p pads spatial dims with zeros and crops nothing.

    Example:
        g (float[N, 1, W] x) => (float[N, 1, V] y) <int64[6] pads = {0, 0, 1, 0, 0, 2}, float[1, 1, 2] w = {1, 2}> {
            p = Pad (x, pads)  y = Conv (p, w) }
    """
    found = _padding(node, facts)
    if not isinstance(found, tuple):
        return found
    x, begins, ends = found
    own = _own_pads(node, len(begins))
    return own if isinstance(own, Reason) else _padded(node, x, _sum(own, begins, ends))


@rule("AveragePool", exact=False, benefit=5, since=7, after=("Pad",))
def pad_into_average_pool(node: ir.Node, facts: Facts) -> Outcome:
    """AveragePool(Pad(x, p)) = AveragePool(x, pads=p, count_include_pad=1), where p pads with zeros, as for `Conv`.

    Pads that the pool leaves out of its count, and windows beyond the padded input (`ceil_mode`), stay as they are. The
    runtime wants pads smaller than the kernel. A `MaxPool` pads with other numbers.

    Example:
        g (float[N, 1, 5] x) => (float[N, 1, V] y) <int64[6] pads = {0, 0, 1, 0, 0, 1}> {
            p = Pad (x, pads)  y = AveragePool <kernel_shape = [3]> (p) }
    """
    found = _padding(node, facts)
    if not isinstance(found, tuple):
        return found
    x, begins, ends = found
    own, kernel = _own_pads(node, len(begins)), attribute_ints(node, "kernel_shape", ())
    if isinstance(own, Reason):
        return own
    if attribute_int(node, "ceil_mode", 0) != 0:
        return Reason("its last windows may reach beyond the padded input")
    if any(own) and attribute_int(node, "count_include_pad", 0) != 1:
        return Reason("it leaves its own pads out of the count")
    pads = _sum(own, begins, ends)
    if kernel is None or any(pad >= size for pad, size in zip(pads, kernel * 2, strict=True)):
        return Reason("the pads would be no smaller than the kernel")
    return _no_elements(x, facts) or _padded(node, x, pads, count_include_pad=1)


@rule("MaxPool", exact=False, benefit=5, since=7, after=("Pad",))
def pad_into_max_pool(node: ir.Node, facts: Facts) -> Outcome:
    """MaxPool(Pad(x, p, -infinity)) = MaxPool(x, pads=p), where p pads spatial dims only and crops nothing.

    What a MaxPool pads with is less than any number, so with any other value the Pad stays, 0 among them. So do
    dilations, windows beyond the padded input (`ceil_mode`), and indices, which count the padded elements. Which of 0.0
    and -0.0 is the largest, the runtime decides by where in the window they stand.

    Example:
        g (float[N, 1, 5] x) => (float[N, 1, V] y) <int64[6] pads = {0, 0, 1, 0, 0, 1}, float lowest = {-inf}> {
            p = Pad (x, pads, lowest)  y = MaxPool <kernel_shape = [3]> (p) }
    """
    found = _padding(node, facts, value=-math.inf)
    if not isinstance(found, tuple):
        return found
    x, begins, ends = found
    own, kernel = _own_pads(node, len(begins)), attribute_ints(node, "kernel_shape", ())
    if isinstance(own, Reason):
        return own
    if len(node.outputs) > 1:
        return Reason("its indices count the padded elements")
    dilations = attribute_ints(node, "dilations", ())
    if attribute_int(node, "ceil_mode", 0) != 0 or dilations is None or any(step != 1 for step in dilations):
        return Reason("its windows may hold nothing but padding")
    pads = _sum(own, begins, ends)
    if kernel is None or any(pad >= size for pad, size in zip(pads, kernel * 2, strict=True)):
        return Reason("the pads would be no smaller than the kernel")
    return _no_elements(x, facts) or _padded(node, x, pads)


def _no_elements(x: ir.Value, facts: Facts) -> Reason | None:
    """Why the runtime may refuse to pool what a Pad alone makes larger than nothing."""
    shape = facts.shape(x)
    if shape is None or not all(at_least(dim, 1) for dim in shape[2:]):
        return Reason("a spatial dim may be 0, of which the runtime has no pool")
    return None


def _padding(
    node: ir.Node, facts: Facts, *, value: float = 0.0
) -> tuple[ir.Value, tuple[int, ...], tuple[int, ...]] | Reason | None:
    """Reads x and the spatial pads, at the begins and at the ends, of a Pad with one value that a node reads."""
    source = input_of(node, 0)
    pad = maker_of(source, "Pad")
    if pad is None or pad.inputs[0] is None:
        return None
    if not is_private(source):
        return Reason("the padded value is read elsewhere")
    if attribute_string(pad, "mode", "constant") != "constant":
        return Reason("it does not pad with a constant")
    rank, version = facts.of(pad.inputs[0]).rank, facts.opset_version(pad)
    if version < 11:
        pads, used = attribute_ints(pad, "pads" if version > 1 else "paddings", ()), attribute_float(pad, "value", 0.0)
    else:
        given = input_of(pad, 2)
        pads, used = facts.of(input_of(pad, 1)).ints, 0.0 if given is None else single(given, facts)
    if used != value:
        return Reason("it is not known to pad with {}", value)
    axes = facts.of(input_of(pad, 3)).ints if input_of(pad, 3) is not None else tuple(range(rank or 0))
    if pads is None or rank is None or axes is None or len(pads) != 2 * len(axes):
        return Reason("its pads are not known")
    begins, ends = [0] * rank, [0] * rank
    for k, axis in enumerate(axes):
        begins[axis], ends[axis] = pads[k], pads[k + len(axes)]
    if min(*begins, *ends) < 0 or any(begins[:2] + ends[:2]):
        return Reason("it crops, or pads the batch or the channels")
    return pad.inputs[0], tuple(begins[2:]), tuple(ends[2:])


def _own_pads(node: ir.Node, count: int) -> tuple[int, ...] | Reason:
    """The pads of a convolution or pool itself."""
    if attribute_string(node, "auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return Reason("its own padding depends on its input")
    pads = attribute_ints(node, "pads", (0,) * (2 * count))
    return pads if pads is not None and len(pads) == 2 * count else Reason("its own pads are not known")


def _sum(own: tuple[int, ...], begins: tuple[int, ...], ends: tuple[int, ...]) -> list[int]:
    return [a + b for a, b in zip(own, begins + ends, strict=True)]


def _padded(node: ir.Node, x: ir.Value, pads: list[int], **changed: Any) -> Replace:
    return Replace(lambda op: again(op, node, x, *node.inputs[1:], pads=pads, auto_pad="NOTSET", **changed))
