"""Every element type folds: with its own width, rounding, saturation and packing."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.folding.folding import constant_model, fold
from tests.helpers import needs_recent_onnxruntime

NODE = helper.make_node
X = np.array([-9.0, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, 7.25, 500.0], np.float32)


def folded(nodes: list[onnx.NodeProto], dtype: int, **how: Any) -> np.ndarray[Any, Any]:
    """The constant that a model without inputs becomes."""
    result = fold(constant_model(nodes, "y", dtype, **how))
    assert result.operators == [], result.reasons
    return result.constant("y")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("BOOL", [1, 1, 1, 0, 1, 1, 1, 1, 1]),
        ("INT8", [-9, -1, 0, 0, 0, 1, 2, 7, 500 - 512]),
        ("INT16", [-9, -1, 0, 0, 0, 1, 2, 7, 500]),
        ("INT32", [-9, -1, 0, 0, 0, 1, 2, 7, 500]),
        ("INT64", [-9, -1, 0, 0, 0, 1, 2, 7, 500]),
        ("DOUBLE", [-9, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 7.25, 500]),
        ("FLOAT16", [-9, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 7.25, 500]),
        ("BFLOAT16", [-9, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 7.25, 500]),
        # The largest numbers are 448 and 240: `saturate` is the default. 7.25 is halfway, 7 and 7.5 are there.
        ("FLOAT8E4M3FN", [-9, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 7, 448]),
        ("FLOAT8E4M3FNUZ", [-9, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 7, 240]),
        # Two bits of fraction: -9 lies between -8 and -10, and 500 between 448 and 512.
        ("FLOAT8E5M2", [-8, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 7, 512]),
        ("FLOAT8E5M2FNUZ", [-8, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 7, 512]),
        ("FLOAT4E2M1", [-6, -1.5, -0.5, 0, 0.5, 1.5, 2, 6, 6]),
    ],
)
def test_a_cast_rounds_and_saturates_as_the_specification_says(name: str, expected: list[float]) -> None:
    target = TensorProto.DataType.Value(name)
    found = folded([NODE("Cast", ["x"], ["y"], to=target)], target, x=X)
    assert found.dtype == helper.tensor_dtype_to_np_dtype(target)
    assert found.astype(np.float64).tolist() == expected


def test_a_cast_that_may_not_saturate_gives_infinity() -> None:
    node = NODE("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E5M2, saturate=0)
    found = folded([node], TensorProto.FLOAT8E5M2, x=np.array([1.0, 1e6, -1e6], np.float32))
    assert found.astype(np.float64).tolist() == [1.0, np.inf, -np.inf]


@needs_recent_onnxruntime
@pytest.mark.parametrize(("mode", "expected"), [("up", 4.0), ("down", 2.0), ("nearest", 4.0)])
def test_a_cast_to_a_power_of_two_rounds_by_its_mode(mode: str, expected: float) -> None:
    node = NODE("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E8M0, round_mode=mode)
    found = folded([node], TensorProto.FLOAT8E8M0, opset=24, x=np.array([3.0], np.float32))
    assert found.astype(np.float64).tolist() == [expected]


@pytest.mark.parametrize(
    ("name", "opset"),
    [
        ("INT4", 23),
        ("UINT4", 23),
        pytest.param("INT2", 25, marks=needs_recent_onnxruntime),
        pytest.param("UINT2", 25, marks=needs_recent_onnxruntime),
    ],
)
def test_packed_integers_come_out_one_by_one(name: str, opset: int) -> None:
    target = TensorProto.DataType.Value(name)
    x = np.array([[0, 1, 1], [1, 0, 1], [0, 0, 1]], np.float32)  # 9 elements don't fill their bytes
    nodes = [NODE("Cast", ["x"], ["a"], to=target), NODE("Transpose", ["a"], ["y"])]
    found = folded(nodes, target, rank=2, opset=opset, x=np.repeat(x, 30, axis=0))
    assert found.dtype == helper.tensor_dtype_to_np_dtype(target)
    assert np.array_equal(found.astype(np.float32), np.repeat(x, 30, axis=0).T)


@pytest.mark.parametrize(
    "dtype",
    [
        *(np.dtype(name) for name in ("bool", "int8", "int16", "int32", "int64")),
        *(np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64")),
        *(np.dtype(name) for name in ("float16", "float32", "float64", "complex64", "complex128")),
        *(
            np.dtype(getattr(ml_dtypes, name))
            for name in (
                "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
                "float4_e2m1fn", "int4", "uint4", "int2", "uint2",
            )
        ),
    ],
    ids=str,
)  # fmt: skip
def test_data_movement_folds_in_each_type(dtype: np.dtype[Any]) -> None:
    x = (np.arange(200).reshape(2, 100) % 2).astype(np.float32).astype(dtype)
    if dtype.name == "float8_e8m0fnu":
        x = np.full((2, 100), 2.0, np.float32).astype(dtype)
    found = folded([NODE("Transpose", ["x"], ["y"])], helper.np_dtype_to_tensor_dtype(dtype), rank=2, opset=25, x=x)
    assert found.dtype == dtype
    assert found.shape == (100, 2)
    assert found.tobytes() == np.ascontiguousarray(x.T).tobytes()


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_wrap_in_their_own_width(name: str) -> None:
    dtype = np.dtype(name)
    largest = np.full(300, np.iinfo(dtype).max, dtype)
    result = folded([NODE("Add", ["x", "x"], ["y"])], helper.np_dtype_to_tensor_dtype(dtype), x=largest)
    assert result.tolist() == (largest + largest).tolist()


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_a_cast_between_integers_keeps_the_low_bits(name: str) -> None:
    x = np.array([0, -1, 2**7, 2**15 + 3, 2**31 + 5, -(2**40) - 7] * 50, np.int64)
    target = helper.np_dtype_to_tensor_dtype(np.dtype(name))
    found = folded([NODE("Cast", ["x"], ["y"], to=target)], target, x=x)
    assert found.dtype == np.dtype(name)
    assert found.tolist() == x.astype(name).tolist()


@pytest.mark.parametrize("name", ["int8", "int32", "int64"])
def test_the_least_integer_has_no_opposite(name: str) -> None:
    dtype = np.dtype(name)
    least = np.full(300, np.iinfo(dtype).min, dtype)
    least[0] = 5
    code = helper.np_dtype_to_tensor_dtype(dtype)
    assert folded([NODE("Neg", ["x"], ["y"])], code, x=least).tolist() == (-least).tolist()
    assert folded([NODE("Abs", ["x"], ["y"])], code, x=least).tolist() == np.abs(least).tolist()


NANS = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FC12345, 0x3F800000], np.uint32).view(np.float32)


@pytest.mark.parametrize("saturate", [0, 1])
def test_nan_has_the_bits_of_the_runtime(saturate: int) -> None:
    """ml_dtypes, and with it the ONNX reference, makes 0x7e and 0xfe of these."""
    node = NODE("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E5M2, saturate=saturate)
    found = folded([node], TensorProto.FLOAT8E5M2, x=np.tile(NANS, 60))
    assert found.view(np.uint8)[:5].tolist() == [0x7F, 0xFF, 0x7F, 0x7F, 0x3C]


@pytest.mark.parametrize("name", ["BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ"])
def test_nan_of_a_type_that_numpy_takes_for_no_float_stays(name: str) -> None:
    target = TensorProto.DataType.Value(name)
    result = fold(constant_model([NODE("Cast", ["x"], ["y"], to=target)], "y", target, x=NANS))
    assert result.operators == ["Cast"]
    assert "it holds NaN" in result.reasons


def test_strings_fold() -> None:
    x = np.array([["a", "é"], ["", "日本"]], object)
    found = folded([NODE("StringConcat", ["x", "x"], ["y"])], TensorProto.STRING, rank=2, x=x)
    expected = [["aa", "éé"], ["", "日本日本"]]
    assert [[each.decode() for each in row] for row in found.tolist()] == expected


def test_a_sequence_of_constants_folds_where_a_tensor_comes_out() -> None:
    x = np.arange(200, dtype=np.float32)
    nodes = [
        NODE("SequenceConstruct", ["x", "x"], ["s"]),
        NODE("SequenceInsert", ["s", "x"], ["t"]),
        NODE("ConcatFromSequence", ["t"], ["y"], axis=0),
    ]
    assert folded(nodes, TensorProto.FLOAT, x=x).tolist() == np.tile(x, 3).tolist()


def test_an_optional_of_a_constant_folds_where_a_tensor_comes_out() -> None:
    x = np.arange(200, dtype=np.float32)
    nodes = [NODE("Optional", ["x"], ["o"]), NODE("OptionalGetElement", ["o"], ["y"])]
    assert folded(nodes, TensorProto.FLOAT, x=x).tolist() == x.tolist()


def test_a_sequence_that_is_an_output_stays() -> None:
    graph = helper.make_graph(
        [NODE("Exp", ["x"], ["a"]), NODE("SequenceConstruct", ["a", "a"], ["y"])],
        "g",
        [],
        [helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, [2])],
        [onnx.numpy_helper.from_array(np.array([0.0, 0.0], np.float32), "x")],
    )
    result = fold(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10))
    assert result.operators == ["SequenceConstruct"]
    assert result.constant("a").tolist() == [1.0, 1.0]
    assert "a constant sequence, which no initializer holds" in result.reasons


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (1, 1)])
def test_scalars_and_empty_tensors_keep_their_dims(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.3, np.float32)
    found = folded([NODE("Cos", ["x"], ["y"])], TensorProto.FLOAT, rank=len(shape), x=x)
    assert found.shape == shape
    assert np.allclose(found, np.cos(x))


def test_special_values_keep_their_bits() -> None:
    x = np.array([0.0, -0.0, np.inf, 1e-45, 3e38, -np.inf], np.float32)
    y = np.array([-1.0, 1.0, 0.5, 0.5, 10.0, 0.0], np.float32)
    found = folded([NODE("Mul", ["a", "b"], ["y"])], TensorProto.FLOAT, a=x, b=y)
    with np.errstate(all="ignore"):
        expected = x * y
    assert np.signbit(found[:2]).tolist() == [True, True]
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.isnan(found[5])


@pytest.mark.parametrize("linear", [True, False])
def test_a_sparse_constant_folds(linear: bool) -> None:
    values = helper.make_tensor("v", TensorProto.FLOAT, [2], [1.0, 4.0])
    indices = [1, 5] if linear else [0, 1, 1, 2]
    positions = helper.make_tensor("i", TensorProto.INT64, [2] if linear else [2, 2], indices)
    sparse = helper.make_sparse_tensor(values, positions, [2, 3])
    nodes = [NODE("Constant", [], ["x"], sparse_value=sparse), NODE("Sqrt", ["x"], ["y"])]
    assert folded(nodes, TensorProto.FLOAT, rank=2).tolist() == [[0, 1, 0], [0, 0, 2]]
