"""Text forms: by onnx's own serializers, and never with a loss."""

from __future__ import annotations

import io
import os
from pathlib import Path

import onnx
import onnx.parser
import pytest

from foldproof import model_file
from foldproof.errors import ModelError, UsageError
from foldproof.model_file import formats
from tests.kill_points import OLD, save, value_of

FORMS = ["textproto", "pbtxt", "json", "onnxtxt"]
PLAIN = '<ir_version: 8, opset_import: ["" : 17]> g (float[N, 2] x) => (float[N, 2] y) { y = Relu (x) }'


@pytest.fixture
def plain(tmp_path) -> Path:
    path = tmp_path / "plain.onnx"
    onnx.save(onnx.parser.parse_model(PLAIN), path)
    return path


def write(source: Path, destination: Path) -> None:
    read = model_file.read(source)
    model_file.write(read.model, read, destination)


@pytest.mark.filterwarnings("ignore:The onnxtxt format is experimental")
@pytest.mark.parametrize("form", FORMS)
def test_there_and_back(form, plain, tmp_path):
    text, back = tmp_path / f"text.{form}", tmp_path / "back.onnx"
    write(plain, text)
    assert onnx.load(text) == onnx.load(plain)
    assert b"Relu" in text.read_bytes()
    write(text, back)
    assert back.read_bytes() == plain.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["back.onnx", "plain.onnx", text.name])


@pytest.mark.parametrize("form", FORMS)
def test_what_a_form_can_not_hold_is_not_written(form, everything, tmp_path):
    """Unknown fields, for one."""
    onnx.save(everything, tmp_path / "in.onnx")
    with pytest.raises(UsageError, match=form if form != "pbtxt" else "textproto") as caught:
        write(tmp_path / "in.onnx", tmp_path / f"out.{form}")
    assert ".onnx file" in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.onnx"]


@pytest.mark.parametrize("form", ["textproto", "json"])
def test_external_data_stays_external(form, tmp_path):
    save(OLD, tmp_path / "in.onnx", "one")
    out = tmp_path / f"out.{form}"
    write(tmp_path / "in.onnx", out)
    assert value_of(out) == OLD
    write(out, tmp_path / "back.onnx")
    assert value_of(tmp_path / "back.onnx") == OLD


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("content", [b"", b"junk {", b'{"graph": 1}', b"\xff\xfe"])
def test_what_is_none_is_refused(form, content, tmp_path):
    path = tmp_path / f"bad.{form}"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"bad\."):
        model_file.read(path)


HEAD = '<ir_version: 8, opset_import: ["" : 17]> g '
BODY = "y = If (c) <then_branch = t () => (float y) {"


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD} ({'seq(' * 20_000}float{')' * 20_000} x) => (float y) {{ y = Identity (x) }}",
        f"{HEAD} (bool c) => (float y) {{ {BODY * 30_000} y = Cast <to = 1> (c) {'}>' * 30_000} }}",
    ],
    ids=["types", "graphs"],
)
def test_what_is_nested_too_deep_for_the_parser_is_not_given_to_it(text, tmp_path):
    """Each level takes a part of the stack, and beyond its end the process is gone."""
    path = tmp_path / "deep.onnxtxt"
    path.write_text(text)
    with pytest.raises(ModelError, match=r"deep\.onnxtxt.* deep"):
        model_file.read(path)


def test_what_protobuf_reads_is_not_too_deep(tmp_path):
    path = tmp_path / "m.onnxtxt"
    body, end = BODY, "}, else_branch = e () => (float y) { y = Cast <to = 1> (c) }>"
    path.write_text(f"{HEAD} (bool c) => (float y) {{ {body * 30} y = Cast <to = 1> (c) {end * 30} }}")
    assert formats.from_text(path.read_bytes(), "onnxtxt", "it").graph.node[0].op_type == "If"


def test_brackets_in_strings_and_comments_are_not_counted():
    many = "({" * 200
    strings = rf'a = "{many}\"{many}", b = "\\"'
    text = f'{HEAD} (float[1] x) => (float[1] y) {{ y = own.F <{strings}> (x) # "{many}\n }}'
    formats.from_text(text.encode(), "onnxtxt", "it")


@pytest.mark.parametrize(
    ("form", "text", "words"),
    [
        ("json", '{"irVersion": "' + "9" * 100_000 + '"}', "99"),
        ("textproto", "ir_version: " + "9" * 100_000, "99"),
        ("onnxtxt", f"{HEAD} (float x) => (float y) <float[1] w = {'[' * 100_000} 1", "line: 1"),
        ("onnxtxt", f"{HEAD} (float[{'9' * 30}] x) => (float y) {{ }}", "a number is out of range"),
    ],
    ids=["json", "textproto", "onnxtxt", "number"],
)
def test_an_error_is_short_and_names_the_form(form, text, words):
    with pytest.raises(ModelError) as caught:
        formats.from_text(text.encode(), form, "it")
    assert form in str(caught.value)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(("name", "gigabytes"), [("m.onnx", 3), ("m.bin", 2), ("m.json", 1), ("m.onnxtxt", 1)])
def test_a_file_that_is_larger_than_a_model_may_be_is_not_read(name, gigabytes, tmp_path, monkeypatch):
    path = tmp_path / name
    path.touch()
    os.truncate(path, gigabytes << 30)
    monkeypatch.delattr(Path, "read_bytes")
    with pytest.raises(ModelError, match=r"more than [\d,]+ bytes"):
        model_file.read(path)


def test_all_forms_of_onnx_are_known():
    registry = onnx.serialization.registry
    for end in (".onnx", ".pb", ".textproto", ".txtpb", ".prototxt", ".pbtxt", ".json", ".onnxjson", ".onnxtxt"):
        assert formats.format_of(Path(f"m{end}")) == registry.get_format_from_file_extension(end)
    assert formats.is_binary(Path("model.bin"))


class TestStreams:
    def test_a_model_is_read(self, plain):
        assert model_file.read_stream(io.BytesIO(plain.read_bytes())) == onnx.load(plain)

    def test_what_is_none_is_refused(self):
        with pytest.raises(ModelError, match="standard input"):
            model_file.read_stream(io.BytesIO(b"junk"))

    def test_one_that_does_not_end_is_not_read_for_ever(self, monkeypatch):
        monkeypatch.setattr(formats, "PROTOBUF_LIMIT", 3 << 20)
        with Path("/dev/zero").open("rb") as endless, pytest.raises(ModelError, match="standard input has more than"):
            model_file.read_stream(endless)

    def test_data_beside_a_stream_is_refused_unless_it_goes_inside(self, tmp_path):
        from foldproof.data_layout import DataLayout

        save(OLD, tmp_path / "in.onnx", "one")
        source = model_file.read(tmp_path / "in.onnx")
        with pytest.raises(UsageError, match="standard output"):
            model_file.to_bytes(source.model, source)
        (tmp_path / "out.onnx").write_bytes(model_file.to_bytes(source.model, source, DataLayout("never")))
        assert value_of(tmp_path / "out.onnx") == OLD
