"""Models that somebody made to do harm, or that are broken: each is refused with a text that names the place."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from foldproof import model_file
from foldproof.errors import ModelError
from foldproof.validation import check_structure
from tests.helpers import needs_recent_onnx, parse

WEIGHTS = np.arange(64, dtype=np.float32).tobytes()


def refused(model: onnx.ModelProto | Path, *words: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        model_file.from_proto(model) if isinstance(model, onnx.ModelProto) else model_file.read(model)
    text = str(caught.value)
    assert all(word in text for word in words), text
    assert caught.value.exit_status == 3
    assert caught.value.hint
    return caught.value


def with_tensor(tensor: TensorProto) -> onnx.ModelProto:
    """A model that reads an initializer called w."""
    model = parse("g (float[N] x) => (float[N] y) { y = Identity (x) }")
    tensor.name = "w"
    model.graph.initializer.append(tensor)
    model.graph.node.append(helper.make_node("Identity", ["w"], ["z"]))
    model.graph.output.add(name="z")
    return model


class TestElements:
    @pytest.mark.parametrize(
        "tensor",
        [
            helper.make_tensor("", TensorProto.FLOAT16, [2], [1, 2]),
            helper.make_tensor("", TensorProto.COMPLEX64, [2], [1 + 2j, 3j]),
            helper.make_tensor("", TensorProto.COMPLEX128, [1], [1 + 2j]),
            helper.make_tensor("", TensorProto.INT4, [3], [1, 2, 3]),
            helper.make_tensor("", TensorProto.UINT64, [2], [1, 2]),
            helper.make_tensor("", TensorProto.DOUBLE, [2], [1, 2]),
            helper.make_tensor("", TensorProto.BOOL, [], [True]),
            helper.make_tensor("", TensorProto.STRING, [2], ["a", "b"]),
            helper.make_tensor("", TensorProto.FLOAT, [0, 1 << 40], []),
            numpy_helper.from_array(np.ones((2, 3), np.int16)),
            pytest.param(TensorProto(data_type=27, dims=[3], int32_data=[8, 16, 63]), marks=needs_recent_onnx),
            pytest.param(TensorProto(data_type=27, dims=[3], raw_data=b"\xff\xff\x03"), marks=needs_recent_onnx),
        ],
    )
    def test_what_helpers_of_onnx_make_is_good(self, tensor):
        onnx.checker.check_tensor(tensor)
        model_file.from_proto(with_tensor(tensor))

    @pytest.mark.parametrize(
        ("tensor", "words"),
        [
            (TensorProto(data_type=1, dims=[2], raw_data=bytes(7)), "has 7 bytes"),
            (TensorProto(data_type=1, dims=[2], raw_data=bytes(9)), "take 8"),
            (TensorProto(data_type=1, dims=[1 << 30, 1 << 30], raw_data=bytes(8)), "has 8 bytes"),
            (TensorProto(data_type=1, dims=[1 << 30, 1 << 30]), "0 entries in float_data"),
            (TensorProto(data_type=1, dims=[0, 1 << 60]), "no tensor has"),
            (TensorProto(data_type=1, dims=[-1], raw_data=bytes(4)), "below 0"),
            (TensorProto(data_type=1, dims=[2], float_data=[1]), "1 entries in float_data"),
            (TensorProto(data_type=6, dims=[1], int64_data=[1]), "int64_data"),
            (TensorProto(data_type=7, dims=[1], int64_data=[1], raw_data=bytes(8)), "both"),
            (TensorProto(data_type=8, dims=[1], raw_data=b"a"), "raw_data"),
            (TensorProto(data_type=22, dims=[3], int32_data=[1, 2, 3]), "take 2"),
            pytest.param(TensorProto(data_type=27, dims=[2], int32_data=[1, 64]), "6 bits", marks=needs_recent_onnx),
            pytest.param(TensorProto(data_type=28, dims=[4], int32_data=[1, 2, 3]), "take 4", marks=needs_recent_onnx),
            pytest.param(
                TensorProto(data_type=28, dims=[3], raw_data=bytes(2) + b"\x04"),
                "behind its last",
                marks=needs_recent_onnx,
            ),
            pytest.param(
                TensorProto(data_type=28, dims=[1], raw_data=b"\x40"), "behind its last", marks=needs_recent_onnx
            ),
            (TensorProto(data_type=0, dims=[1], raw_data=bytes(4)), "unknown element type 0"),
            (TensorProto(data_type=99, dims=[1], raw_data=bytes(4)), "unknown element type 99"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, tensor, words):
        refused(with_tensor(tensor), "'w'", words)

    def test_wherever_it_stands(self):
        bad = TensorProto(data_type=1, dims=[2], raw_data=bytes(7))
        body = helper.make_graph([helper.make_node("Identity", ["k"], ["t"])], "b", [], [onnx.ValueInfoProto(name="t")])
        body.initializer.append(bad)
        body.initializer[0].name = "k"
        model = parse("g (bool c) => (float[2] y) { y = Identity (c) }")
        model.graph.node[0].CopyFrom(helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body))
        refused(model, "'k'", "7 bytes")
        model = parse("g (float[2] x) => (float[2] y) { k = Constant <value = float[1] {1}> () y = Add (x, k) }")
        model.graph.node[0].attribute[0].t.CopyFrom(bad)
        refused(model, "'k'", "'value'", "7 bytes")

    @pytest.mark.parametrize(("dims", "kind"), [([-1], 7), ([1 << 40, 1 << 40], 7), ([3], 6)])
    def test_sparse_tensors(self, dims, kind):
        model = parse("g (float[3] x) => (float[3] y) { y = Neg (x) }")
        values = helper.make_tensor("s", 1, [1], [1])
        sparse = onnx.SparseTensorProto(values=values, indices=helper.make_tensor("", kind, [1], [0]), dims=dims)
        model.graph.sparse_initializer.append(sparse)
        refused(model, "'s'")


class TestExternalData:
    @pytest.fixture
    def folder(self, tmp_path):
        folder = tmp_path / "model"
        folder.mkdir()
        (folder / "weights.bin").write_bytes(WEIGHTS)
        (tmp_path / "secret").write_bytes(WEIGHTS)
        return folder

    def model(self, folder: Path, **entries: str | int) -> Path:
        return self.models(folder, {"location": "weights.bin", **entries})

    def models(self, folder: Path, *tensors: dict[str, str | int]) -> Path:
        model = parse("g (float[4] x) => (float[4] y) { y = Neg (x) }")
        for number, entries in enumerate(tensors):
            tensor = model.graph.initializer.add(
                name=f"w{number}", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL
            )
            for key, text in entries.items():
                tensor.external_data.add(key=key, value=str(text))
            model.graph.node.append(helper.make_node("Neg", [f"w{number}"], [f"z{number}"]))
            model.graph.output.add(name=f"z{number}")
        path = folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    def test_what_lies_beside_the_model_is_good(self, folder):
        (folder / "sub").mkdir()
        (folder / "sub" / "more.bin").write_bytes(WEIGHTS)
        (folder / "link.bin").symlink_to("weights.bin")
        model_file.read(
            self.models(
                folder,
                {"location": "weights.bin", "offset": 16, "length": 16},
                {"location": "weights.bin", "offset": 16, "length": 16},  # tied
                {"location": "weights.bin", "offset": 32},
                {"location": "sub/more.bin"},
                {"location": "link.bin"},
            )
        )

    @pytest.mark.parametrize(
        "location",
        ["../secret", "sub/../../secret", "/etc/hostname", "C:\\weights.bin", "..\\secret", "", "a\0b", "*/_ORT_MEM_ADDR_/*"],
    )  # fmt: skip
    def test_paths_that_leave_the_folder(self, folder, location):
        refused(self.model(folder, location=location), "'w0'")

    @pytest.mark.parametrize("location", ["", ".", "weights.bin/", "weights.bin/.", "weights.bin\\", "sub/"])
    def test_a_folder_is_no_file(self, folder, location):
        refused(self.model(folder, location=location), "'w0'", repr(location))

    def test_links_that_leave_the_folder(self, folder):
        (folder / "link.bin").symlink_to("../secret")
        refused(self.model(folder, location="link.bin"), "'w0'", "link", "secret")
        os.link(folder.parent / "secret", folder / "hard.bin")
        refused(self.model(folder, location="hard.bin"), "'w0'", "hard links", "copy")

    def test_a_cache_of_downloads(self, folder, tmp_path):
        """The model and its data are links to files that lie beside each other elsewhere."""
        blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
        blobs.mkdir()
        snapshot.mkdir()
        (blobs / "2").write_bytes(WEIGHTS)
        self.model(folder).rename(blobs / "1")
        (snapshot / "weights.bin").symlink_to("../blobs/2")
        (snapshot / "model.onnx").symlink_to("../blobs/1")
        model_file.read(snapshot / "model.onnx")
        (snapshot / "weights.bin").unlink()
        (snapshot / "weights.bin").symlink_to("../secret")
        refused(snapshot / "model.onnx", "secret")

    def test_what_is_no_file(self, folder):
        os.mkfifo(folder / "pipe")
        (folder / "dir").mkdir()
        for name in ("pipe", "dir"):
            refused(self.model(folder, location=name), "'w0'", "regular file")

    @pytest.mark.parametrize(
        "entries",
        [
            {"offset": 248},
            {"offset": 256},
            {"offset": -16},
            {"offset": (1 << 63) - 8},
            {"offset": 1 << 64},
            {"offset": "0x10"},
            {"offset": "\N{ARABIC-INDIC DIGIT FOUR}"},
            {"length": 8},
            {"length": 1 << 62},
            {"length": "many"},
        ],
    )
    def test_places_outside_the_file(self, folder, entries):
        refused(self.model(folder, **entries), "'w0'")

    def test_tensors_that_overlap_in_part(self, folder):
        path = self.models(folder, {"location": "weights.bin"}, {"location": "weights.bin", "offset": 8})
        refused(path, "'w0'", "'w1'", "overlaps")

    def test_two_statements_of_one_place(self, folder):
        proto = onnx.load(self.model(folder), load_external_data=False)
        proto.graph.initializer[0].external_data.add(key="location", value="other.bin")
        (folder / "model.onnx").write_bytes(proto.SerializeToString())
        refused(folder / "model.onnx", "twice")

    @pytest.mark.parametrize("part", ["values", "indices"])
    @pytest.mark.parametrize("holder", ["initializer", "constant", "list"])
    def test_parts_of_sparse_tensors_lie_in_the_model(self, folder, part, holder):
        """onnx_ir has no sparse tensors: a part that lies elsewhere would be taken for the tensor itself."""
        values, indices = numpy_helper.from_array(np.ones(2, np.float32), "s"), numpy_helper.from_array(np.arange(2))
        sparse = helper.make_sparse_tensor(values, indices, [8])
        outside = getattr(sparse, part)
        outside.ClearField("raw_data")
        outside.data_location = TensorProto.EXTERNAL
        outside.external_data.add(key="location", value="weights.bin")
        model = parse("g (float[N] x) => (float[N] y) { y = Neg (x) }")
        if holder == "initializer":
            model.graph.sparse_initializer.append(sparse)
        elif holder == "constant":
            model.graph.node.append(helper.make_node("Constant", [], ["s"], sparse_value=sparse))
        else:
            attribute = onnx.AttributeProto(
                name="list", type=onnx.AttributeProto.SPARSE_TENSORS, sparse_tensors=[sparse]
            )
            model.graph.node.add(op_type="Abs", input=["x"], output=["s"], name="s").attribute.append(attribute)
        path = folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        refused(path, "'s'", part, "data file")

    @pytest.mark.parametrize("graph", ["initialization", "algorithm"])
    @pytest.mark.parametrize("holder", ["initializer", "body"])
    @pytest.mark.parametrize("location", ["weights.bin", "../../etc/passwd"])
    def test_training_information_lies_in_the_model(self, folder, graph, holder, location):
        """It goes from file to file as it is, so that what it names would not be there, or be taken away."""
        proto = onnx.load(self.model(folder, location=location), load_external_data=False)
        tensor = proto.graph.initializer.pop()
        del proto.graph.node[1:], proto.graph.output[1:]
        target = getattr(proto.training_info.add(), graph)
        if holder == "body":
            body = onnx.GraphProto(name="body", initializer=[tensor])
            target.node.append(helper.make_node("If", ["c"], ["i"], then_branch=body, else_branch=body))
        else:
            target.initializer.append(tensor)
        (folder / "model.onnx").write_bytes(proto.SerializeToString())
        refused(folder / "model.onnx", "'w0'", "training information", "data file")

    def test_strings_and_what_has_elements_too(self, folder):
        proto = onnx.load(self.model(folder), load_external_data=False)
        proto.graph.initializer[0].raw_data = bytes(16)
        (folder / "model.onnx").write_bytes(proto.SerializeToString())
        refused(folder / "model.onnx", "'w0'", "in the model")
        proto.graph.initializer[0].ClearField("raw_data")
        proto.graph.initializer[0].data_type = TensorProto.STRING
        (folder / "model.onnx").write_bytes(proto.SerializeToString())
        refused(folder / "model.onnx", "'w0'", "strings")


class TestStructure:
    def test_a_million_inputs(self):
        model = parse("g (float[N] x) => (float[N] y) { y = Neg (x) }")
        model.graph.input.extend(onnx.ValueInfoProto(name=f"i{k}") for k in range(1_000_000))
        start = time.process_time()
        refused(model, "1000001 inputs")
        assert time.process_time() - start < 5

    def test_as_many_with_a_default_are_weights(self):
        model = parse("g (float[N] x) => (float[N] y) { y = Neg (x) }", ir_version=3, opset=8)
        for k in range(11_000):
            model.graph.initializer.append(numpy_helper.from_array(np.zeros(1, np.float32), f"w{k}"))
            model.graph.input.append(helper.make_tensor_value_info(f"w{k}", TensorProto.FLOAT, [1]))
        check_structure(model)

    def test_bodies_nested_five_thousand_deep(self, tmp_path):
        """Written by hand: protobuf neither writes nor reads what is nested so deep."""
        graph = b"\x12\x01b"
        for _ in range(5000):
            branch = field(1, b"then_branch") + b"\xa0\x01\x05" + field(6, graph)
            graph = field(1, field(4, b"If") + field(5, branch))
        path = tmp_path / "deep.onnx"
        path.write_bytes(b"\x08\x0a" + field(7, graph))
        refused(path, "deep.onnx")

    @pytest.mark.parametrize("version", [-1, 1 << 62])
    def test_opsets_that_can_not_be(self, version):
        model = parse("g (float[N] x) => (float[N] y) { y = Neg (x) }")
        model.opset_import[0].version = version
        refused(model, str(version))

    def test_attributes_that_say_nothing_or_two_things(self):
        model = parse("g (float[N] x) => (float[N] y) { y = LeakyRelu <alpha = 0.5> (x) }")
        attribute = model.graph.node[0].attribute
        attribute[0].type = onnx.AttributeProto.INT
        refused(model, "'y'", "'alpha'")
        attribute[0].type = onnx.AttributeProto.FLOAT
        attribute.append(attribute[0])
        refused(model, "'y'", "twice")

    def test_a_body_that_is_a_reference(self):
        model = parse(
            "g (bool c, float[N] x) => (float[N] y) { y = If (c) < then_branch = t () => (float[N] a) { a = Neg (x) },"
            " else_branch = e () => (float[N] b) { b = Abs (x) }> }"
        )
        model.graph.node[0].attribute[0].ref_attr_name = "elsewhere"
        model.graph.node[0].attribute[0].ClearField("g")
        refused(model, "'y'", "elsewhere")

    @pytest.mark.parametrize("text", ["NAME", "Neg"])
    def test_names_that_are_no_text(self, text, tmp_path):
        model = parse("g (float[N] x) => (float[N] y) { y = Neg (x) }")
        model.graph.node[0].name = "NAME"
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString().replace(text.encode(), b"\xff" * len(text)))
        refused(path, "UTF-8")

    @pytest.mark.parametrize("text", ["BATCH", "BODY", "FUNCTION", "ARGUMENT", "ATTRIBUTE"])
    def test_other_names_that_are_no_text(self, text, tmp_path):
        model = parse(
            "GRAPH (bool c, float[BATCH] x) => (float[BATCH] y) { y = If (c) <"
            " then_branch = BRANCH () => (float[K] BODY) { BODY = Neg (x) },"
            " else_branch = e () => (float[K] b) { b = Abs (x) }> }",
            imports='"my": 1',
            functions='<domain: "my", opset_import: ["": 18]> FUNCTION <ATTRIBUTE> (ARGUMENT) => (r) { r = Neg (ARGUMENT) }',
        )
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString().replace(text.encode(), b"\xff" * len(text)))
        refused(path, "UTF-8")

    def test_names_of_graphs_that_are_no_text_are_kept(self, tmp_path):
        model = parse(
            "GRAPH (bool c, float[N] x) => (float[N] y) <float[1] k = {2}> { y = If (c) <"
            " then_branch = BRANCH () => (float[K] a) { n = Neg (k) a = Add (x, n) },"
            " else_branch = e () => (float[K] b) { b = Abs (x) }> }"
        )
        path = tmp_path / "model.onnx"
        contents = model.SerializeToString().replace(b"GRAPH", b"\xff" * 5).replace(b"BRANCH", b"\xff" * 6)
        path.write_bytes(contents)
        command = [sys.executable, "-m", "foldproof", "optimize", path, "-o", "out.onnx", "--report", "report.html"]
        subprocess.run(command, check=True, cwd=tmp_path)
        written = (tmp_path / "out.onnx").read_bytes()
        assert b"\xff" * 5 in written
        assert b"\xff" * 6 in written

    def test_a_domain_that_is_no_text(self, tmp_path):
        model = parse("g (float[N] x) => (float[N] y) { y = Neg (x) }", imports='"DOMAIN": 1')
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString().replace(b"DOMAIN", b"DO\xaeAIN"))
        refused(path, "UTF-8")

    def test_a_cycle_in_a_function_that_nothing_calls(self):
        body = '<domain: "my", opset_import: ["": 18]> f (p) => (q) { q = Neg (q) }'
        model = parse("g (float[N] x) => (float[N] y) { y = Neg (x) }", imports='"my": 1', functions=body)
        refused(model, "'q'", "cycle")


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field of protobuf's wire form."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
