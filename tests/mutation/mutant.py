"""Wrong rules: what verification has to find, take back and name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Outcome, Replace, Rule, rule

FIRST = 1000
"""The benefit of a wrong rule: it is tried before all others, so that no right one takes its place away."""

Dims = Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A wrong rule, with what shows that it is wrong. The model is its example.

    Attributes:
        rule: The rule.
        output: The output that it makes wrong; `""` where the model can't be run any more.
        at: Tells of a binding whether it may show there.
        feeds: The special numbers without which it doesn't show, as `Special` names them; empty where it shows on usual
            ones.
    """

    rule: Rule
    output: str = "y"
    at: Callable[[Dims], bool] = lambda dims: True
    feeds: str = ""


def wrong(
    *op_types: str,
    output: str = "y",
    at: Callable[[Dims], bool] = lambda dims: True,
    feeds: str = "",
    exact: bool = True,
) -> Callable[[Callable[[ir.Node, Facts], Outcome]], Mutant]:
    """Makes a mutant of a function that is written as a rule is. See `Mutant` for what it is given."""

    def make(function: Callable[[ir.Node, Facts], Outcome]) -> Mutant:
        return Mutant(rule(*op_types, exact=exact, benefit=FIRST)(function), output, at, feeds)

    return make


def forgets(
    op_type: str,
    name: str,
    example: str,
    instead: Any = None,
    *,
    output: str = "y",
    at: Callable[[Dims], bool] = lambda dims: True,
    feeds: str = "",
    exact: bool = True,
) -> Mutant:
    """Makes a mutant that forgets an attribute of an operator, or takes it for another value.

    Args:
        op_type: The operator.
        name: The attribute.
        example: The model.
        instead: The other value; None leaves the attribute out.
        output: See `Mutant`.
        at: See `Mutant`.
        feeds: See `Mutant`.
        exact: Whether the rule says that it is exact.
    """

    def apply(node: ir.Node, facts: Facts) -> Outcome:
        if name not in node.attributes or node.attributes[name].value == instead:
            return None
        return again(node, **{name: instead})

    apply.__name__ = f"{op_type.lower()}_without_{name}"
    apply.__doc__ = f"{op_type}(..., {name}=a) = {op_type}(...), whatever a is.\n\nExample:\n    {example}\n"
    return wrong(op_type, output=output, at=at, feeds=feeds, exact=exact)(apply)


# What wrong rules ask of nodes ----------------------------------------------------------------------------------------


def maker(value: ir.Value | None, op_type: str) -> ir.Node | None:
    """The node that makes a value, if it is of that operator."""
    node = None if value is None else value.producer()
    return node if node is not None and node.op_type == op_type else None


def elements(value: ir.Value | None, facts: Facts) -> Any:
    """The elements of a constant, as numbers and lists of them; None for what is none."""
    tensor = facts.of(value).constant
    return None if tensor is None else tensor.numpy().tolist()


def attribute(node: ir.Node, name: str, default: Any = None) -> Any:
    """The value of an attribute."""
    return node.attributes[name].value if name in node.attributes else default


# What they do ---------------------------------------------------------------------------------------------------------


def again(node: ir.Node, *inputs: ir.Value | None, **attributes: Any) -> Replace:
    """The same node with other inputs, if any are given, or other attributes; None takes one away."""
    kept = {**node.attributes, **attributes}
    kept = {name: value for name, value in kept.items() if value is not None}
    read = inputs or tuple(node.inputs)
    return Replace(lambda op: op.node(node.op_type, *read, outputs=len(node.outputs), **kept))


def ints(*values: int) -> np.ndarray[Any, Any]:
    """A list of axes, of bounds or of dims."""
    return np.array(values, np.int64)


def floats(values: Any) -> np.ndarray[Any, Any]:
    """An array of float32."""
    return np.array(values, np.float32)
