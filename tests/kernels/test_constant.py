from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper, numpy_helper

from foldproof.kernels import lookup


def constant(version=25, **attributes):
    return lookup("Constant", version)(**attributes)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"value_int": 3}, np.array(3, np.int64)),
        ({"value_ints": [1, 2]}, np.array([1, 2], np.int64)),
        ({"value_ints": []}, np.array([], np.int64)),
        ({"value_float": 0.5}, np.array(0.5, np.float32)),
        ({"value_floats": [0.5, 1.5]}, np.array([0.5, 1.5], np.float32)),
        ({"value_string": b"\xc3\xa9"}, np.array("é", object)),
        ({"value_strings": ["a", b"b"]}, np.array(["a", "b"], object)),
        ({"value": numpy_helper.from_array(np.array([[1.5]]))}, np.array([[1.5]])),
        ({"value": ir.Tensor(np.array([7], np.uint8))}, np.array([7], np.uint8)),
        (
            {"value": helper.make_tensor("t", onnx.TensorProto.STRING, [2], [b"a", b"b"])},
            np.array(["a", "b"], object),
        ),
    ],
)
def test_each_attribute_form_gives_its_tensor(attributes, expected):
    result = constant(**attributes)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert result.tolist() == expected.tolist()


def test_a_packed_type_comes_out_unpacked():
    result = constant(value=helper.make_tensor("t", onnx.TensorProto.INT4, [3], [1, -2, 3]))
    assert result.dtype == ml_dtypes.int4
    assert result.astype(int).tolist() == [1, -2, 3]


@pytest.mark.parametrize("indices", [[1, 3], [[0, 1], [1, 1]]], ids=["linear", "coordinates"])
def test_sparse_tensors_become_dense(indices):
    values = numpy_helper.from_array(np.array([5, 6], np.float32))
    sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(np.array(indices, np.int64)), [2, 2])
    assert constant(sparse_value=sparse).tolist() == [[0, 5], [0, 6]]


@pytest.mark.parametrize("attributes", [{}, {"value_int": 1, "value_float": 1.0}])
def test_anything_but_one_attribute_is_refused(attributes):
    with pytest.raises(ValueError, match="exactly one attribute"):
        constant(**attributes)


@pytest.mark.parametrize(("version", "attribute"), [(9, "sparse_value"), (11, "value_int")])
def test_attributes_of_later_versions_are_refused(version, attribute):
    with pytest.raises(TypeError):
        constant(version, **{attribute: 1})
