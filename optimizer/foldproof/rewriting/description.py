"""Nodes and values in the words of the ledger."""

from __future__ import annotations

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


def value_text(value: ir.Value) -> str:
    """What makes a value: its node, or the elements of a small constant of integers."""
    producer = value.producer()
    if producer is not None:
        return node_text(producer)
    tensor = value.const_value
    if tensor is not None and tensor.size <= MAX_SHOWN and tensor.dtype.is_integer():
        return f"{value.name} = {tensor.numpy().tolist()}"
    return str(value.name)
