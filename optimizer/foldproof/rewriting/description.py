"""Nodes and values in the words of the ledger."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from foldproof.graphs import operator_name

MAX_SHOWN = 16
"""A constant of more elements is named, not written out."""


def place_of(node: ir.Node) -> str:
    """The name of a node's first output, which is where a rewrite of it happens."""
    return next((str(output.name) for output in node.outputs if output.name), node.name or node.op_type)


def node_text(node: ir.Node) -> str:
    """A node, as `Size(x) -> s`."""
    inputs = ", ".join("" if value is None else str(value.name) for value in node.inputs)
    outputs = ", ".join(str(output.name) for output in node.outputs)
    return f"{operator_name(node)}({inputs}) -> {outputs}"


def values_texts(values: Iterable[ir.Value | None]) -> tuple[str, ...]:
    """What makes some values: each node once, however many of them it makes, and each other value."""
    makers = dict.fromkeys(value.producer() or value for value in values if value is not None)
    return tuple(node_text(maker) if isinstance(maker, ir.Node) else _source_text(maker) for maker in makers)


def _source_text(value: ir.Value) -> str:
    """A value that no node makes: the elements of a small constant of integers, or else its name.

    A data file is not read for it: it need not be there.
    """
    tensor = value.const_value
    is_here = tensor is not None and not isinstance(tensor, ir.ExternalTensor)
    if tensor is not None and is_here and tensor.size <= MAX_SHOWN and tensor.dtype.is_integer():
        return f"{value.name} = {tensor.numpy().tolist()}"
    return str(value.name)
