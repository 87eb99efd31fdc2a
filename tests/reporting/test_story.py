"""What is drawn of a run."""

from __future__ import annotations

from collections.abc import Sequence

import foldproof
from foldproof.reporting.neighbourhoods import grouped
from foldproof.reporting.story import Drawn, Story
from tests.helpers import parse


def story_of(text: str, **options: object) -> Story:
    # No file is written here: to ask for one is what makes the run keep its story.
    from foldproof.attempts import Attempts
    from foldproof.model_file import from_proto
    from foldproof.optimization import Plan

    optimizer = foldproof.Optimizer(foldproof.Options(verify=False, report="unused.html", **options))
    with Attempts(optimizer.options, lambda: from_proto(parse(text))) as attempts:
        run = attempts.rewritten(Plan(tuple(optimizer.rules)))
        story = run.report().story
    assert story is not None
    return story


def texts(story: Story, nodes: Sequence[Drawn]) -> list[str]:
    def names(values: Sequence[int]) -> str:
        return ", ".join(story.values[value].name for value in values)

    return [f"{node.operator}({names(node.inputs)}) -> {names(node.outputs)}" for node in nodes]


def test_a_fold_takes_a_node_away_and_stores_a_constant() -> None:
    story = story_of("g (float[2,3] x, int64 k) => (int64 y) { s = Size(x) y = Add(s, k) }")
    assert texts(story, story.before) == ["Size(x) -> s", "Add(s, k) -> y"]
    (step,) = story.steps
    assert texts(story, step.removed) == ["Size(x) -> s"]
    assert step.added == ()
    (stored,) = (story.values[value] for value in step.constants)
    assert (stored.kind, stored.constant, stored.is_new) == ("constant", "6", True)
    assert texts(story, step.around_before) == ["Add(s, k) -> y"]
    assert step.around_after == story.after != step.around_before  # it reads the constant, which has the same name


def test_a_node_that_stays_as_it_is_is_the_same_in_both() -> None:
    story = story_of("g (float[N,3] x) => (float[N,3] y, float[N,3] z) { a = Identity(x) y = Relu(a) z = Neg(x) }")
    assert set(texts(story, set(story.before) & set(story.after))) == {"Neg(x) -> z"}
    assert texts(story, story.after) == ["Relu(x) -> y", "Neg(x) -> z"]


def test_values_have_their_types_and_both_names() -> None:
    story = story_of("g (float[N,3] x) => (float[N,3] y) { a = Relu(x) y = Identity(a) }")
    known = {value.name: value for value in story.values}
    assert (known["x"].kind, known["x"].type) == ("input", "FLOAT[N, 3]")
    assert known["a"].later == "y"
    assert (known["a"].is_output, known["a"].is_later_output) == (False, True)
    assert known["a"].since == story.steps[0].number == 1
    assert (known["y"].is_output, known["y"].since) == (True, 0)


def test_a_value_becomes_an_output_by_the_rewrite_that_makes_it_one() -> None:
    story = story_of(
        "g (float[N] x) => (float[N] y, float[N] z) { a = Exp(x) y = Identity(a) b = Sin(x) z = Identity(b) }"
    )
    assert [texts(story, step.removed) for step in story.steps] == [["Identity(a) -> y"], ["Identity(b) -> z"]]
    known = {value.name: value for value in story.values}
    assert [(known[name].later, known[name].since) for name in "ab"] == [("y", 1), ("z", 2)]


def test_what_a_body_takes_from_around_it_is_among_the_inputs_of_its_node() -> None:
    story = story_of(
        """g (float[N] x, bool c) => (float[N] y) { a = Relu(x) y = If (c) <
             then_branch = t () => (float[N] p) { p = Neg(a) }, else_branch = e () => (float[N] q) { q = Abs(a) }> }""",
        rules=[],
    )
    assert "If(c, a) -> y" in texts(story, story.before)
    (holder,) = (node for node in story.before if node.operator == "If")
    assert holder.attributes == "2 bodies of 2 nodes"
    assert {node.graph for node in story.before} == {"g", "g/t", "g/e"}


def test_steps_of_one_neighbourhood_stand_together() -> None:
    apart = " ".join(f"a{k} = Identity(x{k}) y{k} = Relu(a{k})" for k in range(3))
    inputs = ", ".join(f"float[N] x{k}" for k in range(3))
    outputs = ", ".join(f"float[N] y{k}" for k in range(3))
    story = story_of(f"g ({inputs}) => ({outputs}) {{ {apart} }}")
    assert [len(group) for group in grouped(story)] == [1, 1, 1]
    chain = story_of("g (float[N] x) => (float[N] y) { a = Identity(x) b = Identity(a) c = Identity(b) y = Relu(c) }")
    assert [len(group) for group in grouped(chain)] == [3]
    assert [len(group) for group in grouped(chain, limit=2)] == [2, 1]


def test_without_a_page_no_story_is_kept() -> None:
    model = parse("g (float[2,3] x) => (int64 s) { s = Size(x) }")
    assert foldproof.Optimizer(foldproof.Options(verify=False)).run(model).report.story is None
