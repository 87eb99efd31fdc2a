"""What is known of a value and why, what became of a node, and what would make it static."""

from foldproof.explaining.explain import explain, explain_rule
from foldproof.explaining.explanation import Explanation, Explanations, RuleExplanation

__all__ = ["Explanation", "Explanations", "RuleExplanation", "explain", "explain_rule"]
