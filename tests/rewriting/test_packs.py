from __future__ import annotations

import dataclasses
from importlib import metadata

import pytest
from click.testing import CliRunner

from foldproof.cli import main
from foldproof.errors import UsageError
from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.rewriting import Rule, packs
from foldproof.rewriting.examples import example_of
from foldproof.rewriting.packs import chosen, installed
from tests.helpers import operators, parse, rewrite
from tests.rewriting import somebodys_pack

SOMEBODYS_RULES = [rule.name for rule in somebodys_pack.rules()]


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
    monkeypatch.setattr(packs, "_of_packs", packs._of_packs.__wrapped__)  # look for them again


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


def with_somebodys_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    points(monkeypatch, "foldproof_rules:rules", "tests.rewriting.somebodys_pack:rules")


SOMEBODYS = """g (float[N] x) => (float[N] y, float[N] z, float[N] w) {
    s = Softsign(x) y = Identity(s) m = somebody.Marker(x) z = Exp(m) n = Neg(x) a = Abs(n) b = Abs(a) w = Sqrt(b) }"""


def test_the_rules_of_somebody_elses_pack_are_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    with_somebodys_pack(monkeypatch)
    model = parse(SOMEBODYS, imports='"somebody": 1')
    result = Optimizer(Options(verify=False, rules=[*SOMEBODYS_RULES, "dead_node"])).run(model)
    assert {entry.rule for entry in result.report.ledger} == {*SOMEBODYS_RULES, "dead_node"}
    assert operators(result.model) == {"Div": 1, "Add": 1, "Abs": 2, "Identity": 1, "Exp": 1, "Sqrt": 1}


def test_they_give_the_reason_why_they_do_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    with_somebodys_pack(monkeypatch)
    text = SOMEBODYS.replace("float[N]", "float16[N]").replace("Marker(x)", "Marker(x, x)")
    _, rewriter = rewrite(parse(text, imports='"somebody": 1'), *SOMEBODYS_RULES)
    reasons = {name: str(each) for given in rewriter.reasons.values() for name, each in given.items()}
    assert reasons == {
        "softsign_written_out": "its type is FLOAT16",
        "marker_taken_away": "it has 2 inputs, more than 1",
        "abs_of_abs_of_neg": "it is no float",
    }


def test_a_rule_is_not_tried_in_an_opset_before_its_first(monkeypatch: pytest.MonkeyPatch) -> None:
    with_somebodys_pack(monkeypatch)
    text = "g (float[N] x) => (float[N] y) { y = Softsign(x) }"
    for opset, count in ((7, 0), (8, 1)):
        _, rewriter = rewrite(parse(text, opset=opset), "softsign_written_out")
        assert (len(rewriter.ledger), rewriter.reasons) == (count, {})


def test_they_are_listed_and_shown_as_the_built_in_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with_somebodys_pack(monkeypatch)
    listing = CliRunner().invoke(main, ["rules"]).output
    assert "somebodys_pack" in listing
    assert all(name in listing for name in SOMEBODYS_RULES)
    shown = CliRunner().invoke(main, ["rules", "softsign_written_out"]).output
    assert "opsets    8 and later" in shown
    assert "y = Softsign (x)" in shown
    assert "y = Div (x, " in shown
    assert "y = " not in CliRunner().invoke(main, ["rules", "abs_of_abs_of_neg"]).output  # it gives no example


def test_a_pack_may_not_take_the_name_of_a_built_in_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    with_somebodys_pack(monkeypatch)
    taken = dataclasses.replace(somebodys_pack.marker_taken_away, name="identity")
    monkeypatch.setattr(somebodys_pack, "rules", lambda: [taken])
    with pytest.raises(UsageError, match="two rules have the name 'identity'"):
        installed()


def test_an_example_that_is_no_model_is_refused() -> None:
    broken = dataclasses.replace(somebodys_pack.softsign_written_out, example="g (float[N] x) => ")
    with pytest.raises(UsageError, match="the example of the rule 'softsign_written_out' can't be parsed"):
        example_of(broken)
