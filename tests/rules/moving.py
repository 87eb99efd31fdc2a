"""What the tests of data movement share."""

from __future__ import annotations

import onnx

from tests.helpers import operators, parse, rewrite
from tests.rules.checking import assert_same_everywhere

CLEANING = ("dead_node", "unused_initializer")


def becomes(text: str, expected: dict[str, int], *rules: str, opset: int = 18, exact: bool = True) -> onnx.ModelProto:
    """Asserts what operators are left by some rules, that outputs are the same, and that a second run does nothing."""
    original = parse(text, opset=opset)
    model, _ = rewrite(original, *rules, *CLEANING)
    assert operators(model) == expected
    assert_same_everywhere(original, model, exact=exact)
    again, rewriter = rewrite(model, *rules, *CLEANING)
    assert len(rewriter.ledger) == 0, rewriter.ledger.entries
    assert operators(again) == expected
    return model


def stays(text: str, *rules: str, opset: int = 18) -> None:
    """Asserts that some rules do not apply."""
    original = parse(text, opset=opset)
    _, rewriter = rewrite(original, *rules)
    assert [entry.rule for entry in rewriter.ledger.entries] == []
