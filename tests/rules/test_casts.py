from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.helpers import operators, parse, rewrite
from tests.rules.checking import assert_becomes, assert_stays

BOOL, INT8, INT16, INT32, INT64, UINT8, UINT32 = 9, 3, 5, 6, 7, 2, 12
FLOAT16, FLOAT, DOUBLE, BFLOAT16, STRING, FLOAT8 = 10, 1, 11, 16, 8, 17


def chain(first: str, *types: int) -> str:
    casts = " ".join(f"v{k + 1} = Cast <to = {to}> (v{k})" for k, to in enumerate(types))
    last = onnx.TensorProto.DataType.Name(types[-1]).lower()
    return f"g ({first}[N] v0) => ({last}[N] v{len(types)}) {{ {casts} }}"


@pytest.mark.parametrize(
    ("first", "types"),
    [
        ("float16", (FLOAT, DOUBLE)),
        ("float16", (FLOAT, BOOL)),
        ("float", (DOUBLE, FLOAT16)),
        ("bool", (INT64, FLOAT)),
        ("bool", (FLOAT, INT32)),
        ("int8", (INT32, FLOAT16)),
        ("int32", (INT64, UINT8)),
        ("int32", (DOUBLE, FLOAT)),
        ("uint8", (FLOAT16, INT16)),
        ("uint8", (INT16, UINT32)),
        ("int64", (INT32, UINT8)),
        ("int64", (INT32, INT16)),
    ],
)
def test_a_detour_that_loses_nothing_goes(first: str, types: tuple[int, ...]) -> None:
    assert_becomes(chain(first, *types), {"Cast": 1}, "cast_of_cast")


@pytest.mark.parametrize(
    ("first", "types"), [("float16", (FLOAT, FLOAT16)), ("bool", (FLOAT, BOOL)), ("int8", (DOUBLE, INT8))]
)
def test_there_and_back_is_the_value_itself(first: str, types: tuple[int, ...]) -> None:
    assert_becomes(chain(first, *types), {"Identity": 1}, "cast_of_cast")


@pytest.mark.parametrize(
    ("first", "types"),
    [
        ("float", (FLOAT16, FLOAT)),
        ("float", (INT64, FLOAT)),
        ("float16", (BFLOAT16, FLOAT)),
        ("int64", (DOUBLE, INT64)),
        ("int32", (FLOAT, INT32)),
        ("int64", (INT32, INT64)),
        ("int64", (INT32, FLOAT)),
        ("int64", (BOOL, INT64)),
        ("int32", (DOUBLE, UINT8)),  # a negative number is not defined as uint8
        ("int32", (INT64, STRING)),
        ("float16", (FLOAT, FLOAT8)),
    ],
)
def test_a_detour_that_may_change_a_value_stays(first: str, types: tuple[int, ...]) -> None:
    assert_stays(chain(first, *types), "cast_of_cast", opset=19)


def test_a_value_between_that_is_read_elsewhere_keeps_its_reader() -> None:
    body = "g (float16[N] x) => (float[N] y, double[N] z) { y = Cast <to = 1> (x) z = Cast <to = 11> (y) }"
    assert_stays(body, "cast_of_cast")


def test_all_casts_of_three_integer_types_that_are_merged_agree_with_numpy() -> None:
    for middle, last in ((np.int32, np.uint8), (np.int16, np.int8), (np.uint32, np.int16)):
        x = np.array([-1, 2**31, 2**40 + 5, -(2**63), 300], np.int64)
        np.testing.assert_array_equal(x.astype(middle).astype(last), x.astype(last))


def test_cast_like_is_a_cast_to_the_known_type() -> None:
    body = "g (float[N] x, float16[M] w) => (float16[N] y) { a = Exp(w) y = CastLike(x, a) }"
    assert_becomes(body, {"Cast": 1}, "cast_like_known_type")


def test_cast_like_keeps_its_options() -> None:
    proto = parse(
        "g (float[N] x, float8e4m3fn[M] w) => (float8e4m3fn[N] y) { y = CastLike <saturate = 0> (x, w) }", opset=19
    )
    model, _ = rewrite(proto, "cast_like_known_type")
    assert operators(model) == {"Cast": 1}
    assert {a.name: a.i for a in model.graph.node[0].attribute} == {"to": 17, "saturate": 0}
