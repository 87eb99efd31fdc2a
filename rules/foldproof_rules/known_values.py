"""Shape arithmetic whose result is proven."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts, Kind
from foldproof.rewriting import ANY, Constant, Forward, Outcome, Reason, rule

MAX_ELEMENTS = 64
"""What is folded here is shape data, which is small. Larger tensors would make the file grow."""


@rule(ANY, exact=True, benefit=10, level=1)
def known_elements(node: ir.Node, facts: Facts) -> Outcome:
    """f(x, ...) = c, where each element of the result is proven: shape arithmetic, also in a dynamic model.

    The elements are exact numbers, rounded as the type of the result does. Where one is NaN, infinite or -0.0 nothing
    is known of it, and the node stays.
    """
    if not node.inputs or facts.is_opaque(node):
        return None
    tensors = []
    for output in node.outputs:
        fact = facts.of(output)
        elements = fact.elements
        if fact.kind is not Kind.TENSOR or elements is None or fact.dtype is None or not fact.is_static:
            return None
        if len(elements) > MAX_ELEMENTS:
            return Reason("its {} elements are more than shape data has", len(elements))
        known = [element for element in elements if isinstance(element, (int, Fraction))]
        if len(known) < len(elements):
            return Reason("its elements are [{}]", ", ".join("?" if e is None else str(e) for e in elements))
        values = [element if isinstance(element, int) else float(element) for element in known]
        shape = [dim for dim in fact.shape or () if isinstance(dim, int)]
        tensors.append(ir.Tensor(np.array(values).astype(fact.dtype.numpy()).reshape(shape), dtype=fact.dtype))
    return Constant(*tensors)


@rule(ANY, exact=True, benefit=9, level=1)
def same_elements(node: ir.Node, facts: Facts) -> Outcome:
    """f(x, ...) = y, where y is there already and each of its elements is the same expression of the dims.

    So one `Size` or `Shape` is left of many of one value, and `ReduceProd(Shape(x))` becomes `Size(x)` where that is
    there.
    """
    if len(node.outputs) != 1:
        return None
    other = facts.equivalents.earlier(node.outputs[0])
    return None if other is None else Forward(other)
