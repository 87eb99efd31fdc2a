"""Writing: whole or not at all, and external data stays external."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from foldproof import model_file
from foldproof.errors import ModelError, UsageError
from foldproof.model_file import encoding

WEIGHTS = np.arange(600, dtype=np.float32)
OTHERS = np.arange(600, 1200, dtype=np.float32)


def build() -> onnx.ModelProto:
    """y = x + w + v + (a branch's) u, with w and v of 2400 bytes."""
    dims = [600]
    branch = helper.make_graph(
        [helper.make_node("Add", ["s", "u"], ["t"])],
        "branch",
        [],
        [helper.make_tensor_value_info("t", TensorProto.FLOAT, dims)],
        [numpy_helper.from_array(WEIGHTS * 2, "u")],
    )
    nodes = [
        helper.make_node("Add", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "v"], ["s"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
    ]
    initializers = [
        numpy_helper.from_array(WEIGHTS, "w"),
        numpy_helper.from_array(OTHERS, "v"),
        numpy_helper.from_array(np.array(True), "c"),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in "xy")
    graph = helper.make_graph(nodes, "main", [x], [y], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


EXPECTED = 1 + WEIGHTS + OTHERS + WEIGHTS * 2


def run(path: Path) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.ones(600, np.float32)})[0]


@pytest.fixture
def inline(tmp_path) -> Path:
    path = tmp_path / "in" / "model.onnx"
    path.parent.mkdir()
    onnx.save(build(), path)
    return path


@pytest.fixture
def external(tmp_path) -> Path:
    """The same model, with its weights in `weights.bin`."""
    path = tmp_path / "in" / "model.onnx"
    path.parent.mkdir()
    onnx.save(build(), path, save_as_external_data=True, location="weights.bin", size_threshold=1024)
    return path


@pytest.fixture
def out(tmp_path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder / "new.onnx"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def stored(path: Path, name: str) -> onnx.TensorProto:
    proto = onnx.load(path, load_external_data=False)
    return next(tensor for tensor in proto.graph.initializer if tensor.name == name)


def entries(tensor: onnx.TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def data_file(path: Path) -> Path:
    """The one data file of a model."""
    (location,) = {entries(stored(path, name))["location"] for name in "wv"}
    return path.with_name(location)


class Once:
    """Calls the real thing, and raises an error at the n-th call, before it or after it."""

    def __init__(self, real, at: int, error: BaseException, *, after: bool = False) -> None:
        self.real, self.left, self.error, self.after = real, at, error, after

    def method(self):
        def called(*args, **kwargs):
            self.left -= 1
            if self.left == 0 and not self.after:
                raise self.error
            result = self.real(*args, **kwargs)
            if self.left == 0:
                raise self.error
            return result

        return called


class TestOneFile:
    def test_it_is_written_as_it_was(self, inline, out):
        source = model_file.read(inline)
        assert model_file.write(source.model, source, out) == out.stat().st_size
        assert out.read_bytes() == inline.read_bytes()
        assert files(out.parent) == ["new.onnx"]

    def test_an_old_output_is_replaced(self, inline, out):
        out.write_text("old")
        source = model_file.read(inline)
        model_file.write(source.model, source, out)
        assert out.read_bytes() == inline.read_bytes()

    def test_the_mode_is_that_of_any_new_file(self, inline, out):
        before = os.umask(0o027)
        try:
            source = model_file.read(inline)
            model_file.write(source.model, source, out)
        finally:
            os.umask(before)
        assert stat.S_IMODE(out.stat().st_mode) == 0o640

    def test_the_destination_may_be_a_bare_name(self, inline, out, monkeypatch):
        monkeypatch.chdir(out.parent)
        source = model_file.read(inline)
        model_file.write(source.model, source, out.name)
        assert out.read_bytes() == inline.read_bytes()

    def test_an_onnx_ir_model_is_written(self, out):
        source = model_file.from_ir(ir.from_proto(build()))
        model_file.write(source.model, source, out)
        np.testing.assert_array_equal(run(out), EXPECTED)


class TestStaging:
    def test_nothing_is_at_the_destination_before_the_commit(self, external, out):
        source = model_file.read(external)
        staged = model_file.stage(source.model, source, out)
        assert not out.exists()
        assert staged.path.parent == out.parent
        np.testing.assert_array_equal(run(staged.path), EXPECTED)
        assert staged.files == [out.with_name("new.onnx.data"), out]
        assert staged.commit() == staged.size == sum(path.stat().st_size for path in staged.files)
        assert files(out.parent) == ["new.onnx", "new.onnx.data"]
        np.testing.assert_array_equal(run(out), EXPECTED)

    def test_discarding_leaves_nothing(self, external, out):
        source = model_file.read(external)
        model_file.stage(source.model, source, out).discard()
        assert files(out.parent) == []

    def test_leaving_the_context_discards(self, inline, out):
        source = model_file.read(inline)
        with model_file.stage(source.model, source, out):
            assert files(out.parent) != []
        assert files(out.parent) == []

    def test_leaving_the_context_after_a_commit_keeps_the_output(self, external, out):
        source = model_file.read(external)
        with model_file.stage(source.model, source, out) as staged:
            staged.commit()
        assert files(out.parent) == ["new.onnx", "new.onnx.data"]


class TestFailure:
    """Whatever fails, the old files are as they were, and nothing else is left."""

    @pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace", "pathlib.Path.open"])
    @pytest.mark.parametrize("at", range(1, 5))
    @pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
    @pytest.mark.parametrize("after", [False, True])
    def test_the_output_is_the_old_or_the_new(self, call, at, error, after, external, out, monkeypatch):
        source = model_file.read(external)
        model_file.write(source.model, source, out)
        before = {path: path.read_bytes() for path in out.parent.iterdir()}
        source.model.graph.initializers["w"].const_value = ir.tensor(WEIGHTS + 1, name="w")
        owner, name = (os, "fsync") if call == "os.fsync" else (Path, call.rsplit(".", 1)[1])
        once = Once(getattr(owner, name), at, error, after=after)
        expected = (UsageError, ModelError) if isinstance(error, OSError) else KeyboardInterrupt
        with monkeypatch.context() as patch, contextlib.suppress(expected):
            patch.setattr(owner, name, once.method())
            model_file.write(source.model, source, out)
        if {path: path.read_bytes() for path in out.parent.iterdir()} != before:
            np.testing.assert_array_equal(run(out), EXPECTED + 1)
            # An error after the rename may leave the data of the old model. The next run takes it away.
            model_file.write(source.model, source, out)
            assert files(out.parent) == sorted(["new.onnx", data_file(out).name])

    def test_a_folder_that_is_not_there(self, inline, tmp_path):
        source = model_file.read(inline)
        with pytest.raises(UsageError, match="can't be written") as caught:
            model_file.write(source.model, source, tmp_path / "nowhere" / "new.onnx")
        assert caught.value.hint
        assert caught.value.exit_status == 2

    def test_a_directory_in_the_way(self, inline, out):
        out.mkdir()
        source = model_file.read(inline)
        with pytest.raises(UsageError, match="directory"):
            model_file.write(source.model, source, out)
        assert files(out.parent) == ["new.onnx"]

    def test_what_has_the_name_of_the_data_stays(self, external, out):
        out.with_name("new.onnx.data").mkdir()
        source = model_file.read(external)
        model_file.write(source.model, source, out)
        assert out.with_name("new.onnx.data").is_dir()
        assert data_file(out).is_file()
        np.testing.assert_array_equal(run(out), EXPECTED)

    @pytest.mark.parametrize("name", ["model.onnx", "weights.bin"])
    def test_a_file_of_the_input_is_never_overwritten(self, name, external):
        source = model_file.read(external)
        before = {path: path.read_bytes() for path in external.parent.iterdir()}
        with pytest.raises(UsageError, match="file of the input"):
            model_file.write(source.model, source, external.with_name(name))
        assert {path: path.read_bytes() for path in external.parent.iterdir()} == before

    def test_nor_by_the_data_file(self, tmp_path):
        path = tmp_path / "model.onnx"
        onnx.save(build(), path, save_as_external_data=True, location="new.onnx.data", size_threshold=1024)
        before = (tmp_path / "new.onnx.data").read_bytes()
        source = model_file.read(path)
        model_file.write(source.model, source, tmp_path / "new.onnx")
        assert (tmp_path / "new.onnx.data").read_bytes() == before
        np.testing.assert_array_equal(run(tmp_path / "new.onnx"), EXPECTED)

    def test_a_missing_data_file(self, external, out):
        (external.parent / "weights.bin").unlink()
        source = model_file.read(external)
        with pytest.raises(ModelError, match=r"weights\.bin"):
            model_file.write(source.model, source, out)
        assert files(out.parent) == []

    def test_a_data_file_cut_short(self, external, out):
        data = external.parent / "weights.bin"
        source = model_file.read(external)
        data.write_bytes(data.read_bytes()[:-1])
        with pytest.raises(ModelError, match=r"weights\.bin has \d+ bytes"):
            model_file.write(source.model, source, out)
        assert files(out.parent) == []


class TestExternalData:
    def test_it_stays_external(self, external, out):
        source = model_file.read(external)
        model_file.write(source.model, source, out)
        assert entries(stored(out, "w"))["location"] == "new.onnx.data"
        assert not stored(out, "c").external_data
        np.testing.assert_array_equal(run(out), EXPECTED)
        np.testing.assert_array_equal(numpy_helper.to_array(stored(out, "v"), str(out.parent)), OTHERS)

    def test_all_but_the_places_is_as_it_was(self, external, out):
        source = model_file.read(external)
        model_file.write(source.model, source, out)
        before, after = (onnx.load(path, load_external_data=False) for path in (external, out))
        for proto in (before, after):
            branches = [a.g for node in proto.graph.node for a in node.attribute]
            for graph in (proto.graph, *branches):
                for tensor in graph.initializer:
                    del tensor.external_data[:]
        assert after == before

    def test_tensors_that_share_their_elements_still_do(self, external, out):
        source = model_file.read(external)
        model_file.write(source.model, source, out)
        # Both branches are one graph, so that `u` was written twice by onnx and is two places in its file.
        source.model.graph.initializers["v"].const_value = source.model.graph.initializers["w"].const_value
        size = data_file(out).stat().st_size
        model_file.write(source.model, source, out)
        assert data_file(out).stat().st_size == size - WEIGHTS.nbytes
        assert entries(stored(out, "w")) == entries(stored(out, "v"))
        assert [stored(out, name).name for name in "wv"] == ["w", "v"]

    @pytest.mark.parametrize(("elements", "is_external"), [(255, False), (256, True)])
    def test_new_tensors_go_where_their_size_says(self, elements, is_external, external, out):
        source = model_file.read(external)
        tensor = ir.tensor(np.arange(elements, dtype=np.float32), name="new")
        source.model.graph.register_initializer(ir.Value(name="new", const_value=tensor))
        model_file.write(source.model, source, out)
        written = stored(out, "new")
        assert bool(written.external_data) is is_external
        np.testing.assert_array_equal(numpy_helper.to_array(written, str(out.parent)), np.arange(elements))

    def test_a_large_tensor_starts_on_a_page(self, external, out):
        source = model_file.read(external)
        tensor = ir.tensor(np.ones(1 << 18, np.float32), name="big")
        source.model.graph.register_initializer(ir.Value(name="big", const_value=tensor))
        model_file.write(source.model, source, out)
        assert int(entries(stored(out, "big"))["offset"]) % 65536 == 0
        np.testing.assert_array_equal(numpy_helper.to_array(stored(out, "big"), str(out.parent)), np.ones(1 << 18))
        np.testing.assert_array_equal(run(out), EXPECTED)

    def test_a_tensor_in_a_constant_too(self, tmp_path, out):
        proto = build()
        weights = proto.graph.initializer.pop(0)
        weights.name = "elements"
        proto.graph.node.insert(0, helper.make_node("Constant", [], ["w"], value=weights))
        path = tmp_path / "model.onnx"
        onnx.save(
            proto,
            path,
            save_as_external_data=True,
            location="weights.bin",
            size_threshold=1024,
            convert_attribute=True,
        )
        source = model_file.read(path)
        model_file.write(source.model, source, out)
        constant = onnx.load(out, load_external_data=False).graph.node[0].attribute[0].t
        assert entries(constant)["location"] == "new.onnx.data"
        np.testing.assert_array_equal(numpy_helper.to_array(constant, str(out.parent)), WEIGHTS)

    def test_without_external_tensors_there_is_no_data_file(self, external, out):
        source = model_file.read(external)
        for graph in (source.model.graph, *source.model.graph.subgraphs()):
            for value in graph.initializers.values():
                value.const_value = ir.tensor(
                    value.const_value.numpy()[:1] if value.name != "c" else True, name=value.name
                )
        model_file.write(source.model, source, out)
        assert files(out.parent) == ["new.onnx"]

    def test_a_model_over_the_limit_of_protobuf_goes_external_by_itself(self, inline, out, monkeypatch):
        monkeypatch.setattr(encoding, "PROTOBUF_LIMIT", 5000)
        source = model_file.read(inline)
        model_file.write(source.model, source, out)
        assert files(out.parent) == ["new.onnx", "new.onnx.data"]
        assert entries(stored(out, "w"))["location"] == "new.onnx.data"
        np.testing.assert_array_equal(run(out), EXPECTED)

    def test_also_when_only_the_whole_is_over_the_limit(self, inline, out, monkeypatch):
        """The tensors of the model have 9601 bytes, its file has more."""
        monkeypatch.setattr(encoding, "PROTOBUF_LIMIT", 9700)
        source = model_file.read(inline)
        model_file.write(source.model, source, out)
        assert files(out.parent) == ["new.onnx", "new.onnx.data"]
        np.testing.assert_array_equal(run(out), EXPECTED)

    def test_a_model_that_is_too_big_without_tensors_is_refused(self, inline, out, monkeypatch):
        monkeypatch.setattr(encoding, "PROTOBUF_LIMIT", 100)
        source = model_file.read(inline)
        with pytest.raises(ModelError, match="2 GB"):
            model_file.write(source.model, source, out)
        assert files(out.parent) == []

    def test_the_input_may_lie_elsewhere_than_the_working_directory(self, external, out, monkeypatch):
        monkeypatch.chdir(external.parent.parent)
        source = model_file.read(Path("in") / "model.onnx")
        model_file.write(source.model, source, Path("out") / "new.onnx")
        np.testing.assert_array_equal(run(out), EXPECTED)
