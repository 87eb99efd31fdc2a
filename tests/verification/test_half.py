"""Models of float16: the runtime rounds them where it likes, so that no rule can keep its bits."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from foldproof.verification import verify
from foldproof.verification.half import computes_in_half


def half_model(folded: bool) -> onnx.ModelProto:
    """x * (k * k), with the product as a node or as a constant that is rounded to float16."""
    k = np.linspace(0.1, 3, 64, dtype=np.float16)
    nodes = [] if folded else [helper.make_node("Mul", ["k", "k"], ["q"])]
    constants = [numpy_helper.from_array(k * k, "q") if folded else numpy_helper.from_array(k, "k")]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [*nodes, helper.make_node("Mul", ["x", "q"], ["y"])],
        "g",
        [value("x", TensorProto.FLOAT16, ["n", 64])],
        [value("y", TensorProto.FLOAT16, ["n", 64])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_a_product_that_is_rounded_by_itself_is_the_same():
    found = verify(half_model(folded=False), half_model(folded=True), exact=True)
    assert found.status == "same"
    assert any("float16" in note for note in found.notes)
    assert found.runs[0].max_absolute_error > 0


def test_a_wrong_constant_is_found_all_the_same():
    wrong = half_model(folded=True)
    wrong.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.full(64, 0.5, np.float16), "q"))
    assert verify(half_model(folded=False), wrong, exact=True).status == "different"


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("g (float16[2] x) => (float16[2] y) { y = Neg(x) }", True),
        ("g (float[2] x) => (float[2] y) { a = Cast<to = 10>(x) b = Neg(a) y = Cast<to = 1>(b) }", True),
        ("g (float[2] x) => (float[2] y) { y = Neg(x) }", False),
        ("g (int64[2] x) => (bfloat16[2] y) { y = Cast<to = 16>(x) }", False),
    ],
)
def test_float16_is_found_where_it_is(parse, graph, expected):
    assert computes_in_half(parse(graph)) is expected
