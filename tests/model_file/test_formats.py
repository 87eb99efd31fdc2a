"""Text forms: by onnx's own serializers, and never with a loss."""

from __future__ import annotations

import io
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

    def test_data_beside_a_stream_is_refused_unless_it_goes_inside(self, tmp_path):
        from foldproof.data_layout import DataLayout

        save(OLD, tmp_path / "in.onnx", "one")
        source = model_file.read(tmp_path / "in.onnx")
        with pytest.raises(UsageError, match="standard output"):
            model_file.to_bytes(source.model, source)
        (tmp_path / "out.onnx").write_bytes(model_file.to_bytes(source.model, source, DataLayout("never")))
        assert value_of(tmp_path / "out.onnx") == OLD
