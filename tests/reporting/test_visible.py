"""Names of a model that nobody trusts, in all that is printed and in all that is written for a person."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import foldproof
from foldproof.reporting.html.page import page
from foldproof.reporting.terminal import safe
from foldproof.reporting.visible import visible, visible_data
from tests.commands import command
from tests.helpers import parse

EVIL = "\x1b]0;pwn\x07\n::error::pwn\r\x9b31m\u202e\u2066\u2028\x85\x7f\u200b\U000e0041\ufeff"
ESCAPED = r"\x1b]0;pwn\x07\n::error::pwn\r\x9b31m\u202e\u2066\u2028\x85\x7f\u200b\U000e0041\ufeff"

# What the standard of Unicode has for control, direction and things that are not seen; a line end of ours is none.
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


def save_evil(folder: Path) -> Path:
    """Writes a model all of whose names are evil, some of whose nodes go and some of whose nodes stay."""
    model = parse("g (float[N,4] x) => (float[N,4] y, int64 s) { a = Identity(x) y = Neg(a) s = Size(x) }")
    graph = model.graph
    for node in graph.node:
        node.name = f"{EVIL}{node.op_type}"
        for names in (node.input, node.output):
            names[:] = [f"{EVIL}{name}" for name in names]
    for value in (*graph.input, *graph.output):
        value.name = f"{EVIL}{value.name}"
    for value in (graph.input[0], graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_param = f"{EVIL}N"
    graph.name = model.doc_string = model.producer_name = EVIL
    path = folder / "m.onnx"
    onnx.save(model, path)
    return path


def assert_harmless(text: str) -> None:
    assert UNSEEN.findall(text) == []
    assert [line for line in text.splitlines() if line.startswith("::")] == []


@pytest.mark.parametrize(
    "name", ["::error file=x::pwn", "::stop-commands::x", "##[add-mask]x", f"{'x' * 78}::error::y"]
)
def test_no_name_is_a_command_to_github(name: str, tmp_path: Path) -> None:
    model = parse("g (float[N,4] x) => (int64 s) { s = Size(x) }")
    model.graph.node[0].output[0] = model.graph.output[0].name = name
    onnx.save(model, tmp_path / "m.onnx")
    for line in ("optimize {} --no-verify -v", "optimize {} --no-verify", "explain {}", "diff {} {}.opt.onnx --all"):
        shown = command(*(each.format(tmp_path / "m.onnx") for each in line.split())).output
        assert not [each for each in shown.splitlines() if each.strip().startswith("::") or "##[" in each]
    assert safe("acme::Thing and com.microsoft::Gelu") == "acme::Thing and com.microsoft::Gelu"


def test_it_is_as_python_would_write_it() -> None:
    assert visible(EVIL) == ESCAPED
    assert visible("größe→ 形 \\n") == "größe→ 形 \\n"
    assert visible("a\nb\x1b") == "a\\nb\\x1b"
    assert visible("\udce9") == "\\udce9"  # of a name that is not in UTF-8
    assert visible_data({"a\n": [("\x1b", 1), None]}) == {"a\\n": [["\\x1b", 1], None]}


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("optimize {m} -v --profile", 0),
        ("optimize {m} --no-verify", 0),
        ("explain {m} --all --op Size --op Neg", 0),
        ("explain {m}", 0),
        ("diff {m} {o} --all --names", 1),
        ("verify {m} {other} -v", 1),
        ("check {c} {m} {other}", 1),
        ("gate {m}", 1),
    ],
)
def test_in_a_terminal(arguments: str, status: int, tmp_path: Path) -> None:
    model, paths = save_evil(tmp_path), {name: tmp_path / f"{name}.onnx" for name in ("o", "other")}
    foldproof.optimize_file(model, paths["o"], certificate=tmp_path / "c.json", verify=False)
    other = onnx.load(model)
    other.graph.node[1].op_type = "Abs"
    onnx.save(other, paths["other"])
    result = command(*(each.format(m=model, c=tmp_path / "c.json", **paths) for each in arguments.split()))
    assert result.exit_code == status, result.output
    assert_harmless(result.output)


FAULTS: dict[str, Callable[[onnx.ModelProto], object]] = {
    "a value that is not there": lambda model: model.graph.node[0].input.__setitem__(0, f"{EVIL}no"),
    "a domain": lambda model: setattr(model.graph.node[0], "domain", EVIL),
    "two functions": lambda model: [model.functions.add(name=EVIL, domain=EVIL) for _ in range(2)],
    "a tensor": lambda model: model.graph.initializer.add(name=EVIL, data_type=1, dims=[4]),
    "a cycle": lambda model: model.graph.node[0].input.append(model.graph.node[1].output[0]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_in_an_error(fault: str, tmp_path: Path) -> None:
    path = save_evil(tmp_path)
    model = onnx.load(path)
    FAULTS[fault](model)
    onnx.save(model, path)
    result = command("optimize", path)
    assert result.exit_code == 3
    assert len(result.stderr.splitlines()) == 1
    assert_harmless(result.stderr)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="elsewhere no file can be called so")
def test_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = save_evil(tmp_path).rename(tmp_path / f"{EVIL[:-1]}.onnx")
    for arguments, status in (
        (["optimize", path, "-o", "o.onnx", "--report", "r.html"], 0),
        (["optimize", f"{path}no"], 3),
        (["diff", path, path], 0),
        (["gate", path, "--junit", "j.xml"], 1),
    ):
        result = command(*arguments)
        assert result.exit_code == status, result.output
        assert_harmless(result.output)
    (annotation,) = command("gate", path, "--annotations", "-q").stdout.splitlines()
    assert annotation.startswith("::error file=")
    assert UNSEEN.findall(annotation) == []
    assert_harmless(Path("j.xml").read_text(encoding="utf-8"))


def test_in_pages(tmp_path: Path) -> None:
    model, text = save_evil(tmp_path), {}
    report = foldproof.optimize_file(model, tmp_path / "o.onnx", report=tmp_path / "r.html")
    command("diff", model, tmp_path / "o.onnx", "--report", tmp_path / "d.html")
    for name in ("r", "d"):
        written = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        head, _, tail = written.partition('<script type="application/json" id="data">')
        data, _, scripts = tail.partition("</script>")
        assert_harmless(head)
        strings = _strings(json.loads(data))
        assert any(ESCAPED in each for each in strings)
        assert [each for each in strings if UNSEEN.search(each) or "\n" in each] == []
        text[name] = scripts
    assert text["r"] != text["d"]  # each has its own scripts, behind the data
    assert_harmless(report._repr_html_())


def test_a_template_shows_nothing_that_is_not_seen() -> None:
    text = page("diff.html.j2", title=EVIL, data={EVIL: EVIL}, scripts=(), context=_CONTEXT)
    assert f"<title>{ESCAPED}</title>" in text
    assert_harmless(text)


_CONTEXT = {
    "diff": {"a": EVIL, "b": EVIL},
    "first": EVIL,
    "second": EVIL,
    "version": "1",
    "verdict": {"word": "", "kind": "", "sign": "", "sentence": EVIL},
    "rows": 0,
    "has_pictures": False,
    "renamed": 0,
}


def _strings(data: object) -> list[str]:
    """All strings in what JSON was read to."""
    if isinstance(data, str):
        return [data]
    parts = data.items() if isinstance(data, dict) else data if isinstance(data, (list, tuple)) else ()
    return [text for part in parts for text in _strings(part)]
