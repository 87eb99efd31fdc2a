"""Rules about the target shape of `Reshape`."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Dim, DimLike, Facts
from foldproof.rewriting import Outcome, Reason, Replace, rule


@rule("Reshape", exact=True, level=1)
def reshape_target(node: ir.Node, facts: Facts) -> Outcome:
    """Reshape(x, s) = Reshape(x, c), where each dim of the result is an integer, one of x in its place, or the only free one.

    c holds integers, 0 for a dim that is copied from x, and -1 for one free dim. -1 needs all others to be proven positive
    integers: by a dim that is 0 in some run, the runtime can't divide.
    """
    if len(node.inputs) != 2 or facts.of(node.inputs[1]).ints is not None:
        return None
    before, after = facts.shape(node.inputs[0]), facts.shape(node.outputs[0])
    if before is None or after is None:
        return Reason("its shape is unknown")
    target = _target(before, after)
    if target is None:
        return Reason("no constant makes [{}] of [{}]", ", ".join(map(str, after)), ", ".join(map(str, before)))
    source = node.inputs[0]
    return Replace(lambda op: op.Reshape(source, op.constant(np.array(target, np.int64))))


def _target(before: tuple[DimLike, ...], after: tuple[DimLike, ...]) -> list[int] | None:
    """A constant target that reshapes x from `before` to `after` in every run; None where there is none."""
    symbolic = [axis for axis, dim in enumerate(after) if isinstance(dim, Dim)]
    if len(symbolic) == 1 and all(isinstance(dim, Dim) or dim > 0 for dim in after):
        return [-1 if isinstance(dim, Dim) else dim for dim in after]
    target = []
    for axis, dim in enumerate(after):
        if axis < len(before) and before[axis] == dim:
            target.append(0 if isinstance(dim, Dim) or dim == 0 else dim)
        elif isinstance(dim, int) and dim > 0:
            target.append(dim)
        else:
            return None
    return target
