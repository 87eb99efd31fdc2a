"""A rule pack of somebody else: it uses only what `foldproof.rewriting` offers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Cost, Forward, Outcome, Reason, Replace, Rule, expression_rule, rule


@rule("Softsign", exact=False, since=8, lowers=Cost.FORM)
def softsign_written_out(node: ir.Node, facts: Facts) -> Outcome:
    """Softsign(x) = x / (1 + |x|), for float.

    Example:
        g (float[N] x) => (float[N] y) { y = Softsign (x) }
    """
    x = node.inputs[0]
    if facts.of(x).dtype is not ir.DataType.FLOAT:
        return Reason("its type is {}", facts.of(x).dtype)
    return Replace(lambda op: op.Div(x, op.Add(op.constant(np.float32(1)), op.Abs(x))))


class MarkerTakenAway:
    """Marker(x) = x, of the domain `somebody`."""

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed

    def __call__(self, node: ir.Node, facts: Facts) -> Outcome:
        if len(node.inputs) > self.allowed:
            return Reason("it has {} inputs, more than {}", len(node.inputs), self.allowed)
        return Forward(node.inputs[0])


marker_taken_away = Rule(
    name="marker_taken_away",
    op_types=("Marker",),
    domain="somebody",
    exact=True,
    apply=MarkerTakenAway(allowed=1),
    equation="Marker(x) = x.",
)


@expression_rule(exact=True)
class AbsOfAbsOfNeg:
    """||-x|| = |x|."""

    def pattern(op: Any, x: Any) -> Any:
        return op.Abs(op.Abs(op.Neg(x)))

    def replacement(op: Any, x: Any) -> Any:
        return op.Abs(x)

    def condition(facts: Facts, x: Any) -> Reason | None:
        return None if facts.of(x).dtype is ir.DataType.FLOAT else Reason("it is no float")


def rules() -> list[Rule]:
    """The pack, as its entry point names it."""
    return [softsign_written_out, marker_taken_away, AbsOfAbsOfNeg]
