"""RNN, GRU and LSTM."""

from __future__ import annotations

from foldproof.facts.dim import DimLike
from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers


@infers("RNN", "GRU", "LSTM")
def recurrent(node: NodeView) -> list[Fact | None] | None:
    """RNN-1..22, GRU-1..22, LSTM-1..22: the output of each step, the last hidden state, and LSTM's last cell.

    Layout 0 is [steps, directions, batch, hidden] and [directions, batch, hidden], 1 puts the batch first.
    """
    data, weight, recurrence = node.input(0), node.input(1), node.input(2)
    if data.shape is not None and len(data.shape) != 3:
        return None
    batch_first = bool(node.attribute("layout", 0))
    steps: DimLike | None = None
    batch: DimLike | None = None
    if data.shape is not None:
        batch, steps = data.shape[:2] if batch_first else data.shape[1::-1]
    directions: DimLike = 2 if node.attribute("direction", "forward") == "bidirectional" else 1
    hidden: DimLike | None = node.attribute("hidden_size")
    if hidden is None and recurrence.shape is not None and len(recurrence.shape) == 3:
        hidden = recurrence.shape[2]
    if hidden is None and weight.shape is not None and len(weight.shape) == 3:
        gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[node.op_type]
        rows = weight.shape[1]
        hidden = rows // gates if isinstance(rows, int) and rows % gates == 0 else None
    state = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    sequence = (batch, steps, directions, hidden) if batch_first else (steps, directions, batch, hidden)
    facts: list[Fact | None] = []
    for output, dims in enumerate((sequence, state, state)[: node.output_count]):
        shape = [_known(node, dim, axis, output) for axis, dim in enumerate(dims)]
        facts.append(tensor_fact(data.dtype, shape))
    return facts


def _known(node: NodeView, dim: DimLike | None, axis: int, output: int) -> DimLike:
    return node.fresh(axis, output) if dim is None else dim
