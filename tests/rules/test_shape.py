from __future__ import annotations

import pytest

from tests.helpers import initializers, operators, parse, rewrite
from tests.rules.checking import assert_becomes, assert_stays


@pytest.mark.parametrize(
    ("attributes", "dims"),
    [
        ("", [2, 3, 4]),
        ("<start = 1>", [3, 4]),
        ("<end = -1>", [2, 3]),
        ("<start = -2, end = 2>", [3]),
        ("<start = -9, end = 9>", [2, 3, 4]),
        ("<end = -9>", []),
        ("<start = 2, end = 1>", []),
        ("<start = 3>", []),
    ],
)
def test_static_shape_becomes_its_dims(attributes: str, dims: list[int]) -> None:
    proto = parse(f"g (float[2,3,4] x) => (int64[{len(dims)}] s) {{ s = Shape {attributes} (x) }}")
    model, _ = rewrite(proto, "static_shape")
    assert operators(model) == {}
    assert initializers(model) == {"s": dims}


@pytest.mark.parametrize(("attributes", "folds"), [("", False), ("<start = 1>", True), ("<end = 1>", False)])
def test_only_the_selected_dims_have_to_be_known(attributes: str, folds: bool) -> None:
    model, _ = rewrite(parse(f"g (float[N,3] x) => (int64[K] s) {{ s = Shape {attributes} (x) }}"), "static_shape")
    assert operators(model) == ({} if folds else {"Shape": 1})


def test_shape_stays_where_a_product_is_0_but_a_dim_is_unknown() -> None:
    model, _ = rewrite(parse("g (float[N,0] x) => (int64[2] s) { s = Shape(x) }"))
    assert operators(model) == {"Shape": 1}


def test_a_negative_dim_of_an_old_exporter_is_unknown() -> None:
    proto = parse("g (float[7,3] x) => (int64[2] s) { s = Shape(x) }")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    model, _ = rewrite(proto)
    assert operators(model) == {"Shape": 1}


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Relu(x) b = Exp(a) s = Shape(b)",
        "a = Cast <to = 7> (x) s = Shape(a)",
        "a = Add(x, one) b = Softmax(a) s = Shape(b)",
        "a, m = Dropout(x) s = Shape(a)",
        "a = Transpose <perm = [1, 0]> (x) b = Neg(a) c = Transpose <perm = [1, 0]> (b) d = Add(c, x) s = Shape(d)",
    ],
)
def test_shape_is_taken_of_the_earliest_value_with_the_same_dims(nodes: str) -> None:
    body = f"g (float[N,M] x) => (int64[2] s) <float one = {{1}}> {{ {nodes} }}"
    model = assert_becomes(body, {"Shape": 1}, "shape_of_source")
    assert list(model.graph.node[0].input) == ["x"]


def test_the_selected_dims_stay_the_same() -> None:
    body = "g (float[N,M] x) => (int64[1] s) { a = Neg(x) s = Shape <start = 1> (a) }"
    model = assert_becomes(body, {"Shape": 1}, "shape_of_source")
    assert [(a.name, a.i) for a in model.graph.node[0].attribute] == [("start", 1)]


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Transpose <perm = [1, 0]> (x) s = Shape(a)",
        "a = Add(x, w) s = Shape(a)",  # one of them may be 1
        "a = Reshape(x, p) s = Shape(a)",
        "a = Concat <axis = 0> (x, x) s = Shape(a)",
        "s = Shape(x)",
    ],
)
def test_shape_is_not_moved_to_a_value_with_other_dims(nodes: str) -> None:
    assert_stays(f"g (float[N,M] x, float[A,B] w, int64[2] p) => (int64[2] s) {{ {nodes} }}", "shape_of_source")


def test_shape_is_not_moved_onto_a_type_that_the_runtime_lacks() -> None:
    assert_stays("g (bfloat16[N] x) => (int64[1] s) { a = Cast <to = 1> (x) s = Shape(a) }", "shape_of_source")
