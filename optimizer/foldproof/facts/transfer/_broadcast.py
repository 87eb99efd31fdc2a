"""Broadcasting of symbolic shapes, and of the elements of small tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from foldproof.facts.dim import Dim, DimLike, Symbol, at_least, differ, exact_div, maximum, minimum
from foldproof.facts.fact import MAX_ELEMENTS, Element, Fact
from foldproof.facts.registry import NodeView

Shape = tuple[DimLike, ...]


def broadcast_dim(dims: Sequence[DimLike]) -> DimLike | None:
    """The dim that dims are broadcast to, None where it is not proven.

    Those that are not 1 are equal, or else the node fails. A symbol may be 0 and may be 1, so that a dim is
    the result only where it can't be 1 while another one is not.
    """
    candidates: list[DimLike] = []
    for dim in dims:
        if dim != 1 and dim not in candidates:
            candidates.append(dim)
    if len(candidates) < 2:
        return candidates[0] if candidates else 1
    for dim in candidates:  # a number tells most
        if isinstance(dim, int):
            return dim
    for dim in candidates:
        if all(_is_one_with(other, dim) for other in candidates if other is not dim):
            return dim
    if all(at_least(dim, 1) for dim in candidates):
        return maximum(*candidates)
    return None


def _is_one_with(other: DimLike, dim: DimLike) -> bool:
    """Whether `other` is proven to be 1 wherever `dim` is, as `min(n, 512)` is 1 where `n` is."""
    if isinstance(dim, int) or differ(dim, 1):
        return True
    if isinstance(other, int):
        return False
    if maximum(other, 0) is maximum(dim, 0):  # a dim is never negative: the two are equal
        return True
    # A Reshape to `dim` gives `dim + q*(1 - min(dim, 1))`: where it is 0, a dim of its input.
    if exact_div(other - dim, 1 - minimum(dim, 1)) is not None:
        return True
    if len(dim.symbols) != 1:
        return False
    (symbol,) = dim.symbols
    try:
        intercept = dim.evaluate({symbol: 0})
        slope = dim.evaluate({symbol: 1}) - intercept
        if slope == 0 or dim != Dim.symbol(*symbol) * slope + intercept:
            return False  # only lines are solved
        root, rest = divmod(1 - intercept, slope)
        return bool(rest) or root < 0 or other.substitute({symbol: root}) == 1
    except ZeroDivisionError:
        return False


def broadcast(node: NodeView, shapes: Sequence[Shape | None], output: int = 0) -> Shape | None:
    """The shape that shapes are broadcast to, as numpy does; None where a rank is unknown."""
    known: list[Shape] = []
    for shape in shapes:
        if shape is None:
            return None
        known.append(shape)
    if all(shape == known[0] for shape in known[1:]):
        return known[0] if known else None
    rank = max(len(shape) for shape in known)
    columns = [[shape[axis - rank] for shape in known if axis - rank >= -len(shape)] for axis in range(rank)]
    result = [broadcast_dim(column) for column in columns]
    if None in result:
        positive = _positive_symbols(columns)
        result = [
            dim if dim is not None else _broadcast_where(column, positive)
            for dim, column in zip(result, columns, strict=True)
        ]
    return tuple(node.fresh(axis, output) if dim is None else dim for axis, dim in enumerate(result))


def _positive_symbols(columns: Sequence[Sequence[DimLike]]) -> list[Symbol]:
    """The symbols that can't be 0, because dims of one axis would then be two different numbers other than 1."""
    positive: list[Symbol] = []
    for column in columns:
        symbols = {symbol for dim in column if isinstance(dim, Dim) for symbol in dim.symbols}
        for symbol in sorted(symbols):
            try:
                dims = [dim.substitute({symbol: 0}) if isinstance(dim, Dim) else dim for dim in column]
            except ZeroDivisionError:
                continue
            if len({dim for dim in dims if isinstance(dim, int) and dim != 1}) > 1:
                positive.append(symbol)
    return positive


def _broadcast_where(column: Sequence[DimLike], positive: Sequence[Symbol]) -> DimLike | None:
    """The dim that dims are broadcast to if some symbols are not 0."""
    if not positive:
        return None
    up = {symbol: Dim.symbol(*symbol) + 1 for symbol in positive}
    down = {symbol: Dim.symbol(*symbol) - 1 for symbol in positive}
    try:
        dim = broadcast_dim([dim.substitute(up) if isinstance(dim, Dim) else dim for dim in column])
        return dim.substitute(down) if isinstance(dim, Dim) else dim
    except ZeroDivisionError:
        return None


def merge(shapes: Sequence[Shape | None]) -> Shape | None:
    """The one shape that all of several values have, by the specification; the most precise dims of them."""
    known = [shape for shape in shapes if shape is not None]
    if not known or any(len(shape) != len(known[0]) for shape in known):
        return None
    return tuple(next((dim for dim in dims if isinstance(dim, int)), dims[0]) for dims in zip(*known, strict=True))


def joined(shapes: Sequence[Shape | None]) -> tuple[DimLike | None, ...] | None:
    """The dims that values which are joined along one axis have in common; None for a dim that is not proven.

    By the specification they are equal. onnxruntime ignores empty values, whatever their dims, so where two differ,
    only one that is proven not to be empty tells.

    Returns:
        A dim for each axis, None where the rank is unknown or differs.
    """
    known = [shape for shape in shapes if shape is not None]
    if not known or any(len(shape) != len(known[0]) for shape in known):
        return None
    filled = [shape for shape in known if all(at_least(dim, 1) for dim in shape)]
    common: list[DimLike | None] = []
    for axis, dims in enumerate(zip(*known, strict=True)):
        telling = [shape[axis] for shape in filled]
        if len(known) == len(shapes) and all(dim == dims[0] for dim in dims):
            common.append(dims[0])
        else:
            common.append(next((dim for dim in telling if isinstance(dim, int)), telling[0] if telling else None))
    return tuple(common)


def broadcast_elements(
    facts: Sequence[Fact], shape: Shape | None, compute: Callable[..., Element], lenient: bool = False
) -> list[Element] | None:
    """Elements of an elementwise operator's output.

    Args:
        facts: The inputs.
        shape: The output's shape.
        compute: Gives one element from one of each input. An element that is unknown is None.
        lenient: Whether an element may follow though not all inputs are known, as `False and x` does.

    Returns:
        None where the shapes are not static or too large, or no element of any input is known.
    """
    count = static_count(shape)
    if shape is None or count is None or count > MAX_ELEMENTS:
        return None
    if not lenient and any(fact.known_elements is None and fact.constant is None for fact in facts):
        return None
    columns: list[Sequence[Element]] = []
    any_known = False
    for fact in facts:
        elements = fact.elements
        if elements is None:
            if not lenient:
                return None
            columns.append((None,) * count)
            continue
        any_known = True
        expanded = expand_elements(elements, fact.shape, shape)
        if expanded is None:
            return None
        columns.append(expanded)
    return [compute(*row) for row in zip(*columns, strict=True)] if any_known else None


def expand_elements(elements: Sequence[Element], shape: Shape | None, target: Shape) -> Sequence[Element] | None:
    """The elements of a tensor after broadcasting it to a static shape; None where that is not possible."""
    if shape == target:
        return elements
    if shape is None or static_count(shape) != len(elements):
        return None
    sizes = static_sizes(target)
    if len(elements) == 1:
        return [elements[0]] * prod(sizes)
    try:
        index = np.broadcast_to(np.arange(len(elements)).reshape(static_sizes(shape)), sizes)
    except ValueError:
        return None
    return [elements[i] for i in index.reshape(-1).tolist()]


def static_count(shape: Shape | None) -> int | None:
    """The number of elements where each dim is an integer."""
    if shape is None:
        return None
    count = 1
    for dim in shape:
        if not isinstance(dim, int):
            return None
        count *= dim
    return count


def static_sizes(shape: Shape) -> list[int]:
    """The dims of a static shape."""
    return [dim for dim in shape if isinstance(dim, int)]
