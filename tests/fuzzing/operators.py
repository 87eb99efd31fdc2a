"""Operators in the form that the graph's opset gives them: what became an input at some version is an attribute before."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.fuzzing.graph import Graph, InadmissibleError
from tests.fuzzing.values import Array, Value

INT64_MAX = 2**63 - 1


def zeros(shape: Sequence[int]) -> Array:
    """An array of which only the shape counts."""
    if any(dim < 0 for dim in shape):
        raise InadmissibleError
    return np.broadcast_to(np.int8(0), tuple(shape))


def truncated(a: Array, b: Array) -> Array:
    """The quotient of integers, as C rounds it."""
    return np.trunc(a / b) if a.dtype.kind == "f" else np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": truncated,
    "Max": lambda *arrays: functools.reduce(np.maximum, arrays),
    "Min": lambda *arrays: functools.reduce(np.minimum, arrays),
    "Neg": np.negative,
    "Abs": np.abs,
    "Equal": np.equal,
    "Less": np.less,
    "Greater": np.greater,
    "LessOrEqual": np.less_equal,
    "GreaterOrEqual": np.greater_equal,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Not": np.logical_not,
    "Where": np.where,
    "Identity": np.asarray,
}
"""What they do to integers and booleans, of which the elements are followed."""

BOOLEAN = {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor", "Not"}


def elementwise(g: Graph, op_type: str, *inputs: Value, **attributes: Any) -> Value:
    """An operator that computes each element by itself."""
    dtype = np.bool_ if op_type in BOOLEAN else inputs[1].dtype if op_type == "Where" else None
    return g.op(op_type, *inputs, f=ELEMENTWISE.get(op_type), dtype=dtype, **attributes)


def cast(g: Graph, x: Value, dtype: Any) -> Value:
    import onnx

    to = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return g.op("Cast", x, f=lambda a: a.astype(dtype), dtype=dtype, to=to)


def shape(g: Graph, x: Value, start: int | None = None, end: int | None = None) -> Value:
    sized = Value(x.name, x.dtype, x.shapes, None)
    made = tuple(np.array(each[start:end], np.int64) for each in x.shapes)
    return _of_dims(g, "Shape", sized, made, start=start, end=end)


def size(g: Graph, x: Value) -> Value:
    return _of_dims(g, "Size", x, tuple(np.array(math.prod(each), np.int64) for each in x.shapes))


def _of_dims(g: Graph, op_type: str, x: Value, made: tuple[Array, ...], **attributes: Any) -> Value:
    value = Value(g.fresh("v"), np.dtype(np.int64), tuple(each.shape for each in made), made)
    g.node(op_type, [x], [value], **attributes)
    return value


def reshape(g: Graph, x: Value, target: Value | Sequence[int], allowzero: int | None = None) -> Value:
    """Reshape, whose target is a value of known elements, or constant."""
    wanted = target if isinstance(target, Value) else g.constant(list(target))

    def f(a: Array, dims: Array) -> Array:
        if not allowzero:
            dims = np.array([a.shape[k] if dim == 0 else dim for k, dim in enumerate(dims)], np.int64)
        if math.prod(dims) == 0 and -1 in dims:
            raise InadmissibleError
        return a.reshape(dims.tolist())

    _need_known(wanted)
    return g.op("Reshape", x, wanted, f=f, allowzero=allowzero if g.opset >= 14 else None)


def _need_known(*values: Value | None) -> None:
    if any(value is not None and value.known is None for value in values):
        raise InadmissibleError


def _with_axes(g: Graph, op_type: str, x: Value, axes: Sequence[int], since: int, f: Any, **attributes: Any) -> Value:
    """An operator whose axes are an input from some version on."""
    if g.opset < since:
        return g.op(op_type, x, f=f, axes=list(axes), **attributes)
    return g.op(op_type, x, g.constant(list(axes)), f=lambda a, _: f(a), **attributes)


def front(axes: Sequence[int], rank: int) -> list[int]:
    return [axis + rank if axis < 0 else axis for axis in axes]


def squeeze(g: Graph, x: Value, axes: Sequence[int] | None) -> Value:
    axes = axes if g.opset >= 11 or axes is None else front(axes, x.rank)
    if axes is None:
        return g.op("Squeeze", x, f=lambda a: np.squeeze(a))
    return _with_axes(g, "Squeeze", x, axes, 13, lambda a: np.squeeze(a, tuple(axes)))


def unsqueeze(g: Graph, x: Value, axes: Sequence[int]) -> Value:
    axes = axes if g.opset >= 11 else front(axes, x.rank + len(axes))
    return _with_axes(g, "Unsqueeze", x, axes, 13, lambda a: np.expand_dims(a, tuple(axes)))


def flatten(g: Graph, x: Value, axis: int) -> Value:
    axis = axis if g.opset >= 11 else axis % (x.rank + 1) if axis >= 0 else axis + x.rank
    at = axis if axis >= 0 else axis + x.rank
    return g.op("Flatten", x, f=lambda a: a.reshape(math.prod(a.shape[:at]), math.prod(a.shape[at:])), axis=axis)


def transpose(g: Graph, x: Value, perm: Sequence[int] | None) -> Value:
    return g.op("Transpose", x, f=lambda a: a.transpose(perm), perm=list(perm) if perm else None)


def slices(g: Graph, x: Value, bounds: Sequence[tuple[int, int, int, int]]) -> Value:
    """Slice by constants: tuples of axis, start, end, step."""
    axes, starts, ends, steps = (list(each) for each in zip(*bounds, strict=True))
    if g.opset < 10:
        if any(step != 1 for step in steps):
            raise InadmissibleError
        f = lambda a: _sliced(a, starts, ends, axes, steps)  # noqa: E731
        return g.op("Slice", x, f=f, starts=starts, ends=ends, axes=front(axes, x.rank))
    dtype = np.int32 if max(map(abs, starts + ends)) < 2**31 and g.chance(0.2) else np.int64
    inputs = [g.constant(each, dtype) for each in (starts, ends, axes, steps)]
    if all(step == 1 for step in steps) and g.chance(0.6):
        inputs.pop()
    return slice_by(g, x, *inputs)


def slice_by(g: Graph, x: Value, starts: Value, ends: Value, axes: Value, steps: Value | None = None) -> Value:
    """Slice by values of known elements, from opset 10 on."""
    _need_known(starts, ends, axes, steps)
    if g.opset < 10:
        raise InadmissibleError
    f = lambda a, *bounds: _sliced(a, *(each.tolist() for each in bounds))  # noqa: E731
    return g.op("Slice", x, starts, ends, axes, *([] if steps is None else [steps]), f=f)


def _sliced(a: Array, starts: list[int], ends: list[int], axes: list[int], steps: list[int] | None = None) -> Array:
    where = [slice(None)] * a.ndim
    for k, axis in enumerate(axes):
        step = 1 if steps is None else steps[k]
        start, end = starts[k], ends[k]
        dim = a.shape[axis]
        # numpy counts an end of -1 from the back, as ONNX does; below -dim it is before the first element.
        low = max(start + dim, 0 if step > 0 else -1) if start < 0 else min(start, dim if step > 0 else dim - 1)
        high = max(end + dim, 0 if step > 0 else -1) if end < 0 else min(end, dim if step > 0 else dim - 1)
        where[axis] = slice(low, None if high < 0 else high, step) if low >= 0 else slice(0, 0)
    return a[tuple(where)]


def concat(g: Graph, parts: Sequence[Value], axis: int) -> Value:
    axis = axis if g.opset >= 11 else front([axis], parts[0].rank)[0]
    return g.op("Concat", *parts, f=lambda *arrays: np.concatenate(arrays, axis), axis=axis)


def split(g: Graph, x: Value, sizes: Sequence[int] | None, parts: int, axis: int) -> list[Value]:
    """Split into given sizes, or into equal parts."""
    axis = axis if g.opset >= 11 else front([axis], x.rank)[0]
    total = x.static(axis)
    if sizes is None and (total is None or total % parts or not total):
        raise InadmissibleError
    lengths = [total // parts] * parts if sizes is None and total is not None else list(sizes or ())

    def f(a: Array, *_: Array) -> tuple[Array, ...]:
        if sum(lengths) != a.shape[axis]:
            raise InadmissibleError
        return tuple(np.split(a, np.cumsum(lengths)[:-1], axis))

    dtypes = [None] * len(lengths)
    if g.opset >= 18 and sizes is None:
        return g.ops("Split", x, f=f, dtypes=dtypes, axis=axis, num_outputs=parts)
    if sizes is None:
        return g.ops("Split", x, f=f, dtypes=dtypes, axis=axis)
    if g.opset < 13:
        return g.ops("Split", x, f=f, dtypes=dtypes, axis=axis, split=lengths)
    return g.ops("Split", x, g.constant(lengths), f=f, dtypes=dtypes, axis=axis)


def gather(g: Graph, x: Value, indices: Value, axis: int) -> Value:
    _need_known(indices)
    return g.op("Gather", x, indices, f=lambda a, i: np.take(a, i, axis), axis=axis)


def pad(g: Graph, x: Value, pads: Sequence[int], mode: str | None = None, value: float | None = None) -> Value:
    rank = x.rank

    def f(a: Array, *_: Array) -> Array:
        for k, dim in enumerate(a.shape):
            if mode == "reflect" and max(pads[k], pads[k + rank]) >= dim:
                raise InadmissibleError
            if mode == "edge" and not dim:
                raise InadmissibleError
        return zeros([dim + pads[k] + pads[k + rank] for k, dim in enumerate(a.shape)])

    if g.opset < 11:
        return g.op("Pad", x, f=f, known=False, pads=list(pads), mode=mode, value=value)
    filler = [] if value is None or mode else [g.constant(value, x.dtype)]
    return g.op("Pad", x, g.constant(list(pads)), *filler, f=f, known=False, mode=mode)


def tile(g: Graph, x: Value, repeats: Sequence[int]) -> Value:
    return g.op("Tile", x, g.constant(list(repeats)), f=lambda a, r: np.tile(a, r))


def expand(g: Graph, x: Value, target: Value) -> Value:
    _need_known(target)

    def f(a: Array, dims: Array) -> Array:
        return np.broadcast_to(a, np.broadcast_shapes(a.shape, tuple(int(dim) for dim in dims)))

    return g.op("Expand", x, target, f=f)


def reduce(g: Graph, op_type: str, x: Value, axes: Sequence[int] | None, keepdims: int) -> Value:
    """A reduction; of all axes where none are given."""
    axes = axes if g.opset >= 11 or axes is None else front(axes, x.rank)
    where = None if axes is None else tuple(axes)

    def f(a: Array) -> Array:
        reduced = range(a.ndim) if where is None else [axis % a.ndim for axis in where]
        if op_type in ("ReduceMax", "ReduceMin", "ReduceMean") and any(a.shape[axis] == 0 for axis in reduced):
            raise InadmissibleError
        return a.sum(where, keepdims=bool(keepdims)) if a.ndim else a

    flag = keepdims if keepdims == 0 or g.chance(0.5) else None
    if axes is None:
        return g.op(op_type, x, f=f, known=False, keepdims=flag)
    since = 13 if op_type == "ReduceSum" else 18
    if g.opset < since:
        return g.op(op_type, x, f=f, known=False, axes=list(axes), keepdims=flag)
    return g.op(op_type, x, g.constant(list(axes)), f=lambda a, _: f(a), known=False, keepdims=flag)


def clip(g: Graph, x: Value, low: Any, high: Any) -> Value:
    """Clip between constants, None for a bound that is left out."""
    if g.opset < 11:
        if x.dtype != np.float32:
            raise InadmissibleError
        bounds = {name: float(each) for name, each in (("min", low), ("max", high)) if each is not None}
        return g.op("Clip", x, f=np.asarray, known=False, **bounds)
    if x.dtype.kind in "iu" and g.opset < 12:
        raise InadmissibleError
    inputs = [None if each is None else g.constant(each, x.dtype) for each in (low, high)]
    return g.op("Clip", x, *inputs, f=lambda a, *_: a, known=False)


def dropout(g: Graph, x: Value, ratio: float | None) -> list[Value]:
    """Dropout that does not train, with its mask or without."""
    mask = g.chance(0.3)
    hidden = [] if mask else [1]
    f = lambda a, *_: (a, zeros(a.shape))  # noqa: E731
    dtypes = [None, np.bool_]
    if g.opset < 12:
        return g.ops("Dropout", x, f=f, dtypes=dtypes, known=False, hidden=hidden, ratio=ratio)
    inputs = [] if ratio is None else [g.constant(ratio, np.float32)]
    if inputs and g.chance(0.3):
        inputs.append(g.constant(False, np.bool_))
    return g.ops("Dropout", x, *inputs, f=f, dtypes=dtypes, known=False, hidden=hidden)


def matmul(g: Graph, x: Value, y: Value) -> Value:
    return g.op("MatMul", x, y, f=lambda a, b: np.matmul(a, b) if a.size < 5000 else a, known=False)


def gemm(g: Graph, x: Value, y: Value, bias: Value | None, **attributes: Any) -> Value:
    def f(a: Array, b: Array, c: Array | None = None) -> Array:
        a = a.T if attributes.get("transA") else a
        b = b.T if attributes.get("transB") else b
        product: Array = np.matmul(a, b)
        if c is not None and np.broadcast_shapes(product.shape, c.shape) != product.shape:
            raise InadmissibleError
        return product

    if x.rank != 2 or y.rank != 2 or (bias is None and g.opset < 11):
        raise InadmissibleError
    return g.op("Gemm", x, y, bias, f=f, known=False, **attributes)


def softmax(g: Graph, op_type: str, x: Value, axis: int) -> Value:
    """Softmax and its like. Before opset 13 they flatten their input into a matrix at the axis."""
    axis = axis if g.opset >= 11 else front([axis], x.rank)[0]
    return g.op(op_type, x, f=np.asarray, known=False, axis=axis)
