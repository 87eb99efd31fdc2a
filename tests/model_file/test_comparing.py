"""The comparison of two messages, field by field."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper

from foldproof.model_file import differences

UNKNOWN = bytes([0xFA, 0x3F, 3]) + b"new"


def found(change, everything: onnx.ModelProto, **options) -> list[str]:
    other = onnx.ModelProto()
    other.CopyFrom(everything)
    change(other)
    return list(differences(everything, other, **options))


def test_a_copy_is_equal(everything):
    assert found(lambda model: None, everything) == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda model: model.graph.node[0].input.append("more"), "graph.node[0].input: "),
        (lambda model: setattr(model.graph.node[1], "name", "other"), "graph.node[1].name: "),
        (lambda model: model.graph.node[2].attribute[0].g.ClearField("name"), "graph.node[2].attribute[0].g.name: "),
        (lambda model: model.metadata_props.reverse(), "metadata_props[0].key: "),
        (lambda model: model.graph.node[0].MergeFromString(UNKNOWN), "graph.node[0]: unknown fields"),
    ],
)
def test_a_change_is_found(change, place, everything):
    assert any(each.startswith(place) for each in found(change, everything)), found(change, everything)


def test_unset_is_not_the_default(everything):
    model = onnx.ModelProto()
    model.model_version = 0
    assert list(differences(model, onnx.ModelProto())) == ["model_version: 0, not nothing"]


@pytest.mark.parametrize(
    ("one", "other", "is_same"), [(0.0, -0.0, False), (float("nan"), float("nan"), True), (1.0, 1.0, True)]
)
def test_floats_by_their_bits(one, other, is_same):
    a, b = (helper.make_attribute("f", value) for value in (one, other))
    assert (list(differences(a, b)) == []) is is_same
    # Without the short way over all bytes.
    assert (list(differences(a, b, without={"doc_string"})) == []) is is_same


def test_fields_can_be_left_out(everything):
    assert found(lambda model: model.graph.node.pop(), everything, without={"node"}) == []
