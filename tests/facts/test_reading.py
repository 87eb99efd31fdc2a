"""What reads a value, asked again and again while its readers come and go."""

from __future__ import annotations

import onnx_ir as ir
import pytest

from foldproof.facts import Facts
from foldproof.facts.reading import MANY


def read_by(count: int) -> tuple[Facts, ir.Value, list[ir.Node]]:
    """A value that so many nodes read, each twice."""
    value = ir.Value(name="x", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape(["N"]))
    readers = [ir.Node("", "Add", [value, value]) for _ in range(count)]
    graph = ir.Graph([value], [], nodes=readers, opset_imports={"": 18})
    return Facts(ir.Model(graph, ir_version=10)), value, readers


@pytest.mark.parametrize("count", [1, 3, MANY, 3 * MANY])
def test_a_reader_is_found_as_long_as_there_is_one(count: int) -> None:
    facts, value, readers = read_by(count)
    for reader in list(readers):
        assert facts.any_reader(value) in readers
        assert facts.is_read(value)
        reader.replace_input_with(0, None)
        assert facts.any_reader(value) in readers  # its other input still reads it
        reader.resize_inputs(0)
        readers.remove(reader)
    assert facts.any_reader(value) is None
    assert not facts.is_read(value)


def test_a_value_that_the_graph_hands_out_is_read() -> None:
    facts, value, _ = read_by(0)
    assert not facts.is_read(value)
    value.graph.outputs.append(value)
    assert facts.is_read(value)
    assert facts.any_reader(value) is None


def test_readers_are_not_listed_at_each_question(monkeypatch: pytest.MonkeyPatch) -> None:
    facts, value, readers = read_by(1000)
    facts.is_read(value)
    listed = []
    monkeypatch.setattr(ir.Value, "uses", lambda value: listed.append(value) or ())
    assert facts.any_reader(value) in readers
    assert not listed
