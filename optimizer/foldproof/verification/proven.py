"""What facts prove of the integers that a model computes, to be held against what the runtime computes.

Shape arithmetic that depends on the input can't be folded, but its result is known as an expression over the symbolic
dims. At a binding the expression is a number, and so is what the runtime hands out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx_ir as ir

from .results import Difference

if TYPE_CHECKING:  # the checker of certificates verifies too, and must not take anything of the facts
    from foldproof.facts import Facts
    from foldproof.facts.dim import DimLike

Expression: TypeAlias = "DimLike | None"


@dataclasses.dataclass(frozen=True)
class Proven:
    """Integers that a value of the main graph has in each run.

    Attributes:
        output: The value's name.
        operator: The operator that computes it.
        elements: Its elements in row-major order, each a number, an expression over the symbolic dims of the inputs,
            or None where nothing is proven.
    """

    output: str
    operator: str
    elements: tuple[Expression, ...]

    def contradiction(self, value: Any, binding: Mapping[str, int]) -> Difference | None:
        """What differs between the expressions and a value that was computed.

        Args:
            value: The value, an array.
            binding: Numbers for the dims. Expressions over others are not looked at.
        """
        found = np.asarray(value).reshape(-1).tolist()
        expected = [_at(each, binding) for each in self.elements]
        if len(found) == len(expected) and all(e is None or e == f for e, f in zip(expected, found, strict=True)):
            return None
        proven = ", ".join("?" if each is None else str(each) for each in self.elements)
        detail = f"{self.operator} gives {found}, but [{proven}] is proven of it, which is {expected} here"
        return Difference(self.output, "value", detail, original=expected, optimized=found)


def find_proven(model: ir.Model, facts: Facts) -> list[Proven]:
    """What is proven of integers that the main graph of a model computes, and that are not the same in each run.

    Args:
        model: The model.
        facts: Its facts.
    """
    return [
        Proven(value.name, node.op_type, elements)
        for node in model.graph
        for value in node.outputs
        if value.name and (elements := tuple(_expressions(value, facts))) and any(map(_is_symbolic, elements))
    ]


def _expressions(value: ir.Value, facts: Facts) -> Iterator[Expression]:
    fact = facts.of(value)
    if fact.dtype not in (ir.DataType.INT64, ir.DataType.INT32):
        return
    for each in fact.elements or ():
        yield None if isinstance(each, Fraction) else each


def _is_symbolic(expression: Expression) -> bool:
    return expression is not None and not isinstance(expression, int)


def _at(expression: Expression, binding: Mapping[str, int]) -> int | None:
    """The number that an expression is at a binding; None where the binding does not decide that.

    None too where no int64 can be that number: a tensor with so many elements could not exist.
    """
    if expression is None or isinstance(expression, int):
        return expression
    if any(symbol.scope or symbol.name not in binding for symbol in expression.symbols):
        return None
    try:
        number = expression.evaluate({symbol.name: binding[symbol.name] for symbol in expression.symbols})
    except ZeroDivisionError:
        return None
    return number if -(1 << 63) <= number < 1 << 63 else None
