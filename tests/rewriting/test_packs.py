from __future__ import annotations

from importlib import metadata

import pytest

from foldproof.errors import UsageError
from foldproof.rewriting import Rule
from foldproof.rewriting.packs import chosen, installed


def test_the_built_in_rules_are_found_by_their_entry_point() -> None:
    names = [rule.name for rule in installed()]
    assert {"static_size", "static_shape", "dead_node", "unused_initializer"} <= set(names)
    assert len(names) == len(set(names))


def test_each_rule_says_what_equals_what() -> None:
    for rule in installed():
        assert isinstance(rule, Rule)
        assert len(rule.equation) <= 200, rule.name
        assert rule.equation.endswith("."), rule.name
        assert rule.level in (1, 2, 3)


def points(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    made = [metadata.EntryPoint(f"pack{k}", value, "foldproof.rules") for k, value in enumerate(values)]
    monkeypatch.setattr("foldproof.rewriting.packs.metadata.entry_points", lambda group: made)


def test_a_pack_that_can_not_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    points(monkeypatch, "no_such_module_at_all:rules")
    with pytest.raises(UsageError, match="'pack0' can't be loaded"):
        installed()


def test_two_rules_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import foldproof_rules

    def renamed() -> list[Rule]:
        import dataclasses

        return [dataclasses.replace(foldproof_rules.rules()[0])]

    monkeypatch.setattr("foldproof_rules.renamed", renamed, raising=False)
    points(monkeypatch, "foldproof_rules:rules", "foldproof_rules:renamed")
    with pytest.raises(UsageError, match="two rules have the name"):
        installed()


def test_rules_are_chosen_by_name() -> None:
    rules = installed()
    assert [rule.name for rule in chosen(rules, ["static_size"], ())] == ["static_size"]
    assert "static_size" not in [rule.name for rule in chosen(rules, None, ["static_size"])]
    assert chosen(rules, [], ()) == []
    with pytest.raises(UsageError, match="`foldproof rules` lists them"):
        chosen(rules, ["xyzzy_nothing_like_it"], ())
