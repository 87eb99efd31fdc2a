"""The rule checker: a rule's example in many variations, each run before and after the rule."""
