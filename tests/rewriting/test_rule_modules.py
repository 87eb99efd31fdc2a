from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

import foldproof
from foldproof.cli import main
from foldproof.errors import UsageError
from foldproof.rewriting.packs import installed
from foldproof.rewriting.rule_modules import rules_in
from tests.helpers import operators, parse

MINE = '''
"""My rules."""
import dataclasses

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Forward, Outcome, Reason, rule


@dataclasses.dataclass
class Limit:
    inputs: int = 1


@rule("Marker", exact=True, domain="somebody")
def no_marker(node: ir.Node, facts: Facts) -> Outcome:
    """Marker(x) = x, of the domain `somebody`."""
    return Forward(node.inputs[0]) if len(node.inputs) == Limit().inputs else Reason("it has more inputs")
'''
MARKED = "g (float[N] x) => (float[N] y) { a = somebody.Marker (x) y = Relu (a) }"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("tools").mkdir()
    path = Path("tools/mine.py")
    path.write_text(MINE)
    return path


def test_rules_of_a_file_are_applied_besides_those_of_the_packs(mine: Path) -> None:
    model = parse(MARKED, imports='"somebody": 1')
    kept = foldproof.optimize(model, verify=False)
    assert operators(kept) == {"somebody::Marker": 1, "Relu": 1}
    result = foldproof.Optimizer(foldproof.Options(verify=False, rules_from=[str(mine)])).run(model)
    assert operators(result.model) == {"Relu": 1}
    assert [entry.rule for entry in result.report.ledger] == ["no_marker"]


def test_they_are_chosen_by_name_as_others_are(mine: Path) -> None:
    model = parse(MARKED, imports='"somebody": 1')
    options = foldproof.Options(verify=False, rules_from=[str(mine)], skip_rules=["no_marker"])
    assert operators(foldproof.Optimizer(options).run(model).model) == {"somebody::Marker": 1, "Relu": 1}


def test_a_file_is_loaded_once(mine: Path) -> None:
    assert rules_in(str(mine))[0] is rules_in(str(mine.resolve()))[0]
    assert len(installed([str(mine), str(mine)])) == len(installed()) + 1


def test_a_module_of_the_working_directory_is_found(mine: Path) -> None:
    Path("my_own_pack").mkdir()
    Path("my_own_pack/__init__.py").write_text("")
    mine.rename("my_own_pack/all_of_them.py")
    assert [rule.name for rule in rules_in("my_own_pack.all_of_them")] == ["no_marker"]


def test_the_commands_take_them(mine: Path) -> None:
    onnx.save(parse(MARKED, imports='"somebody": 1'), "in.onnx")
    run = CliRunner().invoke
    result = run(main, ["optimize", "in.onnx", "--rules-from", str(mine), "--no-verify"])
    assert result.exit_code == 0, result.output
    assert operators(onnx.load("in.opt.onnx")) == {"Relu": 1}
    explained = run(main, ["explain", "in.onnx", "--rules-from", str(mine), "--rule", "no_marker"])
    assert "Marker(x) = x" in explained.output
    assert "no_marker" in run(main, ["rules", "--rules-from", str(mine)]).output
    assert "no_marker, of the family mine\n" in run(main, ["rules", "--rules-from", str(mine), "no_marker"]).output
    assert "has no example" in run(main, ["check-rule", str(mine)]).output


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("no_such.py", None, "there is no file no_such.py"),
        ("no_such_module_at_all", None, "there is no module 'no_such_module_at_all'. Name one"),
        ("no_such_package.rules", None, "there is no module 'no_such_package.rules'"),
        ("json.no_such", None, "there is no module 'json.no_such'"),
        ("broken_a.py", "def f(:\n", "broken_a.py can't be imported: SyntaxError"),
        ("broken_b.py", "import no_such_thing", "broken_b.py can't be imported: ModuleNotFoundError"),
        ("broken_c.py", "1 / 0", "broken_c.py can't be imported: ZeroDivisionError"),
        ("broken_d.py", "raise SystemExit(0)", "broken_d.py can't be imported: SystemExit"),
        ("empty.py", "", "holds no rules"),
        ("wrong.py", "def rules(): return [1]", "holds no rules"),
        ("failing.py", "def rules(): return 1 / 0", "the function `rules` of 'failing.py' failed: ZeroDivisionError"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_module_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str | None, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    if content is not None:
        Path(name).write_text(content)
    with pytest.raises(UsageError, match=words):
        rules_in(name)


def test_a_module_may_not_take_the_name_of_an_installed_rule(mine: Path) -> None:
    mine.write_text(MINE.replace("no_marker", "identity"))
    with pytest.raises(UsageError, match=r"two rules have the name 'identity'. One is in the module 'tools/mine.py'"):
        installed([str(mine)])
