"""Reading files, good and bad."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from foldproof import model_file
from foldproof.errors import ModelError


@pytest.fixture
def contents() -> bytes:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [200])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [200])],
        [numpy_helper.from_array(np.ones(200, np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def refused(path: os.PathLike | str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        model_file.read(path)
    assert caught.value.hint
    assert caught.value.exit_status == 3
    return caught.value


def test_a_path_may_be_text(contents, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(contents)
    assert model_file.read(str(path)).proto == onnx.ModelProto.FromString(contents)


def test_a_missing_file(tmp_path):
    assert "there is no file" in refused(tmp_path / "none.onnx").reason


def test_a_path_through_a_file(contents, tmp_path):
    (tmp_path / "file").write_bytes(contents)
    assert "there is no file" in refused(tmp_path / "file" / "model.onnx").reason


def test_a_directory(tmp_path):
    assert "directory" in refused(tmp_path).reason


def test_a_device():
    assert "regular file" in refused(os.devnull).reason


def test_a_path_with_a_null_character():
    assert "can't be read" in refused("a\0b").reason


def test_no_permission(contents, tmp_path, monkeypatch):
    """Injected, since the tests may run as a user that may read everything."""
    path = tmp_path / "model.onnx"
    path.write_bytes(contents)

    def denied(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", denied)
    assert "permission" in refused(path).reason


@pytest.mark.parametrize(
    ("data", "reason", "hint"),
    [
        (b"", "empty", "again"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "not an ONNX model",
            "git lfs pull",
        ),
        (b"PK\x03\x04rest of an archive", "not an ONNX model", "ZIP"),
        (b'{"irVersion": 8}', "not an ONNX model", "JSON"),
        (b"<html>not found</html>", "not an ONNX model", "web page"),
        (b"\xff" * 100, "not an ONNX model", "whole"),
        (b"\x08\x08", "no graph", "whole"),
    ],
)
def test_a_file_that_is_no_model(data, reason, hint, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    error = refused(path)
    assert reason in error.reason
    assert hint in error.hint


def test_a_file_cut_short_anywhere(contents, tmp_path):
    path = tmp_path / "model.onnx"
    for length in range(len(contents)):
        path.write_bytes(contents[:length])
        refused(path)


def test_a_value_name_that_is_no_text(contents, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(contents.replace(b"w", b"\xff"))
    assert "not UTF-8" in refused(path).reason


def test_descriptions_that_are_no_text_are_kept(contents, tmp_path):
    proto = onnx.ModelProto.FromString(contents)
    for part in (proto, proto.graph, proto.graph.node[0], proto.graph.input[0], proto.graph.initializer[0]):
        part.doc_string = "text"
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString().replace(b"text", b"\xff\xfe\xfd\xff").replace(b"main", b"\xff" * 4))
    source = model_file.read(path)
    assert model_file.to_proto(source.model, source).SerializeToString() == path.read_bytes()


class TestExternalData:
    @pytest.fixture
    def folder(self, contents, tmp_path):
        proto = onnx.ModelProto.FromString(contents)
        onnx.save(
            proto,
            tmp_path / "model.onnx",
            save_as_external_data=True,
            location="weights.bin",
            size_threshold=0,
        )
        return tmp_path

    def test_it_is_found_beside_the_model(self, folder, monkeypatch):
        monkeypatch.chdir(folder.parent)
        source = model_file.read(Path(folder.name) / "model.onnx")
        np.testing.assert_array_equal(source.model.graph.initializers["w"].const_value.numpy(), np.ones(200))
        assert [p.resolve() for p in model_file.external_files(source)] == [folder.resolve() / "weights.bin"]

    def test_only_the_dims_are_needed(self, folder):
        (folder / "weights.bin").unlink()
        source = model_file.read(folder / "model.onnx")
        assert list(source.model.graph.initializers["w"].const_value.shape) == [200]
        assert model_file.external_files(source) == [folder / "weights.bin"]
        assert model_file.to_proto(source.model, source) == source.proto

    def test_a_proto_keeps_it_external(self, folder):
        proto = onnx.load(folder / "model.onnx", load_external_data=False)
        source = model_file.from_proto(proto)
        assert model_file.to_proto(source.model, source) == proto

    def test_a_model_without_it_has_no_files(self, contents):
        assert model_file.external_files(model_file.from_proto(onnx.ModelProto.FromString(contents))) == []
