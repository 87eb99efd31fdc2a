"""If, Scan and SequenceMap."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from foldproof.facts.dim import Dim
from foldproof.facts.fact import Fact, Kind
from tests.facts.checking import assert_sound, facts_of
from tests.helpers import parse

N = Dim.symbol("N")


def fact(proto: onnx.ModelProto, name: str) -> Fact:
    """The fact of a value, wherever it is."""
    graph, facts = facts_of(proto)
    found = [
        facts.of(value)
        for each in (graph, *graph.subgraphs())
        for value in (*each.inputs, *(output for node in each for output in node.outputs))
        if value.name == name
    ]
    assert not facts.problems
    assert len(found) == 1
    return found[0]


def floats(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


# If -------------------------------------------------------------------------------------------------------

BRANCHES = """g (bool c, float[N,3] x) => (float[a,b] y) {
    y = If (c) <
        then_branch = t () => (float[p,q] then_y) { then_y = THEN },
        else_branch = e () => (float[p2,q2] else_y) { else_y = ELSE }
    >
}"""


def branches(then: str, otherwise: str) -> onnx.ModelProto:
    return parse(BRANCHES.replace("THEN", then).replace("ELSE", otherwise))


def check_both(proto: onnx.ModelProto) -> None:
    for condition in (True, False):
        for n in (0, 1, 2):
            assert_sound(proto, {"c": np.array(condition), "x": floats(n, 3)})


def test_if_keeps_what_both_branches_agree_on():
    proto = branches("Neg (x)", "Abs (x)")
    assert fact(proto, "y").shape == (N, 3)
    assert fact(proto, "y").dtype is ir.DataType.FLOAT
    check_both(proto)


def test_if_names_the_dims_on_which_branches_differ():
    proto = branches("Identity (x)", "Concat <axis = 0> (x, x)")
    first, second = fact(proto, "y").shape
    assert isinstance(first, Dim)
    assert first != N
    assert second == 3
    check_both(proto)


def test_if_of_different_ranks_has_an_unknown_rank():
    proto = branches("Identity (x)", "Flatten <axis = 0> (x)")
    assert fact(proto, "y").rank == 2
    proto = branches("Identity (x)", "ReduceSum <keepdims = 0> (x)")
    assert fact(proto, "y").shape is None
    check_both(proto)


def test_if_keeps_the_elements_on_which_branches_agree():
    proto = parse("""g (bool c) => (int64[3] y) {
        y = If (c) <
            then_branch = t () => (int64[3] then_y) { then_y = Constant <value_ints = [1, 2, 3]> () },
            else_branch = e () => (int64[3] else_y) { else_y = Constant <value_ints = [1, 5, 3]> () }
        >
    }""")
    assert fact(proto, "y").elements == (1, None, 3)
    for condition in (True, False):
        assert_sound(proto, {"c": np.array(condition)})


@pytest.mark.parametrize(("value", "shape"), [(1, (N, 3)), (0, (2 * N, 3))])
def test_if_of_a_proven_condition_is_the_taken_branch(value, shape):
    text = BRANCHES.replace("bool c, ", "").replace(
        "y = If (c)",
        f"""
        d = Constant <value_int = 1> () e = Constant <value_int = {value}> ()
        c = Equal (d, e)
        y = If (c)""",
    )
    proto = parse(text.replace("THEN", "Neg (x)").replace("ELSE", "Concat <axis = 0> (x, x)"))
    assert fact(proto, "y").shape == shape
    assert_sound(proto, {"x": floats(4, 3)})


def test_if_of_a_data_dependent_branch_has_a_symbol_of_its_own():
    text = BRANCHES.replace("else_y = ELSE", "i = NonZero (x) j = Transpose (i) else_y = Cast <to = 1> (j)")
    proto = parse(text.replace("THEN", "Identity (x)"))
    first, second = fact(proto, "y").shape
    assert first.symbols.isdisjoint(N.symbols)
    assert first.symbols.isdisjoint(fact(proto, "j").shape[0].symbols)
    assert isinstance(second, Dim)
    check_both(proto)


# Scan -----------------------------------------------------------------------------------------------------

SCAN = """g (float[N,K] x, float[K] s) => (float[p] f, float[q,r] y) {
    f, y = Scan <num_scan_inputs = 1, body = b (float[k] s_in, float[k] e) => (float[k] s_out, float[k] o) {
        s_out = Add (s_in, e)
        o = Neg (s_out)
    } ATTRIBUTES> (s, x)
}"""


def test_scan_keeps_states_and_stacks_outputs():
    proto = parse(SCAN.replace("ATTRIBUTES", ""))
    assert fact(proto, "f").shape == (Dim.symbol("K"),)
    assert fact(proto, "y").shape == (N, Dim.symbol("K"))
    assert fact(proto, "e").shape == (Dim.symbol("K"),)
    assert fact(proto, "s_in").shape == (Dim.symbol("K"),)
    assert_sound(proto, {"x": floats(3, 2), "s": floats(2)})


def test_scan_takes_and_puts_slices_along_its_axes():
    proto = parse(
        SCAN.replace("[N,K] x", "[K,N] x").replace(
            "ATTRIBUTES", ", scan_input_axes = [-1], scan_output_axes = [-1], scan_input_directions = [1]"
        )
    )
    assert fact(proto, "y").shape == (Dim.symbol("K"), N)
    assert_sound(proto, {"x": floats(2, 3), "s": floats(2)})


def test_scan_does_not_let_a_symbol_of_its_body_out():
    proto = parse("""g (float[N,4] x) => (int64[q,r,t] y) {
        y = Scan <num_scan_inputs = 1, body = b (float[4] e) => (int64[1,k] o) { o = NonZero (e) }> (x)
    }""")
    shape = fact(proto, "y").shape
    assert shape[:2] == (N, 1)
    assert shape[2] != fact(proto, "o").shape[1]
    assert_sound(proto, {"x": floats(3, 4) + 1})


def test_scan_8_has_a_batch_dim_that_its_body_does_not_see():
    proto = parse(
        """g (float[B,N,K] x, float[B,K] s) => (float[B,p] f, float[B,q,r] y) {
        f, y = Scan <num_scan_inputs = 1, body = b (float[k] s_in, float[k] e) => (float[k] s_out, float[k] o) {
            s_out = Add (s_in, e)
            o = Neg (s_out)
        }> (, s, x)
    }""",
        opset=8,
    )
    batch, k = Dim.symbol("B"), Dim.symbol("K")
    assert fact(proto, "f").shape == (batch, k)
    assert fact(proto, "y").shape == (batch, N, k)
    assert fact(proto, "e").shape == (k,)
    assert_sound(proto, {"x": floats(2, 3, 4), "s": floats(2, 4)})


def test_scan_of_a_wrong_axis_gives_a_rank_at_most():
    proto = parse(SCAN.replace("ATTRIBUTES", ", scan_input_axes = [7]"))
    assert fact(proto, "f").shape == (Dim.symbol("K"),)


# SequenceMap ----------------------------------------------------------------------------------------------


def test_sequence_map_maps_known_items_one_by_one():
    proto = parse("""g (float[N,3] x, float[2,3] z) => (seq(float) y) {
        s = SequenceConstruct (x, z)
        y = SequenceMap <body = b (float[p,q] e) => (float[r] o) { o = ReduceSum <keepdims = 0> (e) }> (s)
    }""")
    found = fact(proto, "y")
    assert found.kind is Kind.SEQUENCE
    assert [item.shape for item in found.items] == [(), ()]
    assert_sound(proto, {"x": floats(4, 3), "z": floats(2, 3)})


def test_sequence_map_sees_tensors_whole_and_sequences_by_item():
    proto = parse("""g (float[N,3] x, float[N,3] z) => (seq(float) y) {
        s = SequenceConstruct (x, z)
        y = SequenceMap <body = b (float[p,q] e, float[r,t] whole) => (float[u,v] o) {
            o = Concat <axis = 0> (e, whole)
        }> (s, x)
    }""")
    found = fact(proto, "y")
    assert [item.shape for item in found.items] == [(2 * N, 3)] * 2
    assert found.item.shape == (2 * N, 3)
    assert_sound(proto, {"x": floats(4, 3), "z": floats(4, 3)})
