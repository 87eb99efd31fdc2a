"""Rules about LSTM, GRU and RNN."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.large_tensors import let_go
from foldproof.rewriting import Cost, Outcome, Reason, Replace, rule
from foldproof_rules._moves import attribute, has_reference, input_of, kept_attributes

MAX_READ = 2**16
"""A stored initial state of more elements is not looked at."""

MOVING = frozenset(
    {
        *("Expand", "Slice", "Split", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Tile", "Gather"),
        *("Identity", "Concat"),
    }
)
"""Operators whose result holds nothing but elements of their first input; Concat those of all."""


@rule("LSTM", "GRU", "RNN", exact=True, lowers=Cost.OPERANDS)
def zero_initial_state(node: ir.Node, facts: Facts) -> Outcome:
    """LSTM(x, w, r, b, l, 0, 0, p) = LSTM(x, w, r, b, l, , , p): an initial state that is left out is 0.

    The shape of the state that was given has no effect: another than the specified one fails. Only 0.0 counts, not
    -0.0.

    Example:
        g (float[S, 1, 2] x) => (float[S, 1, 1, 1] y)
            <float[1, 1, 2] w = {0.5, 0.25}, float[1, 1, 1] r = {0.5}, float[1, 1, 1] h = {0}> {
            y = RNN <hidden_size = 1> (x, w, r, , , h) }
    """
    if has_reference(node):
        return None
    zero = [k for k in (5, 6) if k < (7 if node.op_type == "LSTM" else 6) and _is_zero(input_of(node, k), facts)]
    if not zero:
        return Reason("no initial state is proven to be 0")
    if not _is_finite(input_of(node, 2), facts):
        return Reason("its recurrent weights are not known to be finite: infinity times 0 is NaN")
    inputs = [None if k in zero else value for k, value in enumerate(node.inputs)]
    while inputs and inputs[-1] is None:
        inputs.pop()
    count, attributes = len(node.outputs), dict[str, Any](kept_attributes(node))
    return Replace(lambda op: op.node(node.op_type, *inputs, outputs=count, **attributes))


def _is_finite(value: ir.Value | None, facts: Facts) -> bool:
    """Whether a float tensor is a constant of finite numbers. It is read where the rule would else apply."""
    tensor = facts.of(value).constant
    if tensor is None:
        return False
    try:
        with let_go(tensor), np.errstate(all="ignore"):
            return bool(np.isfinite(tensor.numpy().astype(np.float32)).all())
    except (OSError, ValueError):  # its external data file is missing, or may not be read
        return False


def _is_zero(value: ir.Value | None, facts: Facts) -> bool:
    """Whether each element of a float tensor is proven to be 0.0."""
    if value is None:
        return False
    tensor = facts.of(value).constant
    if tensor is not None:
        return tensor.size <= MAX_READ and not np.frombuffer(tensor.tobytes(), np.uint8).any()
    maker = value.producer()
    if maker is None or maker.domain or has_reference(maker):
        return False
    if maker.op_type == "ConstantOfShape":
        filling = attribute(maker, "value")
        return filling is None or not np.frombuffer(filling.tobytes(), np.uint8).any()
    if maker.op_type not in MOVING:
        return False
    sources = maker.inputs if maker.op_type == "Concat" else maker.inputs[:1]
    return all(_is_zero(source, facts) for source in sources)
