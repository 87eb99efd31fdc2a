from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.helpers import operators, parse, rewrite, rewrite_by
from tests.rules.checking import assert_becomes, assert_same, assert_stays


def loop(
    body: str,
    *,
    limit: str = "m",
    carried: str = "x",
    outputs: str = "y",
    more: str = "",
    weights: str = "bool on = {1}, bool off = {0}, int64 m = {3}, float[3] s = {0.5, -1, 2}",
    gives: str = "float[N, 3] y",
    condition: str = "on",
) -> str:
    """A graph with one Loop, whose body is given from its inputs on."""
    return f"""g (float[N, 3] x, bool c) => ({gives}) <{weights}> {{ t = Size(x)
        {outputs} = Loop ({limit}, {condition}, {carried}) <body = b (int64 i, bool k, {body}> {more} }}"""


ADD = "float[N, 3] v) => (bool l, float[N, 3] w) { l = Identity(k) w = Add(v, s) }"


# Known trip counts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "condition", "weights"),
    [
        ("m", "on", "int64 m = {0}, bool on = {1}"),
        ("m", "on", "int64 m = {-2}, bool on = {1}"),
        ("m", "c", "int64 m = {0}"),
        ("t", "on", "bool on = {0}"),
    ],
)
def test_a_loop_without_iterations_gives_what_it_was_given(limit: str, condition: str, weights: str) -> None:
    body = loop(
        ADD,
        limit=limit,
        condition=condition,
        weights=f"{weights}, float[3] s = {{0.5, -1, 2}}",
        outputs="z",
        more="y = Neg(z)",
    )
    model, _ = rewrite(parse(body), "loop_without_iterations", "dead_node")
    assert operators(model) == {"Neg": 1}
    x = np.array([[1, 2, 3]], np.float32)
    assert_same(parse(body), model, {"x": x, "c": np.array(True)})


def test_what_a_loop_without_iterations_gathers_is_empty() -> None:
    body = loop(
        "float[N, 3] v) => (bool l, float[N, 3] w, float[3] u) { l = Identity(k) w = Add(v, s) u = Neg(s) }",
        outputs="y, z", gives="float[N, 3] y, float[A, 3] z", weights="int64 m = {0}, bool on = {1}, float[3] s = {1, 2, 3}",
    )  # fmt: skip
    model, _ = rewrite(parse(body), "loop_without_iterations", "dead_node")
    assert "Loop" not in operators(model)
    assert_same(parse(body), model, {"x": np.ones((2, 3), np.float32), "c": np.array(True)})


def test_a_loop_without_iterations_whose_gathered_dims_are_open_stays() -> None:
    body = loop(
        "float[N, 3] v) => (bool l, float[N, 3] w, float[N, 3] u) { l = Identity(k) w = Add(v, s) u = Neg(w) }",
        outputs="y, z", gives="float[N, 3] y, float[A, B, D] z", weights="int64 m = {0}, bool on = {1}, float[3] s = {1, 2, 3}",
    )  # fmt: skip
    assert_stays(body, "loop_without_iterations")


@pytest.mark.parametrize(
    ("limit", "condition", "more"),
    [
        ("one", "on", "l = Identity(k)"),
        ("t9", "on", "l = Constant <value_int = 0> () lb = Cast <to = 9> (l)"),
        ("", "on", "stop"),
        ("one", "", "l = Identity(k)"),
    ],
)
def test_a_loop_that_runs_once_is_its_body(limit: str, condition: str, more: str) -> None:
    if more == "stop" or limit == "t9":
        limit, more = ("" if more == "stop" else "m"), "l = Identity(off)"
    body = loop(
        f"float[N, 3] v) => (bool l, float[N, 3] w, float[N, 3] u) {{ {more} w = Add(v, s) f = Cast <to = 1> (i) u = Add(w, f) }}",
        limit=limit, condition=condition, outputs="y, z", gives="float[N, 3] y, float[A, N, 3] z",
        weights="bool on = {1}, bool off = {0}, int64 m = {3}, int64 one = {1}, float[3] s = {0.5, -1, 2}",
    )  # fmt: skip
    model, _ = rewrite(parse(body), "loop_of_one_iteration", "dead_node")
    assert operators(model)["Loop"] == 0
    assert operators(model)["Unsqueeze"] == 1
    x = np.array([[1, 2, 3], [-0.0, np.nan, np.inf]], np.float32)
    assert_same(parse(body), model, {"x": x, "c": np.array(True)})


@pytest.mark.parametrize(
    "body",
    [
        loop(ADD, limit="t"),
        loop(ADD, condition="c", weights="int64 m = {1}, float[3] s = {1, 2, 3}"),
        loop(ADD, limit="m"),
        loop(ADD.replace("l = Identity(k)", "l = Identity(c)"), limit=""),
    ],
)
def test_a_loop_that_may_run_more_or_less_than_once_stays(body: str) -> None:
    assert_stays(body, "loop_of_one_iteration", "loop_without_iterations")


COUNTING = """int64 u, float[N, 3] v) => (bool l, int64 j, float[N, 3] w) {
    l = Identity(k) j = Mul(u, two) o = Sub(j, two) p = Neg(o) q = Mul(p, o) f = Cast <to = 1> (q) w = Add(v, f) }"""
WEIGHTS = "bool on = {1}, int64 m = {3}, int64 two = {2}"


def test_a_loop_of_which_little_is_left_is_written_out() -> None:
    body = loop(COUNTING, carried="two, x", outputs="n, y", weights=WEIGHTS)
    model, _ = rewrite(parse(body), "loop_that_folds", "known_elements", "dead_node")
    assert operators(model) == {"Add": 3}
    x = np.array([[1, 2, 3], [-0.0, np.nan, np.inf]], np.float32)
    assert_same(parse(body), model, {"x": x, "c": np.array(True)})


@pytest.mark.parametrize(
    "body",
    [
        loop(ADD, weights="bool on = {1}, int64 m = {3}, float[3] s = {1, 2, 3}"),
        loop(COUNTING, carried="two, x", outputs="n, y", weights=WEIGHTS.replace("{3}", "{9}")),
        loop(COUNTING, carried="two, x", outputs="n, y", weights=WEIGHTS, limit="t"),
        loop(COUNTING.replace("l = Identity(k)", "l = Less(u, m)"), carried="two, x", outputs="n, y", weights=WEIGHTS),
        loop(
            COUNTING.replace("w = Add(v, f)", "r = RandomNormalLike(v) w = Add(r, f)"),
            carried="two, x",
            outputs="n, y",
            weights=WEIGHTS,
        ),
    ],
)
def test_a_loop_of_which_much_would_be_left_stays(body: str) -> None:
    assert_stays(body, "loop_that_folds")


def test_a_short_loop_is_written_out_at_a_level_of_its_own() -> None:
    body = loop(ADD, outputs="z", more="y = Neg(z)")
    model, _ = rewrite(parse(body), "short_loop", "dead_node")
    assert operators(model) == {"Add": 3, "Neg": 1}
    assert_stays(body, "loop_that_folds")
    assert_stays(loop(ADD, weights="bool on = {1}, int64 m = {65}, float[3] s = {1, 2, 3}"), "short_loop")


def test_what_a_loop_that_is_written_out_gathers_is_joined() -> None:
    body = loop(
        "float[N, 3] v) => (bool l, float[N, 3] w, float[N, 3] u) { l = Identity(k) w = Add(v, s) u = Neg(w) }",
        outputs="y, z", gives="float[N, 3] y, float[A, N, 3] z",
    )  # fmt: skip
    model, _ = rewrite(parse(body), "short_loop", "dead_node")
    assert operators(model) == {"Add": 3, "Neg": 3, "Unsqueeze": 3, "Concat": 1}
    assert_same(parse(body), model, {"x": np.ones((2, 3), np.float32), "c": np.array(True)})


# What a body needn't do -------------------------------------------------------------------------------------------


def test_what_nothing_reads_of_a_loop_goes_with_all_that_only_serves_it() -> None:
    body = loop(
        """float[N, 3] v, float[N, 3] u) => (bool l, float[N, 3] w, float[N, 3] h, float[N, 3] r) {
            l = Identity(k) w = Add(v, s) e = Exp(u) h = Mul(e, v) r = Abs(h) }""",
        carried="x, x", outputs="y, z, q", limit="t",
    )  # fmt: skip
    assert_becomes(body, {"Size": 1, "Loop": 1, "Identity": 1, "Add": 1}, "unread_loop_output")


@pytest.mark.parametrize(
    "body",
    [
        "float[N, 3] v, float[N, 3] u) => (bool l, float[N, 3] w, float[N, 3] h) { l = Identity(k) w = Add(v, u) h = Exp(u) }",
        "float[N, 3] v, float[1] u) => (bool l, float[N, 3] w, float[1] h) { w = Add(v, s) h = Mul(u, u) f = ReduceSum <keepdims = 0> (u) l = Less(f, zero) }",
        """float[N, 3] v, float[N, 3] u) => (bool l, float[N, 3] w, float[N, 3] h) { l = Identity(k) h = Exp(u)
            w = If (c) <then_branch = a () => (float[N, 3] p) { p = Add(v, u) }, else_branch = d () => (float[N, 3] q) { q = Neg(v) }> }""",
    ],
)
def test_what_the_condition_or_another_value_is_made_of_stays(body: str) -> None:
    weights = "bool on = {1}, float zero = {0}, float[1] one = {1}, float[3] s = {1, 2, 3}"
    carried = "x, one" if "float[1] u" in body else "x, x"
    assert_stays(loop(body, carried=carried, outputs="y, z", limit="t", weights=weights), "unread_loop_output")


def test_what_an_unknown_operator_in_the_body_reads_stays() -> None:
    body = loop(
        "float[N, 3] v, float[N, 3] u) => (bool l, float[N, 3] w, float[N, 3] h) { l = Identity(k) w = Add(v, s) h = Exp(u) a = acme.Log(u) }",
        carried="x, x", outputs="y, z", limit="t",
    )  # fmt: skip
    _, rewriter = rewrite(parse(body, imports='"acme": 1'), "unread_loop_output")
    assert len(rewriter.ledger) == 0


def test_a_value_that_the_body_hands_on_is_read_from_outside() -> None:
    body = loop(
        """float[N, 3] v, float[N, 3] u, float[3] n) => (bool l, float[N, 3] w, float[N, 3] h, float[3] r) {
            l = Identity(k) a = Add(v, u) w = Mul(a, n) f = Identity(u) h = Identity(f) r = Identity(s) }""",
        carried="x, x, s", outputs="y, z, q", limit="t", gives="float[N, 3] y, float[N, 3] o", more="o = Neg(z)",
    )  # fmt: skip
    left = {"Size": 1, "Loop": 1, "Identity": 1, "Add": 1, "Mul": 1, "Neg": 1}
    assert_becomes(body, left, "unchanged_in_loop")


@pytest.mark.parametrize("handed", ["h = Identity(v)", "h = Identity(x)", "h = Neg(u)"])
def test_a_value_that_the_body_changes_stays(handed: str) -> None:
    body = loop(
        f"float[N, 3] v, float[N, 3] u) => (bool l, float[N, 3] w, float[N, 3] h) {{ l = Identity(k) w = Add(v, u) {handed} }}",
        carried="x, e", outputs="y, z", limit="t",
    ).replace("y, z = Loop", "e = Exp(x) y, z = Loop")  # fmt: skip
    assert_stays(body, "unchanged_in_loop")


INVARIANT = """float[N, 3] v) => (bool l, float[N, 3] w) {
    l = Identity(k) e = Exp(x) two = Constant <value_float = 2.0> () f = Mul(e, two) a = Add(v, f) g = Neg(a) w = Abs(g) }"""


def test_what_is_the_same_in_each_iteration_is_computed_once() -> None:
    model = assert_becomes(loop(INVARIANT), None, "invariant_in_loop")
    assert [node.op_type for node in model.graph.node] == ["Exp", "Constant", "Mul", "Loop"]


def test_names_of_what_is_moved_out_of_two_loops_are_told_apart() -> None:
    loops = [f"{y} = Loop (m, on, x) <body = b (int64 i, bool k, {INVARIANT}>" for y in ("y", "z")]
    body = f"""g (float[N, 3] x) => (float[N, 3] y, float[N, 3] z) <bool on = {{1}}, int64 m = {{3}}> {{
        {loops[0]} {loops[1].replace("Exp", "Sin")} }}"""
    model = assert_becomes(body, None, "invariant_in_loop")
    assert operators(model) == operators(parse(body))
    assert sum(node.op_type in ("Exp", "Sin") for node in model.graph.node) == 2


@pytest.mark.parametrize(
    "body",
    [
        loop(INVARIANT, limit="t"),
        loop(INVARIANT, condition="c"),
        loop(INVARIANT.replace("Exp(x)", "RandomNormalLike(x)").replace("f = Mul(e, two)", "f = Mul(e, v)")),
        loop(INVARIANT.replace("Exp(x)", "Exp(v)")),
        loop("float[N, 3] v) => (bool l, float[N, 3] w) { l = Identity(k) w = Exp(x) }"),
        loop("""float[N, 3] v) => (bool l, float[N, 3] w) { l = Identity(k)
            w = If (c) <then_branch = a () => (float[N, 3] p) { e = Exp(x) p = Add(v, e) }, else_branch = d () => (float[N, 3] q) { q = Neg(v) }> }"""),
    ],
)  # fmt: skip
def test_what_may_not_run_or_changes_is_not_moved_out(body: str) -> None:
    assert_stays(body, "invariant_in_loop")


def test_what_is_moved_out_is_shared_with_what_a_branch_in_the_body_computes() -> None:
    body = loop(
        """float[N, 3] v) => (bool l, float[N, 3] w) { l = Identity(k)
            h = If (c) <then_branch = a () => (float[N, 3] p) { e = Exp(x) p = Add(v, e) }, else_branch = d () => (float[N, 3] q) { q = Neg(v) }>
            f = Exp(x) w = Mul(h, f) }"""
    )
    assert_becomes(body, None, "invariant_in_loop", "same_computation")


# Scan -------------------------------------------------------------------------------------------------------------


def scan(body: str, attributes: str = "") -> str:
    return f"""g (float[3] x, float[N, 3] q) => (float[3] y, float[N, 3] o) <float[3] s = {{0.5, -1, 2}}> {{
        y, z, o, r = Scan <num_scan_inputs = 1 {attributes}, body = b ({body}> (x, x, q) }}"""


SCAN = """float[3] v, float[3] u, float[3] t) => (float[3] w, float[3] h, float[3] a, float[3] d) {{
    w = Add(v, t) {} a = Neg(w) d = Exp(w) }}"""


@pytest.mark.parametrize(
    "attributes", ["", ", scan_output_axes = [0, 1], scan_output_directions = [1, 0], scan_input_directions = [1]"]
)
def test_what_nothing_reads_of_a_scan_goes(attributes: str) -> None:
    proto = parse(scan(SCAN.format("h = Mul(u, t)"), attributes))
    model, _ = rewrite(proto, "unread_loop_output", "dead_node")
    assert operators(model) == {"Scan": 1, "Add": 1, "Neg": 1}
    for length in (1, 2, 5):
        q = np.random.default_rng(length).standard_normal((length, 3)).astype(np.float32)
        assert_same(proto, model, {"x": np.array([1, -2, 3], np.float32), "q": q})


def test_a_state_that_a_scan_hands_on_is_read_from_outside_and_what_is_made_of_it_once() -> None:
    proto = parse(scan("""float[3] v, float[3] u, float[3] t) => (float[3] w, float[3] h, float[3] a, float[3] d) {
        e = Exp(u) n = Add(v, t) w = Mul(n, e) h = Identity(u) a = Neg(w) d = Exp(w) }"""))  # fmt: skip
    model, _ = rewrite(proto, "unread_loop_output", "unchanged_in_loop", "invariant_in_loop", "dead_node")
    assert [node.op_type for node in model.graph.node] == ["Exp", "Scan"]
    q = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    assert_same(proto, model, {"x": np.array([1, -2, 3], np.float32), "q": q})


def test_the_batched_scan_of_opset_8_stays() -> None:
    body = """g (float[2, 3] x, float[2, N, 3] q) => (float[2, 3] y) {
        y, z = Scan <num_scan_inputs = 1, body = b (float[3] v, float[3] t) => (float[3] w, float[3] a) { w = Add(v, t) a = Neg(w) }> (, x, q) }"""
    assert_stays(body, "unread_loop_output", "unchanged_in_loop", "invariant_in_loop", opset=8)


# At any depth -----------------------------------------------------------------------------------------------------


def test_rules_fire_in_bodies_of_bodies_and_in_functions() -> None:
    body = loop(
        """float[N, 3] v) => (bool l, float[N, 3] w) { l = Identity(k)
            w = If (c) <then_branch = a () => (float[N, 3] p) {
                    p = Loop (t, on, v) <body = b2 (int64 i2, bool k2, float[N, 3] v2) => (bool l2, float[N, 3] w2) {
                        l2 = Identity(k2) n = Neg(v2) o = Neg(n) w2 = Exp(o) }> },
                else_branch = d () => (float[N, 3] q) { n3 = Neg(v) o3 = Neg(n3) q = local.f(o3) }> }""",
        limit="t",
    )  # fmt: skip
    functions = '<domain: "local", opset_import: ["": 18]> f (a) => (b) { n = Neg(a) o = Neg(n) b = Abs(o) }'
    model, _ = rewrite(parse(body, imports='"local": 1', functions=functions))
    assert operators(model)["Neg"] == 0


def test_a_shape_that_a_loop_keeps_is_known_in_its_body() -> None:
    body = loop(
        """float[N, 3] v) => (bool l, float[N, 3] w) { l = Identity(k) r = Size(v) z = Shape <start = 1> (v) f = Cast <to = 1> (z) w = Mul(v, f) }""",
        limit="t",
    )  # fmt: skip
    model, _ = rewrite(parse(body))
    assert operators(model) == {"Size": 1, "Loop": 1, "Mul": 1}


def test_a_second_run_changes_nothing() -> None:
    body = loop(
        """float[N, 3] v, float[N, 3] u) => (bool l, float[N, 3] w, float[N, 3] h) { l = Identity(k) e = Exp(x)
            a = Add(v, u) h = Identity(u) f = Exp(x) b = Mul(a, f)
            w = If (c) <then_branch = a1 () => (float[N, 3] p) { e2 = Exp(x) p = Add(b, e2) }, else_branch = d () => (float[N, 3] q) { q = Neg(b) }> }""",
        carried="x, x", outputs="y, z",
    )  # fmt: skip
    rules = [rule for rule in rewrite(parse(body))[1]._rules if rule.level < 3]
    model, _ = rewrite_by(parse(body), rules)
    again, rewriter = rewrite_by(onnx.ModelProto.FromString(model.SerializeToString()), rules)
    assert len(rewriter.ledger) == 0
    assert again == model
