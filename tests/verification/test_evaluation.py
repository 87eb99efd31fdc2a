from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from foldproof.facts import Dim
from foldproof.verification import find_probes, instrument, verify
from foldproof.verification.proven import Proven


def evaluations(model, **options):
    result = verify(model, model, evaluate=find_probes(model), **options)
    assert result.status == "same"
    assert not [note for note in result.notes if "evaluated" in note]
    return [each for each in result.evaluations if 0 not in each.binding.values()]


def values(model, output):
    return [(each.expected, each.got) for each in evaluations(model) if each.output == output]


BRANCHES = """g (float[N, 3] x) => (int64 y) <int64 two = {2}> {
    n = Size (x)
    long = Less (two, n)
    y = If (long) <
        then_branch = t () => (int64 p) { a = Concat <axis = 0> (x, x) p = Size (a) },
        else_branch = e () => (int64 q) { b = Neg (x) q = Size (b) }
    >
}"""

LOOP = """g (float[N] x) => (float[M] y, int64[K] sizes) {
    yes = Constant <value = bool {1}> ()
    trips = Constant <value = int64 {TRIPS}> ()
    y, sizes = Loop (trips, yes, x) <body = step (int64 i, bool go, float[A] a) => (bool on, float[B] b, int64 s) {
        on = Identity (go)
        b = Concat <axis = 0> (a, a)
        s = Size (b)
        d = Shape (a)
    }>
}"""

FUNCTIONS = """
<domain: "f", opset_import: ["" : 17]> count (a) => (n) { b = Abs (a) n = Size (b) }
<domain: "f", opset_import: ["" : 17, "f" : 1]> twice (a) => (m) { n = f.count (a) k = f.count (n) m = Add (n, k) }
"""


def test_probes_say_where_they_are(parse):
    model = parse(BRANCHES)
    model.graph.node[2].name = "choice"
    places = {each.output: each.place for each in find_probes(model)}
    assert places == {"n": "", "p": "choice/then_branch", "q": "choice/else_branch"}


def test_operators_of_other_domains_are_no_probes(parse):
    model = parse("g (float[N] x) => (int64 y) { y = acme.Size (x) }", imports='"acme" : 1')
    assert find_probes(model) == []


def test_each_binding_gives_the_count_of_its_own(parse):
    model = parse("g (float[N, 2] x) => (int64 s) { s = Size (x) }")
    assert values(model, "s") == [(2, 2), (4, 4)]


def test_shape_is_evaluated_with_its_attributes(parse):
    model = parse("g (float[N, 2, 3] x) => (int64[K] s) { s = Shape <start = 1, end = -1> (x) }")
    assert values(model, "s") == [([2], [2]), ([2], [2])]


def test_a_branch_that_is_not_taken_is_listed_as_not_executed(parse):
    found = {(each.output, each.binding["N"]): each for each in evaluations(parse(BRANCHES))}
    sizes = {n for _, n in found}
    assert len(found) == 3 * len(sizes) == 6
    for n in sizes:
        assert (found["p", n].executed, found["p", n].got) == (True, 6 * n)
        assert (found["q", n].executed, found["q", n].got) == (False, None)
        assert found["q", n].agrees


def test_both_branches_can_be_seen(parse):
    model = parse(BRANCHES.replace("two = {2}", "two = {4}"))
    executed = {each.output for each in evaluations(model) if each.executed}
    assert executed == {"n", "p", "q"}


def test_a_loop_gives_a_value_for_each_iteration(parse):
    model = parse(LOOP.replace("TRIPS", "3"))
    assert values(model, "s") == [([2, 4, 8],) * 2, ([4, 8, 16],) * 2]
    assert values(model, "d") == [([[1], [2], [4]],) * 2, ([[2], [4], [8]],) * 2]


def test_a_loop_without_iterations_is_not_executed(parse):
    model = parse(LOOP.replace("TRIPS", "0"))
    assert {(each.executed, each.agrees) for each in evaluations(model)} == {(False, True)}


def test_many_iterations_are_cut_in_the_middle(parse):
    model = parse(LOOP.replace("TRIPS", "40").replace("b = Concat <axis = 0> (a, a)", "b = Neg (a)"))
    (first, _) = [each.got for each in evaluations(model) if each.output == "s"]
    assert first == [1] * 8 + ["... 24 more ..."] + [1] * 8


def test_a_scan_gives_a_value_for_each_step(parse):
    model = parse(
        """g (float[3, N] x) => (float[3, N] y) {
            y = Scan <num_scan_inputs = 1, scan_output_axes = [0], body = step (float[N] a) => (float[N] b) {
                b = Abs (a)
                s = Size (a)
            }> (x)
        }"""
    )
    assert values(model, "s")[:2] == [([1, 1, 1], [1, 1, 1]), ([2, 2, 2], [2, 2, 2])]


def test_functions_give_a_value_for_each_call(parse):
    model = parse("g (float[N] x) => (int64 y) { y = f.twice (x) }", FUNCTIONS, imports='"f" : 1')
    (probe,) = find_probes(model)
    assert probe.place == "function f::count"
    assert values(model, "n") == [([1, 1], [1, 1]), ([2, 1], [2, 1])]


def test_a_loop_in_a_branch_in_a_loop_is_threaded_through(parse):
    model = parse(
        """g (float[N] x) => (float[N] y) <int64 three = {3}, bool yes = {1}, int64 one = {1}> {
            y = Loop (three, yes, x) <body = outer (int64 i, bool c, float[N] a) => (bool d, float[N] r) {
                d = Identity (c)
                first = Less (i, one)
                r = If (first) <
                    then_branch = t () => (float[N] p) { p = Abs (a) m = Size (a) },
                    else_branch = e () => (float[N] q) { q = Neg (a) }
                >
            }>
        }"""
    )
    assert values(model, "m") == [(1, 1), (2, 2)]


def test_types_that_the_runtime_cannot_count_are_evaluated_all_the_same(parse):
    model = parse("g (bfloat16[N] x) => (int64[1] d) { y = Identity (x) d = Shape (y) }")
    assert values(model, "d") == [([1], [1]), ([2], [2])]
    model = parse("g (complex64[N] x) => (int64 s) { s = Size (x) }")
    assert values(model, "s")[:2] == [(1, 1), (2, 2)]


@pytest.mark.parametrize("opset", [7, 9, 11, 13])
def test_bodies_of_old_opsets_are_instrumented(parse, opset):
    graph = BRANCHES.replace("Less (two, n)", "Less (a0, b0)").replace(
        "n = Size (x)", "n = Size (x) a0 = Cast <to = 1> (two) b0 = Cast <to = 1> (n)"
    )
    model = parse(graph, opset=opset, ir=4)
    assert {each.output for each in evaluations(model) if each.executed} == {"n", "p"}


def test_only_what_the_probes_need_is_kept(parse):
    model = parse(
        """g (float[N, 2] x) => (float[N, 2] y, int64 s) <float[2, 2] used = {1,2,3,4}, float[2] unused = {1,2}> {
            h = MatMul (x, used) s = Size (h) y = Add (x, unused)
        }"""
    )
    before = model.SerializeToString()
    instrumented, exports = instrument(model, find_probes(model))
    assert model.SerializeToString() == before
    assert [each.op_type for each in instrumented.graph.node] == ["MatMul", "Size"]
    assert [each.name for each in instrumented.graph.initializer] == ["used"]
    assert {each.part for each in exports} == {"data", "result"}
    session = onnxruntime.InferenceSession(instrumented.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    handed = dict(zip(names, session.run(names, {"x": np.ones((3, 2), np.float32)}), strict=True))
    assert handed["h"].shape == (3, 2)
    assert handed["s"] == 6


def test_names_that_are_taken_are_not_taken_again(parse):
    model = parse(BRANCHES.replace("p = Size (a)", "probed0_1 = Size (a) p = Identity (probed0_1)"))
    assert values(model, "probed0_1") == [(6, 6), (12, 12)]


def test_a_node_in_the_body_of_an_unknown_operator_is_said_to_be_out_of_reach(parse):
    model = parse(
        """g (seq(float[N]) x) => (seq(int64) y) {
            y = SequenceMap (x) <body = each (float[N] a) => (int64 s) { s = Size (a) }>
        }"""
    )
    result = verify(model, model)
    assert result.status == "same"
    assert any("'s'" in note and "can't be handed out" in note for note in result.notes)


def test_a_disagreement_is_a_difference(parse, monkeypatch):
    from foldproof.verification import evaluation

    model = parse("g (float[N, 2] x) => (int64 s) { s = Size (x) }")
    monkeypatch.setattr(evaluation.kernels, "lookup", lambda *_: lambda data: np.array(data.size + 1))
    result = verify(model, model)
    assert result.status == "different"
    assert not any(each.agrees for each in result.evaluations)
    assert (result.differences[0].output, result.differences[0].kind) == ("s", "value")


def test_evaluation_reads_external_weights(parse, tmp_path):
    model = parse("g (float[N, 2] x) => (int64 s) <float[2, 3] w = {1,2,3,4,5,6}> { h = MatMul (x, w) s = Size (h) }")
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    result = verify(path, path)
    assert result.status == "same"
    assert [each.got for each in result.evaluations] == [3, 6, 0]


def test_what_no_int64_holds_is_not_held_against_a_model():
    """Shape arithmetic is taken not to overflow: a tensor with so many elements could not exist."""
    power = Dim.symbol("N") * Dim.symbol("N") * Dim.symbol("N")
    proven = Proven("k", "Mul", (power,))
    assert proven.contradiction(np.int64(8), {"N": 2}) is None
    assert proven.contradiction(np.int64(9), {"N": 2}) is not None
    assert proven.contradiction(np.int64(0), {"N": 1 << 22}) is None  # 2^66 modulo 2^64
