"""What listeners are told of one rewrite is not mixed with what they were told of one that was not carried out."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import pytest

from foldproof.certificates.recorder import Recorder
from foldproof.facts import Facts
from foldproof.provenance.tracker import Tracker
from foldproof.rewriting import Entry, Listener, Rewriter
from foldproof.rewriting.packs import installed
from tests.helpers import parse

# The Identity can't go, as it gives an output its name: that attempt is the last one before the initializer goes.
MODEL = "g (float[N] x) => (float[N] y) <float[1] w = {2.0}> { dead = Add(x, w) y = Identity(x) }"
RULES = ("dead_node", "identity", "unused_initializer")


class _Log(Listener):
    def __init__(self) -> None:
        self.told: list[tuple[str, list[str]]] = []

    def begins(self, nodes: Sequence[ir.Node]) -> None:
        self.told.append(("begins", [node.op_type for node in nodes]))

    def forwarded(self, value: ir.Value, other: ir.Value) -> None:
        self.told.append(("forwarded", [str(value.name), str(other.name)]))

    def removed(self, node: ir.Node, inputs: Sequence[ir.Value]) -> None:
        self.told.append(("removed", [node.op_type]))

    def written(self, entry: Entry) -> None:
        self.told.append(("written", [entry.rule]))


def rewritten(listener: Listener, model: ir.Model, facts: Facts, rules: Sequence[str] = RULES) -> None:
    chosen = [rule for rule in installed() if rule.name in rules]
    Rewriter(model, facts, chosen, listeners=[listener]).run()


def test_an_initializer_that_goes_is_a_rewrite_of_its_own() -> None:
    log, model = _Log(), ir.from_proto(parse(MODEL))
    rewritten(log, model, Facts(model))
    assert log.told == [
        ("begins", ["Add"]),
        ("removed", ["Add"]),
        ("written", ["dead_node"]),
        ("begins", ["Identity"]),
        ("begins", []),
        ("written", ["unused_initializer"]),
    ]


def test_a_merged_initializer_is_one_too() -> None:
    log = _Log()
    model = ir.from_proto(
        parse("g (float[N] x) => (float[N] y) <float[1] w = {2.0}, float[1] v = {2.0}> { a = Add(x, w) y = Mul(a, v) }")
    )
    rewritten(log, model, Facts(model), ["same_initializer"])
    assert log.told == [("begins", []), ("forwarded", ["v", "w"]), ("written", ["same_initializer"])]


@pytest.mark.parametrize("is_listed", [False, True])
def test_what_is_kept_of_a_refused_rewrite_gets_into_no_record(is_listed: bool) -> None:
    text = MODEL.replace("float[N] x)", "float[N] x, float[1] w)") if is_listed else MODEL
    model = ir.from_proto(parse(text, ir_version=3 if is_listed else 10))
    facts = Facts(model)
    recorder = Recorder(model, facts)
    rewritten(recorder, model, facts)
    dead, unused = recorder.snapshots
    assert [each.op_type for each in dead.gone] == ["Add"]
    assert (unused.entry.rule, unused.gone, unused.replaced, dict(unused.facts)) == ("unused_initializer", (), (), {})


def test_a_refused_rewrite_is_no_origin_of_anything() -> None:
    model = ir.from_proto(parse(MODEL))
    tracker = Tracker(model)
    rewritten(tracker, model, Facts(model))
    record = tracker.record()
    assert (record.nodes, record.constants) == ({}, {})
    assert [(gone.output, gone.rules) for gone in record.gone] == [("dead", ("dead_node",))]
