from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from click.testing import CliRunner

from foldproof.checking import roles, shapes, types, values
from foldproof.checking.check import NEWEST, Effort, RuleCheck, check_rule
from foldproof.checking.selection import rules_of
from foldproof.checking.trial import Court
from foldproof.checking.variation import varied
from foldproof.cli import main
from foldproof.engines import Worker
from foldproof.errors import UsageError
from foldproof.facts import Facts
from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.rewriting import Outcome, Rule
from foldproof.rewriting.packs import installed
from tests.checking import sample_pack
from tests.helpers import parse

PACK = "tests.checking.sample_pack"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


def check(rule: Rule, worker: Worker, effort: Effort | None = None) -> RuleCheck:
    return check_rule(rule, installed(), effort, worker=worker)


def test_a_right_rule_passes(worker: Worker) -> None:
    found = check(sample_pack.abs_of_abs, worker)
    assert found.findings == ()
    assert found.same >= 10
    assert found.tried > found.fired == found.same + found.cannot_run


def test_what_is_wrong_only_in_variations_is_found_and_made_small(worker: Worker) -> None:
    """In its own example the rule is right."""
    found = check(sample_pack.add_nothing, worker, Effort(singles=None, pairs=0, fired=None))
    assert {finding.kind for finding in found.findings} == {"differs"}
    assert all(len(finding.variations) == 1 for finding in found.findings)
    first = found.findings[0]
    assert "x = np.array(" in f"x = {first.feed['x']}"
    onnx.checker.check_model(onnx.parser.parse_model(first.model))


def test_a_frozen_dim_is_found(worker: Worker) -> None:
    found = check(sample_pack.size_at_one, worker, Effort(singles=None, pairs=0, fired=None))
    assert [finding.kind for finding in found.findings] == ["differs"] * len(found.findings)
    assert found.findings


def test_several_variations_are_reduced_to_those_that_are_needed(worker: Worker) -> None:
    found = check(sample_pack.size_at_one, worker, Effort(singles=0, pairs=40, fired=None))
    assert found.findings
    assert all(len(finding.variations) == 1 for finding in found.findings)


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (sample_pack.fails_at_scalars, "raises"),
        (sample_pack.gives_a_truth, "no outcome"),
        (sample_pack.never, "does not fire"),
        (sample_pack.without_example, "does not fire"),
        (sample_pack.more_nodes, "raises a cost"),
        (sample_pack.back_and_forth, "raises"),
    ],
    ids=lambda each: each.name if isinstance(each, Rule) else each,
)
def test_each_kind_of_fault_is_told(rule: Rule, kind: str, worker: Worker) -> None:
    effort = Effort(singles=None, pairs=0, elsewhere=0, fired=None)
    assert kind in {finding.kind for finding in check(rule, worker, effort).findings}


def test_the_same_seed_gives_the_same_check(worker: Worker) -> None:
    first, second = (check(sample_pack.add_nothing, worker) for _ in range(2))
    assert first == second


def test_variations_are_valid_models_and_say_what_they_change() -> None:
    model = parse(
        "g (float[N, 3] x, float[M, 3] z) => (float[K, 3] y) <float[3] k = {1, 2, 3}> { c = Concat <axis = 0> (x, z) y = Add (c, k) }"
    )
    makers = (shapes.variations, lambda given: types.variations(given, NEWEST), values.variations, roles.variations)
    found = {}
    for make in makers:
        for each in make(model):
            changed = varied(model, (each,))
            if changed is not None:
                onnx.checker.check_model(changed, full_check=True)
                found[each.words] = changed
    for words in ("N is 0", "N is M", "FLOAT is DOUBLE", "k is all -0.0", "the last element of k is nan", "opset 13",
                  "k is an input", "k may be overridden", "c is handed out", "c is read elsewhere too",
                  "the operands of the Add that makes y are both the first"):  # fmt: skip
        assert words in found, words
    minus_zero = onnx.numpy_helper.to_array(found["k is all -0.0"].graph.initializer[0])
    assert np.signbit(minus_zero).all()
    assert found["N is 0"].graph.output[0].type.tensor_type.shape.dim[0].dim_param  # M and nothing
    assert found["FLOAT is DOUBLE"].graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE


def test_rules_are_found_by_their_name_and_by_their_module() -> None:
    known = installed()
    assert [rule.name for rule in rules_of("static_size", known)] == ["static_size"]
    assert [rule.name for rule in rules_of(PACK, known)] == ["abs_of_abs", "add_nothing"]
    assert len(rules_of("foldproof_rules.size", known)) >= 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("statc_size", "Did you mean 'static_size'"),
        ("no_pack.rules", "there is no module 'no_pack.rules'"),
        ("json", "the module 'json' holds no rules"),
    ],
)
def test_what_is_neither_a_rule_nor_a_module_of_rules_is_told(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        rules_of(name, installed())


def test_a_module_that_is_no_python_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unfinished_pack.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="the module 'unfinished_pack' can't be imported"):
        rules_of("unfinished_pack", installed())


def test_the_command_prints_the_smallest_model_and_ends_with_1() -> None:
    """And so the documentation shows it."""
    result = CliRunner().invoke(main, ["check-rule", PACK, "--thorough"])
    assert result.exit_code == 1
    text = (Path(__file__).parents[2] / "docs" / "checking-rules.md").read_text()
    rule, shown = (re.findall(f"```{kind}\n(.*?)```", text, re.DOTALL)[0] for kind in ("python", "text"))
    assert rule in Path(str(sample_pack.__file__)).read_text()
    assert shown in result.output
    assert "ok      abs_of_abs: " in result.output
    assert "faulty  add_nothing: " in result.output
    assert "the inputs:" in result.output
    assert "2 rules, 1 of them faulty" in result.output


def test_the_command_writes_json_and_ends_with_0() -> None:
    result = CliRunner().invoke(main, ["check-rule", "static_size", "--json", "-"])
    assert result.exit_code == 0
    (found,) = json.loads(result.output)["rules"]
    assert (found["rule"], found["findings"]) == ("static_size", [])
    assert found["fired"] > 5


def test_the_command_overwrites_no_file_of_the_persons_own(tmp_path: Path) -> None:
    target = tmp_path / "notes.json"
    target.write_text("mine")
    assert CliRunner().invoke(main, ["check-rule", "static_size", "--json", str(target)]).exit_code == 2
    assert CliRunner().invoke(main, ["check-rule", "static_size", "--json", str(tmp_path / "no" / "x")]).exit_code == 2
    assert target.read_text() == "mine"


def test_the_help_of_the_command_keeps_its_lines() -> None:
    shown = CliRunner().invoke(main, ["check-rule", "--help"]).output
    assert "  Exit status:\n    0  no fault was found\n" in shown


def test_a_failure_for_which_the_rewriter_finds_an_excuse_is_a_fault_where_the_model_runs(worker: Worker) -> None:
    def fails(node: ir.Node, facts: Facts) -> Outcome:
        raise IndexError("it looks where there is nothing")

    rule = dataclasses.replace(sample_pack.abs_of_abs, apply=fails)
    court = Court(rule, worker)
    # The declared rank of z is wrong: the rewriter excuses what fails beside it, and onnxruntime only warns.
    model = parse("g (float[2, 3] x) => (float[2, 3] y, float[6] z) { z = Neg (x)  y = Abs (z) }")
    assert Optimizer(Options(verify=False), [rule]).run(model).model is not None
    found = court.try_at(model)
    assert (found.status, found.finding.kind) == ("faulty", "raises")
    broken = parse("g (float[2, 3] x) => (float[2, 3] y) { a = Add (x)  y = Abs (a) }")
    assert court.try_at(broken).status == "idle"
