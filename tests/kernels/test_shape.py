from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldproof.kernels import lookup

# since_version: how many types T admits (shared facts on the operator, measured from its specification).
TYPES = {1: 15, 13: 16, 19: 20, 21: 22, 23: 23, 24: 24, 25: 26}
ADDED = {
    1: "BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FLOAT16 FLOAT DOUBLE COMPLEX64 COMPLEX128 STRING",
    13: "BFLOAT16",
    19: "FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ",
    21: "INT4 UINT4",
    23: "FLOAT4E2M1",
    24: "FLOAT8E8M0",
    25: "INT2 UINT2",
}


def run(op_type, version, data, **attributes):
    kernel = lookup(op_type, version)
    assert kernel is not None
    return kernel(data, **attributes)


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (np.array([[1, 2, 3], [4, 5, 6]], np.float32), 6),
        (np.zeros((3, 4, 5), np.float32), 60),
        (np.zeros((), np.float32), 1),
        (np.zeros((2, 0, 3), np.float32), 0),
        (np.array(["a", "b"], object), 2),
    ],
)
def test_size_counts_elements(data, count):
    result = run("Size", 13, data)
    assert (result, result.shape, result.dtype) == (count, (), np.int64)


def test_size_of_packed_types_counts_elements_not_bytes():
    packed = ir.Tensor(np.zeros((3, 3), ml_dtypes.int4))
    assert packed.nbytes == 5
    assert run("Size", 21, packed.numpy()) == 9


def test_kernels_need_no_elements():
    huge = np.broadcast_to(np.zeros((), np.int8), (1 << 20, 1 << 20))
    assert run("Size", 13, huge) == 1 << 40
    assert run("Shape", 13, huge).tolist() == [1 << 20, 1 << 20]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [2, 3, 4]),
        ({"start": -1}, [4]),
        ({"end": -1}, [2, 3]),
        ({"start": 1, "end": 2}, [3]),
        ({"start": -7}, [2, 3, 4]),
        ({"start": 7}, []),
        ({"end": 7}, [2, 3, 4]),
        ({"end": -7}, []),  # clamped to 0
        ({"start": 2, "end": 1}, []),
        ({"start": 0, "end": 0}, []),
    ],
)
def test_shape_clamps_start_and_end_as_specified(attributes, expected):
    result = run("Shape", 15, np.zeros((2, 3, 4)), **attributes)
    assert result.tolist() == expected
    assert result.dtype == np.int64


@given(st.lists(st.integers(0, 5), max_size=4), st.integers(-7, 7), st.none() | st.integers(-7, 7))
def test_shape_agrees_with_the_rule_of_the_specification(dims, start, end):
    rank = len(dims)
    first = min(max(start + rank if start < 0 else start, 0), rank)
    last = rank if end is None else min(max(end + rank if end < 0 else end, 0), rank)
    wanted = [dims[axis] for axis in range(first, last)]
    assert run("Shape", 25, np.zeros(dims), start=start, end=end).tolist() == wanted


def test_shape_has_start_and_end_from_version_15_on():
    with pytest.raises(TypeError):
        run("Shape", 14, np.zeros(3), start=1)


@pytest.mark.parametrize("op_type", ["Size", "Shape"])
@pytest.mark.parametrize("version", TYPES)
def test_each_version_admits_the_types_of_its_own_schema(op_type, version):
    kernel = lookup(op_type, version)
    admitted = {each.name for each in ir.DataType if kernel.admits(each)}
    wanted = {name for since, names in ADDED.items() if since <= version for name in names.split()}
    assert admitted == wanted
    assert len(admitted) == TYPES[version]


@pytest.mark.parametrize("opset", range(1, onnx.defs.onnx_opset_version() + 1))
def test_every_opset_finds_the_version_that_holds_there(opset):
    assert lookup("Size", opset).version == max(each for each in TYPES if each <= opset)
    assert lookup("Size", opset, "ai.onnx") == lookup("Size", opset)


def test_operators_of_other_domains_have_no_kernel():
    assert lookup("Size", 13, "acme") is None
    assert lookup("NoSuchOperator", 13) is None
    assert lookup("Size", 0) is None
