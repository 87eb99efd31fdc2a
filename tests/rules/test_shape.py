from __future__ import annotations

import pytest

from tests.helpers import initializers, operators, parse, rewrite


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
