"""Rules about Tile."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Outcome, Reason, Replace, rule
from foldproof_rules._moves import int64s, maker_of


@rule("Tile", exact=True, benefit=2, level=1)
def tile_of_tile(node: ir.Node, facts: Facts) -> Outcome:
    """Tile(Tile(x, r), s) = Tile(x, r * s), for constant repeats."""
    inner = maker_of(node.inputs[0], "Tile")
    if inner is None or len(node.inputs) != 2 or len(inner.inputs) != 2:  # Tile-1 has another form
        return None
    first, second = facts.of(inner.inputs[1]).ints, facts.of(node.inputs[1]).ints
    if first is None or second is None or len(first) != len(second):
        return Reason("its repeats are not known")
    source, repeats = inner.inputs[0], [a * b for a, b in zip(first, second, strict=True)]
    return Replace(lambda op: op.Tile(source, op.constant(int64s(repeats))))
