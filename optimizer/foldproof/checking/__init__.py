"""The rule checker: a rule's example in many variations, each run before and after the rule."""

from foldproof.checking.check import Effort, RuleCheck, check_rule
from foldproof.checking.finding import Finding, Kind
from foldproof.checking.selection import rules_of

__all__ = ["Effort", "Finding", "Kind", "RuleCheck", "check_rule", "rules_of"]
