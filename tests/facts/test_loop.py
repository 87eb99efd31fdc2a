"""Loop: induction over what is carried, and what is stacked."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from foldproof.facts.dim import Dim
from foldproof.facts.fact import Fact, Kind
from tests.facts.checking import assert_sound, facts_of
from tests.facts.test_control_flow import fact, floats
from tests.helpers import parse

N = Dim.symbol("N")

LOOP = """g (INPUTS) => (float[p,q] y, float[r,s,t] z) {
    BEFORE
    y, z = Loop (TRIPS, GO, x) <body = b (int64 i, bool go_in, float[a,b] carried)
        => (bool go, float[c,d] next, SCAN each) {
        go = Identity (go_in)
        next = NEXT
        each = EACH
    }>
}"""


def loop(
    *,
    inputs="int64 m, bool c, float[N,3] x",
    trips="m",
    go="c",
    before="",
    next_="Identity (carried)",
    each="Neg (carried)",
    scan="float[e,f]",
    opset=21,
) -> onnx.ModelProto:
    text = LOOP.replace("INPUTS", inputs).replace("TRIPS", trips).replace("GO,", f"{go},").replace("BEFORE", before)
    return parse(text.replace("NEXT", next_).replace("EACH", each).replace("SCAN", scan), opset=opset)


def check(proto: onnx.ModelProto, *, trips=(0, 1, 3), sizes=(0, 1, 2), go=(True, False)) -> None:
    taken = {value.name for value in proto.graph.input}
    for m in trips:
        for n in sizes:
            for condition in go:
                feeds = {"m": np.array(m), "c": np.array(condition), "x": floats(n, 3)}
                assert_sound(proto, {name: array for name, array in feeds.items() if name in taken})


@pytest.mark.parametrize("opset", [8, 11, 13, 16, 19, 21, 23, 25])
def test_carried_dims_that_the_body_reproduces_are_proven(opset):
    proto = loop(opset=opset)
    assert fact(proto, "y").shape == (N, 3)
    assert fact(proto, "carried").shape == (N, 3)
    assert fact(proto, "z").rank == 3
    if opset <= 21:  # the versions that onnxruntime has
        check(proto)


def test_carried_dims_that_grow_are_widened_and_the_others_kept():
    proto = loop(next_="Concat <axis = 0> (carried, x)")
    carried = fact(proto, "carried").shape
    assert carried[0].symbols.isdisjoint(N.symbols)
    assert carried[1] == 3
    assert fact(proto, "next").shape == (carried[0] + N, 3)
    after = fact(proto, "y").shape
    assert after[0].symbols.isdisjoint(carried[0].symbols | N.symbols)
    assert after[1] == 3
    check(loop(next_="Concat <axis = 0> (carried, x)", each="Neg (x)"))


def test_a_shape_that_changes_once_is_not_taken_for_invariant():
    # The first iteration makes [N, 3] into [2*N, 3], the others keep it.
    proto = parse("""g (int64 m, float[N,3] x) => (float[p,q] y) {
        w = Concat <axis = 0> (x, x)
        y, o = Loop (m, , x, w) <body = b (int64 i, bool go_in, float[a,b] u, float[c,d] v)
            => (bool go, float[c,d] u2, float[c2,d2] v2) {
            go = Identity (go_in)  u2 = Identity (v)  v2 = Identity (v)
        }>
    }""")
    assert fact(proto, "v").shape == (2 * N, 3)
    assert fact(proto, "u").shape[0] not in (N, 2 * N)
    assert fact(proto, "y").shape[0] not in (N, 2 * N)
    for m in (0, 1, 2):
        assert_sound(proto, {"m": np.array(m), "x": floats(4, 3)})


def test_a_change_that_comes_down_a_long_chain_is_found():
    # What is carried in the last place changes only after as many iterations as there are places.
    places = 12
    names = [f"u{k}" for k in range(places)]
    sources = [*names[1:], "last"]
    graph = f"""g (int64 m, float[1] x, float[2] w) => (float[p] y) {{
        y, {", ".join(f"o{k}" for k in range(places))} = Loop (m, , {", ".join(["x"] * places)}, w) <body = b
            (int64 i, bool go_in, {", ".join(f"float[?] {name}" for name in names)}, float[2] last)
            => (bool go, {", ".join(f"n{k}" for k in range(places))}, float[2] last2) {{
            go = Identity (go_in)
            {" ".join(f"n{k} = Identity ({sources[k]})" for k in range(places))}
            last2 = Identity (last)
        }}>
    }}"""
    proto = parse(graph)
    assert all(not isinstance(dim, int) for dim in fact(proto, "y").shape or ())
    for m in (0, places - 1, places, places + 3):
        assert_sound(proto, {"m": np.array(m), "x": floats(1), "w": floats(2)})


def test_elements_that_the_body_changes_are_forgotten_and_the_others_kept():
    proto = parse("""g (int64 m) => (int64[2] y) {
        start = Constant <value_ints = [7, 1]> ()
        step = Constant <value_ints = [0, 1]> ()
        y = Loop (m, , start) <body = b (int64 i, bool go_in, int64[2] v) => (bool go, int64[2] w) {
            go = Identity (go_in)  w = Add (v, step)
        }>
    }""")
    assert fact(proto, "v").elements == (7, None)
    assert fact(proto, "y").elements == (7, None)
    for m in (0, 1, 5):
        assert_sound(proto, {"m": np.array(m)})


# The trip count -------------------------------------------------------------------------------------------


def test_a_constant_trip_count_and_a_true_condition_give_the_length_of_what_is_stacked():
    constants = "k = Constant <value_int = 4> () t = Constant <value = bool {1}> ()"
    proto = loop(inputs="float[N,3] x", before=constants, trips="k", go="t")
    assert fact(proto, "z").shape == (4, N, 3)
    check(proto)
    proto = loop(inputs="float[N,3] x", before=constants, trips="k", go="")
    assert fact(proto, "z").shape == (4, N, 3)
    check(proto)


def test_a_trip_count_that_is_a_dim_gives_the_length_of_what_is_stacked():
    proto = loop(inputs="float[N,3] x", before="d = Shape <end = 1> (x) k = Squeeze (d)", trips="k", go="")
    length, *rest = fact(proto, "z").shape
    assert length == N
    assert N not in rest  # without any iteration nothing is known of the dims
    check(proto, sizes=(1, 2, 3))
    check(proto, sizes=(0,))


def test_a_condition_that_may_end_the_loop_leaves_the_length_open():
    proto = parse("""g (float[N,3] x) => (float[r,s,t] z) {
        k = Constant <value_int = 4> ()
        two = Constant <value_int = 2> ()
        t = Constant <value = bool {1}> ()
        z = Loop (k, t) <body = b (int64 i, bool go_in) => (bool go, float[e,f] each) {
            go = Less (i, two)  each = Neg (x)
        }>
    }""")
    length, *rest = fact(proto, "z").shape
    assert isinstance(length, Dim)
    assert rest == [N, 3]  # it runs once at least
    assert_sound(proto, {"x": floats(2, 3)})


def test_what_is_stacked_has_unknown_dims_where_there_may_be_no_iteration():
    proto = loop()
    assert all(isinstance(dim, Dim) and dim.symbols.isdisjoint(N.symbols) for dim in fact(proto, "z").shape)
    check(proto)


def test_what_is_stacked_has_the_declared_dims_where_there_may_be_no_iteration():
    proto = loop(scan="float[e,3]")
    assert fact(proto, "z").shape[2] == 3
    check(proto)
    proto = loop(scan="float[e,4]")  # which is wrong, and counts nothing
    assert fact(proto, "z").shape[2] != 4


@pytest.mark.parametrize(("trips", "go"), [("0", "1"), ("-2", "1"), ("3", "0")])
def test_a_loop_that_never_runs_gives_what_it_was_given(trips, go):
    proto = loop(
        inputs="float[N,3] x",
        before=f"k = Constant <value_int = {trips}> () t = Constant <value = bool {{{go}}}> ()",
        trips="k",
        go="t",
        next_="Concat <axis = 0> (carried, x)",
        each="Neg (x)",
    )
    assert fact(proto, "y").shape == (N, 3)
    assert fact(proto, "z").shape[0] == 0
    check(proto)


def test_a_loop_that_runs_for_sure_gives_what_the_body_gives():
    proto = loop(
        inputs="float[N,3] x",
        before="k = Constant <value_int = 2> ()",
        trips="k",
        go="",
        next_="Concat <axis = 0> (x, x)",
        each="Neg (x)",
    )
    assert fact(proto, "y").shape == (2 * N, 3)
    # onnxruntime refuses carried dims that don't stay what its own inference says, so there is nothing to compare.


def test_symbols_of_the_body_do_not_get_out():
    proto = parse("""g (float[N,3] x) => (int64[p,q] y, int64[r,s,t] z) {
        k = Constant <value_int = 2> ()
        w = NonZero (x)
        y, z = Loop (k, , w) <body = b (int64 i, bool go_in, int64[a,b] v)
            => (bool go, int64[c,d] v2, int64[e,f] each) {
            go = Identity (go_in)  each = NonZero (v)  v2 = NonZero (x)
        }>
    }""")
    inside = {
        symbol
        for name in ("v2", "each", "v")
        for dim in fact(proto, name).shape
        if isinstance(dim, Dim)
        for symbol in dim.symbols
    } - fact(proto, "w").shape[1].symbols
    outside = {
        symbol
        for name in ("y", "z")
        for dim in fact(proto, name).shape
        if isinstance(dim, Dim)
        for symbol in dim.symbols
    }
    assert inside
    assert inside.isdisjoint(outside)


def test_symbols_of_captured_values_are_the_same_in_all_iterations():
    proto = parse("""g (float[N,3] x) => (int64[r,s,t] z) {
        k = Constant <value_int = 2> ()
        w = NonZero (x)
        t = Constant <value = bool {1}> ()
        z = Loop (k, t) <body = b (int64 i, bool go_in) => (bool go, int64[e,f] each) {
            go = Identity (go_in)  each = Neg (w)
        }>
    }""")
    assert fact(proto, "z").shape == (2, 2, fact(proto, "w").shape[1])
    assert_sound(proto, {"x": floats(2, 3)})


def test_a_body_asked_first_is_no_worse():
    proto = loop(next_="Concat <axis = 0> (carried, x)")
    graph, facts = facts_of(proto)
    (body,) = graph.subgraphs()
    first = facts.of(body.outputs[1]).shape
    assert first[1] == 3
    assert facts.of(graph.outputs[0]).shape[1] == 3
    assert facts.of(body.inputs[2]).shape[0] in (first[0] - N,)
    assert facts.problems == []


def test_the_iteration_number_is_an_int64_scalar_and_the_condition_a_boolean():
    proto = loop()
    assert fact(proto, "i") == Fact(dtype=ir.DataType.INT64, shape=(), known_elements=fact(proto, "i").elements)
    assert fact(proto, "go_in").dtype is ir.DataType.BOOL
    assert fact(proto, "go_in").ints == (1,)  # the body runs only if it is


def test_an_iteration_number_declared_as_a_vector_is_one():
    proto = parse("""g (int64 m, bool c, float[N,3] x) => (int64[p,q] z) {
        z = Loop (m, c) <body = b (int64[1] i, bool go_in) => (bool go, int64[e] each) {
            go = Identity (go_in)  each = Identity (i)
        }>
    }""")
    assert fact(proto, "i").shape != ()
    assert_sound(proto, {"m": np.array(2), "c": np.array(True), "x": floats(2, 3)})


# Nested, sequences, invalid -------------------------------------------------------------------------------


def test_nested_loops_are_proven_at_any_depth():
    depth = 8
    text = (
        "y{d} = Loop (m, , v{d}) <body = b{d} (int64 i{d}, bool g{d}, float[a,b] v{n})"
        " => (bool h{d}, float[e,f] w{d}) {{ h{d} = Identity (g{d}) INNER }}>"
    )
    body = f"w{depth - 1} = Neg (v{depth})"
    for d in reversed(range(depth)):
        inner = body if d == depth - 1 else f"{body} w{d} = Identity (y{d + 1})"
        body = text.format(d=d, n=d + 1).replace("INNER", inner)
    proto = parse(f"g (int64 m, float[N,3] x) => (float[p,q] y0) {{ v0 = Identity (x) {body} }}")
    assert fact(proto, "y0").shape == (N, 3)
    assert fact(proto, f"w{depth - 1}").shape == (N, 3)
    assert_sound(proto, {"m": np.array(1), "x": floats(2, 3)})


def test_items_that_are_inserted_in_each_iteration_are_known():
    proto = parse("""g (int64 m, float[N,3] x) => (seq(float[p,q]) y) {
        empty = SequenceEmpty ()
        y = Loop (m, , empty) <body = b (int64 i, bool go_in, seq(float[a,c]) s) => (bool go, seq(float[a2,c2]) t) {
            go = Identity (go_in)  t = SequenceInsert (s, x)
        }>
    }""")
    found = fact(proto, "y")
    assert found.kind is Kind.SEQUENCE
    assert found.item.shape == (N, 3)
    assert found.items is None
    for m in (0, 1, 3):
        assert_sound(proto, {"m": np.array(m), "x": floats(2, 3)})


def test_items_of_other_dims_leave_the_item_open():
    proto = parse("""g (int64 m, float[N,3] x) => (seq(float[p,q]) y) {
        empty = SequenceConstruct (x)
        y = Loop (m, , empty) <body = b (int64 i, bool go_in, seq(float[a,c]) s) => (bool go, seq(float[a2,c2]) t) {
            go = Identity (go_in)  u = Concat <axis = 0> (x, x)  t = SequenceInsert (s, u)
        }>
    }""")
    assert fact(proto, "y").item.shape is None
    assert fact(proto, "y").item.dtype is ir.DataType.FLOAT
    assert_sound(proto, {"m": np.array(2), "x": floats(2, 3)})


@pytest.mark.parametrize(
    "text",
    [
        "y = Loop (m) <body = b (int64 i) => (bool go) { go = Cast <to = 9> (i) }>",
        "y = Loop (m, , x) <body = b (int64 i, bool g) => (bool go) { go = Identity (g) }>",
        "y = Loop (m)",
    ],
)
def test_an_invalid_loop_proves_nothing_and_raises_nothing(text):
    assert fact(parse(f"g (int64 m, float[N,3] x) => (float[p] y) {{ {text} }}"), "y").shape is None
