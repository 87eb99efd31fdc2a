"""Finds the rules that a person wants to be checked: by a rule's name, or by the module that holds them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from foldproof.errors import UsageError
from foldproof.rewriting import Rule
from foldproof.rewriting.packs import chosen


def rules_of(name: str, known: Sequence[Rule]) -> list[Rule]:
    """The rules of that name.

    Args:
        name: The name of a rule, or of a module such as `my_pack.rules`, which may stand in the working directory. Of
            a module it is what its function `rules` gives, as an entry point does; without one, all rules in it.
        known: The rules of all installed packs.

    Raises:
        UsageError: There is neither such a rule nor such a module, or the module holds no rules.
    """
    found = [rule for rule in known if rule.name == name]
    if found:
        return found
    working = str(Path.cwd())
    if working not in sys.path:
        sys.path.insert(0, working)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0] and error.name != name:
            raise UsageError(f"the module {name!r} can't be imported: {error}") from error
        if "." in name:
            raise UsageError(f"there is no module {name!r}", hint="Name a rule, or a module of rules") from error
        return chosen(known, [name], ())  # says which rule was perhaps meant
    except (ImportError, SyntaxError) as error:
        raise UsageError(f"the module {name!r} can't be imported: {error}") from error
    give = getattr(module, "rules", None)
    rules = list(give()) if callable(give) else [each for each in vars(module).values() if isinstance(each, Rule)]
    if not rules or not all(isinstance(each, Rule) for each in rules):
        raise UsageError(f"the module {name!r} holds no rules", hint="Make them by `foldproof.rewriting.rule`")
    return rules
