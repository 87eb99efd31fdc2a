from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from foldproof_rules import branches
from tests.helpers import initializers, operators, parse, rewrite
from tests.rules.checking import assert_becomes, assert_stays

BRANCHES = """<then_branch = t () => (float[N] r) { a = Relu(x) r = Mul(a, k) },
               else_branch = e () => (float[N] r) { a = Neg(x) r = Add(a, k) }>"""


@pytest.mark.parametrize(("condition", "left"), [(1, {"Relu": 1, "Mul": 1}), (0, {"Neg": 1, "Add": 1})])
def test_the_branch_of_a_known_condition_takes_the_place_of_the_if(condition: int, left: dict[str, int]) -> None:
    body = f"g (float[N] x) => (float[N] y) <bool c = {{{condition}}}, float[1] k = {{2}}> {{ y = If (c) {BRANCHES} }}"
    model, _ = rewrite(parse(body), "known_condition")
    assert operators(model) == left
    assert model.graph.node[-1].output[0] == "y"


def test_a_condition_on_shapes_is_known_in_a_dynamic_model() -> None:
    body = f"""g (float[N] x, float[N,4] w) => (float[N] y) <int64 four = {{4}}, int64 axis = {{1}}, float[1] k = {{2}}> {{
        s = Shape(w) d = Gather(s, axis) c = Equal(d, four) y = If (c) {BRANCHES} }}"""
    model, _ = rewrite(parse(body))
    assert operators(model) == {"Relu": 1, "Mul": 1}


def test_the_condition_that_the_caller_may_feed_is_not_known() -> None:
    body = f"g (float[N] x, bool c) => (float[N] y) <bool c = {{1}}, float[1] k = {{2}}> {{ y = If (c) {BRANCHES} }}"
    _, rewriter = rewrite(parse(body), "known_condition", overridable=["c"])
    assert len(rewriter.ledger) == 0


def test_names_and_initializers_of_the_branch_move_without_a_clash() -> None:
    proto = parse(
        """g (float[2] x) => (float[2] y, float[2] z) <bool c = {1}, bool d = {0}> {
            y = If (c) <then_branch = t () => (float[2] r) <float[2] k = {1, 2}> { r = Mul(x, k) },
                        else_branch = e () => (float[2] r) { r = Neg(x) }>
            z = If (d) <then_branch = t () => (float[2] r) { r = Neg(x) },
                        else_branch = e () => (float[2] r) <float[2] k = {3, 4}> { r = Mul(x, k) }>
        }"""
    )
    model, _ = rewrite(proto, "known_condition", "unused_initializer")
    assert operators(model) == {"Mul": 2}
    assert sorted(initializers(model).values()) == [[1.0, 2.0], [3.0, 4.0]]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    y, z = session.run(None, {"x": np.array([1, 1], np.float32)})
    assert (y.tolist(), z.tolist()) == ([1, 2], [3, 4])


def test_a_branch_that_hands_out_its_initializer() -> None:
    proto = parse(
        """g (float[2] x) => (float[2] y) <bool c = {1}> {
            a = If (c) <then_branch = t () => (float[2] r) <float[2] r = {1, 2}> { }, else_branch = e () => (float[2] q) { q = Neg(x) }>
            y = Add(a, x)
        }"""
    )
    model, _ = rewrite(proto, "known_condition", "unused_initializer")
    assert operators(model) == {"Add": 1}
    assert list(initializers(model).values()) == [[1.0, 2.0]]


# Conditions -------------------------------------------------------------------------------------------------------


def test_a_negated_condition_swaps_the_branches() -> None:
    body = f"g (float[N] x, bool c) => (float[N] y) <float[1] k = {{2}}> {{ n = Not(c) y = If (n) {BRANCHES} }}"
    assert_becomes(body, {"If": 1, "Relu": 1, "Mul": 1, "Neg": 1, "Add": 1}, "negated_condition")


@pytest.mark.parametrize("negation", ["n = Xor(c, d)", "n = And(c, d)", "n = Identity(c)"])
def test_what_is_no_negation_swaps_nothing(negation: str) -> None:
    body = f"g (float[N] x, bool c, bool d) => (float[N] y) <float[1] k = {{2}}> {{ {negation} y = If (n) {BRANCHES} }}"
    assert_stays(body, "negated_condition")


def rank_test(rank: int, test: str = "Equal(n, r)", *, keep: int = 0) -> str:
    """An If that reduces an axis or not, and another one on the rank of what came out."""
    return f"""g (float[N, M] x, bool c) => (float[K] y) <int64[1] axis = {{1}}, int64 r = {{{rank}}}, int64[1] flat = {{-1}}> {{
        s = If (c) <then_branch = t () => (p) {{ p = ReduceSum <keepdims = {keep}> (x, axis) }},
                    else_branch = e () => (q) {{ q = Identity(x) }}>
        h = Shape(s) n = Size(h) d = {test} z = Reshape(s, flat)
        y = If (d) <then_branch = t2 () => (float[K] a) {{ a = Exp(z) }},
                    else_branch = e2 () => (float[K] b) {{ b = Neg(z) }}> }}"""


@pytest.mark.parametrize(
    "body", [rank_test(1), rank_test(2), rank_test(1, "Greater(n, r)"), rank_test(2, "Less(n, r)")]
)
def test_a_test_of_what_another_if_has_done_takes_its_condition(body: str) -> None:
    left = {"If": 2, "ReduceSum": 1, "Identity": 1, "Reshape": 1, "Exp": 1, "Neg": 1}
    assert_becomes(body, left, "condition_of_another_if")


@pytest.mark.parametrize("body", [rank_test(3), rank_test(2, keep=1), rank_test(1, "Less(n, r)")])
def test_a_test_that_does_not_tell_the_branches_apart_stays(body: str) -> None:
    assert_stays(body, "condition_of_another_if")


def test_a_test_that_reads_something_else_too_stays() -> None:
    body = (
        rank_test(1).replace("bool c)", "bool c, bool f)").replace("d = Equal(n, r)", "o = Equal(n, r) d = And(o, f)")
    )
    assert_stays(body, "condition_of_another_if")


NESTED = """g (float[N] x, bool c, bool f) => (float[N] y) {{ {outside}
    y = If ({condition}) <
        then_branch = t () => (float[N] p) {{
            p = If ({inner}) <then_branch = t1 () => (float[N] a) {{ a = Exp(x) }}, else_branch = e1 () => (float[N] b) {{ b = Neg(x) }}> }},
        else_branch = e () => (float[N] q) {{
            q = If ({inner}) <then_branch = t2 () => (float[N] d) {{ d = Abs(x) }}, else_branch = e2 () => (float[N] h) {{ h = Relu(x) }}> }}> }}"""


@pytest.mark.parametrize(
    ("outside", "condition", "inner", "left"),
    [
        ("", "c", "c", {"If": 1, "Exp": 1, "Relu": 1}),
        ("n = Not(c)", "n", "c", {"If": 1, "Neg": 1, "Abs": 1, "Not": 1}),
        ("n = Not(c)", "c", "n", {"If": 1, "Neg": 1, "Abs": 1}),
        ("n = And(c, f)", "n", "f", {"If": 2, "Exp": 1, "Abs": 1, "Relu": 1, "And": 1}),
        ("n = Or(c, f)", "n", "f", {"If": 2, "Exp": 1, "Neg": 1, "Relu": 1, "Or": 1}),
    ],
)
def test_a_branch_knows_the_condition_under_which_it_runs(
    outside: str, condition: str, inner: str, left: dict[str, int]
) -> None:
    body = NESTED.format(outside=outside, condition=condition, inner=inner)
    assert_becomes(body, left, "known_in_branch", "known_condition")


@pytest.mark.parametrize(
    ("outside", "condition", "inner"),
    [("", "c", "f"), ("n = Xor(c, f)", "n", "c"), ("n = Identity(c) m = Identity(f)", "n", "m")],
)
def test_a_branch_knows_nothing_of_other_conditions(outside: str, condition: str, inner: str) -> None:
    assert_stays(NESTED.format(outside=outside, condition=condition, inner=inner), "known_in_branch", "known_condition")


def test_a_condition_is_known_in_a_loop_within_the_branch_and_unknown_behind_it() -> None:
    body = """g (float[N] x, bool c, int64 m) => (float[N] y, bool z) <bool on = {1}> {
        y = If (c) <
            then_branch = t () => (float[N] p) {
                p = Loop (m, on, x) <body = b (int64 i, bool k, float[N] v) => (bool l, float[N] w) {
                    l = Identity(k)
                    w = If (c) <then_branch = t1 () => (float[N] a) { a = Exp(v) }, else_branch = e1 () => (float[N] d) { d = Neg(v) }> }> },
            else_branch = e () => (float[N] q) { q = Abs(x) }>
        z = Not(c) }"""
    left = {"If": 1, "Loop": 1, "Identity": 1, "Exp": 1, "Abs": 1, "Not": 1}
    model, _ = rewrite(parse(body), "known_in_branch", "known_condition", "dead_node")
    assert operators(model) == left


# Outputs ----------------------------------------------------------------------------------------------------------


def test_an_output_that_nothing_reads_goes_with_what_makes_it() -> None:
    body = """g (float[N] x, bool c) => (float[N] y) {
        a, b, d = If (c) <then_branch = t () => (float[N] p, float[N] q, float[N] r) { p = Exp(x) q = Neg(x) r = Abs(q) },
                          else_branch = e () => (float[N] u, float[N] v, float[N] w) { w = Relu(x) u = Sin(w) v = Cos(w) }>
        y = Add(a, d) }"""
    left = {"If": 1, "Exp": 1, "Neg": 1, "Abs": 1, "Relu": 1, "Sin": 1, "Add": 1}
    assert_becomes(body, left, "unread_branch_output")


def test_an_output_that_a_body_reads_or_that_the_graph_gives_stays() -> None:
    body = """g (float[N] x, bool c, bool f) => (float[N] a, float[N] y) {
        a, b = If (c) <then_branch = t () => (float[N] p, float[N] q) { p = Exp(x) q = Neg(x) },
                       else_branch = e () => (float[N] u, float[N] v) { u = Sin(x) v = Cos(x) }>
        y = If (f) <then_branch = t1 () => (float[N] d) { d = Abs(b) }, else_branch = e1 () => (float[N] h) { h = Relu(x) }> }"""
    assert_stays(body, "unread_branch_output")


SAME = """g (float[N] x, float[N] z, bool c) => (float[N] y, float[N] a) <float[1] one = {{1}}> {{
    a, b = If (c) <then_branch = t () => (float[N] p, float[N] q) {{ p = Exp(x) {then} }},
                   else_branch = e () => (float[N] u, float[N] v) {{ u = Sin(x) {orelse} }}>
    y = Mul(b, z) }}"""


def test_what_both_branches_hand_through_is_read_from_outside() -> None:
    body = SAME.format(then="q = Identity(z)", orelse="h = Identity(z) v = Identity(h)")
    assert_becomes(body, {"If": 1, "Exp": 1, "Sin": 1, "Mul": 1}, "same_in_both_branches")


@pytest.mark.parametrize(
    ("then", "orelse"),
    [("q = Identity(z)", "v = Identity(x)"), ("q = Neg(z)", "v = Neg(z)"), ("q = Identity(z)", "v = Identity(u)")],
)
def test_what_the_branches_hand_out_of_different_values_stays(then: str, orelse: str) -> None:
    assert_stays(SAME.format(then=then, orelse=orelse), "same_in_both_branches")


CONSTANTS = """g (float[N] x, bool c) => (float[N] a, int64[2] y) {{
    a, y = If (c) <then_branch = t () => (float[N] p, int64[2] q) {{ p = Exp(x) q = Constant <value_ints = [{then}]> () }},
                   else_branch = e () => (float[N] u, int64[2] v) {{ u = Sin(x) v = Constant <value_ints = [{orelse}]> () }}> }}"""


def test_a_constant_that_both_branches_hand_out_is_stored_outside() -> None:
    body = CONSTANTS.format(then="3, 4", orelse="3, 4")
    assert_becomes(body, {"If": 1, "Exp": 1, "Sin": 1, "Identity": 1}, "same_in_both_branches")


def test_constants_that_differ_stay() -> None:
    assert_stays(CONSTANTS.format(then="3, 4", orelse="3, 5"), "same_in_both_branches")


def test_an_if_that_only_hands_through_goes_unless_it_may_have_an_effect() -> None:
    body = """g (float[N] x, bool c) => (float[N] y) {
        a = If (c) <then_branch = t () => (float[N] p) { %s p = Identity(x) }, else_branch = e () => (float[N] u) { u = Identity(x) }>
        y = Neg(a) }"""
    assert_becomes(body % "", {"Neg": 1}, "same_in_both_branches")
    proto = parse(body % "h = acme.Log(x)", imports='"acme": 1')
    model, _ = rewrite(proto, "same_in_both_branches")
    assert operators(model) == operators(proto)


# Several Ifs ------------------------------------------------------------------------------------------------------


def two_ifs(second: str = "z", between: str = "", condition: str = "c", reader: str = "") -> str:
    return f"""g (float[N] x, bool c, bool f) => (float[N] y, float[N] o) {{
        z = If (c) <then_branch = t () => (float[N] p) {{ p = Exp(x) }}, else_branch = e () => (float[N] q) {{ q = Sin(x) }}>
        {between}
        y = If ({condition}) <then_branch = t1 () => (float[N] a) {{ a = Neg({second}) }},
                    else_branch = e1 () => (float[N] b) {{ b = Abs({second}) }}>
        o = Add(z, {reader or "z"}) }}"""


ONE_IF = {"If": 1, "Exp": 1, "Sin": 1, "Neg": 1, "Abs": 1, "Add": 1}


@pytest.mark.parametrize(
    ("body", "more"),
    [
        (two_ifs(), {}),
        (two_ifs("x"), {}),
        (two_ifs("w", "w = Relu(x)"), {"Relu": 1}),
        (two_ifs("w", "w = Relu(x)", reader="w"), {"Relu": 1}),
    ],
)
def test_ifs_on_one_condition_become_one(body: str, more: dict[str, int]) -> None:
    assert_becomes(body, ONE_IF | more, "merged_branches")


@pytest.mark.parametrize(
    "body",
    [
        two_ifs(condition="f"),
        two_ifs("w", "w = Relu(z)"),
        two_ifs("w", "v = Neg(x) w = Add(v, z)"),
    ],
)
def test_ifs_on_two_conditions_or_with_a_node_between_them_stay(body: str) -> None:
    assert_stays(body, "merged_branches")


def test_a_random_branch_is_not_moved() -> None:
    body = two_ifs().replace("p = Exp(x)", "p = RandomNormalLike(x)")
    assert_stays(body, "merged_branches")


def test_merging_three_ifs_keeps_names_and_initializers_apart() -> None:
    branches = """<then_branch = t () => (float[2] r) <float[2] k = {{{0}, 1}}> {{ r = Mul(x, k) }},
                   else_branch = e () => (float[2] r) <float[2] k = {{{0}, 2}}> {{ r = Add(x, k) }}>"""
    ifs = " ".join(f"y{k} = If (c) {branches.format(k)}" for k in range(3))
    body = f"g (float[2] x, bool c) => (float[2] y0, float[2] y1, float[2] y2) {{ {ifs} }}"
    assert_becomes(body, {"If": 1, "Mul": 3, "Add": 3}, "merged_branches")


def many_ifs(count: int) -> str:
    """Ifs on one condition, the output of each of which is read."""
    both = "<then_branch = t () => (float[N] r) {{ r = {0}(x) }}, else_branch = e () => (float[N] s) {{ s = {1}(x) }}>"
    operators = [("Exp", "Sin"), ("Cos", "Abs"), ("Neg", "Tan")]
    ifs = " ".join(f"y{k} = If (c) {both.format(*operators[k % 3])}" for k in range(count))
    return f"g (float[N] x, bool c) => ({', '.join(f'float[N] y{k}' for k in range(count))}) {{ {ifs} }}"


def test_no_if_is_merged_beyond_a_limit_of_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "MAX_OUTPUTS", 4)
    model = assert_becomes(many_ifs(10), None, "merged_branches")
    assert sorted(len(node.output) for node in model.graph.node) == [2, 4, 4]


def test_what_is_told_of_each_of_many_ifs_on_one_condition_does_not_grow() -> None:
    told = {}
    for count in (40, 160):
        _, rewriter = rewrite(parse(many_ifs(count)), "merged_branches")
        texts = [text for entry in rewriter.ledger.entries for text in (*entry.removed, *entry.added)]
        told[count] = sum(map(len, texts)) / count
    assert told[160] < 1.5 * told[40]


def test_names_that_two_merged_ifs_share_are_told_apart() -> None:
    branches = """<then_branch = t () => (float[N] r) {{ k = {0}(x) r = Neg(k) }},
                   else_branch = e () => (float[N] s) {{ s = {1}(x) }}>"""
    ifs = f"y = If (c) {branches.format('Exp', 'Sin')} z = If (c) {branches.format('Cos', 'Tan')}"
    body = f"g (float[N] x, bool c) => (float[N] y, float[N] z) {{ {ifs} }}"
    assert_becomes(body, {"If": 1, "Exp": 1, "Sin": 1, "Cos": 1, "Tan": 1, "Neg": 2}, "merged_branches")


def test_names_in_the_bodies_of_what_is_merged_are_told_apart() -> None:
    """The k of the first If stands around the inner If of the second one afterwards."""
    body = """g (float[N] x, bool c, bool d) => (float[N] y, float[N] z) {
        y = If (c) <then_branch = t () => (float[N] p) { k = Exp(x) p = Neg(k) },
                    else_branch = e () => (float[N] q) { q = Sin(x) }>
        z = If (c) <then_branch = t1 () => (float[N] r) {
                        r = If (d) <then_branch = t2 () => (float[N] k) { k = Cos(x) },
                                    else_branch = e2 () => (float[N] l) <float[1] q = {2}> { l = Mul(x, q) }> },
                    else_branch = e1 () => (float[N] s) { s = Abs(x) }> }"""
    assert_becomes(body, None, "merged_branches")


def test_merging_moves_an_initializer_that_a_branch_hands_out() -> None:
    branches = """<then_branch = t () => (float[2] k) <float[2] k = {1, 2}> { s = Abs(x) },
                   else_branch = e () => (float[2] r) { r = Neg(x) }>"""
    body = f"g (float[2] x, bool c) => (float[2] y, float[2] z) {{ y = If (c) {branches} z = If (c) {branches} }}"
    assert_becomes(body, {"If": 1, "Neg": 2}, "merged_branches")


def test_the_tests_of_a_chain_of_squeezes_leave_one_if() -> None:
    """As an exporter writes a recurrent cell that takes its input with or without a batch."""
    body = """g (float[N, T] x, bool c) => (float[A, B, T] y) <int64[1] first = {0}, int64 two = {2}> {
        s = If (c) <then_branch = t () => (p) { p = ReduceSum <keepdims = 0> (x, first) },
                    else_branch = e () => (q) { q = Identity(x) }>
        h = Shape(s) n = Size(h) d = Equal(n, two) not = Not(d)
        u = If (not) <then_branch = t1 () => (a) { a = Unsqueeze(s, first) }, else_branch = e1 () => (b) { b = Identity(s) }>
        y = Unsqueeze(u, first) }"""
    model, _ = rewrite(parse(body))
    assert operators(model)["If"] == 1
    assert {"Shape", "Size", "Equal", "Not"}.isdisjoint(operators(model))


def test_an_output_that_another_one_equals_in_both_branches_is_read_once() -> None:
    body = """g (float[N] x, bool c) => (float[N] y) {
        a, b = If (c) <then_branch = t () => (float[N] p, float[N] q) { p = Exp(x) q = Identity(p) },
                       else_branch = e () => (float[N] u, float[N] v) { v = Sin(x) %s }>
        y = Mul(a, b) }"""
    left = {"If": 1, "Exp": 1, "Sin": 1, "Identity": 1, "Mul": 1}
    assert_becomes(body % "u = Identity(v)", left, "equal_branch_outputs")
    assert_stays(body % "u = Neg(v)", "equal_branch_outputs")


def test_deeply_nested_ifs_take_no_longer_than_they_are_many() -> None:
    inner = "{ p0 = Exp(x) }"
    for depth in range(1, 25):
        inner = (
            f"{{ p{depth} = If (c) <then_branch = t{depth} () => (float[N] p{depth - 1}) {inner}, "
            f"else_branch = e{depth} () => (float[N] q{depth}) {{ q{depth} = Sin(x) }}> }}"
        )
    model, _ = rewrite(parse(f"g (float[N] x, bool c) => (float[N] p24) {inner}"))
    assert operators(model) == {"If": 1, "Exp": 1, "Sin": 1}
