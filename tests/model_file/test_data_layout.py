"""Where weights lie: as the person wants it, and never a file of theirs lost."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper

from foldproof import earlier_output, model_file
from foldproof.data_layout import DataLayout, is_data_name, is_name_of_model
from foldproof.errors import ModelError, UsageError
from foldproof.protos import external_locations
from tests.kill_points import NEW, OLD, build, save, value_of


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def places(path: Path) -> list[dict[str, str]]:
    """The external data entries of each initializer."""
    proto = onnx.load(path, load_external_data=False)
    return [{entry.key: entry.value for entry in tensor.external_data} for tensor in proto.graph.initializer]


def write(source: Path, destination: Path, **layout) -> None:
    read = model_file.read(source)
    model_file.write(read.model, read, destination, DataLayout(**layout))


@pytest.fixture
def model(tmp_path) -> Path:
    """A model with its weights in `in.onnx.data`."""
    save(OLD, tmp_path / "in.onnx", "one")
    return tmp_path / "in.onnx"


@pytest.fixture
def out(tmp_path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "out.onnx"


class TestExternal:
    @pytest.mark.parametrize("kind", ["tensor", "tensors", "body"])
    def test_data_of_defaults_of_functions_is_data_of_the_model(self, kind, model, out):
        proto = onnx.load(model, load_external_data=False)
        tensor = proto.graph.initializer[0]
        values = {"tensor": tensor, "tensors": [tensor], "body": onnx.GraphProto(name="body", initializer=[tensor])}
        node = helper.make_node("Identity", ["p"], ["q"])
        function = helper.make_function("own", "F", ["p"], ["q"], [node], proto.opset_import)
        function.attribute_proto.append(helper.make_attribute("default", values[kind]))
        x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [])
        y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])
        graph = helper.make_graph([helper.make_node("F", ["x"], ["y"], domain="own")], "main", [x], [y])
        opsets = [*proto.opset_import, helper.make_opsetid("own", 1)]
        onnx.save(helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=9), model)
        assert model_file.external_files(model_file.read(model)) == [model.with_name("in.onnx.data")]
        with pytest.raises(UsageError, match="file of the input"):
            write(model, model.with_name("in.onnx.data"))
        write(model, out)
        assert external_locations(onnx.load(out, load_external_data=False)) == {"out.onnx.data"}
        assert np.unique(np.fromfile(out.with_name("out.onnx.data"), np.float32)) == [OLD]

    def test_never_puts_all_into_the_model(self, model, out):
        write(model, out, external="never")
        assert files(out.parent) == ["out.onnx"]
        assert places(out) == [{}, {}]
        assert value_of(out) == OLD

    def test_never_keeps_what_else_is_said_of_a_tensor(self, model, out):
        proto = onnx.load(model, load_external_data=False)
        proto.graph.initializer[0].doc_string = "the weights"
        onnx.save(proto, model)
        write(model, out, external="never")
        written = onnx.load(out, load_external_data=False).graph.initializer[0]
        assert (written.doc_string, written.data_location) == ("the weights", onnx.TensorProto.DEFAULT)

    def test_never_is_refused_over_2_gb(self, model, out, monkeypatch):
        monkeypatch.setattr("foldproof.model_file.encoding.PROTOBUF_LIMIT", 20_000)
        with pytest.raises(UsageError, match="2 GB"):
            write(model, out, external="never")
        assert files(out.parent) == []

    def test_always_takes_all_out(self, tmp_path, out):
        save(OLD, tmp_path / "in.onnx", "inside")
        write(tmp_path / "in.onnx", out, external="always")
        assert [place["location"] for place in places(out)] == ["out.onnx.data"] * 2
        assert value_of(out) == OLD

    @pytest.mark.parametrize(("layout", "count"), [("auto", 2), ("always", 1)])
    def test_files_are_as_many_as_before_or_one(self, layout, count, tmp_path, out):
        save(OLD, tmp_path / "in.onnx", "two")
        write(tmp_path / "in.onnx", out, external=layout)
        assert files(out.parent) == ["out.onnx", "out.onnx.1.data", "out.onnx.data"][: 3 if count == 2 else 1] + (
            ["out.onnx.data"] if count == 1 else []
        )
        assert value_of(out) == OLD

    def test_what_is_no_layout_is_refused(self):
        with pytest.raises(UsageError, match="often"):
            DataLayout("often")
        with pytest.raises(UsageError, match="linked"):
            DataLayout("never", link=True)

    def test_unchanged_weights_are_copied_by_the_kernel(self, model, out, monkeypatch):
        copied = []
        real = os.copy_file_range

        def counted(source, target, count, **offsets):
            copied.append(done := real(source, target, count, **offsets))
            return done

        monkeypatch.setattr(os, "copy_file_range", counted)
        write(model, out)
        assert sum(copied) == 2 * 4 * 3000
        assert value_of(out) == OLD


class TestContainers:
    """A data file may be anything that holds tensors as they are."""

    def referring(self, folder: Path, location: str, offset: int) -> Path:
        """A model whose weights lie one behind the other in a file."""
        model = build(OLD)
        for index, tensor in enumerate(model.graph.initializer):
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            place = {"location": location, "offset": offset + index * 12_000, "length": 12_000}
            for key, value in place.items():
                tensor.external_data.add(key=key, value=str(value))
        onnx.save(model, folder / "in.onnx")
        return folder / "in.onnx"

    @pytest.fixture
    def safetensors(self, tmp_path) -> Path:
        """As the format has it: the length of a header, the header in JSON, the elements."""
        about = {"dtype": "F32", "shape": [3000]}
        tensors = {"w": {**about, "data_offsets": [0, 12_000]}, "v": {**about, "data_offsets": [12_000, 24_000]}}
        header = json.dumps(tensors).encode()
        content = len(header).to_bytes(8, "little") + header + np.full(6000, OLD, np.float32).tobytes()
        (tmp_path / "model.safetensors").write_bytes(content)
        return self.referring(tmp_path, "model.safetensors", 8 + len(header))

    @pytest.fixture
    def archive(self, tmp_path) -> Path:
        with zipfile.ZipFile(tmp_path / "model.zip", "w", zipfile.ZIP_STORED) as file:
            file.writestr("weights", np.full(6000, OLD, np.float32).tobytes())
            entry = file.getinfo("weights")
        return self.referring(tmp_path, "model.zip", entry.header_offset + 30 + len("weights"))

    @pytest.mark.parametrize("kind", ["safetensors", "archive"])
    @pytest.mark.parametrize("link", [False, True])
    def test_it_is_read_and_linked_to(self, kind, link, request):
        model = request.getfixturevalue(kind)
        write(model, model.with_name("out.onnx"), link=link)
        assert value_of(model.with_name("out.onnx")) == OLD
        assert model.with_name("out.onnx.data").exists() is not link


class TestLinks:
    def test_weights_stay_where_they_are(self, model):
        write(model, model.with_name("out.onnx"), link=True)
        assert files(model.parent) == ["in.onnx", "in.onnx.data", "out.onnx"]
        assert places(model.with_name("out.onnx")) == places(model)
        assert value_of(model.with_name("out.onnx")) == OLD

    def test_new_weights_have_a_file_of_their_own(self, model):
        source = model_file.read(model)
        source.model.graph.initializers["w"].const_value = ir.tensor(np.full(3000, OLD, np.float32), name="w")
        model_file.write(source.model, source, model.with_name("out.onnx"), DataLayout(link=True))
        found = [place["location"] for place in places(model.with_name("out.onnx"))]
        assert found == ["out.onnx.data", "in.onnx.data"]
        assert model.with_name("out.onnx.data").stat().st_size == 4 * 3000

    def test_from_a_folder_above(self, model, tmp_path):
        folder = tmp_path / "deeper"
        folder.mkdir()
        for path in (model, model.with_name("in.onnx.data")):
            path.rename(folder / path.name)
        write(folder / "in.onnx", tmp_path / "out.onnx", link=True)
        assert {place["location"] for place in places(tmp_path / "out.onnx")} == {"deeper/in.onnx.data"}
        assert value_of(tmp_path / "out.onnx") == OLD

    def test_through_a_link_to_the_folder(self, model, tmp_path):
        (tmp_path / "link").symlink_to(model.parent)
        write(model, tmp_path / "link" / "out.onnx", link=True)
        assert places(model.with_name("out.onnx")) == places(model)
        assert value_of(model.with_name("out.onnx")) == OLD

    def test_what_is_linked_counts_to_the_size(self, model):
        source = model_file.read(model)
        with model_file.stage(source.model, source, model.with_name("out.onnx"), DataLayout(link=True)) as staged:
            assert staged.size == staged.path.stat().st_size + model.with_name("in.onnx.data").stat().st_size

    @pytest.mark.parametrize(("content", "words"), [(None, "can't be read"), (b"short", "has 5 bytes")])
    def test_what_is_not_there_is_not_linked(self, model, content, words):
        source = model_file.read(model)  # what happens to the data after that is noticed too
        model.with_name("in.onnx.data").unlink()
        if content is not None:
            model.with_name("in.onnx.data").write_bytes(content)
        before = files(model.parent)
        with pytest.raises(ModelError, match=words):
            model_file.write(source.model, source, model.with_name("out.onnx"), DataLayout(link=True))
        assert files(model.parent) == before

    def test_what_else_is_said_of_the_file_stays_with_it(self, model, tmp_path):
        """A checksum, for one, is that of the file: it goes with the weights that are copied to another."""
        proto = onnx.load(model, load_external_data=False)
        for tensor in proto.graph.initializer:
            tensor.external_data.add(key="checksum", value="da39a3ee")
        (tmp_path / "deeper").mkdir()
        inner = tmp_path / "deeper" / "in.onnx"
        onnx.save(proto, inner)
        model.with_name("in.onnx.data").rename(tmp_path / "deeper" / "in.onnx.data")
        for output, is_linked in ((inner.with_name("a.onnx"), True), (tmp_path / "b.onnx", True), (model, False)):
            write(inner, output, link=is_linked)
            assert [place.get("checksum") for place in places(output)] == ["da39a3ee" if is_linked else None] * 2
            assert value_of(output) == OLD

    @pytest.mark.parametrize("name", ["out", "out.mdl", "in.onnx.bak"])
    def test_what_links_has_the_name_of_a_model(self, name, model):
        """By that it is known for one when the data might be taken away."""
        with pytest.raises(UsageError, match="can't be linked"):
            write(model, model.with_name(name), link=True)
        assert files(model.parent) == ["in.onnx", "in.onnx.data"]

    def test_a_location_can_not_leave_the_folder(self, model, out):
        with pytest.raises(UsageError, match="can't be linked"):
            write(model, out, link=True)
        assert files(out.parent) == []

    def test_the_next_run_does_not_take_linked_weights_away(self, tmp_path):
        """Both name their data alike: an output of ours is the input, and links to what it has."""
        save(OLD, tmp_path / "raw.onnx", "one")
        write(tmp_path / "raw.onnx", tmp_path / "a.onnx")
        write(tmp_path / "a.onnx", tmp_path / "b.onnx", link=True)
        write(tmp_path / "raw.onnx", tmp_path / "b.onnx")
        assert value_of(tmp_path / "a.onnx") == value_of(tmp_path / "b.onnx") == OLD


class TestCacheOfDownloads:
    """`snapshots/1/model.onnx` and its data are links to files that are called by their digests."""

    @pytest.fixture
    def cached(self, tmp_path) -> Path:
        blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "1"
        blobs.mkdir()
        snapshot.mkdir(parents=True)
        save(OLD, blobs / "model.onnx", "one")
        for name, digest in (("model.onnx", "aaaa"), ("model.onnx.data", "bbbb")):
            (blobs / name).rename(blobs / digest)
            (snapshot / name).symlink_to(Path("..") / ".." / "blobs" / digest)
        return snapshot / "model.onnx"

    def test_it_is_read(self, cached, out):
        write(cached, out)
        assert value_of(out) == OLD
        assert not out.is_symlink()
        assert not out.with_name("out.onnx.data").is_symlink()

    def test_weights_can_be_computed_with(self, cached):
        source = model_file.read(cached)
        np.testing.assert_array_equal(source.model.graph.initializers["w"].const_value.numpy(), np.full(3000, OLD))

    def test_a_model_that_is_no_link_may_not_have_its_data_elsewhere(self, cached):
        real = cached.resolve()
        cached.unlink()
        shutil.copy(real, cached)
        with pytest.raises(ModelError, match="outside the model's folder"):
            model_file.read(cached)

    def test_nor_may_the_data_lie_in_a_third_folder(self, cached, tmp_path):
        data = cached.with_name("model.onnx.data")
        secret = tmp_path / "secret"
        shutil.copy(data.resolve(), secret)
        data.unlink()
        data.symlink_to(secret)
        with pytest.raises(ModelError, match="outside the model's folder"):
            model_file.read(cached)

    def test_a_link_to_a_model_finds_the_data_beside_that(self, model, tmp_path, out):
        elsewhere = tmp_path / "links"
        elsewhere.mkdir()
        (elsewhere / "link.onnx").symlink_to(model)
        write(elsewhere / "link.onnx", out)
        assert value_of(out) == OLD


class TestInPlace:
    def test_the_model_and_its_data_are_replaced(self, model):
        source = model_file.read(model)
        for name in "wv":
            source.model.graph.initializers[name].const_value = ir.tensor(np.full(3000, NEW, np.float32), name=name)
        model.chmod(0o600)
        model.with_name("in.onnx.data").chmod(0o600)
        model_file.write(source.model, source, model, DataLayout(in_place=True))
        assert value_of(model) == NEW
        assert {stat.S_IMODE(path.stat().st_mode) for path in model.parent.iterdir()} == {0o600}
        assert len(files(model.parent)) == 2
        assert not model.with_name("in.onnx.data").exists()

    @pytest.mark.parametrize("link", [False, True])
    def test_runs_beside_each_other_leave_one_data_file(self, link, model):
        sources = [model_file.read(model) for _ in range(3)]
        with contextlib.ExitStack() as stack:
            staged = []
            for source in sources:
                new = ir.tensor(np.full(3000, NEW, np.float32), name="w")
                source.model.graph.initializers["w"].const_value = new
                layout = DataLayout(in_place=True, link=link)
                staged.append(stack.enter_context(model_file.stage(source.model, source, model, layout)))
            for each in staged:
                each.commit()
        assert set(files(model.parent)) == {model.name, *(place["location"] for place in places(model))}
        assert len(files(model.parent)) == (3 if link else 2)

    def test_data_that_others_may_use_stays_and_is_named(self, tmp_path):
        save(OLD, tmp_path / "in.onnx", "two")
        source = model_file.read(tmp_path / "in.onnx")
        with model_file.stage(source.model, source, tmp_path / "in.onnx", DataLayout(in_place=True)) as staged:
            staged.commit()
            assert [path.name for path in staged.left] == ["v", "w"]
        assert value_of(tmp_path / "in.onnx") == OLD
        assert {"v", "w"} < set(files(tmp_path))

    def test_only_the_new_weights_with_links(self, model):
        write(model, model, in_place=True, link=True)
        assert files(model.parent) == ["in.onnx", "in.onnx.data"]
        assert value_of(model) == OLD


class TestOtherModels:
    """A data file stays for as long as any model refers to it, be it that model's own or not."""

    def copied(self, model: Path) -> Path:
        return Path(shutil.copy(model, model.with_name("copy.onnx")))

    def linked(self, model: Path) -> Path:
        write(model, model.with_name("linked.onnx"), link=True)
        return model.with_name("linked.onnx")

    def linked_from_above(self, model: Path) -> Path:
        write(model, model.parent.parent / "linked.onnx", link=True)
        return model.parent.parent / "linked.onnx"

    def linked_as_text(self, model: Path) -> Path:
        write(model, model.with_name("linked.textproto"), link=True)
        return model.with_name("linked.textproto")

    def behind_a_link(self, model: Path) -> Path:
        (model.parent / "other.bin").symlink_to(f"{model.name}.data")
        proto = onnx.load(model, load_external_data=False)
        for tensor in proto.graph.initializer:
            tensor.external_data[0].value = "other.bin"
        onnx.save(proto, model.with_name("other.onnx"))
        return model.with_name("other.onnx")

    def weights(self, model: Path) -> set[float]:
        """The values of all weights: onnx itself reads no links."""
        weights = model_file.read(model).model.graph.initializers.values()
        return {float(element) for weight in weights for element in np.unique(weight.const_value.numpy())}

    def copied_as_backup(self, model: Path) -> Path:
        return Path(shutil.copy(model, f"{model}.bak"))

    def copied_in_capitals(self, model: Path) -> Path:
        return Path(shutil.copy(model, model.with_name("COPY.ONNX")))

    OTHERS = (
        "copied",
        "copied_as_backup",
        "copied_in_capitals",
        "linked",
        "linked_from_above",
        "linked_as_text",
        "behind_a_link",
    )

    @pytest.mark.parametrize("other", OTHERS)
    @pytest.mark.parametrize("is_gone", [False, True])
    def test_its_data_outlives_the_output_that_it_was_written_for(self, other, is_gone, model, out):
        write(model, out)
        user = getattr(self, other)(out)
        save(NEW, model, "one")
        if is_gone:
            out.unlink()
        for _ in range(2):
            write(model, out)
        assert value_of(out) == NEW
        assert self.weights(user) == {OLD}
        user.unlink()
        write(model, out)  # now nobody needs it any more
        assert len([name for name in files(out.parent) if is_data_name(name, out)]) == 1

    @pytest.mark.parametrize("other", OTHERS)
    def test_its_data_outlives_a_model_that_is_replaced_in_place(self, other, model):
        user = getattr(self, other)(model)
        before = model.with_name("in.onnx.data").read_bytes()
        source = model_file.read(model)
        for name in "wv":
            source.model.graph.initializers[name].const_value = ir.tensor(np.full(3000, NEW, np.float32), name=name)
        with model_file.stage(source.model, source, model, DataLayout(in_place=True)) as staged:
            staged.commit()
            assert [path.name for path in staged.left] == ["in.onnx.data"]
        assert value_of(model) == NEW
        assert model.with_name("in.onnx.data").read_bytes() == before
        assert self.weights(user) == {OLD}

    def test_a_model_that_can_not_be_read_may_need_it(self, model, out, monkeypatch):
        write(model, out)
        other = self.copied(out)
        real = Path.open

        def closed(path, *arguments, **named):
            if path == other:
                raise PermissionError(13, "Permission denied")
            return real(path, *arguments, **named)

        monkeypatch.setattr(Path, "open", closed)
        write(model, out)
        assert value_of(other) == OLD


class TestNames:
    @pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
    def test_a_name_that_no_model_can_hold(self, model, tmp_path):
        folder = tmp_path / os.fsdecode(b"\xe9")
        folder.mkdir()
        write(model, folder / "plain.onnx")
        write(model, folder / os.fsdecode(b"\xe9.onnx"), external="never")
        for output, layout in ((folder / os.fsdecode(b"\xe9.onnx"), {}), (folder.parent / "b.onnx", {"link": True})):
            with pytest.raises(UsageError, match=re.escape(f"the model {output} can't name")):
                write(folder / "plain.onnx", output, **layout)
        assert np.unique(np.fromfile(folder / "plain.onnx.data", np.float32)) == [OLD]

    @pytest.mark.parametrize("name", ["m.onnx.data", "m.onnx.1f2e3d4c.data", "m.onnx.2.data", "m.onnx.1f2e3d4c.2.data"])
    def test_names_of_ours(self, name):
        assert is_data_name(name, Path("m.onnx"))

    @pytest.mark.parametrize(
        "name", ["m.onnx_data", "mxonnx.data", "m.onnx.1f2e3d4.data", "n.m.onnx.data", "m.onnx.data~"]
    )
    def test_names_of_others(self, name):
        assert not is_data_name(name, Path("m.onnx"))

    @pytest.mark.parametrize(
        ("name", "is_own"), [("m.onnx_data", True), ("m.onnx_data_1", True), ("m.data", True), ("weights.bin", False)]
    )
    def test_names_that_belong_to_a_model(self, name, is_own):
        assert is_name_of_model(name, Path("m.onnx")) is is_own


class TestLeftovers:
    def test_what_a_dead_run_left_goes(self, model, out):
        write(model, out)
        staged = out.parent / ".out.onnx.0123abcd.onnx"
        save(NEW, staged, "one")  # it names a file that is none of ours
        (out.parent / "out.onnx.0123abcd.data").write_bytes(b"half")
        staged.with_name(".out.onnx.0123abcd.text").write_bytes(b"half")
        write(model, out)
        assert len(files(out.parent)) == 3
        assert staged.name not in files(out.parent)
        assert f"{staged.name}.data" in files(out.parent)

    def test_a_run_that_goes_on_keeps_its_files(self, model, out):
        source = model_file.read(model)
        with model_file.stage(source.model, source, out) as staged:
            write(model, out)
            assert value_of(staged.path) == OLD
            staged.commit()
        assert value_of(out) == OLD
        assert len(files(out.parent)) == 2

    def test_a_file_of_the_persons_stays(self, model, out):
        precious = out.with_name("out.onnx.data")
        precious.write_text("precious")
        write(model, out)
        write(model, out)
        assert precious.read_text() == "precious"
        assert len(files(out.parent)) == 3

    def test_what_an_earlier_run_is_known_to_have_written_goes(self, model, out):
        write(model, out)
        old = out.with_name("out.onnx.data")
        assert earlier_output.is_ours(old)
        out.unlink()
        write(model, out)
        assert len(files(out.parent)) == 2
