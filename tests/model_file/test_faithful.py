"""What nobody rewrote comes out as it came in."""

from __future__ import annotations

import gc
import logging
import re

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
from google.protobuf.internal import encoder
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.backend.test.case.node import collect_testcases

from foldproof import model_file
from foldproof.errors import ModelError
from foldproof.model_file.blame import blame
from foldproof.model_file.protobuf import View, copy_fields


def contents(proto: onnx.ModelProto) -> bytes:
    return proto.SerializeToString(deterministic=True)


def round_trip(proto: onnx.ModelProto) -> onnx.ModelProto:
    source = model_file.from_proto(proto)
    return model_file.to_proto(source.model, source)


def node_of(model: ir.Model, name: str) -> ir.Node:
    return next(node for node in model.graph.all_nodes() if node.name == name)


def proto_node(proto: onnx.ModelProto, name: str) -> onnx.NodeProto:
    return next(node for node in proto.graph.node if node.name == name)


def test_a_model_with_everything_comes_out_equal(everything):
    result = round_trip(everything)
    assert result == everything
    assert contents(result) == contents(everything)


def test_a_model_with_everything_loads_without_warnings(everything, caplog):
    with caplog.at_level(logging.WARNING):
        source = model_file.from_proto(everything)
        model_file.to_proto(source.model, source)
    assert caplog.records == []


def test_the_argument_is_neither_changed_nor_kept_in_the_result(everything):
    before = contents(everything)
    source = model_file.from_proto(everything)
    for graph in (source.model.graph, *source.model.graph.subgraphs()):
        for value in list(graph.initializers.values()):
            value.name = f"renamed_{value.name}"
        for node in graph:
            for output in node.outputs:
                output.name = f"renamed_{output.name}"
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.TENSOR:
                    attribute.value.name = "renamed"
    for function in source.model.functions.values():
        function.attributes["given_tensor"].value.name = "renamed"
    result = model_file.to_proto(source.model, source)
    result.graph.initializer[0].raw_data = b"12345678"
    assert contents(everything) == before


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the tests' own arithmetic
def test_every_onnx_node_test_comes_out_equal():
    cases = collect_testcases(None)
    different = [case.name for case in cases if contents(round_trip(case.model)) != contents(case.model)]
    assert len(cases) > 1000
    assert different == []


def test_serializing_twice_gives_the_same(everything):
    source = model_file.from_proto(everything)
    first = contents(model_file.to_proto(source.model, source))
    assert contents(model_file.to_proto(source.model, source)) == first


def test_strings_that_are_no_text_move_to_another_node(everything, caplog):
    """Custom operators keep what they like in strings: what is not in UTF-8 is neither refused nor changed."""
    source = model_file.from_proto(everything)
    odd = node_of(source.model, "odd")
    node = ir.node("Other", [odd.inputs[0]], domain="custom")
    node.attributes.update({name: odd.attributes[name] for name in ("bytes", "no_texts")})
    node.outputs[0].name = "other"
    source.model.graph.append(node)
    with caplog.at_level(logging.WARNING):
        written = model_file.to_proto(source.model, source).graph.node[-1]
    assert caplog.records == []
    assert [written.attribute[0].s, *written.attribute[1].strings] == [b"\xff\xfe", b"\xff", b"a", b""]


@pytest.mark.parametrize("outputs", [[], [""], ["", ""]])
def test_nodes_without_named_outputs_keep_what_is_theirs(outputs, everything):
    for number in range(3):
        node = helper.make_node("Print", ["x"], outputs, domain="custom", number=number)
        node.device_configurations.add(configuration_id=f"device {number}")
        node.MergeFromString(_field(1023, 2, b"\x01" + bytes([number])))
        everything.graph.node.append(node)
    assert contents(round_trip(everything)) == contents(everything)


def test_an_output_that_is_listed_twice_is_described_twice(everything):
    again = everything.graph.output.add()
    again.CopyFrom(everything.graph.output[0])
    again.doc_string = "the same again"
    assert contents(round_trip(everything)) == contents(everything)


def test_a_model_from_a_file_comes_out_equal(everything, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(everything.SerializeToString())
    source = model_file.read(path)
    assert source.path == path
    assert model_file.to_proto(source.model, source) == everything


def test_a_clone_of_the_model_comes_out_equal(everything):
    source = model_file.from_proto(everything)
    assert model_file.to_proto(source.model.clone(), source) == everything


def test_a_changed_node_keeps_all_else_that_it_had(everything):
    source = model_file.from_proto(everything)
    node = node_of(source.model, "odd")
    node.replace_input_with(0, source.model.graph.inputs[0])
    result = model_file.to_proto(source.model, source)
    expected = onnx.ModelProto()
    expected.CopyFrom(everything)
    proto_node(expected, "odd").input[0] = "x"
    assert result == expected


def test_a_change_in_a_branch_changes_nothing_else(everything):
    source = model_file.from_proto(everything)
    branch = node_of(source.model, "choice").attributes["then_branch"].value
    next(iter(branch)).op_type = "Sub"
    result = model_file.to_proto(source.model, source)
    expected = onnx.ModelProto()
    expected.CopyFrom(everything)
    then = next(a.g for a in proto_node(expected, "choice").attribute if a.name == "then_branch")
    then.node[0].op_type = "Sub"
    then.node[0].ClearField("doc_string")  # it is another node now
    then_now = next(a.g for a in proto_node(result, "choice").attribute if a.name == "then_branch")
    then_now.node[0].ClearField("doc_string")
    assert result == expected


def test_a_change_in_a_function_changes_nothing_else(everything):
    source = model_file.from_proto(everything)
    function = next(iter(source.model.functions.values()))
    function.remove(next(node for node in function if node.op_type == "Abs"), safe=True)
    expected = onnx.ModelProto()
    expected.CopyFrom(everything)
    del expected.functions[0].node[2]
    assert model_file.to_proto(source.model, source) == expected


def test_what_is_taken_away_takes_its_declarations_along(everything):
    source = model_file.from_proto(everything)
    graph = source.model.graph
    abs_node = node_of(source.model, "abs")
    abs_node.outputs[0].replace_all_uses_with(graph.inputs[0])
    graph.remove(abs_node, safe=True)
    result = model_file.to_proto(source.model, source).graph
    assert [value.name for value in result.value_info] == ["b", "of_nothing", "o"]
    assert not result.quantization_annotation


def test_a_new_initializer_comes_last_and_without_declaration(everything):
    source = model_file.from_proto(everything)
    value = ir.Value(name="new", const_value=ir.tensor(np.int64(6), name="new"), type=ir.TensorType(ir.DataType.INT64))
    source.model.graph.register_initializer(value)
    result = model_file.to_proto(source.model, source).graph
    assert [tensor.name for tensor in result.initializer] == ["w", "half", "dense_by_input", "texts", "new"]
    assert onnx.numpy_helper.to_array(result.initializer[-1]) == 6
    assert result.value_info == everything.graph.value_info


def test_a_new_node_is_written(everything):
    source = model_file.from_proto(everything)
    graph = source.model.graph
    new = ir.node(
        "Clip", [graph.inputs[0], None, None], {"note": "hi"}, outputs=[ir.Value(name="n"), ir.Value(name="")]
    )
    graph.append(new)
    written = model_file.to_proto(source.model, source).graph.node[-1]
    assert (written.op_type, list(written.input), list(written.output)) == ("Clip", ["x", "", ""], ["n"])
    assert helper.get_node_attr_value(written, "note") == b"hi"


def test_the_contract_is_kept_whatever_the_model_says(everything):
    source = model_file.from_proto(everything)
    source.model.graph.inputs[0].shape = ir.Shape([1, 2])
    source.model.graph.outputs[0].type = ir.TensorType(ir.DataType.DOUBLE)
    assert model_file.to_proto(source.model, source) == everything


def test_a_redeclared_input_is_written_as_the_model_has_it(everything):
    source = model_file.from_proto(everything)
    source.model.graph.inputs[0].shape = ir.Shape([1, 2])
    source.redeclared.add("x")
    result = model_file.to_proto(source.model, source)
    assert [dim.dim_value for dim in result.graph.input[0].type.tensor_type.shape.dim] == [1, 2]
    assert result.graph.output == everything.graph.output


def test_changed_metadata_is_written_in_its_old_order(everything):
    source = model_file.from_proto(everything)
    source.model.metadata_props.update({"a": "changed", "new": "3"})
    result = model_file.to_proto(source.model, source)
    assert [(p.key, p.value) for p in result.metadata_props] == [("z", "1"), ("a", "changed"), ("new", "3")]


def test_a_value_without_a_name_is_refused(everything):
    source = model_file.from_proto(everything)
    node_of(source.model, "odd").inputs[0].name = None
    with pytest.raises(ModelError, match="serialized"):
        model_file.to_proto(source.model, source)


def test_types_that_onnx_ir_lacks_are_unknown_in_the_model(everything):
    outputs = {value.name: value.type for value in model_file.from_proto(everything).model.graph.outputs}
    assert outputs["map"] is outputs["map_list"] is outputs["opaque_list"] is None
    assert outputs["y"].dtype == ir.DataType.FLOAT


class TestOpsets:
    """The opset that counts is the one that onnxruntime takes."""

    @staticmethod
    def softmax(*opsets: tuple[str, int]) -> onnx.ModelProto:
        """Softmax over axis 1 means something else from opset 13 on."""
        dims = [2, 2, 2]
        graph = helper.make_graph(
            [helper.make_node("Softmax", ["x"], ["y"], axis=1)],
            "main",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)],
        )
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid(*o) for o in opsets])

    @staticmethod
    def run(proto: onnx.ModelProto) -> np.ndarray:
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, {"x": np.arange(8, dtype=np.float32).reshape(2, 2, 2)})[0]

    @pytest.mark.parametrize(
        "opsets",
        [
            [("", 12)],
            [("ai.onnx", 13)],
            [("", 12), ("", 13)],
            [("", 13), ("", 12)],
            [("ai.onnx", 12), ("", 13)],
            [("", 13), ("ai.onnx", 12)],
        ],
    )
    def test_the_effective_opset_is_under_the_empty_domain(self, opsets):
        proto = self.softmax(*opsets)
        imports = model_file.from_proto(proto).model.opset_imports
        assert list(imports) == [""]
        np.testing.assert_equal(self.run(proto), self.run(self.softmax(("", imports[""]))))
        assert round_trip(proto) == proto

    def test_an_old_model_implies_opset_1(self):
        proto = self.softmax(("", 1))
        proto.ir_version = 2
        del proto.opset_import[:]
        assert model_file.from_proto(proto).model.opset_imports == {"": 1}
        assert round_trip(proto) == proto

    def test_a_new_domain_is_appended(self):
        source = model_file.from_proto(self.softmax(("ai.onnx", 13), ("mine", 1)))
        source.model.opset_imports["com.microsoft"] = 1
        entries = model_file.to_proto(source.model, source).opset_import
        assert [(e.domain, e.version) for e in entries] == [
            ("ai.onnx", 13),
            ("mine", 1),
            ("com.microsoft", 1),
        ]

    def test_a_changed_version_replaces_all_entries_of_its_domain(self):
        source = model_file.from_proto(self.softmax(("", 12), ("mine", 1), ("ai.onnx", 13)))
        source.model.opset_imports[""] = 17
        entries = model_file.to_proto(source.model, source).opset_import
        assert [(e.domain, e.version) for e in entries] == [("", 17), ("mine", 1)]

    def test_functions_too(self, everything):
        function = next(iter(model_file.from_proto(everything).model.functions.values()))
        assert function.opset_imports == {"": 17}


class TestFromIr:
    def test_the_argument_is_not_changed(self, everything):
        given_model = ir.from_proto(TestOpsets.softmax(("", 13)))
        value = ir.Value(name="w", const_value=ir.tensor([1.0, 2.0], name="w"))
        given_model.graph.register_initializer(value)
        source = model_file.from_ir(given_model)
        assert source.proto is None
        source.model.graph.initializers["w"].name = "renamed"
        source.model.graph.remove(source.model.graph[0])
        assert given_model.graph.initializers["w"].const_value.name == "w"
        assert [node.op_type for node in given_model.graph] == ["Softmax"]

    def test_it_serializes_as_onnx_ir_does(self):
        branch = ir.Graph([], [], nodes=[])
        x = ir.Value(name="x", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape(["N"]))
        inner = ir.node("Abs", [x], outputs=[ir.Value(name="t", type=ir.TensorType(ir.DataType.FLOAT))])
        branch.append(inner)
        branch.outputs.append(inner.outputs[0])
        c = ir.Value(name="c", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
        choice = ir.node("If", [c], {"then_branch": branch, "else_branch": branch.clone(allow_outer_scope_values=True)})
        choice.outputs[0].type = ir.TensorType(ir.DataType.FLOAT)
        last = ir.node("Neg", choice.outputs, outputs=[ir.Value(name="y", type=ir.TensorType(ir.DataType.FLOAT))])
        graph = ir.Graph([x, c], last.outputs, nodes=[choice, last], opset_imports={"": 17}, name="main")
        graph.metadata_props["b"] = "1"
        model = ir.Model(graph, ir_version=8, producer_name="tester")
        source = model_file.from_ir(model)
        assert model_file.to_proto(source.model, source) == ir.to_proto(model)

    def test_a_quantization_annotation_is_kept(self, everything):
        proto = TestOpsets.softmax(("", 13))
        annotation = proto.graph.quantization_annotation.add(tensor_name="x")
        annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
        source = model_file.from_ir(ir.from_proto(proto))
        assert model_file.to_proto(source.model, source) == proto

    def test_a_model_that_reads_a_strange_value_is_refused(self):
        stray = ir.node("Abs", [ir.Value(name="stray")])
        graph = ir.Graph([], stray.outputs, nodes=[stray], opset_imports={"": 17}, name="main")
        with pytest.raises(ModelError, match="cloned"):
            model_file.from_ir(ir.Model(graph, ir_version=8))


class TestBlame:
    def test_an_initializer_of_an_unknown_type_is_named(self):
        proto = TestOpsets.softmax(("", 13))
        proto.graph.initializer.add(name="future", data_type=99, dims=[1])
        with pytest.raises(ModelError, match=r"'future'.*99"):
            model_file.from_proto(proto)

    def test_an_attribute_that_cannot_be_read_is_named(self):
        proto = TestOpsets.softmax(("", 13))
        proto.graph.node[0].name = "soft"
        proto.graph.node[0].attribute.append(helper.make_attribute("texts", [b"\xff", b"a"]))
        assert blame(proto) is None
        future = onnx.TensorProto(name="t", data_type=99, dims=[1])
        proto.graph.node[0].attribute.append(helper.make_attribute("future", future))
        assert re.search(r"'soft' \(Softmax\).*'future'", str(blame(proto)))

    def test_garbage_collection_is_on_again_afterwards(self):
        proto = TestOpsets.softmax(("", 13))
        model_file.from_proto(proto)
        assert gc.isenabled()
        proto.graph.initializer.add(name="future", data_type=99, dims=[1])
        with pytest.raises(ModelError):
            model_file.from_proto(proto)
        assert gc.isenabled()


def _field(number: int, kind: int, payload: bytes) -> bytes:
    return encoder.TagBytes(number, kind) + payload


_numbers = st.integers(2000, 100_000)  # far above the fields that ONNX has
_unknown_field = st.one_of(
    st.builds(lambda n, v: _field(n, 0, encoder._VarintBytes(v)), _numbers, st.integers(0, 2**64 - 1)),
    st.builds(lambda n, v: _field(n, 1, v), _numbers, st.binary(min_size=8, max_size=8)),
    st.builds(lambda n, v: _field(n, 2, encoder._VarintBytes(len(v)) + v), _numbers, st.binary(max_size=300)),
    st.builds(lambda n, v: _field(n, 5, v), _numbers, st.binary(min_size=4, max_size=4)),
    st.builds(
        lambda n, v: _field(n, 3, encoder._VarintBytes(5 << 3) + encoder._VarintBytes(v)) + _field(n, 4, b""),
        _numbers,
        st.integers(0, 2**64 - 1),
    ),
)


class TestCopyFields:
    @given(st.lists(_unknown_field, max_size=5), st.text(max_size=5), st.booleans())
    def test_a_copy_is_equal_unknown_fields_included(self, unknown, name, has_output):
        source = onnx.NodeProto(op_type="Abs", name=name, input=["x"], output=["y"] if has_output else [])
        source.attribute.append(helper.make_attribute("a", 1))
        source.MergeFromString(b"".join(unknown))
        target = onnx.NodeProto()
        copy_fields(target, source, ())
        assert target == source
        assert target.SerializeToString() == source.SerializeToString()

    def test_what_is_named_is_left_out(self):
        source = helper.make_node("Abs", ["x"], ["y"], name="n", axis=1)
        target = onnx.NodeProto()
        copy_fields(target, source, {"input", "attribute"})
        assert target == helper.make_node("Abs", [], ["y"], name="n")

    def test_an_empty_submessage_stays_set(self):
        source, target = onnx.ModelProto(), onnx.ModelProto()
        source.graph.SetInParent()
        copy_fields(target, source, ())
        assert target.HasField("graph")

    def test_a_view_replaces_a_field_and_leaves_the_message(self):
        proto = onnx.ValueInfoProto(name="x", doc_string="d")
        view = View(proto, name="y")
        assert (view.name, view.doc_string, proto.name) == ("y", "d", "x")
