"""The documentation's rules are right, and what it shows of the checker is what that says."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest

from foldproof import Optimizer, Options
from foldproof.checking import check, text
from foldproof.engines import Worker
from foldproof.rewriting import Rule
from foldproof.rewriting.packs import installed
from foldproof.rewriting.rule_modules import rules_in
from tests.helpers import operators, parse

DOCS = (Path(__file__).parents[2] / "docs" / "writing-rules.md").read_text(encoding="utf-8")
CODE = "\n\n".join(re.findall(r"^```python\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL))


@pytest.fixture
def worker() -> Worker:
    with Worker() as worker:
        yield worker


def written(path: Path, code: str = CODE) -> list[Rule]:
    path.write_text(code)
    return rules_in(str(path))


def test_no_fault_is_found_in_the_three_rules(tmp_path: Path, worker: Worker) -> None:
    rules = written(tmp_path / "my_rules.py")
    assert [rule.name for rule in rules] == ["root_of_square", "cum_sum_of_one", "log_of_exp_plus_one"]
    for rule in rules:
        found = check.check_rule(rule, installed(), check.Effort(fired=10), worker=worker)
        assert found.fired > 5
        assert found.findings == ()


def test_the_checker_finds_the_line_that_was_missing(tmp_path: Path, worker: Worker) -> None:
    line = "    if not -len(shape) <= places[0] < len(shape):\n"
    start = CODE.index(line)
    end = CODE.index("\n", start + len(line)) + 1
    rule = written(tmp_path / "my_rules.py", CODE[:start] + CODE[end:])[1]
    found = check.check_rule(rule, installed(), worker=worker)
    told = "\n".join([text.line_of(found), *(line for each in found.findings for line in text.lines_of(each))])
    shown = re.findall(r"^```text\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)[0]
    raised, where = shown.splitlines()[1:]
    assert shown.startswith("faulty  cum_sum_of_one: ")
    assert raised in told
    assert where in told


def test_they_change_a_model_and_leave_alone_what_only_looks_alike(tmp_path: Path) -> None:
    written(tmp_path / "my_rules.py")
    options = Options(rules_from=[str(tmp_path / "my_rules.py")])
    model = """g (float[N] x, float[N,1] z, float[N,K] u) => (float[N] a, float[N] b, float[N] c, float[N,1] d, float[N,K] e)
        <float one = {1}, float two = {1.001}, int64 axis = {-1}> {
        s = Mul(x, x) a = Sqrt(s)
        p = Exp(x) q = Add(p, one) b = Log(q)
        r = Add(p, two) c = Log(r)
        d = CumSum(z, axis) e = CumSum(u, axis) }"""
    result = Optimizer(options).run(parse(model))
    assert result.report.verdict == "verified"
    # The Exp is read twice, so that the first Log stays as well.
    assert operators(result.model) == {"Abs": 1, "Exp": 1, "Add": 2, "Log": 2, "Identity": 1, "CumSum": 1}
    alone = parse(model.replace("r = Add(p, two) c = Log(r)", "c = Neg(x)"))
    assert operators(Optimizer(options).run(alone).model) == {
        "Abs": 1,
        "Softplus": 1,
        "Neg": 1,
        "Identity": 1,
        "CumSum": 1,
    }
    onnx.checker.check_model(result.model, full_check=True)
