"""What is drawn of two models that were compared."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from foldproof import model_file
from foldproof.diffing import Comparison
from foldproof.reporting.diff_story import story_of
from foldproof.reporting.story import Drawn, Story
from tests.helpers import parse


def told(a: onnx.ModelProto | str, b: onnx.ModelProto | str) -> Story:
    models = (parse(each) if isinstance(each, str) else each for each in (a, b))
    return story_of(Comparison(*(model_file.from_proto(model) for model in models)))


def texts(story: Story, nodes: Sequence[Drawn], *, later: bool = False) -> list[str]:
    def names(values: Sequence[int]) -> str:
        found = (story.values[value] for value in values)
        return ", ".join(value.later if later and value.since else value.name for value in found)

    return [f"{node.operator}({names(node.inputs)}) -> {names(node.outputs)}" for node in nodes]


FIRST = "g (float[N] x) => (float[N] y) <float[1] w = {2.0}> { a = Exp(x) b = Mul(a, w) y = Sin(b) }"


def test_equal_models_are_drawn_alike_whatever_the_names_are() -> None:
    story = told(FIRST, FIRST.replace("a ", "a2 ").replace("(a,", "(a2,").replace("w", "v"))
    assert story.before == story.after
    assert story.steps == ()
    assert texts(story, story.after, later=True) == ["Exp(x) -> a2", "Mul(a2, v) -> b", "Sin(b) -> y"]
    assert not any(value.is_new for value in story.values)


def test_each_node_that_differs_is_a_step() -> None:
    second = "g (float[N] x) => (float[N] y) <float[1] w = {2.0}, float[1] k = {3.0}> { a = Exp(x) c = Add(a, k) b = Mul(c, w) y = Cos(b) }"
    story = told(FIRST, second)
    assert [(texts(story, step.removed), texts(story, step.added)) for step in story.steps] == [
        (["Sin(b) -> y"], []),
        ([], ["Add(a, k) -> c"]),
        ([], ["Cos(b) -> y"]),
        (["Mul(a, w) -> b"], ["Mul(c, w) -> b"]),
    ]
    assert [step.number for step in story.steps] == [1, 2, 3, 4]
    both = set(story.before) & set(story.after)
    assert texts(story, sorted(both, key=story.before.index)) == ["Exp(x) -> a"]
    (removed,), (added,) = story.steps[3].removed, story.steps[3].added
    assert removed.outputs == added.outputs  # a picture takes them for the same node, changed
    assert [value.name for value in story.values if value.is_new] == ["k"]


def test_a_constant_of_the_first_is_not_new_elsewhere_or_stored_in_another_way() -> None:
    second = (
        "g (float[N] x) => (float[N] y) { a = Exp(x) v = Constant<value = float[1] {2.0}>() b = Add(a, v) y = Sin(b) }"
    )
    story = told(FIRST, second)
    assert texts(story, story.after) == ["Exp(x) -> a", "Add(a, v) -> b", "Sin(b) -> y"]
    assert {value.name: (value.kind, value.constant) for value in story.values}["v"] == ("constant", "[2.0]")
    assert not any(value.is_new for value in story.values)


def test_attributes_that_are_written_alike_but_differ_are_told_apart() -> None:
    def table(last: int) -> str:
        strings = ", ".join(f'"{k}"' for k in [*range(60), last])
        numbers = ", ".join(map(str, range(61)))
        return f"""<ir_version: 9, opset_import: ["" : 18, "ai.onnx.ml" : 3]> g (string[N] x) => (int64[N] y) {{
            y = ai.onnx.ml.LabelEncoder<keys_strings = [{strings}], values_int64s = [{numbers}]>(x) }}"""

    story = told(onnx.parser.parse_model(table(98)), onnx.parser.parse_model(table(99)))
    (step,) = story.steps
    assert step.removed != step.added
    assert step.added[0].attributes == f"{step.removed[0].attributes} (other content)"


def test_an_output_that_another_value_becomes_is_one_in_that_model_only() -> None:
    with_name, without = (
        "g (float[N] x) => (float[N] y) { t = Exp(x) y = Identity(t) }",
        "g (float[N] x) => (float[N] y) { y = Exp(x) }",
    )
    for a, b, states in ((with_name, without, (False, True)), (without, with_name, (True, False))):
        story = told(a, b)
        (exp,) = (node for node in story.before if node.operator == "Exp")
        value = story.values[exp.outputs[0]]
        assert (value.is_output, value.is_later_output) == states
        assert (value.name, value.later) == (("t", "y") if states[1] else ("y", "t"))


def test_optional_outputs_and_inputs_that_one_model_leaves_out() -> None:
    first = "g (float[4] x, int64[1] k) => (float[K] y) { y, i = TopK(x, k) }"
    second = "g (float[4] x, int64[1] k, float[4] z) => (float[K] y, int64[K] j) { y, j = TopK(z, k) }"
    story = told(first, second)
    assert len(story.steps) == 1
    story = told(
        "g (float[4] x) => (float[4] y) { y = Clip(x) }", "g (float[4] x, float m) => (float[4] y) { y = Clip(x, , m) }"
    )
    assert texts(story, story.steps[0].added) == ["Clip(x, m) -> y"]
    dropped = parse("g (float[N] x) => (float[N] y) { y, m = Dropout(x) }")
    del dropped.graph.node[0].output[1]
    assert told(dropped, parse("g (float[N] x) => (float[N] y) { y, m = Dropout(x) }")).steps


def test_bodies_are_drawn_too_and_what_they_take_from_around() -> None:
    body = """g (float[N] x, bool c) => (float[N] y) {{ a = Relu(x) y = If (c) <
        then_branch = t () => (float[N] p) {{ p = {}(a) }}, else_branch = e () => (float[N] q) {{ q = Abs(a) }}> }}"""
    story = told(body.format("Neg"), body.format("Sin"))
    assert [(texts(story, step.removed), texts(story, step.added)) for step in story.steps] == [
        (["Neg(a) -> p"], []),
        ([], ["Sin(a) -> p"]),
    ]
    assert "If(c, a) -> y" in texts(story, story.before)
    assert {node.graph for node in story.before} == {"g", "g/t", "g/e"}
