"""Which data files a model refers to, told without reading its weights."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from foldproof.model_file import formats, references
from foldproof.model_file.references import data_of, used_by_others
from foldproof.protos import external_locations


def external(name: str, location: str | bytes) -> onnx.TensorProto:
    """A tensor whose elements lie in a data file."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    entry = tensor.external_data.add(key="location")
    raw = location if isinstance(location, bytes) else location.encode()
    entry.MergeFromString(b"\x12" + bytes([len(raw)]) + raw)
    return tensor


@pytest.fixture
def scattered() -> onnx.ModelProto:
    """A model with external tensors wherever a model may have one, and elements that look like such."""
    body = helper.make_graph([], "body", [], [], [external("b", "in a body")])
    body.node.append(helper.make_node("Constant", [], ["t"], value=external("", "in a node of a body")))
    sparse = onnx.SparseTensorProto(values=external("s", "values"), indices=external("", "indices"), dims=[9])
    function = helper.make_function("own", "F", [], [], [], [helper.make_opsetid("", 17)])
    function.node.append(helper.make_node("Constant", [], ["u"], value=external("", "in a function")))
    function.attribute_proto.append(helper.make_attribute("d", external("", "a default")))
    node = helper.make_node("Odd", [], ["o"], domain="own", body=body)
    node.attribute.append(helper.make_attribute("tensors", [external("", "in a list"), external("", "s\u00e9cond")]))
    node.attribute.append(helper.make_attribute("sparse", sparse))
    decoy = numpy_helper.from_array(np.frombuffer(external("x", "decoy").SerializeToString() * 9, np.uint8), "decoy")
    graph = helper.make_graph([node], "main", [], [], [decoy, external("w", "in the graph")])
    graph.sparse_initializer.append(sparse)
    graph.metadata_props.add(key="location", value="elsewhere")
    model = helper.make_model(graph, functions=[function])
    model.training_info.add().algorithm.initializer.append(external("a", "in the training"))
    model.training_info[0].initialization.node.append(
        helper.make_node("Constant", [], ["i"], value=external("", "begun"))
    )
    return model


def test_all_tensors_are_found(scattered, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(scattered.SerializeToString())
    names = {str(each.relative_to(tmp_path)) for each in data_of(path)}
    assert names == external_locations(scattered)
    assert {"in a node of a body", "indices", "a default", "s\u00e9cond", "in the training", "begun"} < names


@pytest.mark.parametrize("name", ["m.json", "m.textproto"])
def test_in_a_text_too(name, scattered, tmp_path):
    path = tmp_path / name
    onnx.save(scattered, path)
    assert data_of(path) == {tmp_path / location for location in external_locations(scattered)}


def test_unknown_fields_are_stepped_over(tmp_path):
    """Of each way in which a field is written: a number, 8 and 4 bytes, a message, and a group with one in it."""
    unknown = b"\xf8\x3f\x05" + b"\xf9\x3f" + bytes(8) + b"\xfd\x3f" + bytes(4) + b"\xfa\x3f\x02ab"
    unknown += b"\xfb\x3f" + b"\xf8\x3f\x05" + b"\xfc\x3f"
    model = helper.make_model(helper.make_graph([], "g", [], [], [external("w", "weights")]))
    path = tmp_path / "m.onnx"
    path.write_bytes(unknown + model.SerializeToString() + unknown)
    onnx.ModelProto.FromString(path.read_bytes())  # so that it is a message
    assert data_of(path) == {tmp_path / "weights"}


def test_weights_are_not_read(tmp_path, monkeypatch):
    weights = numpy_helper.from_array(np.zeros((1 << 24) + 1, np.uint8), "weights")  # small files are read
    model = helper.make_model(helper.make_graph([], "g", [], [], [weights, external("w", "outside")]))
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    read = 0
    real = Path.open

    class Counting:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def seek(self, at):
            return self.file.seek(at)

        def read(self, size):
            nonlocal read
            read += size
            return self.file.read(size)

    monkeypatch.setattr(Path, "open", lambda path, *arguments: Counting(real(path, *arguments)))
    assert data_of(path) == {tmp_path / "outside"}
    assert 0 < read < 1000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(1000),
        b"\xff" * 1000,
        b"version https://git-lfs.github.com/spec/v1\n",
        b"\x3a\xff\xff\xff\xff\x0f",  # a graph that is longer than the file
        b"\x3a\x80",
        b"\x3b" * 1000,  # groups in groups
        b"\x3a\x06\x2a\x04\x6a\x7f\x0a\x08",  # an entry that is longer than its tensor
    ],
)
def test_what_is_no_model_refers_to_nothing(content, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    assert data_of(path) == set()


@pytest.mark.parametrize("length", range(0, 900, 7))
def test_a_model_that_was_cut_short(length, scattered, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(scattered.SerializeToString()[:length])
    assert data_of(path) <= {tmp_path / location for location in external_locations(scattered)}


@pytest.mark.skipif(os.name != "posix", reason="names of files are text elsewhere")
def test_names_that_are_no_text(tmp_path):
    model = helper.make_model(helper.make_graph([], "g", [], [], [external("w", b"\xff"), external("v", b"a\0b")]))
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    assert [os.fsencode(each) for each in data_of(path)] == [os.fsencode(tmp_path / "x")[:-1] + b"\xff"]


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes with a name")
def test_what_is_no_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "folder.onnx").mkdir()
    (tmp_path / "nowhere.onnx").symlink_to("nothing")
    (tmp_path / "w").touch()
    assert used_by_others([tmp_path / "w"], [], Path("own.onnx")) == set()


def lying(tmp_path: Path, name: str, content: bytes | str) -> tuple[set[Path], Path]:
    """Who uses a data file beside which there is a file of some content: all that there is in doubt."""
    data = tmp_path / "w"
    data.touch()
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return used_by_others([data], [], Path("own.onnx")), data


@pytest.mark.parametrize("name", ["n.json", "n.onnxtxt", "n.textproto"])
def test_a_text_without_the_key_is_not_parsed(name, tmp_path, monkeypatch):
    monkeypatch.delattr(formats, "from_text")
    assert lying(tmp_path, name, "{" * 1000)[0] == set()


def test_in_a_text_that_the_parser_can_not_stand_there_is_no_model(tmp_path):
    types = f"g ({'seq(' * 20_000}float{')' * 20_000} x) => (float y) {{ }} # location"
    assert lying(tmp_path, "n.onnxtxt", types)[0] == set()


def test_what_is_too_large_to_be_looked_through_may_use_all(tmp_path, monkeypatch):
    monkeypatch.setattr(references, "_TEXT_BYTES", 1000)
    monkeypatch.setattr(references, "_FIELDS", 1000)
    used, data = lying(tmp_path, "n.json", '[{"key": "location"}' + ", 0" * 1000 + "]")
    assert used == {data}
    (tmp_path / "n.json").unlink()
    used, data = lying(tmp_path, "n.onnx", b"\x08\x00" * 1001 + b"location")
    assert used == {data}
    assert data_of(tmp_path / "n.onnx") == set()


def test_nodes_that_can_name_no_file_cost_no_more_than_one_step(tmp_path, monkeypatch):
    """So that the limit holds for no model that is used."""
    nodes = [helper.make_node("Pad", ["x", "y"], ["z"], mode="edge", name=str(k)) for k in range(500)]
    model = helper.make_model(helper.make_graph(nodes, "g", [], [], [external("w", "w")]))
    (tmp_path / "w").touch()
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    monkeypatch.setattr(references, "_FIELDS", 550)
    assert data_of(path) == {tmp_path / "w"}
    assert used_by_others([tmp_path / "w"], [], Path("own.onnx")) == {tmp_path / "w"}


def test_who_uses_a_file(tmp_path):
    folder = tmp_path / "deep" / "deeper"
    folder.mkdir(parents=True)
    data = [folder / name for name in ("w", "v", "u")]
    for path in data:
        path.touch()
    for path, location in (
        (folder / "own.onnx", "w"),
        (folder / "m.other", "v"),
        (tmp_path / "far.onnx", "deep/deeper/u"),
    ):
        model = helper.make_model(helper.make_graph([], "g", [], [], [external("w", location)]))
        path.write_bytes(model.SerializeToString())
    assert used_by_others(data, [folder / "own.onnx"], Path("own.onnx")) == {folder / "u"}
    assert used_by_others(data, [folder / "own.onnx"], Path("own.other")) == {folder / "u", folder / "v"}
    assert used_by_others(data, [], Path("own.onnx")) == {folder / "u", folder / "w"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_and_a_device_are_no_models(tmp_path):
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "device.onnx").symlink_to("/dev/zero")
    assert data_of(tmp_path / "pipe.onnx") == data_of(tmp_path / "device.onnx") == set()


@pytest.mark.parametrize(
    ("content", "is_kept"),
    [
        ('{"vocabulary": {"location": 17, "locations": 18}}', False),
        ('{"externalData": [{"key": "location", "value": "m.onnx.data"}]}', True),
    ],
)
def test_a_large_text_that_may_be_a_model_keeps_all_data(content, is_kept, tmp_path):
    data = tmp_path / "m.onnx.data"
    (tmp_path / "large.json").write_text(content.replace("{", "{" + " " * (9 << 20), 1))
    assert (data in used_by_others({data}, set(), tmp_path / "m.onnx")) == is_kept
