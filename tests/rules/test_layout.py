from __future__ import annotations

import pytest

from tests.helpers import initializers, parse, rewrite
from tests.rules.moving import becomes, stays

NHWC, NCHW = "<perm = [0, 2, 3, 1]>", "<perm = [0, 3, 1, 2]>"
THROUGH = ("transpose_through", "transpose_of_transpose")


@pytest.mark.parametrize(
    ("between", "left", "rule"),
    [
        ("b = Relu(a)", {"Relu": 1}, "transpose_through"),
        ("c = Abs(a) d = Add(c, k) b = Sqrt(d)", {"Abs": 1, "Add": 1, "Sqrt": 1}, "transpose_through"),
        ("b = Add(a, k)", {"Add": 1}, "transpose_through"),
        ("b = Mul(v, a)", {"Mul": 1}, "transpose_through"),
        ("b = Sub(a, s)", {"Sub": 1}, "transpose_through"),
        ("b = Mul(a, a)", {"Mul": 1}, "transpose_through"),
        ("b = Clip(a, s)", {"Clip": 1}, "transpose_through"),
        ("b = Concat <axis = 3> (a, a)", {"Concat": 1}, "transpose_through"),
        ("b = Concat <axis = -3> (a, a)", {"Concat": 1}, "transpose_through"),
        (f"c = Transpose {NHWC} (z) b = Add(a, c)", {"Add": 1}, "transpose_through"),
        ("b = Sigmoid(a)", {"Sigmoid": 1}, "transpose_through_rounded"),
        ("c = Sigmoid(a) b = Max(c, k)", {"Sigmoid": 1, "Max": 1}, "transpose_through_rounded"),
    ],
)
def test_transposes_cancel_through_what_lies_between(between: str, left: dict[str, int], rule: str) -> None:
    text = f"""g (float[N,3,M,2] x, float[N,3,M,2] z) => (float[A,B,C,D] y)
        <float[3] k = {{1, 2, 3}}, float[1,1,2,3] v = {{1, 2, 3, 4, 5, 6}}, float s = {{1.5}}>
        {{ a = Transpose {NHWC} (x) {between} y = Transpose {NCHW} (b) }}"""
    becomes(text, left, rule, exact=rule == "transpose_through")


def test_a_constant_of_fewer_dims_is_stored_in_the_other_layout() -> None:
    text = f"""g (float[N,3,M,2] x) => (float[A,B,C,D] y) <float[3] k = {{1, 2, 3}}> {{
        a = Transpose {NHWC} (x) b = Add(a, k) y = Transpose {NCHW} (b) }}"""
    model, _ = rewrite(parse(text), "transpose_through", "dead_node", "unused_initializer")
    assert list(initializers(model).values()) == [[[[[1.0]], [[2.0]], [[3.0]]]]]


def test_one_transpose_is_left_of_three() -> None:
    text = f"""g (float[N,3,M,2] x, float[N,M,2,3] z) => (float[A,B,C,D] y) {{
        a = Transpose {NHWC} (x) b = Add(a, z) y = Transpose {NCHW} (b) }}"""
    becomes(text, {"Add": 1, "Transpose": 1}, *THROUGH)


@pytest.mark.parametrize(
    "text",
    [
        # As many would be left.
        f"g (float[N,3,M,2] x) => (float[A,B,C,D] y) {{ a = Relu(x) y = Transpose {NCHW} (a) }}",
        f"""g (float[N,3,M,2] x) => (float[A,B,C,D] y, float[N,M,2,3] b) {{
            a = Transpose {NHWC} (x) b = Relu(a) y = Transpose {NCHW} (b) }}""",
        f"""g (float[N,3,M,2] x, float[N,M,2,3] z) => (float[A,B,C,D] y, float[N,M,2,3] a) {{
            a = Transpose {NHWC} (x) b = Add(a, z) y = Transpose {NCHW} (b) }}""",
        # The axes of a Softmax are not those of the other layout.
        f"""g (float[N,3,M,2] x) => (float[A,B,C,D] y) {{
            a = Transpose {NHWC} (x) b = Softmax(a) y = Transpose {NCHW} (b) }}""",
        # A value of fewer dims is broadcast over the last of this layout.
        f"""g (float[N,3,M,2] x, float[3] z) => (float[A,B,C,D] y) {{
            a = Transpose {NHWC} (x) b = Add(a, z) y = Transpose {NCHW} (b) }}""",
    ],
)
def test_transposes_stay(text: str) -> None:
    stays(text, "transpose_through", "transpose_through_rounded")


def test_an_add_that_names_the_axis_of_its_broadcast_stays() -> None:
    text = f"""g (float[2,3,4,2] x) => (float[2,3,4,2] y) <float[4] k = {{1, 2, 3, 4}}> {{
        a = Transpose {NHWC} (x) b = Add <broadcast = 1, axis = 1> (a, k) y = Transpose {NCHW} (b) }}"""
    stays(text, "transpose_through", opset=6)


def test_an_overridable_constant_is_no_constant() -> None:
    text = f"""g (float[N,3,M,2] x, float[3] k) => (float[A,B,C,D] y) <float[3] k = {{1, 2, 3}}> {{
        a = Transpose {NHWC} (x) b = Add(a, k) y = Transpose {NCHW} (b) }}"""
    _, rewriter = rewrite(parse(text), "transpose_through", overridable=["k"])
    assert len(rewriter.ledger) == 0


@pytest.mark.parametrize(
    ("node", "op_type"),
    [
        ("Add(a, b)", "Add"),
        ("Concat <axis = 3> (a, b)", "Concat"),
        ("Concat <axis = -1> (b, a, b)", "Concat"),
        ("Where(c, a, b)", "Where"),
    ],
)
def test_inputs_that_are_transposed_alike_are_joined_first(node: str, op_type: str) -> None:
    text = f"""g (float[N,3,M,2] x, float[N,3,M,2] z, bool c) => (float[A,B,C,D] y) {{
        a = Transpose {NHWC} (x) b = Transpose {NHWC} (z) y = {node} }}"""
    becomes(text, {op_type: 1, "Transpose": 1}, "joined_transposes")


@pytest.mark.parametrize(
    "nodes",
    [
        f"a = Transpose {NHWC} (x) b = Transpose <perm = [0, 3, 2, 1]> (z) y = Add(a, b)",
        f"a = Transpose {NHWC} (x) y = Add(a, a)",
        f"a = Transpose {NHWC} (x) b = Relu(z) y = Add(a, b)",
    ],
)
def test_other_inputs_are_not_joined_first(nodes: str) -> None:
    stays(f"g (float[2,2,2,2] x, float[2,2,2,2] z) => (float[A,B,C,D] y) {{ {nodes} }}", "joined_transposes")
