"""Rules, the worklist that applies them, and the record of what they did."""

from foldproof.rewriting.expression import expression_rule
from foldproof.rewriting.ledger import Entry, Ledger
from foldproof.rewriting.listener import Listener
from foldproof.rewriting.rewriter import Rewriter
from foldproof.rewriting.rule import (
    ANY,
    Constant,
    Cost,
    Forward,
    Outcome,
    Reason,
    Remove,
    Replace,
    Rule,
    initializer_rule,
    rule,
)

__all__ = [
    "ANY",
    "Constant",
    "Cost",
    "Entry",
    "Forward",
    "Ledger",
    "Listener",
    "Outcome",
    "Reason",
    "Remove",
    "Replace",
    "Rewriter",
    "Rule",
    "expression_rule",
    "initializer_rule",
    "rule",
]
