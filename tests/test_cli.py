from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tests.commands import DYNAMIC, command, save_dynamic
from tests.helpers import operators, parse

UNKNOWN = "g (float[2,3] x) => (float[2,3] y, int64 s) { y = acme.Thing(x) s = Size(x) }"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_dynamic(tmp_path)


def test_optimize_writes_beside_the_input_and_summarizes(model: Path) -> None:
    result = command("optimize", model)
    assert result.exit_code == 0, result.output
    written = model.with_name("model.opt.onnx")
    assert operators(onnx.load(written)) == {"Size": 1}
    for text in ("Size folded: 1", "Size evaluated: 1", "3*N", "verified", "model.opt.onnx"):
        assert text in result.output.replace("\n", "")


def test_an_earlier_output_is_replaced(model: Path) -> None:
    assert command("optimize", model).exit_code == 0
    assert command("optimize", model, "--set-dim", "N=2").exit_code == 0
    assert operators(onnx.load(model.with_name("model.opt.onnx"))) == {}


def test_a_file_of_the_persons_is_not_replaced(model: Path) -> None:
    mine = model.with_name("mine.onnx")
    mine.write_bytes(b"precious")
    result = command("optimize", model, "-o", mine)
    assert result.exit_code == 2
    assert "--force" in result.output
    assert mine.read_bytes() == b"precious"
    assert command("optimize", model, "-o", mine, "--force").exit_code == 0
    assert mine.read_bytes() != b"precious"


def test_an_earlier_output_that_the_person_changed_is_not_replaced(model: Path) -> None:
    assert command("optimize", model).exit_code == 0
    written = model.with_name("model.opt.onnx")
    written.write_bytes(written.read_bytes() + b"\0")
    assert command("optimize", model).exit_code == 2


@pytest.mark.parametrize("way", ["same", "symlink", "hardlink"])
def test_the_input_is_never_overwritten(model: Path, way: str) -> None:
    before = model.read_bytes()
    output = model.with_name("link.onnx")
    if way == "same":
        output = model
    elif way == "symlink":
        output.symlink_to(model)
    else:
        os.link(model, output)
    result = command("optimize", model, "-o", output, "--force")
    assert result.exit_code == 2
    assert "never overwritten" in result.output
    assert model.read_bytes() == before


def test_a_difference_exits_with_1_and_writes_nothing(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.test_pipeline import tolerant_size

    monkeypatch.setattr("foldproof.pipeline.installed", lambda *_: [tolerant_size])
    result = command("optimize", model, "--strict")
    assert result.exit_code == 1
    assert "differs from the original" in result.output
    assert "The guilty rewrite is 'tolerant_size' at 's'" in result.output
    assert list(model.parent.iterdir()) == [model]


def test_a_guilty_rewrite_is_taken_back_with_a_warning(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.test_pipeline import tolerant_size

    monkeypatch.setattr("foldproof.pipeline.installed", lambda *_: [tolerant_size])
    result = command("optimize", model, "--json", model.with_name("report.json"))
    assert result.exit_code == 0, result.output
    assert "'tolerant_size' at 's' was taken back" in result.output.replace("\n", " ")
    report = json.loads(model.with_name("report.json").read_text())
    assert [(each["rule"], each["place"]) for each in report["taken_back"]] == [
        ("tolerant_size", "s"),
        ("tolerant_size", "t"),
    ]
    assert report["taken_back"][0]["difference"]["optimized"] == 7
    assert onnx.load(model.with_name("model.opt.onnx")).graph == onnx.load(model).graph


def test_stop_after_does_a_prefix_of_the_ledger(model: Path) -> None:
    onnx.save(parse("g (float[2,3] x) => (int64 s, int64 t) { s = Size(x) t = Size(x) }"), model)
    reports = []
    for count in ("0", "1", "100"):
        file = model.with_name(f"{count}.json")
        assert command("optimize", model, "--force", "--stop-after", count, "--json", file).exit_code == 0
        reports.append(json.loads(file.read_text())["ledger"])
    none, one, all_ = reports
    assert none == []
    assert one == all_[:1]
    assert len(all_) > 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--set-dim", "N"],
        ["--set-dim", "N=x"],
        ["--set-dim", "N=-1"],
        ["--set-dim", "M=1"],
        ["--rules", "no_such_rule"],
        ["--no-such-option"],
        ["-o", "{folder}/missing/out.onnx"],
        ["-o", "{folder}"],
        ["--feeds", "{folder}/missing"],
        ["--bind", "N"],
        ["--bind", "N=1,x"],
        ["--bind", "N=1", "--bind", "N=2"],
        ["--bind", "M=1"],
        ["--verify-seconds", "0"],
    ],
)
def test_wrong_usage_exits_with_2(model: Path, arguments: list[str]) -> None:
    result = command("optimize", model, *(text.format(folder=model.parent) for text in arguments))
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    assert list(model.parent.iterdir()) == [model]


def malformed(folder: Path) -> dict[str, Path]:
    """Files that are no valid models, by what is wrong with them."""
    good = parse(DYNAMIC).SerializeToString()
    cyclic = parse("g (float[N] x) => (float[N] y) { y = Add(x, x) }")
    cyclic.graph.node[0].input[1] = "b"
    cyclic.graph.node.add(op_type="Relu", input=["y"], output=["b"])
    undefined = parse("g (float[N] x) => (float[N] y) { y = Add(x, x) }")
    undefined.graph.node[0].input[1] = "nowhere"
    duplicate = parse("g (float[N] x) => (float[N] y) { y = Relu(x) z = Neg(x) }")
    duplicate.graph.node[1].output[0] = "y"
    lost = parse("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    lost.graph.output[0].name = "other"
    contents = {
        "empty": b"",
        "truncated": good[: len(good) // 2],
        "text": b"this is not a model, but a text\n" * 20,
        "zeros": bytes(100),
        "cyclic": cyclic.SerializeToString(),
        "undefined": undefined.SerializeToString(),
        "duplicate": duplicate.SerializeToString(),
        "lost": lost.SerializeToString(),
    }
    paths = {}
    for name, content in contents.items():
        paths[name] = folder / f"{name}.onnx"
        paths[name].write_bytes(content)
    paths["missing"] = folder / "missing.onnx"
    paths["folder"] = folder / "folder.onnx"
    paths["folder"].mkdir()
    return paths


@pytest.mark.parametrize(
    "fault",
    ["empty", "truncated", "text", "zeros", "cyclic", "undefined", "duplicate", "lost", "missing", "folder"],
)
def test_a_malformed_model_exits_with_3(fault: str, tmp_path: Path) -> None:
    result = command("optimize", malformed(tmp_path)[fault], "-o", tmp_path / "out.onnx")
    assert result.exit_code == 3, result.output
    assert "foldproof: error:" in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "out.onnx").exists()


def test_a_model_without_permission_exits_with_3(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.open

    def refuse(path: Path, *arguments: object, **named: object) -> object:
        if path == model:
            raise PermissionError(13, "Permission denied", str(model))
        return real(path, *arguments, **named)

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr("builtins.open", lambda path, *a, **k: refuse(Path(path), *a, **k))
    result = command("optimize", model)
    assert result.exit_code == 3, result.output
    assert "permission" in result.output


def test_a_model_that_nothing_can_run_exits_with_4(tmp_path: Path) -> None:
    path = tmp_path / "unknown.onnx"
    onnx.save(parse(UNKNOWN, imports='"acme": 1'), path)
    result = command("optimize", path)
    assert result.exit_code == 4
    assert "--allow-unverified" in result.output
    assert list(tmp_path.iterdir()) == [path]


def test_allow_unverified_writes_all_the_same_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "unknown.onnx"
    onnx.save(parse(UNKNOWN, imports='"acme": 1'), path)
    result = command("optimize", path, "--allow-unverified")
    assert result.exit_code == 4
    assert "unverified" in result.output
    assert operators(onnx.load(tmp_path / "unknown.opt.onnx")) == {"acme::Thing": 1}


def test_without_a_runtime_it_says_what_to_install(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    result = command("optimize", model)
    assert result.exit_code == 4
    assert "foldproof[onnxruntime]" in result.output
    assert list(model.parent.iterdir()) == [model]
    assert command("optimize", model, "--no-verify").exit_code == 0


def test_json_has_all_of_it(model: Path) -> None:
    file = model.with_name("report.json")
    assert command("optimize", model, "--json", file, "-q").output == ""
    report = json.loads(file.read_text())
    assert report["verdict"] == "verified"
    assert report["nodes"] == {"before": {"Size": 2}, "after": {"Size": 1}}
    assert [fate["outcome"] for fate in report["fates"]] == ["folded", "evaluated"]
    assert report["ledger"][0]["rule"] == "static_size"
    assert report["ledger"][0]["because"] == ["x has the shape [2, 3] by input contract"]
    assert report["verification"]["status"] == "same"
    assert len({json.dumps(run["binding"]) for run in report["verification"]["runs"]}) >= 2


def test_json_to_the_standard_output_is_nothing_but_json(model: Path) -> None:
    assert json.loads(command("optimize", model, "--json", "-").output)["verdict"] == "verified"


def test_verify_tells_same_from_different(model: Path, tmp_path: Path) -> None:
    assert command("optimize", model).exit_code == 0
    result = command("verify", model, tmp_path / "model.opt.onnx")
    assert result.exit_code == 0
    assert "verified" in result.output
    other = tmp_path / "other.onnx"
    onnx.save(
        parse(DYNAMIC.replace("t = Size(y)", "one = Constant <value_int = 1> () u = Size(y) t = Add(u, one)")), other
    )
    result = command("verify", model, other)
    assert result.exit_code == 1
    assert "t:" in result.output
    unknown = tmp_path / "unknown.onnx"
    onnx.save(parse(UNKNOWN, imports='"acme": 1'), unknown)
    assert command("verify", unknown, unknown).exit_code == 4
    assert command("verify", model, tmp_path / "missing.onnx").exit_code == 3


def test_both_commands_verify_at_the_bindings_that_are_asked_for(model: Path) -> None:
    written = model.with_name("model.opt.onnx")
    file = model.with_name("report.json")
    options = ("--bind", "N=4,7", "--verify-seconds", "30", "--json", file)
    assert command("optimize", model, *options).exit_code == 0
    runs = json.loads(file.read_text())["verification"]["runs"]
    assert {run["binding"]["N"] for run in runs} == {4, 7}
    file.unlink()
    assert command("verify", model, written, *options).exit_code == 0
    runs = json.loads(file.read_text())["runs"]
    assert {run["binding"]["N"] for run in runs} == {4, 7}


def test_verify_says_which_engine_it_was_asked_for(model: Path) -> None:
    assert command("optimize", model).exit_code == 0
    written = model.with_name("model.opt.onnx")
    result = command("verify", model, written, "--reference", "onnx")
    assert result.exit_code == 0
    assert "onnx reference" in result.output
    result = command("verify", model, written, "--provider", "NoSuchExecutionProvider")
    assert result.exit_code == 4
    assert "NoSuchExecutionProvider" in result.output.replace("\n", "")


def test_rules_lists_each_rule_and_shows_one() -> None:
    from foldproof.rewriting.packs import installed

    listing = command("rules").output
    assert all(rule.name in listing and rule.equation in listing for rule in installed())
    assert "Size(x) = c" in command("rules", "static_size").output
    assert command("rules", "static_sise").exit_code == 2


def test_rules_are_listed_by_family_one_line_each() -> None:
    lines = command("rules").output.splitlines()
    families = [line for line in lines if not line.startswith(" ")]
    assert families == sorted(set(families))
    assert {"size", "transpose", "conv"} <= set(families)
    columns = {line.index(kind) for line in lines for kind in ("  exact  ", "  tolerant  ") if kind in line}
    assert len(columns) == 1


def test_a_rule_is_shown_with_all_that_it_declares_and_an_example_before_and_after() -> None:
    shown = command("rules", "mish").output
    for text in (
        "Mul(x, Tanh(Softplus(x))) = Mish(x)",
        "tolerant",
        "tried at  Mul",
        "opsets    18 and later",
        "-O2",
        "lowers    the nodes",
        "y = Mul (x, t)",
        "y = Mish (x)",
    ):
        assert text in shown
    assert "Example:" not in shown
    assert "\x1b" not in shown


def test_rules_as_json() -> None:
    every = json.loads(command("rules", "--json", "-").output)["rules"]
    one = json.loads(command("rules", "gelu_written_out", "--json", "-").output)
    assert one["name"] in [each["name"] for each in every]
    assert (one["until"], one["class"], one["lowers"], one["operators"]) == (19, "tolerant", "FORM", ["Mul"])
    assert one["before"] != one["after"]
    assert next(each for each in every if each["name"] == "dead_node")["operators"] == []


def test_the_list_of_rules_overwrites_no_file_of_the_persons(tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text("precious")
    assert command("rules", "--json", mine).exit_code == 2
    assert mine.read_text() == "precious"
    assert command("rules", "--json", tmp_path / "new.json").exit_code == 0
    assert json.loads((tmp_path / "new.json").read_text())["rules"]


def test_control_characters_of_a_model_do_not_reach_the_terminal(tmp_path: Path) -> None:
    model = parse("g (float[N,3] x) => (int64 s) { s = Size(x) }")
    model.graph.node[0].output[0] = model.graph.output[0].name = "s\x1b[31m[red]"
    path = tmp_path / "hostile.onnx"
    onnx.save(model, path)
    result = command("optimize", path, "-v")
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    assert "[red]" in result.output


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["optimize", "--help"]])
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from click.testing import CliRunner; from foldproof.cli import main;"
        f"result = CliRunner().invoke(main, {arguments!r}); assert result.exit_code == 0;"
        "print(sorted({'numpy', 'onnx', 'onnx_ir', 'onnxruntime', 'rich', 'sympy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_installed_command_runs() -> None:
    command_path = shutil.which("foldproof", path=str(Path(sys.executable).parent))
    assert command_path is not None
    result = subprocess.run([command_path, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("foldproof, version")


def test_the_report_never_overwrites_a_model_or_a_file_of_the_persons(model: Path) -> None:
    before = model.read_bytes()
    mine = model.with_name("mine.json")
    mine.write_text("precious")
    for target in (model, mine, model.with_name("model.opt.onnx")):
        result = command("optimize", model, "--json", target)
        assert result.exit_code == 2, result.output
    assert command("verify", model, model, "--json", model).exit_code == 2
    assert model.read_bytes() == before
    assert mine.read_text() == "precious"
    assert not model.with_name("model.opt.onnx").exists()
    report = model.with_name("report.json")
    assert command("optimize", model, "--json", report).exit_code == 0
    assert command("optimize", model, "--json", report).exit_code == 0


def test_a_data_file_of_the_persons_is_not_replaced(tmp_path: Path) -> None:
    import numpy as np

    proto = parse("g (float[N,1000] x) => (float[N,1000] y) { y = Add(x, w) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(1000, np.float32), "w"))
    model = tmp_path / "model.onnx"
    onnx.save_model(proto, model, save_as_external_data=True, location="weights.bin", size_threshold=0)
    precious = tmp_path / "out.onnx.data"
    precious.write_text("precious")
    for _ in range(2):
        assert command("optimize", model, "-o", tmp_path / "out.onnx").exit_code == 0
        assert precious.read_text() == "precious"
    data = {path.name for path in tmp_path.glob("out.onnx.*.data")}
    assert data == {entry.value for entry in stored_places(tmp_path / "out.onnx") if entry.key == "location"}


def test_a_report_is_written_where_nothing_else_is(tmp_path: Path) -> None:
    path, report = tmp_path / "unknown.onnx", tmp_path / "report.json"
    onnx.save(parse(UNKNOWN, imports='"acme": 1'), path)
    assert command("optimize", path, "--json", report).exit_code == 4
    assert json.loads(report.read_text())["verdict"] == "unverified"


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04broken"])
def test_feeds_that_can_not_be_read_exit_with_2(model: Path, content: bytes, tmp_path: Path) -> None:
    feeds = tmp_path / "feeds"
    feeds.mkdir()
    for name in ("a.npz", "x.npy"):
        (feeds / name).write_bytes(content)
        assert command("optimize", model, "--feeds", feeds).exit_code == 2
        (feeds / name).unlink()


def test_a_name_that_no_file_can_have_exits_with_2(model: Path) -> None:
    assert command("optimize", model, "-o", model.with_name("x" * 300)).exit_code == 2
    assert command("optimize", "").exit_code == 3
    assert command("optimize", model, "--seed", "-1").exit_code == 2


def test_a_node_to_keep_that_is_not_there_exits_with_2(model: Path) -> None:
    result = command("optimize", model, "--keep-node", "nosuch")
    assert result.exit_code == 2
    assert "'nosuch'" in result.output


def test_an_unexpected_fault_is_one_line_and_exits_with_5(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foldproof.pipeline.Optimizer.run_file", lambda *_, **__: 1 / 0)
    result = command("optimize", model)
    assert result.exit_code == 5
    assert result.output.splitlines() == [
        "foldproof: error: an internal fault, ZeroDivisionError: division by zero. Please report it."
    ]


def stored_places(path: Path) -> list[onnx.StringStringEntryProto]:
    """What a model says of where its first initializer lies."""
    return list(onnx.load(path, load_external_data=False).graph.initializer[0].external_data)
