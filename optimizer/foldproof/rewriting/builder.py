"""Makes the new nodes of a rewrite, written as `op.Size(x)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.rewriting.rule import Reason


class CannotBuild(Exception):
    """A constant that a rewrite needs can't be stored where the rewrite stands."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(str(reason))


class Builder:
    """Makes nodes in front of the one that they replace.

    Args:
        fresh: Gives a name that nothing has, made from a stem.
        store: Stores a constant and gives its value.
        stem: The name that the names of new values derive from: that of the output which is replaced.
    """

    def __init__(
        self, fresh: Callable[[str], str], store: Callable[[ir.TensorProtocol, str], ir.Value | Reason], stem: str
    ) -> None:
        self._fresh = fresh
        self._store = store
        self._stem = stem
        self.nodes: list[ir.Node] = []

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        """An operator of `ai.onnx`, called with its inputs and its attributes by name."""
        if not op_type[:1].isupper():
            raise AttributeError(op_type)
        return lambda *inputs, **attributes: self.node(op_type, *inputs, **attributes)

    def node(
        self, op_type: str, *inputs: ir.Value | None, domain: str = "", outputs: int = 1, **attributes: Any
    ) -> ir.Value | tuple[ir.Value, ...]:
        """One new node; its output, or all of them where there is more than one."""
        made = [ir.Value(name=self._fresh(f"{self._stem}_{op_type}")) for _ in range(outputs)]
        converted = ir.convenience.convert_attributes(attributes)
        node = ir.Node(domain, op_type, inputs, converted, outputs=made, name=made[0].name)
        self.nodes.append(node)
        return made[0] if outputs == 1 else tuple(made)

    def constant(self, array: np.ndarray[Any, Any] | np.generic) -> ir.Value:
        """A constant, shared with an equal one where there is one.

        Raises:
            CannotBuild: Where no constant of this type can be stored. The rewriter takes it as the reason.
        """
        value = self._store(ir.Tensor(np.asarray(array)), f"{self._stem}_constant")
        if isinstance(value, Reason):
            raise CannotBuild(value)
        return value
