"""Sparse tensors: known by their dims, dense only on demand, sparse again in the file."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import foldproof
from foldproof import model_file
from foldproof.errors import ModelError
from foldproof.model_file import SparseTensor

DENSE = np.array([[0, 5], [0, 0], [7, 0]], np.float32)


def sparse(
    form: str = "coordinates",
    dense: np.ndarray = DENSE,
    name: str = "w",
) -> onnx.SparseTensorProto:
    """The sparse form of an array, with indices of either form."""
    where = np.nonzero(dense)
    values = numpy_helper.from_array(dense[where], name)
    indices = np.stack(where, axis=-1) if form == "coordinates" else np.flatnonzero(dense)
    proto = onnx.SparseTensorProto(dims=dense.shape)
    proto.values.CopyFrom(values)
    proto.indices.CopyFrom(numpy_helper.from_array(indices.astype(np.int64)))
    return proto


def added(
    *, initializer: onnx.SparseTensorProto | None = None, constant: onnx.SparseTensorProto | None = None
) -> onnx.ModelProto:
    """y = x + w, with a sparse w."""
    nodes = [helper.make_node("Add", ["x", "w"], ["y"], name="add")]
    if constant is not None:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], sparse_value=constant))
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 2])],
        sparse_initializer=[initializer] if initializer is not None else [],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(proto: onnx.ModelProto) -> np.ndarray:
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.ones((3, 2), np.float32)})[0]


FORMS = pytest.mark.parametrize("form", ["coordinates", "linear"])


@FORMS
@given(
    dims=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    kind=st.sampled_from([np.float32, np.int64, np.bool_, np.float16, np.complex64]),
    seed=st.integers(0, 1000),
)
def test_the_elements_are_those_of_the_dense_array(form, dims, kind, seed):
    random = np.random.default_rng(seed)
    dense = (random.integers(-3, 4, dims) * (random.random(dims) < 0.4)).astype(kind)
    tensor = SparseTensor(sparse(form, dense))
    assert tensor.dtype == ir.DataType.from_numpy(dense.dtype)
    assert list(tensor.shape) == dims
    np.testing.assert_array_equal(tensor.numpy(), dense, strict=True)
    assert tensor.tobytes() == dense.tobytes()


@pytest.mark.parametrize("indices", [[0, 4], [[0, 0], [1, 1]]])
def test_strings_that_are_not_stored_are_empty(indices):
    proto = onnx.SparseTensorProto(dims=[2, 3])
    proto.values.CopyFrom(helper.make_tensor("words", TensorProto.STRING, [2], ["a", "b\u00fc"]))
    proto.indices.CopyFrom(numpy_helper.from_array(np.array(indices, np.int64)))
    tensor = SparseTensor(proto)
    assert tensor.nbytes == 4
    assert tensor.numpy().tolist() == [[b"a", b"", b""], [b"", b"b\xc3\xbc", b""]]
    equal = helper.make_node("Equal", ["w", "dense"], ["y"])
    graph = helper.make_graph(
        [helper.make_node("Constant", [], ["w"], sparse_value=proto), equal],
        "main",
        [],
        [helper.make_tensor_value_info("y", TensorProto.BOOL, [2, 3])],
        [helper.make_tensor("dense", TensorProto.STRING, [2, 3], ["a", "", "b", "", "b\u00fc", ""])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    optimized = foldproof.optimize(model, verify=False)
    assert [numpy_helper.to_array(each).tolist() for each in optimized.graph.initializer] == [
        [[True, True, False], [True, True, True]]
    ]
    assert foldproof.optimize(model, verify=False, rules=()) == model


def test_dims_are_known_without_elements():
    proto = onnx.SparseTensorProto(dims=[1 << 30, 1 << 30])
    proto.values.data_type = TensorProto.FLOAT
    tensor = SparseTensor(proto)
    assert tensor.size == 1 << 60
    assert tensor.dtype == ir.DataType.FLOAT


@pytest.mark.parametrize(
    ("indices", "dims"),
    [
        ([[0, 2]], [3, 2]),
        ([[-1, 0]], [3, 2]),
        ([6], [3, 2]),
        ([-1], [3, 2]),
        ([[0, 0, 0]], [3, 2]),
        ([0, 1], [3, 2]),
    ],
)
def test_indices_that_do_not_fit_are_refused(indices, dims):
    proto = onnx.SparseTensorProto(dims=dims)
    proto.values.CopyFrom(numpy_helper.from_array(np.array([1], np.float32), "bad"))
    proto.indices.CopyFrom(numpy_helper.from_array(np.array(indices, np.int64)))
    with pytest.raises(ModelError, match="'bad'"):
        SparseTensor(proto).numpy()


@FORMS
def test_a_sparse_initializer_is_an_initializer(form):
    proto = added(initializer=sparse(form))
    source = model_file.from_proto(proto)
    value = source.model.graph.initializers["w"]
    assert (value.dtype, list(value.shape)) == (ir.DataType.FLOAT, [3, 2])
    np.testing.assert_array_equal(value.const_value.numpy(), DENSE)
    assert value.uses()
    assert model_file.to_proto(source.model, source) == proto


@FORMS
def test_a_sparse_constant_is_a_value(form):
    proto = added(constant=sparse(form))
    source = model_file.from_proto(proto)
    tensor = source.model.graph[0].attributes["value"].as_tensor()
    np.testing.assert_array_equal(tensor.numpy(), DENSE)
    assert model_file.to_proto(source.model, source) == proto


@pytest.mark.parametrize("place", ["initializer", "constant"])
def test_saved_by_onnx_ir_it_is_dense_and_right(place, tmp_path):
    proto = added(**{place: sparse()})
    ir.save(model_file.from_proto(proto).model, tmp_path / "dense.onnx")
    saved = onnx.load(tmp_path / "dense.onnx")
    assert not saved.graph.sparse_initializer
    np.testing.assert_array_equal(run(saved), DENSE + 1)
    np.testing.assert_array_equal(run(saved), run(proto))


@pytest.mark.parametrize("place", ["initializer", "constant"])
def test_it_never_becomes_dense_on_the_way_out(place):
    huge = sparse()
    huge.dims[:] = [1 << 30, 1 << 30]
    source = model_file.from_proto(added(**{place: huge}))
    source.model.graph[-1].name = "changed"
    graph = model_file.to_proto(source.model, source).graph
    written = graph.sparse_initializer[0] if place == "initializer" else graph.node[0].attribute[0].sparse_tensor
    assert written == huge


def test_a_constant_may_become_an_initializer():
    proto = added(constant=sparse(name=""))
    source = model_file.from_proto(proto)
    graph = source.model.graph
    constant = graph[0]
    value = ir.Value(name="moved", const_value=constant.attributes["value"].as_tensor())
    graph.register_initializer(value)
    constant.outputs[0].replace_all_uses_with(value)
    graph.remove(constant, safe=True)
    result = model_file.to_proto(source.model, source)
    assert [tensor.values.name for tensor in result.graph.sparse_initializer] == ["moved"]
    np.testing.assert_array_equal(run(result), run(proto))
    assert proto.graph.node[0].attribute[0].sparse_tensor.values.name == ""


def test_a_sparse_tensor_in_a_branch(everything):
    branch = helper.make_graph(
        [helper.make_node("Identity", ["v"], ["t"])],
        "then",
        [],
        [helper.make_tensor_value_info("t", TensorProto.FLOAT, [3, 2])],
        sparse_initializer=[sparse(name="v")],
    )
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)],
        "main",
        [helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 2])],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    source = model_file.from_proto(proto)
    inner = source.model.graph[0].attributes["then_branch"].as_graph()
    np.testing.assert_array_equal(inner.initializers["v"].const_value.numpy(), DENSE)
    assert model_file.to_proto(source.model, source) == proto
