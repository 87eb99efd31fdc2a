"""Rules about Tile."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof_rules._moves import INT64_MAX, int64s, maker_of


@rule("Tile", exact=True, benefit=2, level=1, lowers=Cost.EXPRESSION)
def tile_of_tile(node: ir.Node, facts: Facts) -> Outcome:
    """Tile(Tile(x, r), s) = Tile(x, r * s), for constant repeats.

    Example:
        g (float[N, M] x) => (float[A, B] y) <int64[2] r = {2, 1}, int64[2] s = {1, 3}> {
            z = Tile (x, r)  y = Tile (z, s) }
    """
    inner = maker_of(node.inputs[0], "Tile")
    if inner is None or len(node.inputs) != 2 or len(inner.inputs) != 2:  # Tile-1 has another form
        return None
    first, second = facts.of(inner.inputs[1]).ints, facts.of(node.inputs[1]).ints
    if first is None or second is None or len(first) != len(second):
        return Reason("its repeats are not known")
    source, repeats = inner.inputs[0], [a * b for a, b in zip(first, second, strict=True)]
    if any(abs(repeat) > INT64_MAX for repeat in repeats):
        return Reason("no tensor is that large")
    return Replace(lambda op: op.Tile(source, op.constant(int64s(repeats))))
