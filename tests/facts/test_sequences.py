"""Sequences and optionals."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from foldproof.facts.dim import Dim
from tests.facts.checking import assert_sound
from tests.facts.inferring import infer
from tests.facts.test_control_flow import fact, floats
from tests.helpers import parse

N = Dim.symbol("N")


def check(body: str, *, opset: int = 21, sizes: tuple[int, ...] = (0, 1, 2, 5)) -> None:
    proto = parse(body, opset=opset)
    taken = {value.name for value in proto.graph.input}
    for n in sizes:
        feeds = {"x": floats(n, 3), "z": floats(2, 3), "p": np.array(0)}
        assert_sound(proto, {name: array for name, array in feeds.items() if name in taken})


def graph(nodes: str, result: str = "seq(float) y", inputs: str = "float[N,3] x, float[2,3] z") -> str:
    return f"g ({inputs}) => ({result}) {{ {nodes} }}"


@pytest.mark.parametrize(
    ("nodes", "items", "item"),
    [
        ("y = SequenceConstruct (x, z)", ["float[N, 3]", "float[2, 3]"], "float[...]"),
        ("y = SequenceConstruct (x, x)", ["float[N, 3]", "float[N, 3]"], "float[N, 3]"),
        ("y = SequenceEmpty ()", [], "float[...]"),
        ("e = SequenceEmpty () y = SequenceInsert (e, x)", ["float[N, 3]"], "float[N, 3]"),
        (
            "e = SequenceConstruct (x, x) y = SequenceInsert (e, z)",
            ["float[N, 3]", "float[N, 3]", "float[2, 3]"],
            "float[...]",
        ),
        (
            "k = Constant <value_int = 0> () e = SequenceConstruct (x, x) y = SequenceInsert (e, z, k)",
            ["float[2, 3]", "float[N, 3]", "float[N, 3]"],
            "float[...]",
        ),
        (
            "k = Constant <value_int = -1> () e = SequenceConstruct (x, x) y = SequenceInsert (e, z, k)",
            ["float[N, 3]", "float[2, 3]", "float[N, 3]"],
            "float[...]",
        ),
        (
            "k = Constant <value_int = -2> () e = SequenceConstruct (x, x) y = SequenceInsert (e, z, k)",
            ["float[2, 3]", "float[N, 3]", "float[N, 3]"],
            "float[...]",
        ),
        ("e = SequenceConstruct (x, z) y = SequenceErase (e)", ["float[N, 3]"], "float[N, 3]"),
        (
            "k = Constant <value_int = 0> () e = SequenceConstruct (x, z) y = SequenceErase (e, k)",
            ["float[2, 3]"],
            "float[2, 3]",
        ),
    ],
)
def test_items_at_known_positions_are_known(nodes, items, item):
    found = infer(graph(nodes))["y"]
    assert found == f"sequence({item}) = [{', '.join(items)}]"
    check(graph(nodes))


@pytest.mark.parametrize(
    ("node", "found"),
    [
        ("y = SequenceInsert (e, x, p)", "sequence(float[N, 3])"),
        ("y = SequenceInsert (e, z, p)", "sequence(float[...])"),
        ("y = SequenceErase (e, p)", "sequence(float[N, 3])"),
        ("f = SequenceErase (e, p) y = SequenceInsert (f, x)", "sequence(float[N, 3])"),
    ],
)
def test_at_an_unknown_position_what_all_items_share_is_known(node, found):
    text = graph(f"e = SequenceConstruct (x, x) {node}", inputs="float[N,3] x, float[2,3] z, int64 p")
    assert infer(text)["y"] == found
    check(text)


@pytest.mark.parametrize(
    "node",
    [
        "y = SequenceInsert (e, x, k)",
        "y = SequenceErase (e, k)",
        "y = SequenceInsert (x, x)",
        "y = SequenceErase (z)",
    ],
)
def test_a_position_that_is_out_of_range_or_no_sequence_leaves_the_items_open(node):
    text = graph(f"k = Constant <value_int = 9> () e = SequenceConstruct (x, x) {node}")
    assert " = " not in infer(text)["y"]


@pytest.mark.parametrize(("position", "found"), [(0, "float[N, 3]"), (1, "float[2, 3]"), (-1, "float[2, 3]")])
def test_sequence_at_gives_the_item(position, found):
    text = graph(
        f"k = Constant <value_int = {position}> () e = SequenceConstruct (x, z) y = SequenceAt (e, k)", "float[a,b] y"
    )
    assert infer(text)["y"] == found
    check(text)


def test_sequence_at_an_unknown_position_gives_what_all_items_share():
    nodes = "e = SequenceConstruct (x, {}) y = SequenceAt (e, p)"
    inputs = "float[N,3] x, float[2,3] z, int64 p"
    assert infer(graph(nodes.format("x"), "float[a,b] y", inputs))["y"] == "float[N, 3]"
    assert infer(graph(nodes.format("z"), "float[a,b] y", inputs))["y"] == "float[...]"
    check(graph(nodes.format("z"), "float[a,b] y", inputs))


def test_sequence_length_counts_known_items():
    text = graph("e = SequenceConstruct (x, z) f = SequenceInsert (e, x) y = SequenceLength (f)", "int64 y")
    assert infer(text)["y"] == "int64[] = [3]"
    check(text)


@pytest.mark.parametrize(
    ("split", "found"),
    [
        ("", "sequence(int64[1]) = [int64[1] = [4], int64[1] = [5], int64[1] = [6]]"),
        ("k = Constant <value_int = 2> ()", "sequence(int64[...]) = [int64[2] = [4, 5], int64[1] = [6]]"),
        ("k = Constant <value_ints = [1, 2]> ()", "sequence(int64[...]) = [int64[1] = [4], int64[2] = [5, 6]]"),
        ("k = Constant <value_ints = [0, 3]> ()", "sequence(int64[...]) = [int64[0] = [], int64[3] = [4, 5, 6]]"),
    ],
)
def test_split_to_sequence_takes_elements_along(split, found):
    text = f"""g () => (seq(int64) y) {{
        v = Constant <value_ints = [4, 5, 6]> () {split} y = SplitToSequence (v{", k" if split else ""})
    }}"""
    assert infer(text)["y"] == found
    assert_sound(parse(text, opset=21))


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        ("y = SplitToSequence (x)", "sequence(float[1, 3])"),
        ("y = SplitToSequence <keepdims = 0> (x)", "sequence(float[3])"),
        ("y = SplitToSequence <axis = 1, keepdims = 0> (x)", "sequence(float[N]) = [float[N], float[N], float[N]]"),
        ("y = SplitToSequence <axis = -1> (x)", "sequence(float[N, 1]) = [float[N, 1], float[N, 1], float[N, 1]]"),
        ("k = Constant <value_int = 1> () y = SplitToSequence (x, k)", "sequence(float[1, 3])"),
        ("k = Constant <value_int = 2> () y = SplitToSequence (x, k)", "sequence(float[...])"),
        ("k = Shape <end = 1> (x) y = SplitToSequence (x, k)", "sequence(float[N, 3]) = [float[N, 3]]"),
    ],
)
def test_split_to_sequence_of_symbolic_dims(nodes, found):
    assert infer(graph(nodes))["y"] == found
    check(graph(nodes), sizes=(1, 2, 5))


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        ("y = ConcatFromSequence <axis = 0> (e)", "float[N + 2, 3]"),
        ("y = ConcatFromSequence <axis = -2> (e)", "float[N + 2, 3]"),
        ("f = SequenceConstruct (x, x) y = ConcatFromSequence <axis = 1> (f)", "float[N, 6]"),
        ("f = SequenceConstruct (x, x) y = ConcatFromSequence <axis = 1, new_axis = 1> (f)", "float[N, 2, 3]"),
        ("f = SequenceConstruct (x, x) y = ConcatFromSequence <axis = -1, new_axis = 1> (f)", "float[N, 3, 2]"),
        ("f = SplitToSequence (x) y = ConcatFromSequence <axis = 0> (f)", "float[y:0, 3]"),
        ("f = SplitToSequence (x) y = ConcatFromSequence <axis = 0, new_axis = 1> (f)", "float[y:0, 1, 3]"),
        (
            "k = Constant <value_int = 2> () f = SplitToSequence (x, k) y = ConcatFromSequence <axis = 0> (f)",
            "float[...]",
        ),
        ("y = ConcatFromSequence <axis = 9> (e)", "float[...]"),
    ],
)
def test_concat_from_sequence(nodes, found):
    text = graph(f"e = SequenceConstruct (x, z) {nodes}", "float[...] y".replace("[...]", ""))
    assert infer(text)["y"] == found
    if "9" not in nodes:
        check(text.replace("=> (float y)", "=> (float[a,b] y)"), sizes=(2, 5))


def test_concat_from_sequence_takes_elements_along():
    text = """g (float[N,3] x) => (int64[a] y) {
        s = Shape (x) k = Constant <value_ints = [7]> () e = SequenceConstruct (s, k)
        y = ConcatFromSequence <axis = 0> (e)
    }"""
    assert infer(text)["y"] == "int64[3] = [N, 3, 7]"
    check(text)


@pytest.mark.parametrize("opset", [15, 18, 21])
def test_an_optional_holds_what_it_is_made_of(opset):
    text = "o = Optional (x) y = OptionalGetElement (o) h = OptionalHasElement (o)"
    text = graph(text, "float[a,b] y, bool h")
    assert infer(text, opset=opset)["y"] == "float[N, 3]"
    assert infer(text, opset=opset)["h"] == "bool[] = [1]"
    check(text, opset=opset)


def test_an_optional_of_a_sequence_holds_the_sequence():
    text = graph("e = SequenceConstruct (x, z) o = Optional (e) y = OptionalGetElement (o)")
    assert infer(text)["y"] == "sequence(float[...]) = [float[N, 3], float[2, 3]]"
    check(text)


def test_an_empty_optional_has_no_element():
    proto = parse(graph("h = OptionalHasElement (o)", "bool h"))
    type_proto = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
    proto.graph.node.insert(0, onnx.helper.make_node("Optional", [], ["o"], type=type_proto))
    assert fact(proto, "h").ints == (0,)
    assert_sound(proto, {"x": floats(1, 3), "z": floats(2, 3)})


@pytest.mark.parametrize(
    ("nodes", "known"),
    [
        ("h = OptionalHasElement (x)", (1,)),
        ("e = SequenceEmpty () h = OptionalHasElement (e)", (1,)),
    ],
)
def test_a_tensor_or_sequence_counts_as_content_from_version_18(nodes, known):
    proto = parse(graph(nodes, "bool h"))
    assert fact(proto, "h").ints == known
    assert_sound(proto, {"x": floats(1, 3), "z": floats(2, 3)})


def test_of_an_optional_input_the_content_alone_is_known():
    proto = parse(
        "g (optional(float[N,3]) o) => (bool h, float[a,b] y) { h = OptionalHasElement (o) y = OptionalGetElement (o) }"
    )
    assert fact(proto, "h").ints is None
    assert fact(proto, "h").shape == ()
    assert fact(proto, "y").shape == (N, 3)


def test_symbolic_dims_of_a_sequence_input_may_differ_from_item_to_item():
    proto = parse("g (seq(float[N,3]) s, int64 p) => (float[a,b] y) { y = SequenceAt (s, p) }")
    assert fact(proto, "y").shape is None
    assert_sound(proto, {"s": [floats(2, 3), floats(5, 3)], "p": np.array(1)})
