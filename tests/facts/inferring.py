"""What is proven of the values of a small model, as text."""

from __future__ import annotations

import onnx

from tests.facts.checking import assert_sound, describe, facts_of, random_feeds
from tests.helpers import parse

MICROSOFT = '"com.microsoft": 1'


def infer(body: str, *, opset: int = 21, imports: str = "", functions: str = "") -> dict[str, str]:
    """The facts of all values that the nodes of a graph make, by name, such as `int64[2] = [n, 3]`.

    Fresh symbols are called after their value and axis, as in `y:0`.
    """
    return facts_by_name(parse(body, opset=opset, imports=imports, functions=functions))


def facts_by_name(model: onnx.ModelProto) -> dict[str, str]:
    """The same for a model at hand."""
    graph, facts = facts_of(model)
    described = {
        str(output.name): describe(facts.of(output)) for node in graph for output in node.outputs if output.name
    }
    assert facts.problems == []
    return described


def assert_sound_at(
    body: str, *bindings: dict[str, int], opset: int = 21, imports: str = "", elements: int = 0
) -> None:
    """Asserts that all facts of a graph hold in onnxruntime at each binding, and that some elements were claimed.

    Args:
        body: The graph.
        bindings: Numbers for the symbols of its inputs; none stands for a graph without symbols.
        opset: The version of the default domain.
        imports: Other domains.
        elements: The least number of claimed elements, so that the test can't pass by claiming nothing.
    """
    model = parse(body, opset=opset, imports=imports)
    for seed, binding in enumerate(bindings or ({},)):
        checked = assert_sound(model, random_feeds(model, binding, seed))
        assert checked.values > 0
        assert checked.elements >= elements, f"{checked.elements} elements were claimed"
