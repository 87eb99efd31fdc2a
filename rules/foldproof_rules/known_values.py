"""Shape arithmetic whose result is proven."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Fact, Facts, Kind, tensor_of
from foldproof.rewriting import ANY, Constant, Forward, Outcome, Reason, rule

MAX_ELEMENTS = 64
"""What is folded here is shape data, which is small. Larger tensors would make the file grow."""


def known_tensor(fact: Fact) -> ir.TensorProtocol | None:
    """The tensor that a value is in each run, where it is small and each of its elements is proven."""
    return tensor_of(fact) if fact.elements is not None and len(fact.elements) <= MAX_ELEMENTS else None


@rule(ANY, exact=True, benefit=10, level=1)
def known_elements(node: ir.Node, facts: Facts) -> Outcome:
    """f(x, ...) = c, where each element of the result is proven: shape arithmetic, also in a dynamic model.

    The elements are exact numbers, rounded as the type of the result does. Where one is NaN, infinite or -0.0 nothing
    is known of it, and the node stays.

    Example:
        g (float[N, 3] x) => (int64[1] y) <int64[1] two = {2}> { s = Shape <start = 1> (x)  y = Mul (s, two) }
    """
    if not node.inputs or any(facts.of(output).elements is None for output in node.outputs) or facts.is_opaque(node):
        return None
    tensors = []
    for output in node.outputs:
        fact = facts.of(output)
        elements = fact.elements
        if fact.kind is not Kind.TENSOR or elements is None or fact.dtype is None or not fact.is_static:
            return None
        if len(elements) > MAX_ELEMENTS:
            return Reason("its {} elements are more than shape data has", len(elements))
        tensor = known_tensor(fact)
        if tensor is None:
            return Reason("its elements are [{}]", ", ".join("?" if e is None else str(e) for e in elements))
        tensors.append(tensor)
    return Constant(*tensors)


@rule(ANY, exact=True, benefit=9, level=1)
def same_elements(node: ir.Node, facts: Facts) -> Outcome:
    """f(x, ...) = y, where y is there already and each of its elements is the same expression of the dims.

    So one `Size` or `Shape` is left of many of one value, and `ReduceProd(Shape(x))` becomes `Size(x)` where that is
    there.

    Example:
        g (float[N, 3] x) => (int64 s, int64 t) {
            s = Size (x)  d = Shape (x)  p = ReduceProd <keepdims = 0> (d)  t = Neg (p) }
    """
    if len(node.outputs) != 1:
        return None
    other = facts.equivalents.earlier(node.outputs[0])
    return None if other is None else Forward(other)
