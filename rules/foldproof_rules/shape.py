"""Rules about `Shape`, the dims of a tensor."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Constant, Outcome, Reason, rule


@rule("Shape", exact=True, benefit=20, level=1)
def static_shape(node: ir.Node, facts: Facts) -> Outcome:
    """Shape(x, start, end) = [d, ...], where each dim that start and end select is proven."""
    dims = facts.of(node.outputs[0]).elements
    if dims is None:
        return Reason("the rank of its input is unknown")
    if not all(isinstance(dim, int) for dim in dims):
        return Reason("its dims are [{}]", ", ".join(map(str, dims)))
    return Constant(np.array(dims, np.int64))
