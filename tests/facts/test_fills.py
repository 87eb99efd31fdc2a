"""Tensors of one number: of any size, through data movement and arithmetic, without a single element."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.facts.checking import facts_of
from tests.helpers import parse

FILLED = "c = ConstantOfShape<value = float[1] {2.0}>(s)"


def fill_of(nodes: str, *, inputs: str = "float[N] x", value: str = "y", opset: int = 21) -> object:
    """The fill of a value in a model where `s` holds a large shape and `c` is filled with 2."""
    proto = parse(
        f"""g ({inputs}) => (float[M] out) <int64[2] s = {{100, 200}}, float one = {{1.0}}, float half = {{0.5}}> {{
            {FILLED} {nodes} out = Identity(x)
        }}""",
        opset=opset,
    )
    graph, facts = facts_of(proto)
    assert facts.problems == []
    found = next(output for node in graph for output in node.outputs if output.name == value)
    return facts.of(found).fill


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("y = Identity(c)", 2),
        ("y = Transpose(c)", 2),
        ("a = Constant<value_ints = [-1]>() y = Reshape(c, a)", 2),
        ("a = Constant<value_ints = [3, 100, 200]>() y = Expand(c, a)", 2),
        ("a = Constant<value_ints = [3, 2]>() y = Tile(c, a)", 2),
        ("a = Constant<value_ints = [0]>() b = Constant<value_ints = [50]>() y = Slice(c, a, b)", 2),
        ("a = Constant<value_ints = [5, 7]>() y = Gather(c, a)", 2),
        ("a, y = Split<num_outputs = 2>(c)", 2),
        ("y = Concat<axis = 0>(c, c)", 2),
        ("a = Neg(c) y = Concat<axis = 0>(c, a)", None),
        ("y = Cast<to = 7>(c)", 2),
        ("y = Cast<to = 9>(c)", 1),
        ("y = Add(c, one)", 3),
        ("y = Sub(half, c)", Fraction(-3, 2)),
        ("y = Mul(c, c)", 4),
        ("y = Div(one, c)", Fraction(1, 2)),
        ("y = Sqrt(c)", None),  # not the square of a number that float32 has
        ("a = Mul(c, c) y = Sqrt(a)", 2),
        ("y = Greater(c, one)", 1),
        ("y = Max(c, one, half)", 2),
        ("y = Exp(c)", None),
        ("y = Softmax(c)", None),
        ("y = Add(c, x)", None),
        ("d = Expand(c, s) y = Sub(c, d)", 0),
    ],
)
def test_the_fill_follows_the_operators(nodes: str, expected: object) -> None:
    assert fill_of(nodes) == expected


def test_a_dynamic_shape_has_a_fill_too() -> None:
    assert fill_of("d = Shape(x) e = ConstantOfShape<value = float[1] {0.5}>(d) y = Neg(e)") == Fraction(-1, 2)


def test_without_a_value_the_fill_is_0() -> None:
    assert fill_of("y = ConstantOfShape(s)") == 0


@pytest.mark.parametrize("special", ["nan", "inf", "-0.0"])
def test_what_no_fraction_expresses_is_no_fill(special: str) -> None:
    proto = parse("g (int64[2] s) => (float[M, N] y) { y = ConstantOfShape<value = float[1] {0.5}>(s) }")
    proto.graph.node[0].attribute[0].t.ClearField("float_data")
    proto.graph.node[0].attribute[0].t.raw_data = np.array([float(special)], np.float32).tobytes()
    graph, facts = facts_of(proto)
    assert facts.of(graph.outputs[0]).fill is None


def test_a_small_constant_of_equal_elements_has_a_fill() -> None:
    proto = parse("""g () => (float[3] y, float[2] z) <float[3] a = {2, 2, 2}, float[2] b = {1, 2}> {
        y = Identity(a) z = Identity(b)
    }""")
    graph, facts = facts_of(proto)
    assert [facts.of(value).fill for value in graph.outputs] == [2, None]


def test_what_a_loop_changes_has_no_fill() -> None:
    proto = parse("""g (int64 n, int64[2] s) => (float[P, Q] y) {
        c = ConstantOfShape<value = float[1] {2.0}>(s)
        y = Loop(n, , c) <body = b (int64 i, bool g, float[P, Q] a) => (bool d, float[P, Q] e) {
            d = Identity(g) e = Add(a, a) }>
    }""")
    graph, facts = facts_of(proto)
    assert facts.of(graph.outputs[0]).fill is None
    body = next(node for node in graph if node.op_type == "Loop").attributes["body"].as_graph()
    assert facts.of(body.inputs[2]).fill is None


def test_branches_that_disagree_have_no_fill() -> None:
    proto = parse("""g (bool c, int64[2] s) => (float[P, Q] y) {
        y = If(c) <then_branch = t () => (float[P, Q] p) { p = ConstantOfShape<value = float[1] {2.0}>(s) },
                   else_branch = e () => (float[P, Q] q) { q = ConstantOfShape<value = float[1] {3.0}>(s) }>
    }""")
    graph, facts = facts_of(proto)
    assert facts.of(graph.outputs[0]).fill is None


def test_more_that_becomes_known_spreads_to_what_reads_it() -> None:
    proto = parse("""g (float[6] x, int64[2] s) => (float[P, Q] y, int64[2] z) {
        a = Reshape(x, s) y = Neg(a) z = Shape(y)
    }""")
    graph, facts = facts_of(proto)
    y, z = graph.outputs
    assert not facts.of(y).is_static
    assert facts.of(z).ints is None
    shape = graph.inputs[1]
    proven = parse("g () => (int64[2] k) <int64[2] k = {2, 3}> {}")
    known, other = facts_of(proven)
    facts.learn(shape, other.of(known.initializers["k"]))
    taught = facts.spread(shape)
    assert [node.op_type for node in taught] == ["Reshape", "Neg", "Shape"]
    assert facts.of(y).shape == (2, 3)
    assert facts.of(z).ints == (2, 3)
