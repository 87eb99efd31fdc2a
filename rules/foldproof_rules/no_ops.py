"""Rules that take away data movement which moves nothing."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts, NodeView
from foldproof.rewriting import Forward, Outcome, Reason, Replace, rule

MAX_MASK = 64
"""A mask of more elements is not stored as a constant: the file would grow."""


@rule("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", exact=True, level=1, early=True)
def same_shape(node: ir.Node, facts: Facts) -> Outcome:
    """f(x) = x, where f keeps the order of the elements and the shape is proven to stay the same.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <int64[2] s = {0, -1}> { z = Reshape (x, s)  y = Neg (z) }
    """
    return _same_shape(node, facts) or _forward(node)


@rule("Tile", exact=True, level=1)
def tile_once(node: ir.Node, facts: Facts) -> Outcome:
    """Tile(x, [1, ..., 1]) = x.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <int64[2] r = {1, 1}> { z = Tile (x, r)  y = Neg (z) }
    """
    repeats = facts.of(node.inputs[1]).ints if len(node.inputs) == 2 else None
    if repeats is None or any(repeat != 1 for repeat in repeats):
        return Reason("its repeats are not known to be 1")
    return _same_shape(node, facts) or _forward(node)


@rule("Pad", exact=True, level=1)
def pad_nothing(node: ir.Node, facts: Facts) -> Outcome:
    """Pad(x, [0, ..., 0]) = x.

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <int64[4] p = {0, 0, 0, 0}> { z = Pad (x, p)  y = Neg (z) }
    """
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

    Example:
        g (float[N, 3] x) => (float[N, 3] y) <int64[1] start = {0}, int64[1] end = {9223372036854775807}> {
            z = Slice (x, start, end)  y = Neg (z) }
    """
    if len(node.inputs) > 4 and node.inputs[4] is not None:
        steps = facts.of(node.inputs[4]).ints
        if steps is None or any(step != 1 for step in steps):
            return Reason("its steps are not known to be 1")
    return _same_shape(node, facts) or _forward(node)


@rule("Identity", exact=True, level=1)
def identity(node: ir.Node, facts: Facts) -> Outcome:
    """Identity(x) = x.

    Example:
        g (float[N] x) => (float[N] y) { z = Identity (x)  y = Neg (z) }
    """
    return _forward(node)


@rule("Cast", exact=True, level=1)
def same_type(node: ir.Node, facts: Facts) -> Outcome:
    """Cast(x, to) = x, where x is of that type already.

    Example:
        g (float[N] x) => (float[N] y) { z = Cast <to = 1> (x)  y = Neg (z) }
    """
    source, target = facts.of(node.inputs[0]).dtype, facts.of(node.outputs[0]).dtype
    if source is None or source is not target:
        return Reason("it casts {} to {}", *("an unknown type" if t is None else t.name for t in (source, target)))
    return _forward(node)


@rule("Dropout", exact=True, level=1)
def dropout_without_drop(node: ir.Node, facts: Facts) -> Outcome:
    """Dropout(x) = x, where it is proven not to train, or to drop with a ratio of 0; all of its mask is true.

    Dropout-7 and 10 never train, 1 and 6 do unless `is_test` says no, and from 12 an input decides. What the mask of
    the older ones holds then, the specification leaves open: there it has to be unread.

    Example:
        g (float[N] x) => (float[N] y) <float ratio = {0.1}> { z, mask = Dropout (x, ratio)  y = Neg (z) }
    """
    view = NodeView(node, facts)
    if not facts.is_deterministic(node) and not _drops_nothing(view):
        return Reason("it may train")
    source = node.inputs[0]
    mask = node.outputs[1] if len(node.outputs) > 1 else None
    if mask is not None and mask.is_graph_output():
        return Reason("its mask is an output of the graph")
    if mask is None or not mask.uses():
        return Forward(source, *[None] * (len(node.outputs) - 1))
    fact = facts.of(mask)
    dims = [dim for dim in fact.shape or () if isinstance(dim, int)]
    if view.version < 12 or not fact.is_static or np.prod(dims, dtype=np.float64) > MAX_MASK:
        return Reason("its mask is read")
    return Replace(lambda op: [source, op.constant(np.ones(dims, bool))])


def _drops_nothing(view: NodeView) -> bool:
    """The specification of Dropout-12 and later gives its input back where the ratio is 0, also in training."""
    return view.version >= 12 and view.input(1).ints == (0,)


@rule("Concat", "Sum", "Max", "Min", "Mean", exact=True, level=1)
def single_operand(node: ir.Node, facts: Facts) -> Outcome:
    """Concat(x) = x, Sum(x) = x, Max(x) = x, Min(x) = x, Mean(x) = x.

    Example:
        g (float[N] x) => (float[N] y) { z = Concat <axis = 0> (x)  y = Neg (z) }
    """
    return _forward(node) if len(node.inputs) == 1 else None


@rule("Resize", "Upsample", exact=True, level=1)
def resize_nearest_by_one(node: ir.Node, facts: Facts) -> Outcome:
    """Resize(x, scales = [1, ...], mode = nearest) = x; so for sizes that are those of x.

    Each coordinate is mapped to itself, in all versions of Upsample and Resize, but where `tf_half_pixel_for_nn` adds a
    half.

    Example:
        g (float[N, 1, 4] x) => (float[N, 1, 4] y) <float[3] scales = {1, 1, 1}> {
            z = Resize (x, , scales)  y = Neg (z) }
    """
    view = NodeView(node, facts)
    if view.has_unknown_attribute() or view.attribute("mode", "nearest") != "nearest":
        return None
    if view.attribute("coordinate_transformation_mode") == "tf_half_pixel_for_nn":
        return Reason("its coordinates are moved by a half")
    return _resized_by_other_than_one(view) or _forward(node)


@rule("Resize", "Upsample", exact=False)
def resize_by_one(node: ir.Node, facts: Facts) -> Outcome:
    """Resize(x, scales = [1, ...], mode) = x; so for sizes that are those of x.

    Interpolation gives each element the weight 1 and its neighbours the weight 0. In onnxruntime this is exact; by the
    letter of the specification, a neighbour that is infinite turns an element into NaN.

    Example:
        g (float[N, 1, 4] x) => (float[N, 1, 4] y) <float[3] scales = {1, 1, 1}> {
            z = Resize <mode = "linear"> (x, , scales)  y = Neg (z) }
    """
    view = NodeView(node, facts)
    if view.has_unknown_attribute() or view.attribute("mode", "nearest") == "nearest":
        return None
    return _resized_by_other_than_one(view) or _forward(node)


def _resized_by_other_than_one(view: NodeView) -> Reason | None:
    """Why the scales may not all be 1; None where they are proven to be.

    A scale that is near 1 may keep the dim too, and is used all the same: only sizes can be compared by dims.
    """
    if view.attribute("coordinate_transformation_mode") == "tf_crop_and_resize":
        return Reason("it crops")
    if view.attribute("exclude_outside", 0) or view.attribute("antialias", 0):
        return Reason("the runtime computes its weights anew, and not so that an infinite element stays")
    at = 1 if view.op_type == "Upsample" or view.version < 11 else 2
    if view.op_type == "Upsample" and view.version < 9:
        scales = view.attribute("scales") or (view.attribute("height_scale"), view.attribute("width_scale"))
        return None if all(scale == 1 for scale in scales) else Reason("its scales are {}", scales)
    known = view.input(at).ints
    if known and all(scale == 1 for scale in known):
        return None
    # Resize-11 and 12 may have an empty tensor of scales beside the sizes.
    if not view.has_input(3) or (view.has_input(at) and known != ()):
        return Reason("its scales are not known to be 1")
    if view.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
        return Reason("one scale of its sizes is used for all axes")
    return _same_shape(view.node, view.facts)


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
