"""How much work a run does, counted and not timed: what grows here, or is done twice, is slow for everybody.

The limits are a tenth above what was needed when they were set. Who makes a run do less lowers them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import onnx_ir as ir
import pytest

from benchmarks.scaling import MODELS
from foldproof.options import Options
from foldproof.pipeline import Optimizer

SMALL, LARGE = 300, 1200
GROWTH = 1.1


class Work(NamedTuple):
    """Work for each node of the model as it was given.

    Attributes:
        asked: How often a rule was tried.
        inferred: How many nodes were inferred, again ones included.
        rewrites: How many rewrites were done.
    """

    asked: float
    inferred: float
    rewrites: float


LIMITS = {
    "transformer": Work(11.5, 1.29, 0.76),
    "shape_chain": Work(3.9, 1.26, 1.26),
    "shape_tree": Work(17.7, 1.1, 0.37),
    "sibling_bodies": Work(10.8, 1.1, 0.0),
    "many_consumers": Work(25.3, 1.1, 0.01),
}


def work_on(name: str, nodes: int) -> Work:
    report = Optimizer(Options(verify=False, profile=True)).run(MODELS[name](nodes)).report
    assert report.profile is not None
    count = sum(report.nodes_before.values())
    asked = sum(rule.asked for rule in report.profile.rules)
    return Work(asked / count, report.profile.inferred / count, len(report.ledger) / count)


@pytest.mark.parametrize("name", LIMITS)
def test_the_work_for_each_node_stays_within_its_limits_and_does_not_grow_with_the_model(name: str) -> None:
    small, large = work_on(name, SMALL), work_on(name, LARGE)
    for kind, little, much, limit in zip(Work._fields, small, large, LIMITS[name], strict=True):
        assert much <= limit, f"{kind}: {much} for each of {LARGE} nodes"
        assert much <= little * GROWTH, f"{kind} grows: {little} for each of {SMALL} nodes, {much} for each of {LARGE}"


@pytest.mark.parametrize("name", ["shape_chain", "shape_tree"])
def test_the_readers_of_a_value_that_many_read_are_not_listed_again_and_again(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each list is as long as the readers are many: made at each rewrite, that takes the square of the nodes."""
    listed = 0
    uses = ir.Value.uses

    def counted(value: ir.Value) -> Collection[Any]:
        nonlocal listed
        found = uses(value)
        listed += len(found)
        return found

    monkeypatch.setattr(ir.Value, "uses", counted)
    each = {}
    for nodes in (SMALL, LARGE):
        listed = 0
        Optimizer(Options(verify=False)).run(MODELS[name](nodes))
        each[nodes] = listed / nodes
    assert each[LARGE] <= each[SMALL] * 1.5
