"""Rules about `Size`, the number of elements of a tensor."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Constant, Outcome, Reason, rule

MAX_INT64 = 2**63 - 1


@rule("Size", exact=True, benefit=20)
def static_size(node: ir.Node, facts: Facts) -> Outcome:
    """Size(x) = c, where each dim of x is proven and c is their product.

    A product with an exact 0 is 0, whatever the other dims. A count that int64 can't hold is left as it is: no such
    tensor exists.
    """
    count = facts.element_count(node.inputs[0])
    if count is None:
        return Reason("the rank of its input is unknown")
    if not isinstance(count, int):
        return Reason("its element count is {}", count)
    if count > MAX_INT64:
        return Reason("its element count {} is more than int64 holds", count)
    return Constant(np.int64(count))
