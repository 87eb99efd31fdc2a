"""The shape of a matrix product, shared by MatMul and all that is fused from it."""

from __future__ import annotations

from foldproof.facts.dim import DimLike
from foldproof.facts.registry import NodeView
from foldproof.facts.transfer._broadcast import Shape, broadcast_dim


def matmul_shape(node: NodeView, a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of `numpy.matmul`: vectors lose their axis, and batch dims are broadcast.

    Args:
        node: The node, for fresh symbols in its first output.
        a: The shape of the left operand.
        b: The shape of the right operand.

    Returns:
        None where a rank is unknown, or an operand is a scalar.
    """
    if not a or not b:
        return None
    rank = max(len(a), len(b)) - 2
    batch: list[DimLike] = []
    for axis in range(rank):
        from_back = axis - rank - 2
        dims = [shape[from_back] for shape in (a, b) if len(shape) >= -from_back]
        dim = broadcast_dim(dims)
        batch.append(node.fresh(axis) if dim is None else dim)
    rows = a[-2:-1]  # nothing of a vector
    columns = b[-1:] if len(b) > 1 else ()
    return (*batch, *rows, *columns)


def transposed(shape: Shape | None, last_two: bool, batch: bool = False) -> Shape | None:
    """The shape of an operand of FusedMatMul after the transpositions that its attributes ask for.

    Args:
        shape: The operand's shape; a vector stays as it is.
        last_two: `transA` or `transB`: the last two axes change places.
        batch: `transBatchA` or `transBatchB`: the first axis moves behind the batch axes that follow it.
    """
    if shape is None or len(shape) < 2:
        return shape
    if batch:
        shape = (*shape[1:-1], shape[0], shape[-1])
    return (*shape[:-2], shape[-1], shape[-2]) if last_two else shape
