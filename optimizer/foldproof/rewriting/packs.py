"""Finds the rules: the built-in pack and those of other people, by the entry-point group `foldproof.rules`."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import metadata

from foldproof.errors import UsageError
from foldproof.rewriting.rule import Rule
from foldproof.rewriting.rule_modules import rules_in

GROUP = "foldproof.rules"


def installed(modules: Iterable[str] = ()) -> list[Rule]:
    """The rules of all installed packs: the built-in pack first, the others by their entry point's name.

    Args:
        modules: Modules whose rules come after those, each as `rules_in` takes it.

    Raises:
        UsageError: Two packs have a rule of the same name, or a pack can't be loaded.
    """
    rules: dict[str, Rule] = {each.name: each for each in _of_packs()}
    for module in modules:
        _add(rules, rules_in(module), f"the module {module!r}")
    return list(rules.values())


@functools.cache
def _of_packs() -> tuple[Rule, ...]:
    """The rules of the packs, which are looked for once in a process: it takes as long as a small model."""
    points = sorted(metadata.entry_points(group=GROUP), key=lambda point: (point.name != "builtin", point.name))
    rules: dict[str, Rule] = {}
    for point in points:
        try:
            pack = point.load()()
        except Exception as error:
            raise UsageError(
                f"the rule pack {point.name!r} can't be loaded: {error}", hint=f"Repair or uninstall {point.value!r}"
            ) from error
        _add(rules, pack, f"the pack {point.name!r}")
    return tuple(rules.values())


def _add(rules: dict[str, Rule], pack: Iterable[Rule], source: str) -> None:
    for rule in pack:
        if rules.setdefault(rule.name, rule) is not rule:
            raise UsageError(f"two rules have the name {rule.name!r}", hint=f"One is in {source}")


def chosen(rules: Sequence[Rule], only: Iterable[str] | None, skip: Iterable[str]) -> list[Rule]:
    """The rules that a person asked for.

    Args:
        rules: All rules.
        only: The names of those to apply, None for all.
        skip: The names of those not to apply.

    Raises:
        UsageError: There is no rule of such a name.
    """
    names = {rule.name for rule in rules}
    for name in (*(only or ()), *skip):
        if name not in names:
            near = get_close_matches(name, names, 1)
            raise UsageError(
                f"there is no rule {name!r}",
                hint=f"Did you mean {near[0]!r}" if near else "`foldproof rules` lists them",
            )
    wanted = names if only is None else set(only)
    return [rule for rule in rules if rule.name in wanted and rule.name not in set(skip)]
