"""Rules that take away data movement which moves nothing."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Forward, Outcome, Reason, rule


@rule("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", exact=True, level=1)
def same_shape(node: ir.Node, facts: Facts) -> Outcome:
    """f(x) = x, where f keeps the order of the elements and the shape is proven to stay the same."""
    return _same_shape(node, facts) or _forward(node)


@rule("Tile", exact=True, level=1)
def tile_once(node: ir.Node, facts: Facts) -> Outcome:
    """Tile(x, [1, ..., 1]) = x."""
    repeats = facts.of(node.inputs[1]).ints if len(node.inputs) == 2 else None
    if repeats is None or any(repeat != 1 for repeat in repeats):
        return Reason("its repeats are not known to be 1")
    return _same_shape(node, facts) or _forward(node)


@rule("Pad", exact=True, level=1)
def pad_nothing(node: ir.Node, facts: Facts) -> Outcome:
    """Pad(x, [0, ..., 0]) = x."""
    if len(node.inputs) > 1:
        pads = facts.of(node.inputs[1]).ints
    else:
        attribute = node.attributes.get("pads") or node.attributes.get("paddings")
        pads = None if attribute is None or attribute.is_ref() else tuple(attribute.as_ints())
    if pads is None or any(pads):
        return Reason("its pads are not known to be 0")
    return _same_shape(node, facts) or _forward(node)


@rule("Slice", exact=True, level=1)
def slice_all(node: ir.Node, facts: Facts) -> Outcome:
    """Slice(x, 0, end, axes, 1) = x, where the shape is proven to stay the same.

    A reversal keeps the shape too: the steps must be proven to be 1.
    """
    if len(node.inputs) > 4 and node.inputs[4] is not None:
        steps = facts.of(node.inputs[4]).ints
        if steps is None or any(step != 1 for step in steps):
            return Reason("its steps are not known to be 1")
    return _same_shape(node, facts) or _forward(node)


@rule("Identity", exact=True, level=1)
def identity(node: ir.Node, facts: Facts) -> Outcome:
    """Identity(x) = x."""
    return _forward(node)


@rule("Cast", exact=True, level=1)
def same_type(node: ir.Node, facts: Facts) -> Outcome:
    """Cast(x, to) = x, where x is of that type already."""
    source, target = facts.of(node.inputs[0]).dtype, facts.of(node.outputs[0]).dtype
    if source is None or source is not target:
        return Reason("it casts {} to {}", *("an unknown type" if t is None else t.name for t in (source, target)))
    return _forward(node)


def _same_shape(node: ir.Node, facts: Facts) -> Reason | None:
    """Why the shape may not stay the same, None where it is proven to."""
    before, after = facts.shape(node.inputs[0]), facts.shape(node.outputs[0])
    if before is None or after is None:
        return Reason("its shape is unknown")
    if before != after:
        return Reason("its shape changes from [{}] to [{}]", ", ".join(map(str, before)), ", ".join(map(str, after)))
    return None


def _forward(node: ir.Node) -> Outcome:
    """Reads the input instead of the output, unless that is how an output of the graph gets its name."""
    source = node.inputs[0]
    return Reason("its input is left out") if source is None else Forward(source)
