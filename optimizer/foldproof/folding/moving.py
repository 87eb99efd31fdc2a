"""Nodes that only move elements: numpy computes them here, as any runtime does bit for bit. No process is started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts, NodeView

Array: TypeAlias = "np.ndarray[Any, Any]"
_Shape: TypeAlias = "tuple[int, ...]"


def is_move(node: ir.Node) -> bool:
    """Whether a node may only move elements."""
    return node.op_type in _MOVES and not node.domain


def moved(node: ir.Node, inputs: Sequence[Array | None], facts: Facts) -> list[Array] | None:
    """The outputs of a node that only moves elements.

    Args:
        node: A node that its operator's schema admits.
        inputs: Its inputs; None for one that is left out.
        facts: The facts of the model, which prove the shapes of the outputs.

    Returns:
        Arrays of the proven shapes; None for any other node, and where the shapes are not proven, or the inputs make no
        sense: then the runtime says what it makes of them.
    """
    shapes = [facts.of(output).shape for output in node.outputs]
    known = [tuple(dim for dim in shape or () if isinstance(dim, int)) for shape in shapes]
    is_static = all(shape is not None and len(shape) == len(dims) for shape, dims in zip(shapes, known, strict=True))
    if not is_move(node) or not is_static or any(array is not None and array.dtype.kind in "OSU" for array in inputs):
        return None
    try:
        found = _MOVES[node.op_type](NodeView(node, facts), [array for array in inputs if array is not None], known)
    except (ValueError, IndexError):  # such as an index out of range
        return None
    return found if [array.shape for array in found] == known else None


def _reshaped(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    return [inputs[0].reshape(shapes[0])]


def _expanded(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    return [np.broadcast_to(inputs[0], shapes[0]).copy()]


def _filled(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    value = node.attribute("value")
    return [np.full(shapes[0], np.float32(0) if value is None else value.numpy().reshape(()))]


def _joined(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    return [np.concatenate(inputs, node.attribute("axis", 1))]


def _transposed(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    return [inputs[0].transpose(node.attribute("perm"))]


def _gathered(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    return [np.take(inputs[0], inputs[1], node.attribute("axis", 0))]


def _split(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    axis = node.attribute("axis", 0)
    return np.split(inputs[0], np.cumsum([shape[axis] for shape in shapes])[:-1], axis)


_MOVES: dict[str, Callable[[NodeView, list[Array], list[_Shape]], list[Array]]] = {
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"), _reshaped),
    "Expand": _expanded,
    "ConstantOfShape": _filled,
    "Concat": _joined,
    "Transpose": _transposed,
    "Gather": _gathered,
    "Split": _split,
}
