"""Nodes whose result has no bit that a runtime could choose: numpy computes them here, and no process is started.

They move elements, or do what IEEE 754 rounds correctly, in types in which all runtimes compute alike. Which NaN comes
out of an operation the standard leaves open: such results are left to the runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts, NodeView

Array: TypeAlias = "np.ndarray[Any, Any]"
_Shape: TypeAlias = "tuple[int, ...]"
_Kernel: TypeAlias = "Callable[[NodeView, list[Array], list[_Shape]], list[Array]]"


def may_be_determined(node: ir.Node) -> bool:
    """Whether a node's operator is one of those that are computed here."""
    return node.op_type in _KERNELS and not node.domain


def determined(node: ir.Node, inputs: Sequence[Array | None], facts: Facts) -> list[Array] | None:
    """The outputs of a node, to the last bit.

    Args:
        node: A node that its operator's schema admits.
        inputs: Its inputs; None for one that is left out.
        facts: The facts of the model, which prove the shapes of the outputs.

    Returns:
        Arrays of the proven shapes; None for any other node, where a runtime may give other bits, and where the shapes
        are not proven or the inputs make no sense: then the runtime says what it makes of them.
    """
    shapes = [facts.of(output).shape for output in node.outputs]
    known = [tuple(dim for dim in shape or () if isinstance(dim, int)) for shape in shapes]
    is_static = all(shape is not None and len(shape) == len(dims) for shape, dims in zip(shapes, known, strict=True))
    given = [array for array in inputs if array is not None]
    if not may_be_determined(node) or not is_static or any(array.dtype.kind in "OSU" for array in given):
        return None
    try:
        found = _KERNELS[node.op_type](NodeView(node, facts), given, known)
    except (ValueError, IndexError):  # such as an index out of range
        return None
    return found if [array.shape for array in found] == known else None


# Elements are moved --------------------------------------------------------------------------------------------------


def _reshaped(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    return [inputs[0].reshape(shapes[0])]


def _expanded(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    return [np.broadcast_to(inputs[0], shapes[0]).copy()]


def _filled(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    value = node.attribute("value")
    return [np.full(shapes[0], np.float32(0) if value is None else value.numpy().reshape(()))]


def _joined(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    if len({array.dtype for array in inputs}) > 1:  # numpy finds a type for all, and runtimes refuse them
        return []
    return [np.concatenate(inputs, node.attribute("axis", 1))]


def _transposed(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    return [inputs[0].transpose(node.attribute("perm"))]


def _gathered(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    return [np.asarray(np.take(inputs[0], inputs[1], node.attribute("axis", 0)))]


def _split(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    axis = node.attribute("axis", 0)
    return np.split(inputs[0], np.cumsum([shape[axis] for shape in shapes])[:-1], axis)


def _chosen(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    condition, one, other = inputs
    result = np.where(condition, one, other)
    # onnxruntime adds both sides up, each with zeros where it is not chosen: that makes 0 of -0.
    is_moved = result.dtype.kind in "biu" or (
        result.dtype in _DTYPES and not (np.signbit(result) & (result == 0) | np.isnan(result)).any()
    )
    return [result] if one.dtype == other.dtype and is_moved else []


# Numbers are rounded as IEEE 754 says --------------------------------------------------------------------------------

_TYPES = (ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.INT32, ir.DataType.INT64, ir.DataType.BOOL)
_DTYPES = {each.numpy() for each in _TYPES}


def _rounded(function: Callable[..., Array], kinds: str = "fi") -> _Kernel:
    """A kernel for a function that acts on each element.

    Args:
        function: A function of numpy that rounds correctly, or wraps around as integers do.
        kinds: The kinds of the types in which runtimes compute alike, by numpy's letters.
    """

    def kernel(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
        dtypes = {array.dtype for array in inputs}
        # The attributes of old versions say how to broadcast.
        if node.node.attributes or len(dtypes) != 1 or not dtypes <= _DTYPES or dtypes.pop().kind not in kinds:
            return []
        with np.errstate(all="ignore"):
            result = np.asarray(function(*inputs))
        return [] if result.dtype.kind == "f" and np.isnan(result).any() else [result]

    return kernel


def _cast(node: NodeView, inputs: list[Array], shapes: list[_Shape]) -> list[Array]:
    (array,) = inputs
    to = ir.DataType(node.attribute("to", 0))
    if array.dtype not in _DTYPES or to not in _TYPES:
        return []
    target = to.numpy()
    if array.dtype.kind == "f" and target.kind == "i":  # beyond the range, and of NaN, each machine makes its own
        range_of = np.iinfo(target)
        if not ((array > range_of.min) & (array < range_of.max)).all():
            return []
    with np.errstate(all="ignore"):
        result = array.astype(target)
    return [] if result.dtype.kind == "f" and np.isnan(result).any() else [result]


_KERNELS: dict[str, _Kernel] = {
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"), _reshaped),
    "Expand": _expanded,
    "ConstantOfShape": _filled,
    "Concat": _joined,
    "Transpose": _transposed,
    "Gather": _gathered,
    "Split": _split,
    "Where": _chosen,
    "Add": _rounded(np.add),
    "Sub": _rounded(np.subtract),
    "Mul": _rounded(np.multiply),
    "Div": _rounded(np.divide, "f"),
    "Sqrt": _rounded(np.sqrt, "f"),
    "Neg": _rounded(np.negative),
    "Equal": _rounded(np.equal, "fib"),
    "Less": _rounded(np.less),
    "Greater": _rounded(np.greater),
    "LessOrEqual": _rounded(np.less_equal),
    "GreaterOrEqual": _rounded(np.greater_equal),
    "Not": _rounded(np.logical_not, "b"),
    "And": _rounded(np.logical_and, "b"),
    "Or": _rounded(np.logical_or, "b"),
    "Xor": _rounded(np.logical_xor, "b"),
    "Cast": _cast,
}
