"""What a model declares of its own values, held against what inference proves of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike
from foldproof.facts.engine import Facts
from foldproof.facts.fact import Kind
from foldproof.graphs import all_graphs


@dataclasses.dataclass(frozen=True)
class Contradiction:
    """A declaration that inference disproves.

    Attributes:
        value: The name of the value.
        claimed: What the model says, as `FLOAT[2, 3]`.
        proven: What inference proves, as `FLOAT[N, 3]`.
    """

    value: str
    claimed: str
    proven: str

    def __str__(self) -> str:
        return f"the model says that {self.value} is {self.claimed}, inference proves {self.proven}"

    def to_dict(self) -> dict[str, Any]:
        """The contradiction for JSON."""
        return dataclasses.asdict(self)


def disproved(model: ir.Model, facts: Facts) -> list[ir.Value]:
    """All values that nodes make whose declaration inference disproves.

    Declarations of graph inputs are the contract: nothing can disprove them.
    """
    return [
        value
        for graph in all_graphs(model)
        for node in graph
        for value in node.outputs
        if value.type is not None and _is_wrong(value, facts)
    ]


def contradiction(value: ir.Value, facts: Facts) -> Contradiction:
    """What a value is declared as, and what inference proves of it."""
    fact = facts.of(value)
    claimed = _text(value.dtype, None if value.shape is None else tuple(map(_name, value.shape)))
    return Contradiction(str(value.name), claimed, _text(fact.dtype, fact.shape))


def correct(values: Iterable[ir.Value], model: ir.Model, facts: Facts) -> Iterator[ir.Value]:
    """Declares the proven shape of each value whose declared shape inference disproves, and yields the value.

    What the contract says stays as it is written: the outputs of the main graph. So do wrong types: a model that has
    one is invalid, and is never repaired.

    Args:
        values: What is `disproved`.
        model: The model.
        facts: Its facts.
    """
    for value in values:
        fact = facts.of(value)
        if fact.shape is None or fact.dtype is not value.dtype:
            continue
        if not (value.graph is model.graph and value.is_graph_output()):
            value.shape = ir.Shape(_corrected(fact.shape, value.shape))
            yield value


def _is_wrong(value: ir.Value, facts: Facts) -> bool:
    declared, shape = value.type, value.shape
    if not isinstance(declared, ir.TensorType):
        return False
    fact = facts.of(value)
    if fact.kind is not Kind.TENSOR:
        return False
    if fact.dtype is not None and fact.dtype is not declared.dtype:
        return True
    if shape is None or fact.shape is None:
        return False
    if len(shape) != len(fact.shape):
        return True
    return any(map(_disproves, fact.shape, shape))


def _disproves(proven: DimLike, claimed: int | ir.SymbolicDim) -> bool:
    """Whether a proven dim rules out a claimed one: two different integers, or an integer where the contract varies."""
    if proven is claimed or not isinstance(claimed, int) or claimed < 0:
        return False
    if isinstance(proven, int):
        return proven != claimed
    return _is_of_contract(proven)


def _is_of_contract(dim: Dim) -> bool:
    """Whether a dim is an expression of nothing but the symbols that the graph inputs declare."""
    return all(symbol.scope <= 0 for symbol in dim.symbols)


def _corrected(proven: tuple[DimLike, ...], claimed: ir.Shape | None) -> Iterator[int | str | ir.SymbolicDim | None]:
    """The dims to declare: those that are proven, and the author's symbol where only inference has a name for one."""
    for axis, dim in enumerate(proven):
        if isinstance(dim, int):
            yield dim
        elif all(symbol.scope == 0 for symbol in dim.symbols):
            yield str(dim)
        else:
            author = claimed[axis] if claimed is not None and len(claimed) == len(proven) else None
            yield None if isinstance(author, int) else author


def _name(dim: int | ir.SymbolicDim) -> str:
    return str(dim) if isinstance(dim, int) else dim.value or "?"


def _text(dtype: ir.DataType | None, shape: tuple[object, ...] | None) -> str:
    name = "a tensor" if dtype is None else dtype.name
    return name if shape is None else f"{name}[{', '.join(map(str, shape))}]"
