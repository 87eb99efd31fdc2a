"""Finds the rules that a person wants to be checked: by a rule's name, or by the module that holds them."""

from __future__ import annotations

from collections.abc import Sequence

from foldproof.rewriting import Rule
from foldproof.rewriting.packs import chosen
from foldproof.rewriting.rule_modules import is_there, rules_in


def rules_of(name: str, known: Sequence[Rule]) -> list[Rule]:
    """The rules of that name.

    Args:
        name: The name of a rule, or of a module of rules as `rules_in` takes it.
        known: The rules of all installed packs.

    Raises:
        UsageError: There is neither such a rule nor such a module, or the module holds no rules.
    """
    if any(rule.name == name for rule in known) or (name.isidentifier() and not is_there(name)):
        return chosen(known, [name], ())  # of a name that is not there, it says which rule was perhaps meant
    return rules_in(name)
