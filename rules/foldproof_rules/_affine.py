"""Nodes that are `factor * x + shift` with constants, one pair for each channel."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx_ir as ir

from foldproof.facts import Facts
from foldproof.rewriting import Reason
from foldproof_rules._weights import Array, attribute_float, attribute_int, input_of, is_known, weights

OPERATORS = ("BatchNormalization", "Mul", "Add", "Sub", "Div", "Neg")
"""The operators that can be affine."""


@dataclasses.dataclass(frozen=True)
class Affine:
    """What an affine node does to its source. The result has the source's shape.

    Attributes:
        factor: A vector of one element, or of one for each channel.
        shift: A vector likewise. None adds nothing.
    """

    factor: Array
    shift: Array | None


def sources(node: ir.Node, facts: Facts) -> list[ir.Value]:
    """The inputs of a node of which it could be an affine function: those beside which all is constant."""
    if node.op_type in ("BatchNormalization", "Neg"):
        return [node.inputs[0]] if node.inputs and node.inputs[0] is not None else []
    if len(node.inputs) != 2 or facts.opset_version(node) < 7:
        return []
    left, right = node.inputs
    if left is None or right is None:
        return []
    found = [left] if is_known(right, facts) else []
    if is_known(left, facts) and node.op_type != "Div":
        found.append(right)
    return found


def affine(node: ir.Node, source: ir.Value, facts: Facts, *, rank: int, axis: int, channels: int) -> Affine | Reason:
    """What a node does to its source, if that is one affine function for each channel.

    Args:
        node: A node of one of `OPERATORS`.
        source: One of its `sources`.
        facts: The facts of the model.
        rank: The number of dims of the source.
        axis: The axis of its channels, from 0.
        channels: The dim of that axis.
    """
    if node.op_type == "BatchNormalization":
        return _normalization(node, facts, channels) if axis == 1 else Reason("its channels are not at axis 1")
    if node.op_type == "Neg":
        return Affine(-np.ones(1), None)
    other = node.inputs[1] if node.inputs[0] is source else node.inputs[0]
    shape = facts.shape(other)
    if shape is None or len(shape) > rank:
        return Reason("its constant makes the result larger")
    aligned = (1,) * (rank - len(shape)) + tuple(shape)
    if any(dim != 1 for k, dim in enumerate(aligned) if k != axis) or aligned[axis] not in (1, channels):
        return Reason("its constant is not one number for each channel")
    constant = weights(other, facts)
    if constant is None:
        return Reason("its constant can't be read")
    vector = constant.full().reshape(-1)
    if node.op_type == "Mul":
        return _finite(vector, None)
    if node.op_type == "Div":
        return _finite(1 / vector, None) if vector.all() else Reason("it divides by 0")
    if node.op_type == "Add":
        return _finite(np.ones(1), vector)
    return _finite(np.ones(1), -vector) if node.inputs[0] is source else _finite(-np.ones(1), vector)


def _normalization(node: ir.Node, facts: Facts, channels: int) -> Affine | Reason:
    """BatchNormalization in inference: scale * (x - mean) / sqrt(variance + epsilon) + bias."""
    reason = not_inference(node, facts)
    if reason is not None:
        return reason
    parameters = [weights(value, facts) for value in node.inputs[1:5]]
    epsilon = attribute_float(node, "epsilon", 1e-5)
    known = [each.full() for each in parameters if each is not None and each.shape == (channels,)]
    if len(known) != 4 or epsilon is None:
        return Reason("its parameters are not constant vectors of {} elements", channels)
    scale, bias, mean, variance = known
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + epsilon)
    return _finite(factor, bias - mean * factor)


def not_inference(node: ir.Node, facts: Facts) -> Reason | None:
    """Why a BatchNormalization may use the statistics of the batch, or one parameter for each activation."""
    version = facts.opset_version(node)
    if any(output.uses() or output.is_graph_output() for output in node.outputs[1:]):
        return Reason("it gives the statistics of the batch")
    if version >= 14:
        trains = attribute_int(node, "training_mode", 0) != 0
    elif version >= 7:
        trains = any(output.name for output in node.outputs[1:])
    else:
        trains = attribute_int(node, "is_test", 0) != 1
    if trains:
        return Reason("it trains")
    if version < 9 and attribute_int(node, "spatial", 1) != 1:
        return Reason("it has one parameter for each activation")
    return None


def _finite(factor: Array, shift: Array | None) -> Affine | Reason:
    if not np.isfinite(factor).all() or (shift is not None and not np.isfinite(shift).all()):
        return Reason("one of its constants is not finite")
    # One number for all channels keeps weights that one number stands for as they are.
    return Affine(factor[:1] if factor.size and (factor == factor[0]).all() else factor, shift)


def bias_of(node: ir.Node, index: int, facts: Facts) -> tuple[Array | None, Reason | None]:
    """An optional constant vector input: it (None where it is left out), or why it can't be read."""
    value = input_of(node, index)
    if value is None:
        return None, None
    found = weights(value, facts)
    return (None, Reason("the bias of its source is not constant")) if found is None else (found.full(), None)
