"""Values and facts in a person's words."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from foldproof.facts import Fact, Facts, Kind
from foldproof.graphs import dtype_name, operator_name

MAX_SHOWN = 8
"""A tensor of more elements is not written out."""


def fact_text(fact: Fact) -> str:
    """All that is known of a value: `int64[2], [batch, 64]`."""
    known = content_text(fact)
    return type_text(fact) if known is None else f"{type_text(fact)}, {known}"


def type_text(fact: Fact) -> str:
    """The type and the shape: `float32[batch, 64]`, `int64[]`."""
    if fact.kind is not Kind.TENSOR:
        item = "unknown things" if fact.item is None else type_text(fact.item)
        return f"{fact.kind.value} of {item}"
    name = "unknown type" if fact.dtype is None else dtype_name(fact.dtype)
    return f"{name}[{'of unknown rank' if fact.shape is None else dims_text(fact.shape)}]"


def content_text(fact: Fact) -> str | None:
    """The elements, None where nothing is known of them: `[batch, 64]`, `5`, `768 elements, each 0`."""
    elements = fact.elements
    if elements is not None and len(elements) <= MAX_SHOWN and any(each is not None for each in elements):
        texts = ["?" if each is None else str(each) for each in elements]
        return texts[0] if fact.rank == 0 else f"[{', '.join(texts)}]"
    if fact.fill is not None:
        return f"each element is {fact.fill}"
    known = sum(each is not None for each in elements or ())
    if fact.constant is not None or (elements and known == len(elements)):
        return "constant"
    return f"{known} of {len(elements)} elements known" if elements and known else None


def dims_text(dims: Iterable[object]) -> str:
    """Dims as a person reads them: `batch, 64`."""
    return ", ".join(map(str, dims))


def source_text(value: ir.Value, facts: Facts) -> str:
    """Where a value comes from: `Mul(x, y)`, `an input of the model`, `an initializer`."""
    node = value.producer()
    if node is not None:
        return call_text(node)
    if value.is_initializer():
        return "a default that the caller may override" if facts.is_overridable(value) else "an initializer"
    owner = None if value.graph is None else facts.owner(value.graph)
    if owner is not None:
        return f"an input of the body of {call_text(owner)}"
    return "an input of the model" if facts.is_in_main(value.graph) else "an input of the function"


def call_text(node: ir.Node) -> str:
    """A node as an expression: `Mul(x, y)`."""
    inputs = ["" if value is None else str(value.name) for value in node.inputs]
    if len(inputs) > 2 and sum(map(len, inputs)) > _MAX_LENGTH:
        inputs = [*inputs[:2], "..."]
    return f"{operator_name(node)}({', '.join(inputs)})"


_MAX_LENGTH = 80
"""Of a node with longer names of inputs than this in all, only the first two are shown."""
