"""`foldproof explain` and `foldproof diff` from the shell."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import onnx
import pytest

from tests.commands import DYNAMIC, command, save_dynamic
from tests.helpers import operators, parse


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_dynamic(tmp_path)


def test_the_command_that_explain_prints_folds_the_node(model: Path) -> None:
    result = command("explain", model, "--node", "t")
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.output.splitlines() if "foldproof optimize" in line]
    arguments = shlex.split(line.partition("foldproof ")[2])
    assert command(*arguments).exit_code == 0
    assert "Size" not in operators(onnx.load(model.with_name("model.opt.onnx")))


def test_explain_says_why_and_what_rests_on_what(model: Path) -> None:
    output = command("explain", model).output
    for text in (
        "t = Size(y), in g",
        "3*N",
        "y has the shape [N, 3]: an input of the model",
        "--set-dim N=1",
        "folds it",
    ):
        assert text in output


def test_many_nodes_are_summed_up(tmp_path: Path) -> None:
    sizes = " ".join(f"s{k} = Size(x{k})" for k in range(20))
    inputs = ", ".join(f"float[N,{k + 2}] x{k}" for k in range(20))
    path = tmp_path / "many.onnx"
    onnx.save(parse(f"g ({inputs}) => ({', '.join(f'int64 s{k}' for k in range(20))}) {{ {sizes} }}"), path)
    result = command("explain", path)
    assert len(result.output.splitlines()) < 40
    assert "8 more" in result.output
    assert "folds 20 of 20" in result.output
    assert "static_size" in command("explain", path, "--all").output


def test_explain_writes_json(model: Path) -> None:
    content = json.loads(command("explain", model, "--json", "-").output)
    assert content["format"] == 1
    assert content["dims"] == ["N"]
    found = {each["value"]: each for each in content["found"]}
    assert found["t"]["suggestion"] == {
        "set_dim": {"N": 1},
        "inline_functions": False,
        "value": "3",
        "model_runs": True,
        "arguments": ["--set-dim", "N=1"],
    }
    assert found["s"]["outcome"] == "folded"


def test_explain_a_rule(model: Path) -> None:
    result = command("explain", model, "--rule", "static_size")
    assert result.exit_code == 0
    assert "its element count is 3*N" in result.output
    assert command("explain", model, "--rule", "static_size", "--node", "s").exit_code == 2
    assert json.loads(command("explain", model, "--rule", "static_size", "--json", "-").output)["rule"] == "static_size"


def test_explain_says_what_is_wrong(model: Path) -> None:
    assert command("explain", model, "--node", "nothing").exit_code == 2
    assert command("explain", model, "--set-dim", "M=1").exit_code == 2
    assert command("explain", model.with_name("missing.onnx")).exit_code == 3
    assert command("explain", model, "--json", model).exit_code == 2


def test_where_a_node_went(model: Path) -> None:
    out = model.with_name("out.onnx")
    assert command("optimize", model, "-o", out, "--provenance", "--set-dim", "N=4").exit_code == 0
    result = command("explain", out, "--node", "t")
    assert result.exit_code == 0, result.output
    assert "the Size of the original, in g, is gone" in result.output
    assert "now t has its place" in result.output


def test_diff_exits_as_diff_does(model: Path) -> None:
    other = model.with_name("other.onnx")
    onnx.save(parse(DYNAMIC.replace("Size(y)", "Size(x)")), other)
    same = command("diff", model, model)
    assert (same.exit_code, same.output) == (0, "equal\n")
    assert command("diff", model, other).exit_code == 1
    assert command("diff", model, model.with_name("missing.onnx")).exit_code == 3
    assert command("diff", model).exit_code == 2
    assert command("diff", model, other, "--quiet").output == ""


def test_names_count_only_where_the_person_says_so(tmp_path: Path) -> None:
    paths = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for path, name in zip(paths, "pq", strict=True):
        onnx.save(parse(f"g (float[N] x) => (float[N] y) {{ {name} = Relu(x) y = Exp({name}) }}"), path)
    result = command("diff", *paths)
    assert result.exit_code == 0
    assert "nothing differs but names" in result.output
    assert "p => q" in result.output
    assert command("diff", *paths, "--names").exit_code == 1


def test_diff_shows_an_optimized_model(model: Path) -> None:
    out = model.with_name("out.onnx")
    assert command("optimize", model, "-o", out).exit_code == 0
    output = command("diff", model, out).output
    assert "- Size(x) -> s" in output
    assert "+ s: int64[], initializer" in output


def test_a_large_difference_fits_a_screen(tmp_path: Path) -> None:
    def chain(operator: str) -> onnx.ModelProto:
        nodes = " ".join(f"v{k + 1} = {operator}(v{k})" for k in range(200))
        return parse(f"g (float[N] v0) => (float[N] v200) {{ {nodes} }}")

    onnx.save(chain("Relu"), tmp_path / "a.onnx")
    onnx.save(chain("Exp"), tmp_path / "b.onnx")
    short, long = (command("diff", tmp_path / "a.onnx", tmp_path / "b.onnx", *more).output for more in ((), ("--all",)))
    assert len(short.splitlines()) < 45
    assert "more; --all shows them" in short
    assert len(long.splitlines()) > 400


def test_diff_writes_json_and_a_page(model: Path) -> None:
    out, page = model.with_name("out.onnx"), model.with_name("diff.html")
    hostile = "<script>alert(1)</script>"
    changed = parse(DYNAMIC)
    changed.graph.node[0].name = hostile
    changed.metadata_props.add(key=hostile, value=hostile)
    onnx.save(changed, out)
    result = command("diff", model, out, "--json", "-", "--report", page)
    assert result.exit_code == 1
    content = json.loads(result.output)
    assert content["renamed"]["nodes"] == [["", hostile]]
    text = page.read_text(encoding="utf-8")
    assert "Different" in text
    assert hostile not in text
    assert "default-src 'none'" in text
    assert command("diff", model, out, "--report", model).exit_code == 2
    both = model.with_name("both.html")
    assert command("diff", model, out, "--json", both, "--report", both).exit_code == 2
    assert not both.exists()


def test_text_of_the_models_is_harmless_in_a_terminal(tmp_path: Path) -> None:
    name = "evil\x1b[31m[bold]"
    a, b = (
        parse("g (float[N] x) => (int64 s) { p = Relu(x) s = Size(p) }"),
        parse("g (float[N] x) => (int64 s) { s = Size(x) }"),
    )
    for node in a.graph.node:
        for names in (node.input, node.output):
            names[:] = [name if each == "p" else each for each in names]
    for path, model in ((tmp_path / "a.onnx", a), (tmp_path / "b.onnx", b)):
        onnx.save(model, path)
    for output in (
        command("diff", tmp_path / "a.onnx", tmp_path / "b.onnx").output,
        command("explain", tmp_path / "a.onnx").output,
    ):
        assert "\x1b" not in output
        assert "[bold]" in output


def test_a_suggestion_repeats_the_options_under_which_it_was_tried(model: Path, tmp_path: Path) -> None:
    rules = tmp_path / "my rules.py"
    rules.write_text(
        "from foldproof.rewriting import Reason, rule\n"
        "@rule('Size', exact=True, level=3)\n"
        "def mine(node, facts):\n"
        "    '''Size(x) = c, one day.'''\n"
        "    return Reason('not yet')\n"
    )
    options = ["-O", "3", "--exact", "--rules-from", rules]
    found = command("explain", model, "--node", "t", *options)
    assert "not yet" in found.output
    (suggested,) = (line for line in found.output.splitlines() if line.startswith("to fold it"))
    arguments = shlex.split(suggested.removeprefix("to fold it"))
    assert arguments[:3] == ["foldproof", "optimize", str(model)]
    assert arguments[3:] == ["-O3", "--exact", "--rules-from", str(rules), "--set-dim", "N=1"]
    out = tmp_path / "suggested.onnx"
    assert command(*arguments[1:], "-o", out, "--no-verify").exit_code == 0
    assert "Size" not in operators(onnx.load(out))
    assert "-O3" not in command("explain", model, "--node", "t").output
