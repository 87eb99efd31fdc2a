from __future__ import annotations

import time

import pytest

from foldproof.verification.hints import NO_HINT, find_hints
from foldproof.verification.signature import inputs_of


def hint(model, name="x"):
    return find_hints(model, inputs_of(model)).get(name, NO_HINT)


TABLE = "<float[5, 2] table = {0,0,0,0,0,0,0,0,0,0}>"


@pytest.mark.parametrize(
    "body",
    [
        "y = Gather (table, x)",
        "i = Cast <to = 6> (x) j = Unsqueeze (i, axes) y = Gather (table, j)",
        "t = Cast <to = 10> (table) y = Gather (t, x)",
    ],
)
def test_an_index_is_below_the_rows_of_its_table(parse, body):
    table = TABLE.replace("}>", "}, int64[1] axes = {0}>")
    model = parse(f"g (int64[N] x) => (float[N, 2] y) {table} {{ {body} }}")
    assert (hint(model).low, hint(model).high) == (0, 5)


def test_the_axis_of_the_table_counts(parse):
    model = parse(f"g (int64[N] x) => (float[5, N] y) {TABLE} {{ y = Gather <axis = 1> (table, x) }}")
    assert hint(model).high == 2


def test_what_is_added_to_an_index_counts(parse):
    table = TABLE.replace("}>", "}, int64 two = {2}>")
    model = parse(f"g (int64[N] x) => (float[N, 2] y) {table} {{ i = Add (two, x) y = Gather (table, i) }}")
    assert (hint(model).low, hint(model).high) == (0, 3)
    model = parse(f"g (int64[N] x) => (float[N, 2] y) {table} {{ i = Sub (x, two) y = Gather (table, i) }}")
    assert (hint(model).low, hint(model).high) == (2, 7)


def test_a_float_that_becomes_an_index_is_whole(parse):
    model = parse(f"g (float[N] x) => (float[N, 2] y) {TABLE} {{ i = Cast <to = 7> (x) y = Gather (table, i) }}")
    assert (hint(model).whole, hint(model).high) == (True, 5)


def test_an_index_is_followed_into_functions_and_bodies(parse):
    functions = """<domain: "f", opset_import: ["" : 17]> look (t, i) => (r) { r = Gather (t, i) }"""
    model = parse(
        f"g (int64[N] x) => (float[N, 2] y) {TABLE} {{ y = f.look (table, x) }}", functions, imports='"f" : 1'
    )
    assert hint(model).high == 5
    model = parse(
        f"""g (bool c, int64[N] x) => (float[N, 2] y) {TABLE} {{
            y = If (c) <then_branch = a () => (float[N, 2] p) {{ p = Gather (table, x) }},
                        else_branch = b () => (float[N, 2] q) {{ q = Gather (table, x) }}>
        }}"""
    )
    assert hint(model).high == 5


def test_a_scalar_should_have_the_value_that_it_is_compared_with(parse):
    model = parse("g (int64 x) => (bool y) <int64 rate = {16000}> { y = Equal (x, rate) }")
    assert hint(model).values == (16000,)


def test_a_mask_is_not_pinned_to_what_it_is_compared_with(parse):
    model = parse("g (int64[N, N] x) => (bool[N, N] y) <int64 zero = {0}> { y = Equal (x, zero) }")
    assert hint(model).values == ()


@pytest.mark.parametrize("op", ["Log", "Sqrt"])
def test_logarithms_and_roots_want_positive_numbers(parse, op):
    assert hint(parse(f"g (float[N] x) => (float[N] y) {{ y = {op} (x) }}")).positive


@pytest.mark.parametrize(
    ("graph", "key", "size"),
    [
        ("(float[N, , H, W] x) => (float[N, 1, H, W] y) <float[1, 2, 1, 1] w = {1, 1}> { y = Conv (x, w) }", "x:1", 2),
        ("(float[N, K] x) => (float[N, 1] y) <float[3, 1] w = {1, 1, 1}> { y = MatMul (x, w) }", "K", 3),
        ("(float[N, K] x) => (float[N, 3] y) <float[3, 1] w = {1, 1, 1}> { y = Gemm <transB = 1> (x, w) }", "K", 1),
    ],
)
def test_weights_prescribe_the_dims_that_they_meet(parse, graph, key, size):
    graph = graph.replace("N, , H", "N, C, H")
    model = parse("g " + graph)
    if key == "x:1":
        model.graph.input[0].type.tensor_type.shape.dim[1].ClearField("dim_param")
    assert hint(model).dims == {key: size}


def test_sums_that_are_mixed_with_what_they_are_made_of_are_given_up_in_time(parse):
    """Each Max doubles nothing, but holds one sum more than the one before."""
    steps = " ".join(f"a{k} = Add (m{k}, one) m{k + 1} = Max (a{k}, m{k})" for k in range(4000))
    graph = f"g (int64[N] x) => (float[N, 2] y) {TABLE.replace('}>', '}, int64 one = {1}>')}"
    start = time.process_time()
    assert hint(parse(f"{graph} {{ m0 = Identity (x) {steps} y = Gather (table, m4000) }}")) == NO_HINT
    assert time.process_time() - start < 5
