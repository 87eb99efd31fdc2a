"""What is too much to compute: found out from facts before anything runs."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.folding.sources import size_of
from foldproof.rewriting.rule import Reason

MAX_BYTES = 256 << 20
"""A tensor of more bytes is computed only where it is made of as many."""

MAX_TRIPS = 10_000
"""A Loop of more iterations is not computed."""

BATCH_BYTES = 128 << 20
"""The tensors that one session holds, inputs and results, as far as their sizes are known before."""

SECONDS = 20.0
"""A session is stopped after this time."""


def too_much(node: ir.Node, facts: Facts) -> Reason | None:
    """Why a node is not computed: its result or the number of its iterations is too large."""
    largest = max((size_of(output, facts) or 0 for output in node.outputs), default=0)
    if largest > MAX_BYTES and largest > sum(size_of(value, facts) or 0 for value in node.inputs if value is not None):
        return Reason("its result has {} bytes", largest)
    if node.op_type == "Loop" and node.inputs and node.inputs[0] is not None:
        trips = facts.of(node.inputs[0]).ints
        if trips and trips[0] > MAX_TRIPS:
            return Reason("it runs {} times", trips[0])
    return None
