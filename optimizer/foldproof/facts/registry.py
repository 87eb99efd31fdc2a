"""Where transfer functions register, and what they see of a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx_ir as ir

from foldproof.facts.dim import Dim
from foldproof.facts.fact import UNKNOWN, Fact

if TYPE_CHECKING:
    from foldproof.facts.engine import Facts


class NodeView:
    """A node with the facts of its inputs, as a transfer function sees it.

    Attributes:
        node: The node.
        facts: The facts of the model.
    """

    __slots__ = ("_inputs", "facts", "node")

    def __init__(self, node: ir.Node, facts: Facts) -> None:
        self.node = node
        self.facts = facts
        self._inputs = [facts.of(value) for value in node.inputs]

    @property
    def op_type(self) -> str:
        """The operator."""
        return self.node.op_type

    @property
    def version(self) -> int:
        """The version of the operator's domain that is in force at the node, 0 where none is imported."""
        return self.facts.opset_version(self.node)

    @property
    def inputs(self) -> list[Fact]:
        """The facts of all inputs; `UNKNOWN` for one that is left out."""
        return self._inputs

    @property
    def output_count(self) -> int:
        """The number of outputs that the node declares."""
        return len(self.node.outputs)

    def has_input(self, index: int) -> bool:
        """Whether an input is given (not absent and not the empty name)."""
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def input(self, index: int) -> Fact:
        """The fact of one input; `UNKNOWN` where it is left out."""
        return self._inputs[index] if index < len(self._inputs) else UNKNOWN

    def has_attribute(self, name: str) -> bool:
        """Whether an attribute is given."""
        return self.facts.attribute(self.node, name) is not None

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute: int, float, str, tuple of them, `ir.TensorProtocol` or `ir.Graph`.

        A reference to an attribute of the enclosing function is followed where the call is known.
        """
        attribute = self.facts.attribute(self.node, name)
        if attribute is None or attribute.is_ref():
            return default
        return attribute.value

    def has_unknown_attribute(self) -> bool:
        """Whether an attribute refers to one of the enclosing function, at a call that is not known."""
        if not self.facts.has_functions or not any(attribute.is_ref() for attribute in self.node.attributes.values()):
            return False
        return any(
            attribute.is_ref()
            for name in self.node.attributes
            if (attribute := self.facts.attribute(self.node, name)) is not None
        )

    def fresh(self, axis: int, output: int = 0) -> Dim:
        """A new symbol for a dim of which nothing is known; the same one at each call with the same arguments."""
        return self.facts.fresh(self.node.outputs[output], axis)

    def fresh_shape(self, rank: int, output: int = 0) -> tuple[Dim, ...]:
        """New symbols for all dims of an output of which the rank alone is known."""
        return tuple(self.fresh(axis, output) for axis in range(rank))


Transfer: TypeAlias = "Callable[[NodeView], Fact | Sequence[Fact | None] | None]"
"""Gives the fact of the first output, or one for each output; None leaves it to the operator's schema inference."""

BodyInputs: TypeAlias = "Callable[[NodeView, ir.Graph], Sequence[Fact]]"
"""Gives the facts of the inputs of a body (subgraph attribute) of a node."""

_transfers: dict[tuple[str, str], Transfer] = {}
_body_inputs: dict[tuple[str, str], BodyInputs] = {}


def infers(*op_types: str, domain: str = "") -> Callable[[Transfer], Transfer]:
    """Registers a transfer function for operators of one domain, for all their versions."""

    def register(function: Transfer) -> Transfer:
        for op_type in op_types:
            _transfers[domain, op_type] = function
        return function

    return register


def infers_body(*op_types: str, domain: str = "") -> Callable[[BodyInputs], BodyInputs]:
    """Registers the function that gives the facts of body inputs, for operators that hold subgraphs."""

    def register(function: BodyInputs) -> BodyInputs:
        for op_type in op_types:
            _body_inputs[domain, op_type] = function
        return function

    return register


def transfer_of(node: ir.Node) -> Transfer | None:
    """The transfer function of a node's operator."""
    return _transfers.get((node.domain, node.op_type))


def body_inputs_of(node: ir.Node) -> BodyInputs | None:
    """The function that gives the facts of a node's body inputs."""
    return _body_inputs.get((node.domain, node.op_type))
